//! Spare workers: they fill in for workers that a handler holds (rule R4).
//!
//! ```text
//!   watchdog: more workers stuck than spares live, work waits, no worker is parked
//!      │ enter                                            stuck again fewer than live
//!      ▼                                                              │
//!   free slot ──► thread: a worker without a queue of its own ──► leave: slot free again
//! ```
//!
//! A spare takes one process at a time from the injector or from a worker's queue, and what it
//! makes ready goes to the injector. It searches, parks and is woken like any worker (see
//! [`super::sleep`]), so that protocol is unchanged when a spare starts. A spare leaves between
//! two turns, never while it is on the stack of the parked workers. If it was the last to search
//! it wakes another worker, because pushes meanwhile woke none.
//!
//! There are at most as many slots as the dispatcher has workers, so the number of threads is
//! still the workers and a constant (rule R3).

use super::worker_parker::WorkerParker;
use crate::sync::{AtomicUsize, Mutex, Ordering};

pub(crate) struct SpareWorkers {
    /// The spare threads that exist, and the most that there should be.
    live: AtomicUsize,
    wanted: AtomicUsize,
    /// The indices and parkers of the free slots. Their indices follow those of the workers.
    free: Mutex<Vec<SpareSlot>>,
}

/// The index and the parker of a spare while it lives.
pub(crate) struct SpareSlot {
    pub(crate) index: usize,
    pub(crate) parker: WorkerParker,
}

impl SpareWorkers {
    pub(crate) fn new(slots: Vec<SpareSlot>) -> Self {
        SpareWorkers {
            live: AtomicUsize::new(0),
            wanted: AtomicUsize::new(0),
            free: Mutex::new(slots),
        }
    }

    pub(crate) fn live(&self) -> usize {
        self.live.load(Ordering::SeqCst)
    }

    /// Sets the number of stuck workers. Returns whether there are too many spares.
    pub(crate) fn want(&self, stuck: usize) -> bool {
        self.wanted.store(stuck, Ordering::SeqCst);
        self.surplus()
    }

    /// Whether a spare should leave.
    pub(crate) fn surplus(&self) -> bool {
        self.live.load(Ordering::SeqCst) > self.wanted.load(Ordering::SeqCst)
    }

    /// Takes a slot for one more spare, if one is free.
    pub(crate) fn enter(&self) -> Option<SpareSlot> {
        let slot = self.free.lock().pop()?;
        self.live.fetch_add(1, Ordering::SeqCst);
        Some(slot)
    }

    /// Whether the calling spare must leave. If so, it is no longer counted.
    pub(crate) fn leaves(&self) -> bool {
        if !self.surplus() {
            return false;
        }
        // One leaves at a time, or every spare would see that there is one too many.
        let _one = self.free.lock();
        let surplus = self.surplus();
        if surplus {
            self.live.fetch_sub(1, Ordering::SeqCst);
        }
        surplus
    }

    /// Returns the slot of a spare that has left, or of a thread that could not be started.
    pub(crate) fn give_back(&self, slot: SpareSlot) {
        self.free.lock().push(slot);
    }

    /// Uncounts a spare whose thread could not be started.
    pub(crate) fn miss(&self) {
        self.live.fetch_sub(1, Ordering::SeqCst);
    }
}
