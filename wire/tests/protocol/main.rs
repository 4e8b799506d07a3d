//! The protocol: terms, types of Rust as terms, handshakes, frames, control messages; recordings, other
//! libraries and a node of OTP.
//!
//! One program for all of it: a program for each file would be linked a dozen times.

#[path = "../support/mod.rs"]
mod support;

mod codec;
mod codec_hostile;
mod codec_lists;
mod control;
mod frames;
mod golden_controls;
mod golden_terms;
mod handshake;
mod hostile;
mod others;
mod otp;
mod terms;
