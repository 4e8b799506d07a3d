//! The cluster of a node, read without its help.

use crate::{ClusterStats, KeptNode, NodeName, Pid, Timestamp};
use std::net::SocketAddr;

/// The cluster of a node at one moment (rule V88).
///
/// It is read from what the connections share with those who send, so neither the process of the
/// cluster nor those of the connections answer, and none need be able to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ClusterPicture {
    /// The process of the cluster.
    pub process: Pid,
    /// Which cluster of its node it is, from 1: one that was started again counts anew, also with
    /// the same pid.
    pub number: u64,
    /// Where it listens; `None` while it starts.
    pub address: Option<SocketAddr>,
    /// Whether its connections are encrypted.
    pub is_encrypted: bool,
    /// Beyond how many waiting bytes messages and calls to a node are refused (rule Zmsg13).
    pub bound: usize,
    /// The connections that are up, in the order of the names of their nodes.
    pub connections: Vec<ConnectionGauges>,
    /// The nodes that are kept connected, in the order of their names.
    pub kept: Vec<KeptNode>,
    /// What did not arrive.
    pub stats: ClusterStats,
}

impl ClusterPicture {
    /// Creates a picture of a cluster without connections, for clusters to fill in.
    #[must_use]
    pub fn new(process: Pid) -> Self {
        ClusterPicture {
            process,
            number: 1,
            address: None,
            is_encrypted: false,
            bound: 0,
            connections: Vec::new(),
            kept: Vec::new(),
            stats: ClusterStats::default(),
        }
    }

    /// Returns the picture after `fill`.
    #[must_use]
    pub fn with(mut self, fill: impl FnOnce(&mut Self)) -> Self {
        fill(&mut self);
        self
    }
}

/// The numbers of a connection between two nodes at one moment (rule Zobs1).
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ConnectionGauges {
    /// The other node.
    pub node: NodeName,
    /// Which connection of its cluster it is: each one counts anew.
    pub number: u64,
    /// The creation of the other node.
    pub creation: u32,
    /// The process of the connection, while it lives.
    pub process: Option<Pid>,
    /// Whether this node has dialled.
    pub is_dialled: bool,
    /// Since when the connection is up, on the clock of this node.
    pub since: Timestamp,
    /// The bytes that were received since then.
    pub bytes_in: u64,
    /// The bytes that were handed to the system since then.
    pub bytes_out: u64,
    /// The messages that were received since then: those of processes, links, monitors and exits.
    pub messages_in: u64,
    /// The messages that were sent since then.
    pub messages_out: u64,
    /// The messages that were received since then, and that no process handled.
    pub dead_letters: u64,
    /// The answers that were received since then, and whose calls were over (rule Zcall5).
    pub late_replies: u64,
    /// The bytes that wait to be sent.
    pub waiting: usize,
    /// The most bytes that have waited.
    pub most_waiting: usize,
    /// How often a message or a call was refused because too much waited.
    pub refusals: u64,
    /// The links between processes of the two nodes, and unlinks without an acknowledgement.
    pub links: usize,
    /// The monitors of processes of this node on processes there.
    pub monitors: usize,
    /// The monitors of processes there on processes of this node.
    pub foreign_monitors: usize,
    /// The processes there that are linked or monitored, or link or monitor.
    pub bound_processes: usize,
    /// The functions of this node that processes there have called, without an outcome.
    pub functions: usize,
    /// The processes of this node that processes there have requested, and that live.
    pub spawned: usize,
}

impl ConnectionGauges {
    /// Creates gauges of a connection over which nothing went, for clusters to fill in.
    #[must_use]
    pub fn new(node: NodeName, creation: u32, since: Timestamp) -> Self {
        ConnectionGauges {
            node,
            number: 0,
            creation,
            process: None,
            is_dialled: false,
            since,
            bytes_in: 0,
            bytes_out: 0,
            messages_in: 0,
            messages_out: 0,
            dead_letters: 0,
            late_replies: 0,
            waiting: 0,
            most_waiting: 0,
            refusals: 0,
            links: 0,
            monitors: 0,
            foreign_monitors: 0,
            bound_processes: 0,
            functions: 0,
            spawned: 0,
        }
    }

    /// Returns the gauges after `fill`.
    #[must_use]
    pub fn with(mut self, fill: impl FnOnce(&mut Self)) -> Self {
        fill(&mut self);
        self
    }
}
