//! Sockets as processes of the Krarup node.
//!
//! | process | what it does | runs |
//! |---|---|---|
//! | [`Acceptor`] | listens, and hands each connection to one of its workers | a [`Protocol`] in each connection |
//! | [`Client`] | one outgoing connection | a [`Protocol`] |
//! | [`Udp`] | one UDP socket | a [`DatagramProtocol`] |
//!
//! A connection is a process: it has an address to send to, a mailbox, links and monitors, a
//! place in the tree, and when it crashes that is nobody else's matter. It handles one thing at a
//! time, a frame, a message or a change of its socket, and reads no further meanwhile: so a peer
//! is never faster than what handles its frames. What waits for a peer to read it is bounded, and
//! so is every time for which a peer may keep something waiting: [`ConnectionOptions`].
//!
//! | what can go wrong | is a |
//! |---|---|
//! | an option that cannot be | [`OptionsError`], of the spawn: nothing was opened |
//! | the address is taken or not ours | [`BindError`], of the spawn |
//! | nobody listens, or answers in time | [`ConnectError`], of the spawn |
//! | the peer is slower than what is sent to it | [`WriteError`], of the send: nothing of it was written |
//! | what comes is no frame | [`CodecError`], in [`Protocol::malformed`] |
//! | the connection is over | [`Closed`], in [`Protocol::closed`], and why the process ended |
//! | a datagram cannot be sent | [`DatagramError`], of the send |
//! | the system has no descriptors left | reported once, counted as `accept_errors`; clients wait |
//!
//! No process and no worker waits in the system: one thread in the program, `krarup-io`, does it
//! for all sockets of all nodes, from the first to the last. Sockets need a real node: a
//! simulation does not refuse them, but its time does not wait for what comes from outside. On a calling-thread dispatcher
//! that one thread would run the processes, each while all others wait.
//!
//! ```
//! use krarup_gen::Result;
//! use krarup_io::{Acceptor, Channel, Lines, Protocol};
//! use krarup_node::Node;
//!
//! /// Counts what each client says.
//! #[derive(Default)]
//! struct Counting {
//!     lines: u32,
//! }
//!
//! impl Protocol for Counting {
//!     type Message = String;                         // what other processes can send here
//!     type Codec = Lines;
//!     fn codec(&self) -> Lines {
//!         Lines::new(80)
//!     }
//!     async fn received(&mut self, channel: &mut Channel<Self>, line: String) -> Result {
//!         self.lines += 1;
//!         let answer = format!("{}: {line}", self.lines);
//!         Ok(channel.send_or_wait(&answer).await?)
//!     }
//!     async fn handle_message(&mut self, channel: &mut Channel<Self>, news: String) -> Result {
//!         Ok(channel.send(&news)?)                   // a client that does not read is closed
//!     }
//! }
//!
//! # fn main() -> Result {
//! let node = Node::start("lines@localhost")?;
//! let any_port = ([127, 0, 0, 1], 0).into();
//! node.spawn(move || Acceptor::new(any_port, Counting::default)).name("lines").wait()?;
//! node.stop().wait()
//! # }
//! ```

#![forbid(unsafe_code)]

mod acceptor;
mod back_off;
mod callback;
mod channel;
mod client;
mod codecs;
mod connection;
mod datagram;
mod error;
mod incoming;
mod listening;
mod options;
mod protocol;
mod reactor;
mod readiness;
mod sources;
mod tally;
mod timer;
mod times;
mod udp;
mod wire;
mod worker;

pub use acceptor::{Acceptor, AcceptorAddress};
pub use bytes;
pub use channel::FrameChannel;
pub use client::Client;
pub use codecs::codec::{Codec, CodecError};
pub use codecs::lines::Lines;
pub use codecs::prefixed::Prefixed;
pub use codecs::raw::Raw;
pub use datagram::{DatagramChannel, DatagramError, DatagramProtocol};
pub use error::{BindError, Closed, ConnectError, WriteError};
pub use listening::{AcceptorRequest, AtLimit};
pub use options::{ConnectionOptions, OptionsError};
pub use protocol::{Channel, Frame, Protocol};
pub use tally::Peer;
pub use udp::Udp;
