//! Sockets as processes of a Krarup node (feature `io` of the crate `krarup`).
//!
//! | process | what it does | runs |
//! |---|---|---|
//! | [`Acceptor`] | listens, and passes each connection to a worker | a [`Protocol`] per connection |
//! | [`Client`] | one outgoing connection | a [`Protocol`] |
//! | [`Udp`] | one UDP socket | a [`DatagramProtocol`] |
//!
//! A connection is a process: it has an address, a mailbox, links and monitors, and a
//! place in the process tree. Its crash affects no other connection. It handles one thing
//! at a time (a frame, a message or a change of its socket) and does not read meanwhile.
//! So a peer is never faster than the handling of its frames. The bytes that wait for a
//! peer to read them are bounded, and so is every time for which a peer may keep something
//! waiting: see [`ConnectionOptions`].
//!
//! | failure | result |
//! |---|---|
//! | an option is invalid | [`OptionsError`] of the spawn; nothing was opened |
//! | the address is taken or is not local | [`BindError`] of the spawn |
//! | no server listens or answers in time | [`ConnectError`] of the spawn |
//! | the peer is slower than its sender | [`WriteError`] of the send; nothing of it was written |
//! | the received bytes are not a frame | [`CodecError`], in [`Protocol::malformed`] |
//! | the connection is closed | [`Closed`], in [`Protocol::closed`] and as the exit reason |
//! | a datagram cannot be sent | [`DatagramError`] of the send |
//! | the system has no descriptors left | logged once, counted as `accept_errors`; clients wait |
//!
//! No process blocks in the operating system. An idle worker waits for all sockets of all nodes, and
//! runs what arrives at once. While none does, because all have other work or there are no workers, one thread of the program waits,
//! `krarup-io`. It starts with the first socket and ends with the last (rule I10). Sockets need a real node. A simulation accepts them, but its
//! virtual time does not wait for input from outside. What stands in the place of a socket there
//! is a [`Transport`]. On a calling-thread dispatcher the
//! thread that waits would run the processes, one after the other: `krarup-io`, or a worker of another node.
//!
//! ```
//! # mod krarup { pub use {krarup_gen::*, krarup_io as io, krarup_node::*}; }
//! use krarup::io::{Acceptor, Channel, Lines, Protocol};
//! use krarup::{Node, Result};
//!
//! /// Numbers the lines of each client.
//! #[derive(Default)]
//! struct Counting {
//!     lines: u32,
//! }
//!
//! impl Protocol for Counting {
//!     type Message = String; // Messages that other processes can send.
//!     type Codec = Lines;
//!     fn codec(&self) -> Lines {
//!         Lines::new(80)
//!     }
//!     async fn received(&mut self, channel: &mut Channel<Self>, line: String) -> Result {
//!         self.lines += 1;
//!         let answer = format!("{}: {line}", self.lines);
//!         Ok(channel.send_or_wait(&answer).await?)
//!     }
//!     async fn handle_message(&mut self, channel: &mut Channel<Self>, line: String) -> Result {
//!         Ok(channel.send(&line)?) // A client that does not read is closed.
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
// docs.rs marks what needs a feature.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod acceptor;
mod back_off;
mod callback;
mod channel;
mod client;
mod codecs;
mod connection;
mod connection_attempts;
mod datagram;
mod error;
mod incoming;
mod listening;
mod options;
mod protocol;
mod reactor;
mod readiness;
mod securing;
mod server_host;
#[cfg(test)]
mod silent_protocol;
mod socket_selection;
mod sources;
mod tally;
mod tcp_socket;
mod timer;
mod times;
#[cfg(feature = "tls")]
mod tls;
mod transport;
mod transport_connection;
mod udp;
mod wire;
mod worker;
mod writer;

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
#[cfg(feature = "tls")]
pub use tls::{
    Tls, certificate_names::CertificateNames, error::TlsError, peer::TlsPeer, version::TlsVersion,
};
pub use transport::Transport;
pub use transport_connection::TransportConnection;
pub use udp::Udp;
pub use writer::Writer;
