//! Spare workers: who fills in for a worker that a handler holds (rule R4).
//!
//! ```text
//!   watchdog: more workers stuck than spares live, work waits, nobody is parked
//!      │ enter                                            stuck again fewer than live
//!      ▼                                                              │
//!   free seat ──► thread: a worker without a queue of its own ──► leave: seat free again
//! ```
//!
//! A spare is a guest: it takes one process at a time from the injector or from a worker's
//! queue, and what it makes ready goes to the injector. It searches, parks and is woken
//! like any worker (see [`super::sleep`]), so nothing of that protocol changes when it
//! comes. It goes between two turns, never while it is on the stack of the parked; if
//! it was the last to search it hands on, for pushes meanwhile woke nobody.
//!
//! There are at most as many seats as the dispatcher has workers, so threads are still
//! the workers and a constant (rule R3).

use crate::sync::{AtomicUsize, Mutex, Ordering, Parker};

pub(crate) struct SpareWorkers {
    /// Threads there are, and that there should be at most.
    live: AtomicUsize,
    wanted: AtomicUsize,
    /// Indices and parkers of those that could be, behind those of the workers.
    free: Mutex<Vec<SpareGuard>>,
}

/// What a spare has while it lives.
pub(crate) struct SpareGuard {
    pub(crate) index: usize,
    pub(crate) parker: Parker,
}

impl SpareWorkers {
    pub(crate) fn new(seats: Vec<SpareGuard>) -> Self {
        SpareWorkers {
            live: AtomicUsize::new(0),
            wanted: AtomicUsize::new(0),
            free: Mutex::new(seats),
        }
    }

    pub(crate) fn live(&self) -> usize {
        self.live.load(Ordering::SeqCst)
    }

    /// As many workers are stuck now. Whether spares are too many.
    pub(crate) fn want(&self, stuck: usize) -> bool {
        self.wanted.store(stuck, Ordering::SeqCst);
        self.surplus()
    }

    /// Whether a spare should leave.
    pub(crate) fn surplus(&self) -> bool {
        self.live.load(Ordering::SeqCst) > self.wanted.load(Ordering::SeqCst)
    }

    /// A seat for one more, if one is free.
    pub(crate) fn enter(&self) -> Option<SpareGuard> {
        let seat = self.free.lock().pop()?;
        self.live.fetch_add(1, Ordering::SeqCst);
        Some(seat)
    }

    /// Whether the spare that asks must leave: then it is not counted any more.
    pub(crate) fn leaves(&self) -> bool {
        if !self.surplus() {
            return false;
        }
        // One leaves at a time, or all would see that there is one too many.
        let _one = self.free.lock();
        let surplus = self.surplus();
        if surplus {
            self.live.fetch_sub(1, Ordering::SeqCst);
        }
        surplus
    }

    /// The seat of one that has left, or of a thread that could not be started.
    pub(crate) fn give_back(&self, seat: SpareGuard) {
        self.free.lock().push(seat);
    }

    /// A thread could not be started.
    pub(crate) fn miss(&self) {
        self.live.fetch_sub(1, Ordering::SeqCst);
    }
}
