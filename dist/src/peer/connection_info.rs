//! What a node tells of a connection (rule Zobs1).

use super::{PeerNode, Phase};
use krarup_gen::{ConnectionGauges, Inspection, NodeName, Pid, Timestamp};
use krarup_wire::DistributionFlags;
use krarup_wire::peers::ConnectionId;

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
    /// The messages that were received since then, and that no process handled: they are dead
    /// letters of this node (rule Zobs4).
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
    /// The processes of this node that processes there have requested, and that live: those of
    /// functions and of factories.
    pub spawned: usize,
}

impl ConnectionInfo {
    /// The numbers as items of an inspection. The process counts its bytes itself.
    pub(crate) fn inspection(&self) -> Inspection {
        let count = |number: usize| number as u64;
        Inspection::new()
            .with("creation", u64::from(self.creation))
            .with("dialled", self.is_dialled)
            .with("messages_in", self.messages_in)
            .with("messages_out", self.messages_out)
            .with("dead_letters", self.dead_letters)
            .with("late_replies", self.late_replies)
            .with("waiting", count(self.waiting))
            .with("most_waiting", count(self.most_waiting))
            .with("refusals", self.refusals)
            .with("links", count(self.links))
            .with("monitors", count(self.monitors))
            .with("foreign_monitors", count(self.foreign_monitors))
            .with("functions", count(self.functions))
            .with("spawned", count(self.spawned))
    }

    /// The numbers for those who do not know the protocol, and so no flags.
    pub(crate) fn gauges(self, number: ConnectionId, process: Option<Pid>) -> ConnectionGauges {
        ConnectionGauges::new(self.node, self.creation, self.since).with(|gauges| {
            gauges.number = number;
            gauges.process = process;
            gauges.is_dialled = self.is_dialled;
            gauges.bytes_in = self.bytes_in;
            gauges.bytes_out = self.bytes_out;
            gauges.messages_in = self.messages_in;
            gauges.messages_out = self.messages_out;
            gauges.dead_letters = self.dead_letters;
            gauges.late_replies = self.late_replies;
            gauges.waiting = self.waiting;
            gauges.most_waiting = self.most_waiting;
            gauges.refusals = self.refusals;
            gauges.links = self.links;
            gauges.monitors = self.monitors;
            gauges.foreign_monitors = self.foreign_monitors;
            gauges.bound_processes = self.bound_processes;
            gauges.functions = self.functions;
            gauges.spawned = self.spawned;
        })
    }
}

impl PeerNode {
    /// Describes the connection, if there is one.
    pub(crate) fn describe(&self) -> Option<ConnectionInfo> {
        self.described().map(|(_, info)| info)
    }

    /// Describes the connection, with its number.
    pub(crate) fn described(&self) -> Option<(ConnectionId, ConnectionInfo)> {
        let bound_processes = self.proxies.lock().bonded();
        let state = self.state.lock();
        let Phase::Up(up) = &state.phase else { return None };
        let (sent, waiting) = (up.sent, state.waiting());
        let [bytes_in, messages_in, dead_letters, late_replies] = self.received.counts();
        let info = ConnectionInfo {
            node: self.node.clone(),
            creation: up.creation,
            flags: up.flags,
            is_dialled: up.is_dialled,
            since: up.since,
            bytes_in,
            bytes_out: sent.bytes,
            messages_in,
            messages_out: sent.messages,
            dead_letters,
            late_replies,
            waiting,
            most_waiting: sent.most_waiting.max(waiting),
            refusals: sent.refusals,
            links: state.links.len(),
            monitors: state.monitors.len(),
            foreign_monitors: state.foreign.len(),
            bound_processes,
            functions: state.runs.len(),
            spawned: self.spawned.get(),
        };
        Some((up.connection, info))
    }
}
