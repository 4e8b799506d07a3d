//! Frames: what follows the handshake.
//!
//! [`Frames`] reads them, with the atom cache and the fragments of the peer; [`OutgoingMessage`] writes them.
//! [`FrameFormat`] says which of the three forms a connection has.

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
