//! What a cluster counts.

use krarup_gen::ClusterStats;
use std::sync::atomic::{AtomicU64, Ordering};

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
        ClusterStats::default().with(|stats| {
            stats.unreachable = load(&self.unreachable);
            stats.undecodable = load(&self.undecodable);
            stats.refused = load(&self.refused);
            stats.late = load(&self.late);
            stats.dropped = load(&self.dropped);
            stats.refused_spawns = load(&self.refused_spawns);
            stats.unasked_replies = load(&self.unasked_replies);
            stats.denied = load(&self.denied);
            stats.refused_members = load(&self.refused_members);
            stats.missed_scope_messages = load(&self.missed_scope_messages);
            stats.failed_handshakes = load(&self.failed_handshakes);
        })
    }
}
