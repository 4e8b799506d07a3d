//! What went over a connection since it is up.

use std::sync::atomic::{AtomicU64, Ordering};

/// What the process of a connection counts. It is alone in that, and takes no lock for it.
#[derive(Debug, Default)]
pub(crate) struct ReceivedCounters {
    bytes: AtomicU64,
    messages: AtomicU64,
}

impl ReceivedCounters {
    pub(crate) fn frame(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn message(&self) {
        self.messages.fetch_add(1, Ordering::Relaxed);
    }

    /// The bytes and the messages.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.bytes.load(Ordering::Relaxed), self.messages.load(Ordering::Relaxed))
    }

    pub(crate) fn reset(&self) {
        self.bytes.store(0, Ordering::Relaxed);
        self.messages.store(0, Ordering::Relaxed);
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
