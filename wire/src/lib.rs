//! The bytes of Erlang's distribution protocol, and nothing else.

#![forbid(unsafe_code)]

pub mod codec;
mod control;
pub mod epmd;
pub mod etf;
pub mod flags;
pub mod frame;
pub mod handshake;
mod links;
mod node_name;
pub mod peers;
mod reader;

pub use control::{Control, ControlError, Monitored, Recipient};
pub use flags::{Flags, MissingFlags};
pub use links::{LinkReceived, Links, TooManyLinks};
pub use node_name::{NodeNameError, node_name};
pub use reader::Short;
