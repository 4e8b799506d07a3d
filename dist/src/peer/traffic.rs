//! What went over a connection since it is up.

use std::sync::atomic::{AtomicU64, Ordering};

/// What the process of a connection counts. It is alone in that, and takes no lock for it.
#[derive(Debug, Default)]
pub(crate) struct ReceivedCounters {
    bytes: AtomicU64,
    messages: AtomicU64,
    dead_letters: AtomicU64,
    late: AtomicU64,
}

impl ReceivedCounters {
    pub(crate) fn frame(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn message(&self) {
        self.messages.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn dead_letter(&self) {
        self.dead_letters.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn late(&self) {
        self.late.fetch_add(1, Ordering::Relaxed);
    }

    /// The bytes, the messages, the dead letters and the late replies.
    pub(crate) fn counts(&self) -> [u64; 4] {
        [&self.bytes, &self.messages, &self.dead_letters, &self.late]
            .map(|counter| counter.load(Ordering::Relaxed))
    }

    pub(crate) fn reset(&self) {
        for counter in [&self.bytes, &self.messages, &self.dead_letters, &self.late] {
            counter.store(0, Ordering::Relaxed);
        }
    }
}

/// What is counted of the other direction, with the connection locked.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SentCounters {
    pub(crate) bytes: u64,
    pub(crate) messages: u64,
    pub(crate) most_waiting: usize,
    pub(crate) refusals: u64,
}
