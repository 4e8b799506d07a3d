//! The queue of processes of high class, which run before all others (rule R6), and the one word
//! that a worker reads before each turn.
//!
//! ```text
//!                        ┌──────────── word: 0? ────────────┐
//!   before each turn ──► │ stopped │ records │ processes here │ ──► 0: a normal process, as usual
//!                        └──────────────────────────────────┘
//!                             not 0: up to 16 of these, then one normal process
//! ```
//!
//! A worker has to check before each turn whether its dispatcher has stopped. The number of
//! waiting high processes lies in the same word, so that programs without high processes pay
//! nothing for them (docs/performance.md). So does the bit that says that turns are recorded, for
//! the same reason; it keeps no worker from sleeping. All workers and spares share one queue, first in,
//! first out, behind a lock: either high processes are few, or the class means nothing.
//!
//! A high process that is taken from here returns here if its turn was too short for it. Its
//! class need not be checked: it is scheduled through a host of that class
//! ([`super::any::Dispatcher::Classed`]), and the worker that runs it has taken it from here.

use crate::sync::{AtomicUsize, Mutex, Ordering};
use std::collections::VecDeque;

/// The most turns of high processes in a row before a normal process has a turn.
pub(crate) const IN_A_ROW: u32 = 16;

const STOPPED: usize = 1;
const RECORDS: usize = 2;
const ONE: usize = 4;

/// Holds `Ready` processes; in the models, numbers.
pub(crate) struct PriorityQueue<T> {
    /// [`STOPPED`], [`RECORDS`], and [`ONE`] for each process in the queue. Written under its lock.
    word: AtomicUsize,
    high: Mutex<VecDeque<T>>,
}

impl<T> PriorityQueue<T> {
    pub(crate) fn new() -> Self {
        PriorityQueue { word: AtomicUsize::new(0), high: Mutex::new(VecDeque::new()) }
    }

    /// Whether a worker has anything to do other than to run a normal process. A hint: a worker
    /// that parks calls [`PriorityQueue::is_quiet`] after its fence.
    #[inline]
    pub(crate) fn calls(&self) -> bool {
        self.word.load(Ordering::Relaxed) != 0
    }

    /// Whether the dispatcher has not stopped and nothing is queued.
    pub(crate) fn is_quiet(&self) -> bool {
        self.word.load(Ordering::SeqCst) & !RECORDS == 0
    }

    /// As not [`PriorityQueue::is_quiet`], but a hint.
    pub(crate) fn interrupts(&self) -> bool {
        self.word.load(Ordering::Relaxed) & !RECORDS != 0
    }

    /// Whether the workers were told that turns are recorded.
    pub(crate) fn records(&self) -> bool {
        self.word.load(Ordering::Relaxed) & RECORDS != 0
    }

    pub(crate) fn begin_recording(&self) {
        let _high = self.high.lock();
        self.word.fetch_or(RECORDS, Ordering::SeqCst);
    }

    pub(crate) fn end_recording(&self) {
        let _high = self.high.lock();
        self.word.fetch_and(!RECORDS, Ordering::SeqCst);
    }

    pub(crate) fn has_stopped(&self) -> bool {
        self.word.load(Ordering::Relaxed) & STOPPED != 0
    }

    pub(crate) fn stop(&self) {
        let _high = self.high.lock();
        self.word.fetch_or(STOPPED, Ordering::SeqCst);
    }

    /// The number of processes in the queue.
    pub(crate) fn len(&self) -> usize {
        self.word.load(Ordering::Relaxed) / ONE
    }

    /// Adds a process.
    pub(crate) fn push(&self, ready: T) {
        let mut high = self.high.lock();
        high.push_back(ready);
        self.word.fetch_add(ONE, Ordering::SeqCst);
    }

    pub(crate) fn pop(&self) -> Option<T> {
        let mut high = self.high.lock();
        let ready = high.pop_front()?;
        self.word.fetch_sub(ONE, Ordering::SeqCst);
        Some(ready)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn r6_the_word_counts_the_queued_processes() {
        let priority_queue = PriorityQueue::new();
        assert!(priority_queue.is_quiet() && !priority_queue.calls());
        (0..3).for_each(|n| priority_queue.push(n));
        assert_eq!(
            (priority_queue.len(), priority_queue.calls(), priority_queue.has_stopped()),
            (3, true, false)
        );
        priority_queue.stop();
        let popped: Vec<_> = std::iter::from_fn(|| priority_queue.pop()).collect();
        assert_eq!(popped, [0, 1, 2]);
        assert_eq!(
            (priority_queue.pop(), priority_queue.len(), priority_queue.is_quiet()),
            (None, 0, false)
        );
        assert!(priority_queue.has_stopped());
    }

    #[test]
    fn x13_a_recording_calls_the_workers_and_lets_them_sleep() {
        let priority_queue = PriorityQueue::new();
        priority_queue.begin_recording();
        assert!(priority_queue.records() && priority_queue.calls());
        assert!(priority_queue.is_quiet() && !priority_queue.interrupts());
        assert_eq!((priority_queue.len(), priority_queue.has_stopped()), (0, false));
        priority_queue.push(1);
        assert!(priority_queue.interrupts() && !priority_queue.is_quiet());
        assert_eq!((priority_queue.pop(), priority_queue.len()), (Some(1), 0));
        priority_queue.begin_recording();
        priority_queue.end_recording();
        assert!(!priority_queue.records() && !priority_queue.calls());
    }
}
