//! The sub-queues of processes that go before all others: those of high class (rule R6), and those
//! that are called while they owe turns (rules M4, X3); and the one word that a worker looks at
//! before each turn.
//!
//! ```text
//!                        ┌──────────── word: 0? ────────────┐
//!   before each turn ──► │ stopped │ processes in the queue │ ──► 0: a normal process, as ever
//!                        └──────────────────────────────────┘
//!                             not 0: up to 16 of these, then one normal process
//! ```
//!
//! A worker has to look before each turn whether its dispatcher has stopped. The number of
//! waiting high processes lies in the same word, so that who uses none pays nothing for them
//! (docs/performance.md). The queue is one for all workers and spares, first in, first out,
//! behind a lock: high processes are few, or none of them is. Those who are called go first, for
//! one turn each.
//!
//! A high process that is taken from here goes back to here when its turn was too short for it. That
//! it is of high class nobody needs to ask: who schedules it does so through a host of that
//! class ([`super::any::Dispatcher::Classed`]), and who runs it has taken it from here.

use crate::sync::{AtomicUsize, Mutex, Ordering};
use std::collections::VecDeque;

/// Turns of high processes in a row, before a normal one has its turn.
pub(crate) const IN_A_ROW: u32 = 16;

const STOPPED: usize = 1;
const ONE: usize = 2;

/// Of `Ready` processes; of numbers in the models.
pub(crate) struct PriorityQueue<T> {
    /// [`STOPPED`], and [`ONE`] for each process in the queue. Written under its lock.
    word: AtomicUsize,
    queues: Mutex<Queues<T>>,
}

struct Queues<T> {
    called: VecDeque<T>,
    high: VecDeque<T>,
}

/// One that was taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ahead<T> {
    /// It was called: this turn goes before others, and its next does not.
    Called(T),
    /// It is of high class.
    High(T),
}

impl<T> Ahead<T> {
    pub(crate) fn into_inner(self) -> T {
        match self {
            Ahead::Called(ready) | Ahead::High(ready) => ready,
        }
    }
}

impl<T> PriorityQueue<T> {
    pub(crate) fn new() -> Self {
        let queues = Queues { called: VecDeque::new(), high: VecDeque::new() };
        PriorityQueue { word: AtomicUsize::new(0), queues: Mutex::new(queues) }
    }

    /// Whether there is anything else to do than to run a normal process. A hint: who parks
    /// asks [`PriorityQueue::is_quiet`] behind its fence.
    #[inline]
    pub(crate) fn calls(&self) -> bool {
        self.word.load(Ordering::Relaxed) != 0
    }

    /// Neither stopped nor anything queued.
    pub(crate) fn is_quiet(&self) -> bool {
        self.word.load(Ordering::SeqCst) == 0
    }

    pub(crate) fn has_stopped(&self) -> bool {
        self.word.load(Ordering::Relaxed) & STOPPED != 0
    }

    pub(crate) fn stop(&self) {
        let _queues = self.queues.lock();
        self.word.fetch_or(STOPPED, Ordering::SeqCst);
    }

    /// Processes in both queues.
    pub(crate) fn len(&self) -> usize {
        self.word.load(Ordering::Relaxed) / ONE
    }

    /// Puts in one of high class.
    pub(crate) fn push(&self, ready: T) {
        let mut queues = self.queues.lock();
        queues.high.push_back(ready);
        self.word.fetch_add(ONE, Ordering::SeqCst);
    }

    /// Puts in one that is called.
    pub(crate) fn call(&self, ready: T) {
        let mut queues = self.queues.lock();
        queues.called.push_back(ready);
        self.word.fetch_add(ONE, Ordering::SeqCst);
    }

    pub(crate) fn pop(&self) -> Option<Ahead<T>> {
        let mut queues = self.queues.lock();
        let called = queues.called.pop_front().map(Ahead::Called);
        let ahead = called.or_else(|| queues.high.pop_front().map(Ahead::High))?;
        self.word.fetch_sub(ONE, Ordering::SeqCst);
        Some(ahead)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn r6_the_word_says_what_is_there() {
        let express = PriorityQueue::new();
        assert!(express.is_quiet() && !express.calls());
        (0..3).for_each(|n| express.push(n));
        assert_eq!((express.len(), express.calls(), express.has_stopped()), (3, true, false));
        express.stop();
        let popped: Vec<_> = std::iter::from_fn(|| express.pop()).collect();
        assert_eq!(popped, [Ahead::High(0), Ahead::High(1), Ahead::High(2)]);
        assert_eq!((express.pop(), express.len(), express.is_quiet()), (None, 0, false));
        assert!(express.has_stopped());
    }

    #[test]
    fn m4_who_is_called_goes_first_and_in_turn() {
        let express = PriorityQueue::new();
        express.push(0);
        express.call(1);
        express.push(2);
        express.call(3);
        assert_eq!((express.len(), express.calls()), (4, true));
        let popped: Vec<_> = std::iter::from_fn(|| express.pop()).collect();
        assert_eq!(popped, [Ahead::Called(1), Ahead::Called(3), Ahead::High(0), Ahead::High(2)]);
        assert!(express.is_quiet());
    }
}
