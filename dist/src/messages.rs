//! The messages to the processes of a cluster and of its connections.

use crate::epmd::Registration;
use krarup_wire::etf::Atom;
use krarup_wire::peers::ConnectionId;
use std::net::SocketAddr;

/// A message to the process of a connection.
#[derive(Debug)]
pub(crate) enum ConnectionMessage {
    /// Bytes wait to be written.
    Wake,
    /// A quarter of the tick time is over.
    Tick,
    /// The connection was held, and is up.
    Resume,
    /// The time of the handshake is over.
    HandshakeOver,
    /// The connection is to be closed.
    Close(&'static str),
}

/// A message to the process of a cluster.
#[derive(Debug)]
pub struct ClusterMessage(pub(crate) ClusterRequest);

#[derive(Debug)]
pub(crate) enum ClusterRequest {
    /// Make a connection to this peer.
    Dial { peer: Atom, connection: ConnectionId },
    /// The addresses of a peer that is dialled.
    Found { peer: Atom, connection: ConnectionId, found: Option<SocketAddr> },
    /// Look at the registration and at late dials.
    Look,
    /// The result of a registration.
    Registered(Result<Registration, String>),
}
