//! Control messages: the requests of one node to another, numbered 1 to 37.
//!
//! Messages with a sequential trace token (12, 13, 16, 18, 23, 25, 27, 30, 32, 34) are
//! decoded like those without; the token is skipped. Messages 4 and 5 are obsolete, and no
//! node that implements this handshake sends them. They are unknown, as is every number
//! not listed below. Arities and types are exact: anything else is an error and ends the
//! connection (rule Zmsg9). Unused fields are written as `''`.

mod error;
mod message;
mod read;
mod write;

pub use error::ControlError;
pub use message::{AliasRecipient, ControlMessage, Monitored};
