//! What only the turn of a process writes of it, in one word.

use crate::sync::{AtomicU64, Ordering};

/// A worker runs the process.
const RUNNING: u64 = 1;
/// The relations of the process are closed: it has ended.
const CLOSED: u64 = 2;
/// The messages are counted in what is left.
const SENT: u32 = 2;

/// How many messages a process has sent, whether a worker runs it, and whether its relations are closed. It has one
/// writer at a time, the turn, which writes `CLOSED` under the lock of the relations. So no store takes more than a
/// relaxed load and a relaxed store.
pub(super) struct TurnWord(AtomicU64);

impl TurnWord {
    pub(super) fn new() -> Self {
        TurnWord(AtomicU64::new(0))
    }

    #[inline]
    fn load(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// A turn begins.
    #[inline]
    pub(super) fn begin(&self) {
        self.0.store(self.load() | RUNNING, Ordering::Relaxed);
    }

    /// A turn is over, in which so many messages were sent.
    #[inline]
    pub(super) fn rest(&self, sent: u64) {
        self.0.store((self.load() & !RUNNING) + (sent << SENT), Ordering::Relaxed);
    }

    /// Whether a worker runs the process.
    #[inline]
    pub(super) fn is_running(&self) -> bool {
        self.load() & RUNNING != 0
    }

    /// How many messages were sent up to the end of the last turn.
    pub(super) fn sent(&self) -> u64 {
        self.load() >> SENT
    }

    /// Closes the relations, for good.
    pub(super) fn close(&self) {
        self.0.store(self.load() | CLOSED, Ordering::Relaxed);
    }

    /// Whether the relations are closed. Asked under their lock.
    pub(super) fn is_closed(&self) -> bool {
        self.load() & CLOSED != 0
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn x3_the_parts_of_the_word_do_not_change_each_other() {
        let word = TurnWord::new();
        word.begin();
        assert!(word.is_running() && !word.is_closed() && word.sent() == 0);
        word.rest(3);
        word.begin();
        word.rest(u64::from(u32::MAX));
        assert!(!word.is_running() && !word.is_closed());
        assert_eq!(word.sent(), u64::from(u32::MAX) + 3);
        word.close();
        assert!(word.is_closed() && !word.is_running());
        word.begin();
        word.rest(1);
        assert!(word.is_closed(), "for good");
        assert_eq!(word.sent(), u64::from(u32::MAX) + 4);
    }
}
