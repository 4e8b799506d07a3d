//! Routing in rotation.

use super::{Choice, Routing, Workers};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Strict rotation over the workers (rule P1), from any number of senders; the default.
///
/// A worker that is full or has ended is skipped, and the next turn is that of the worker after
/// the one that took the message.
#[derive(Debug, Default)]
pub struct RoundRobin {
    /// The index of the worker whose turn is next.
    next: AtomicUsize,
}

impl RoundRobin {
    /// Creates a rotation that begins with the first worker.
    #[must_use]
    pub const fn new() -> Self {
        RoundRobin { next: AtomicUsize::new(0) }
    }

    /// Takes the turn. Returns the index of the worker whose turn it was.
    #[inline]
    pub(super) fn take(&self, workers: usize) -> usize {
        let after = |turn: usize| if turn + 1 >= workers { 0 } else { turn + 1 };
        let taken =
            self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |turn| Some(after(turn)));
        // The closure always returns a value, so both arms hold the previous turn.
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

    /// The turn moves to the worker after the taker, unless another sender has moved it in the
    /// meantime.
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
