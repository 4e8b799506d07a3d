//! The sub-queue of processes of high class (rule R6), and the one word that a worker looks at
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
//! behind a lock: high processes are few, or none of them is.
//!
//! A process that is taken from here goes back to here when its turn was too short for it. That
//! it is of high class nobody needs to ask: who schedules it does so through a host of that
//! class ([`super::any::Dispatcher::Classed`]), and who runs it has taken it from here.

use crate::sync::{AtomicUsize, Mutex, Ordering};
use std::collections::VecDeque;

/// Turns of high processes in a row, before a normal one has its turn.
pub(crate) const IN_A_ROW: u32 = 16;

const STOPPED: usize = 1;
const ONE: usize = 2;

/// Of `Ready` processes; of numbers in the models.
pub(crate) struct Express<T> {
    /// [`STOPPED`], and [`ONE`] for each process in the queue. Written under its lock.
    word: AtomicUsize,
    queue: Mutex<VecDeque<T>>,
}

impl<T> Express<T> {
    pub(crate) fn new() -> Self {
        Express { word: AtomicUsize::new(0), queue: Mutex::new(VecDeque::new()) }
    }

    /// Whether there is anything else to do than to run a normal process. A hint: who parks
    /// asks [`Express::is_quiet`] behind its fence.
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
        let _queue = self.queue.lock();
        self.word.fetch_or(STOPPED, Ordering::SeqCst);
    }

    /// Processes in the queue.
    pub(crate) fn len(&self) -> usize {
        self.word.load(Ordering::Relaxed) / ONE
    }

    pub(crate) fn push(&self, ready: T) {
        let mut queue = self.queue.lock();
        queue.push_back(ready);
        self.word.fetch_add(ONE, Ordering::SeqCst);
    }

    pub(crate) fn pop(&self) -> Option<T> {
        let mut queue = self.queue.lock();
        let ready = queue.pop_front()?;
        self.word.fetch_sub(ONE, Ordering::SeqCst);
        Some(ready)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn r6_the_word_says_what_is_there() {
        let express = Express::new();
        assert!(express.is_quiet() && !express.calls());
        (0..3).for_each(|n| express.push(n));
        assert_eq!((express.len(), express.calls(), express.has_stopped()), (3, true, false));
        express.stop();
        assert_eq!((express.pop(), express.pop(), express.pop()), (Some(0), Some(1), Some(2)));
        assert_eq!((express.pop(), express.len(), express.is_quiet()), (None, 0, false));
        assert!(express.has_stopped());
    }
}
