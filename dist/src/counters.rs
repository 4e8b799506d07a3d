//! Counters of a cluster.

use std::sync::atomic::{AtomicU64, Ordering};

/// How many messages did not arrive, since the cluster was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClusterStats {
    /// Messages from other nodes to names that are not exported, or to pids that are unknown
    /// here (rule Zmsg10).
    pub unreachable: u64,
    /// Messages from other nodes that are not of their receiver's type (rule Zmsg8).
    pub undecodable: u64,
    /// Messages from other nodes that a full mailbox refused (rule Zmsg12).
    pub refused: u64,
    /// Answers to calls that were over (rule Zcall5): those of other nodes, and those of this one to
    /// callers whose connection was lost (rule Zlive5), or whose node could not be dialled or has
    /// started again.
    pub late: u64,
    /// Signals of this node that could not be written.
    pub dropped: u64,
    /// Requests of other nodes for a process that were refused because they had too many (rule
    /// Zcall9).
    pub refused_spawns: u64,
    /// Replies to spawn requests that this node had not made (rule Zsec5).
    pub unasked_replies: u64,
    /// What nodes asked for without the right to it ([`NodeRights`](crate::NodeRights), rule Zsec4).
    pub denied: u64,
    /// Members of groups, and scopes, that another node has announced beyond its bound (rule Zpg5).
    pub refused_members: u64,
    /// Messages to scopes of groups that were missed because too much waited. The members of the
    /// node were asked for again (rule Zpg4).
    pub missed_scope_messages: u64,
    /// Connections that have ended before they were up. Of others: strangers, wrong cookies and
    /// certificates, handshakes that took too long, and dials that gave way to this node's. Of this
    /// node: dials whose handshake failed, most often because the cookies differ (rules Zhs4,
    /// Zsec6, Zhs11).
    pub failed_handshakes: u64,
}

#[derive(Debug, Default)]
pub(crate) struct ClusterCounters {
    unreachable: AtomicU64,
    undecodable: AtomicU64,
    refused: AtomicU64,
    late: AtomicU64,
    dropped: AtomicU64,
    refused_spawns: AtomicU64,
    unasked_replies: AtomicU64,
    denied: AtomicU64,
    refused_members: AtomicU64,
    missed_scope_messages: AtomicU64,
    failed_handshakes: AtomicU64,
}

impl ClusterCounters {
    pub(crate) fn unreachable(&self) {
        self.unreachable.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn undecodable(&self) {
        self.undecodable.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn late(&self) {
        self.late.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn dropped(&self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn spawn_refused(&self) {
        self.refused_spawns.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn unasked_reply(&self) {
        self.unasked_replies.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn denied(&self) {
        self.denied.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn member_refused(&self, count: u64) {
        self.refused_members.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn scope_message_missed(&self) {
        self.missed_scope_messages.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn handshake_failed(&self) {
        self.failed_handshakes.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn stats(&self) -> ClusterStats {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ClusterStats {
            unreachable: load(&self.unreachable),
            undecodable: load(&self.undecodable),
            refused: load(&self.refused),
            late: load(&self.late),
            dropped: load(&self.dropped),
            refused_spawns: load(&self.refused_spawns),
            unasked_replies: load(&self.unasked_replies),
            denied: load(&self.denied),
            refused_members: load(&self.refused_members),
            missed_scope_messages: load(&self.missed_scope_messages),
            failed_handshakes: load(&self.failed_handshakes),
        }
    }
}
