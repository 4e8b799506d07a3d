//! The handshake of version 6: the peer's identity, its capabilities, and the proof of the
//! cookie.
//!
//! [`Handshake`] is a state machine without I/O. Nothing that a peer claims is verified
//! before [`ReadStep::Up`].

mod digest;
mod error;
mod machine;
mod message;

pub use digest::{Cookie, CookieError};
pub use error::HandshakeError;
pub use machine::{Decision, Handshake, Identity, Lengths, PeerIdentity, ReadStep};
pub use message::MessageError;
