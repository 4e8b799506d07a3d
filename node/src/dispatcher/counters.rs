//! What a worker writes down for others to read: what it does now and has done.

use std::sync::atomic::{AtomicU64, Ordering};

/// In a cache line of its own, written by one worker alone: relaxed loads and stores are
/// enough, and the worker pays for them what it pays for its own variables.
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct Counters {
    turns: AtomicU64,
    /// The number of the process it runs; 0 while it looks for one or sleeps.
    pid: AtomicU64,
    steals: AtomicU64,
    parks: AtomicU64,
}

/// A worker at a glance: which turn it is in, and of which process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Glance {
    pub(crate) turns: u64,
    /// 0: it is in none.
    pub(crate) pid: u64,
}

fn count(counter: &AtomicU64) {
    counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

impl Counters {
    /// It begins a turn of this process. The end of a turn is not written down: the next
    /// begins at once, or the worker is idle.
    #[inline]
    pub(crate) fn begin_turn(&self, pid: u64) {
        count(&self.turns);
        self.pid.store(pid, Ordering::Relaxed);
    }

    /// It begins a turn of a process that is written down in [`Counters::in_hand`].
    #[inline]
    pub(crate) fn count_turn(&self) {
        count(&self.turns);
    }

    /// Where the number of the process is written down that it runs.
    #[inline]
    pub(crate) fn in_hand(&self) -> &AtomicU64 {
        &self.pid
    }

    /// It has nothing to run at hand.
    pub(crate) fn idle(&self) {
        self.pid.store(0, Ordering::Relaxed);
    }

    pub(crate) fn count_steal(&self) {
        count(&self.steals);
    }

    pub(crate) fn count_park(&self) {
        count(&self.parks);
    }

    /// The two may be of neighbouring turns: then the next glance tells.
    pub(crate) fn glance(&self) -> Glance {
        Glance { turns: self.turns.load(Ordering::Relaxed), pid: self.pid.load(Ordering::Relaxed) }
    }

    /// Turns, steals, parks.
    pub(crate) fn sums(all: &[Counters]) -> (u64, u64, u64) {
        let sum = |pick: fn(&Counters) -> &AtomicU64| {
            all.iter().map(|counters| pick(counters).load(Ordering::Relaxed)).sum()
        };
        (sum(|c| &c.turns), sum(|c| &c.steals), sum(|c| &c.parks))
    }
}
