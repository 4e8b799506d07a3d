//! What a node tells of a connection (rule Zobs1).

use super::{PeerNode, Phase};
use krarup_gen::{NodeName, Timestamp};
use krarup_wire::DistributionFlags;

/// A connection, as [`ClusterCalls::connections`](crate::ClusterCalls::connections) tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConnectionInfo {
    /// The other node.
    pub node: NodeName,
    /// The creation of the other node.
    pub creation: u32,
    /// What both nodes have agreed on.
    pub flags: DistributionFlags,
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
    /// The processes of this node that processes there have requested, and that live: those of
    /// functions and of factories.
    pub spawned: usize,
}

impl PeerNode {
    /// Describes the connection, if there is one.
    pub(crate) fn describe(&self) -> Option<ConnectionInfo> {
        let bound_processes = self.proxies.lock().bonded();
        let state = self.state.lock();
        let Phase::Up(up) = &state.phase else { return None };
        let (sent, received, waiting) = (up.sent, self.received.counts(), state.waiting());
        Some(ConnectionInfo {
            node: self.node.clone(),
            creation: up.creation,
            flags: up.flags,
            is_dialled: up.is_dialled,
            since: up.since,
            bytes_in: received.0,
            bytes_out: sent.bytes,
            messages_in: received.1,
            messages_out: sent.messages,
            waiting,
            most_waiting: sent.most_waiting.max(waiting),
            refusals: sent.refusals,
            links: state.links.len(),
            monitors: state.monitors.len(),
            foreign_monitors: state.foreign.len(),
            bound_processes,
            functions: state.runs.len(),
            spawned: self.spawned.get(),
        })
    }
}
