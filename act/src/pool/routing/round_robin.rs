//! One after the other.

use super::{Choice, Routing, Workers};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Strict rotation over the workers (rule P1), from any number of senders; the default.
///
/// One that is full or dead is passed over, and the turn goes to the one after the taker.
#[derive(Debug, Default)]
pub struct RoundRobin {
    /// Index of the worker whose turn it is.
    next: AtomicUsize,
}

impl RoundRobin {
    /// A rotation that begins with the first worker.
    #[must_use]
    pub const fn new() -> Self {
        RoundRobin { next: AtomicUsize::new(0) }
    }

    /// Takes the turn: the index of the worker whose turn it was.
    #[inline]
    pub(super) fn take(&self, workers: usize) -> usize {
        let after = |turn: usize| if turn + 1 >= workers { 0 } else { turn + 1 };
        let taken =
            self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |turn| Some(after(turn)));
        // The closure always gives a value, so both arms carry the turn before.
        taken.unwrap_or_else(|turn| turn).min(workers - 1)
    }
}

impl<M> Routing<M> for RoundRobin {
    fn has_hint(&self) -> bool {
        false
    }

    #[inline]
    fn choose(&self, _: u64, workers: &Workers<'_>) -> Choice<M> {
        Choice::After(self.take(workers.count()))
    }

    /// The turn passes to the one after the taker, unless others have moved it meanwhile.
    fn passed_over(&self, chosen: usize, taker: usize, workers: usize) {
        let expected = (chosen + 1) % workers;
        let after = (taker + 1) % workers;
        let _ = self.next.compare_exchange(expected, after, Ordering::Relaxed, Ordering::Relaxed);
    }

    fn turn(&self) -> usize {
        self.next.load(Ordering::Relaxed)
    }

    fn rewind(&self) {
        self.next.store(0, Ordering::Relaxed);
    }
}
