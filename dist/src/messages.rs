//! The messages to the processes of a cluster and of its connections.

use crate::discovery::error::DiscoveryError;
use crate::epmd::Registration;
use krarup_gen::NodeName;
use krarup_wire::etf::Atom;
use krarup_wire::peers::ConnectionId;
use std::net::SocketAddr;
use std::time::Duration;

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
    /// The connection is to be closed when what waits has been written.
    Finish,
    /// Whether the peer still takes what is to be written before the end.
    LookAtEnd,
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
    Found { peer: Atom, connection: ConnectionId, found: Result<Vec<SocketAddr>, DiscoveryError> },
    /// Look at the registration and at late dials.
    Look,
    /// The nodes to be kept, or what is known of them, have changed.
    KeepChanged,
    /// The timer for the kept nodes has expired that was set for this time.
    KeepDue(Duration),
    /// Ask the discovery of this number which nodes there are.
    Ask(usize),
    /// The answer of the discovery of this number.
    Nodes { number: usize, nodes: Result<Vec<NodeName>, DiscoveryError> },
    /// A discovery has news.
    News { number: usize, appeared: Vec<NodeName>, disappeared: Vec<NodeName> },
    /// The result of a registration.
    Registered(Result<Registration, String>),
}
