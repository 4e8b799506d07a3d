//! The handshake of version 6: who the peer is, what it can do, and that it has the cookie.
//!
//! [`Handshake`] is a state machine without I/O. Nothing of a peer is to be believed before [`ReadStep::Up`].

mod digest;
mod machine;
mod message;

pub use digest::{Cookie, CookieError};
pub use machine::{Decision, Handshake, HandshakeError, Identity, Lengths, PeerIdentity, ReadStep};
pub use message::MessageError;
