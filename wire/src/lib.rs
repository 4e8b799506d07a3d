//! The bytes of Erlang's distribution protocol, and nothing else.
//!
//! A node that implements the protocol is a peer of Erlang/OTP nodes. This crate encodes and
//! decodes the bytes on the wire, and decides which protocol actions follow from them. It
//! has no sockets, clocks, threads, locks or random numbers: these are arguments, and the
//! actions to perform are results. So every part is tested, fuzzed and explored on its own.
//!
//! ```text
//!                 epmd ── Register, LookUp          where does a peer listen?
//!                   │
//!   Peers ◄──► Handshake ── Flags, Cookie           is it the peer it claims, what can it do?
//!   which dials     │
//!                   ▼ up
//!   bytes ──► Frames ── atom cache, fragments ──► Control + Payload ──► Codec ──► a Rust type
//!   bytes ◄── Outgoing ◄─────────────────────────  Control + term  ◄── Codec ◄─┘
//!                                                     │          └───► Term: any Erlang value
//!                                                   Links
//!                                                   which links both ends agree on
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`etf`] | external terms: [`Term`](etf::Term), decoded within limits, encoded as by OTP |
//! | [`codec`] | types with serde's derives as terms, without a `Term` in between |
//! | [`handshake`], [`DistributionFlags`] | the handshake of version 6, as a state machine for either side |
//! | [`epmd`] | registration and look-up |
//! | [`frame`] | frames of all three forms, with the incoming atom cache and bounded fragments |
//! | [`ControlMessage`] | the control messages 1 to 37 |
//! | [`Links`] | the protocol of links and unlinks |
//! | [`peers`] | which node dials, and which of two connections is kept |
//!
//! # Guarantees
//!
//! - No input causes a panic, an endless loop or unbounded recursion. Terms are decoded,
//!   compared, printed and encoded without recursion, and dropped with at most some 30 levels of
//!   it; typed decoding recurses at most 256 levels (rule Zterm6).
//! - A length that is only announced allocates nothing. Decoding takes memory in
//!   proportion to the received bytes: see [`Limits`](etf::Limits) and
//!   [`FrameLimits`](frame::FrameLimits) (rules Zterm5, Zmsg6).
//! - No text contains a control character that a peer has sent, and no error is longer than some
//!   hundred characters for each level of its path.
//! - The encoding of a value is that of OTP, except for choices that do not change the
//!   value (rules Zterm2, Zterm11).
//! - An error contains the place, the expected item and the found item.
//!
//! The decoder accepts the tags of external terms that nodes of OTP 25 to 29 send to each
//! other. Compressed terms (80) are not among them: `term_to_binary` produces them on
//! request, but no node sends them to another.

#![forbid(unsafe_code)]

pub mod codec;
mod control;
pub mod epmd;
pub mod etf;
mod flags;
pub mod frame;
pub mod handshake;
mod links;
mod node_name;
pub mod peers;
mod reader;
mod text;

pub use control::{AliasRecipient, ControlError, ControlMessage, Monitored};
pub use flags::{DistributionFlags, MissingFlags};
pub use links::{LinkReceived, Links, TooManyLinks};
pub use node_name::{NodeNameError, node_name};
pub use reader::Short;

/// What the README shows is compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
