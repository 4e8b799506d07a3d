//! The record that a turn leaves for observers of its worker.

use krarup_gen::Pid;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The slot of a worker, in which its turns record their process. Only the worker writes it, so
/// relaxed loads and stores are enough; other threads may read it.
#[derive(Debug, Default)]
pub struct WorkerSlot {
    /// The number of the running process; 0: none.
    pid: AtomicU64,
    /// Whether a process was muted here since the last look.
    muted: AtomicBool,
    /// Whether the turn was taken elsewhere than from the queue of a worker.
    detached: bool,
}

impl WorkerSlot {
    /// Makes a slot for a turn that was not taken from the queue of a worker.
    pub(crate) fn detached() -> Self {
        WorkerSlot { detached: true, ..WorkerSlot::default() }
    }

    /// Returns the number of the running process; 0: none.
    #[must_use]
    pub fn pid(&self) -> u64 {
        self.pid.load(Ordering::Relaxed)
    }

    /// Records the running process; 0: none.
    #[inline]
    pub fn set_pid(&self, pid: u64) {
        self.pid.store(pid, Ordering::Relaxed);
    }

    /// Returns whether a process was muted here since the last call: one that fills the mailbox of
    /// another faster than that empties it, and waits for it.
    #[must_use]
    pub fn take_muted(&self) -> bool {
        self.muted.load(Ordering::Relaxed) && {
            self.muted.store(false, Ordering::Relaxed);
            true
        }
    }

    pub(crate) fn note_muted(&self) {
        self.muted.store(true, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn begin(&self, pid: Pid) {
        self.set_pid(pid.id());
    }

    /// Whether the turn was taken elsewhere than from the queue of a worker.
    pub(crate) fn is_detached(&self) -> bool {
        self.detached
    }
}
