//! What a worker has to run: a place for the next process, and the queue behind it.
//!
//! ```text
//!   push ──► next (when all else is empty) ──► pop
//!        └─► rest: FIFO ──────────────────────┘
//!              └──► siblings steal half of it at once; what is in `next` they get behind a long turn
//! ```
//!
//! `next` is filled only while the queue is empty, so it is the oldest of all, and the order is that of one queue. A process that is
//! alone there is the most frequent case of all: a chain of messages between two processes ([`super::next_place`] says
//! what it saves).

use super::next_place::{NextPlace, NextTheft};
use crossbeam_deque::{Stealer, Worker};

/// The end of the worker itself.
pub(super) struct RunQueue<T> {
    next: NextPlace<T>,
    /// Batches from elsewhere are put in here: the worker has run dry then, or has no order to keep.
    pub(super) rest: Worker<T>,
}

/// The end of all others.
pub(super) struct RunQueueStealer<T> {
    pub(super) next: NextTheft<T>,
    pub(super) rest: Stealer<T>,
}

impl<T> RunQueue<T> {
    pub(super) fn new() -> Self {
        RunQueue { next: NextPlace::new(), rest: Worker::new_fifo() }
    }

    pub(super) fn stealer(&self) -> RunQueueStealer<T> {
        RunQueueStealer { next: self.next.theft(), rest: self.rest.stealer() }
    }

    /// To be called now and then: the place may be used only when the system is ready for it.
    pub(super) fn open_place(&self) {
        self.next.open();
    }

    /// Puts an item in if it is alone then, else returns it.
    #[inline]
    pub(super) fn push_alone(&self, item: T) -> Result<(), T> {
        if !self.rest.is_empty() {
            return Err(item);
        }
        match self.next.put(item) {
            Err(item) if !self.next.is_full() => {
                self.rest.push(item);
                Ok(())
            }
            put => put,
        }
    }

    pub(super) fn push(&self, item: T) {
        self.rest.push(item);
    }

    #[inline]
    pub(super) fn pop(&self) -> Option<T> {
        self.next.take().or_else(|| self.rest.pop())
    }

    pub(super) fn len(&self) -> usize {
        usize::from(self.next.is_full()) + self.rest.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.next.is_full() && self.rest.is_empty()
    }
}

impl<T> RunQueueStealer<T> {
    pub(super) fn len(&self) -> usize {
        usize::from(self.next.is_full()) + self.rest.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.next.is_full() && self.rest.is_empty()
    }
}
