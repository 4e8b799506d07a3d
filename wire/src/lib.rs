//! The bytes of Erlang's distribution protocol, and nothing else.
//!
//! A node that speaks it is a peer of Erlang/OTP nodes. This crate reads and writes what goes over the wire, and decides what
//! follows from it. It has no socket, no clock, no thread, no lock and no random number: what it needs of these is an
//! argument, and what is to be done is a result. So every part is tested, fuzzed and explored without the rest.
//!
//! ```text
//!                 epmd ── Register, LookUp          where does a peer listen?
//!                   │
//!   Peers ◄──► Handshake ── Flags, Cookie           is it who it says, and what can it do?
//!   who dials       │
//!                   ▼ up
//!   bytes ──► Frames ── atom cache, fragments ──► Control + Payload ──► Codec ──► a type of Rust
//!   bytes ◄── Outgoing ◄─────────────────────────  Control + term  ◄── Codec ◄─┘
//!                                                     │          └───► Term: any value of Erlang
//!                                                   Links
//!                                                   which links both ends agree on
//! ```
//!
//! | module | what it has |
//! |---|---|
//! | [`etf`] | external terms: [`Term`](etf::Term), read within limits, written as OTP writes them, ordered and printed as Erlang does |
//! | [`codec`] | types with serde's derives as terms, without a `Term` in between |
//! | [`handshake`], [`DistributionFlags`] | the handshake of version 6, as a state machine for either side |
//! | [`epmd`] | registration and look-up |
//! | [`frame`] | frames of all three forms: headers with the atom cache inward, fragments within bounds |
//! | [`ControlMessage`] | the control messages 1 to 37 |
//! | [`Links`] | the protocol of links and unlinks |
//! | [`peers`] | who dials, and which of two connections stands |
//!
//! # What is promised
//!
//! - No input makes anything here panic, loop without an end, or recurse without a bound. Terms are read, compared, printed,
//!   written and dropped without recursion; typed reads recurse 256 levels at most (rule Zterm6).
//! - Nothing is allocated for what is only announced. What is read takes memory in proportion to what came: see
//!   [`Limits`](etf::Limits) and [`FrameLimits`](frame::FrameLimits) (rules Zterm5, Zmsg6).
//! - What is written is what OTP writes for the same value, but for choices that do not change it (rules Zterm2, Zterm11).
//! - An error says where, what was expected and what was found.
//!
//! Of the tags of external terms, those that nodes of OTP 25 to 29 send to each other are read. Compressed terms (80) are not
//! among them: `term_to_binary` writes them when asked to, but no node does to another.

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

pub use control::{AliasRecipient, ControlError, ControlMessage, Monitored};
pub use flags::{DistributionFlags, MissingFlags};
pub use links::{LinkReceived, Links, TooManyLinks};
pub use node_name::{NodeNameError, node_name};
pub use reader::Short;
