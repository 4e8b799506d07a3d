//! Frames: the format of all data after the handshake.
//!
//! [`Frames`] decodes them, with the peer's atom cache and fragments. [`OutgoingMessage`]
//! encodes them. [`FrameFormat`] is the one of the three forms that a connection uses.

mod atom_cache;
mod error;
mod format;
mod fragments;
mod incoming;
mod outgoing;

pub use error::FrameError;
pub use format::FrameFormat;
pub use incoming::{FrameLimits, FrameRead, Frames, IncomingMessage, Payload};
pub use outgoing::{OutgoingMessage, write_tick};
