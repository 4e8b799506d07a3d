//! What a worker publishes for other threads: its current turn and its statistics.

use krarup_act::WorkerSlot;
use krarup_gen::{Histogram, WorkerStats};
use std::sync::atomic::{AtomicU64, Ordering};

/// A worker measures one turn in this many takes. A multiple of `shared::LOOK_UP_INTERVAL`, at
/// which a worker leaves its fast path anyway.
pub(crate) const SAMPLE_INTERVAL: u32 = 61 * 16;

/// The counters have a cache line of their own, and one worker alone writes them. Relaxed loads
/// and stores are therefore enough, and they cost the worker as much as its local variables.
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct Counters {
    turns: AtomicU64,
    /// The process that the worker runs; none while it searches or sleeps.
    slot: WorkerSlot,
    /// The greatest length of its own queue. Counted from two.
    longest: AtomicU64,
    high_turns: AtomicU64,
    spills: AtomicU64,
    injector_takes: AtomicU64,
    steal_attempts: AtomicU64,
    steals: AtomicU64,
    stolen: AtomicU64,
    parks: AtomicU64,
    messages: [AtomicU64; Histogram::PLACES],
    message_sum: AtomicU64,
}

/// A snapshot of a worker: which turn it is in, and of which process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WorkerSnapshot {
    pub(crate) turns: u64,
    /// 0: it is in no turn.
    pub(crate) pid: u64,
}

fn add(counter: &AtomicU64, number: u64) {
    counter.store(counter.load(Ordering::Relaxed) + number, Ordering::Relaxed);
}

impl Counters {
    /// Records that the worker begins a turn of this process. The end of a turn is not recorded:
    /// the next turn begins at once, or the worker is idle.
    #[inline]
    pub(crate) fn begin_turn(&self, pid: u64) {
        add(&self.turns, 1);
        self.slot.set_pid(pid);
    }

    /// Like [`Counters::begin_turn`], for a process of high class.
    pub(crate) fn begin_high_turn(&self, pid: u64) {
        add(&self.high_turns, 1);
        self.begin_turn(pid);
    }

    /// Records that the worker begins a turn of a process that is already recorded in its
    /// [`Counters::slot`].
    #[inline]
    pub(crate) fn count_turn(&self) {
        add(&self.turns, 1);
    }

    /// The worker slot in which a turn records what its worker must know.
    #[inline]
    pub(crate) fn slot(&self) -> &WorkerSlot {
        &self.slot
    }

    /// Records that the worker has no process to run.
    pub(crate) fn idle(&self) {
        self.slot.set_pid(0);
    }

    /// Records the length of the worker's own queue, which is more than one.
    #[inline]
    pub(crate) fn note_length(&self, queued: usize) {
        if queued as u64 > self.longest.load(Ordering::Relaxed) {
            self.longest.store(queued as u64, Ordering::Relaxed);
        }
    }

    pub(crate) fn count_spill(&self) {
        add(&self.spills, 1);
    }

    pub(crate) fn count_injector_take(&self) {
        add(&self.injector_takes, 1);
    }

    pub(crate) fn count_steal_attempt(&self) {
        add(&self.steal_attempts, 1);
    }

    /// Records a theft of this many processes.
    pub(crate) fn count_steal(&self, processes: usize) {
        add(&self.steals, 1);
        add(&self.stolen, processes as u64);
    }

    pub(crate) fn count_park(&self) {
        add(&self.parks, 1);
    }

    /// Records that a measured turn handled this many messages.
    pub(crate) fn count_messages(&self, messages: u64) {
        add(&self.messages[Histogram::place(messages)], 1);
        add(&self.message_sum, messages);
    }

    /// A snapshot. The two values may belong to neighbouring turns; the next snapshot corrects
    /// that.
    pub(crate) fn snapshot(&self) -> WorkerSnapshot {
        WorkerSnapshot { turns: self.turns.load(Ordering::Relaxed), pid: self.slot.pid() }
    }

    /// All counters, for a worker whose queue now holds `queued` processes.
    pub(crate) fn stats(&self, queued: usize) -> WorkerStats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        WorkerStats::default().with(|stats| {
            stats.turns = read(&self.turns);
            stats.high_turns = read(&self.high_turns);
            stats.queued = queued;
            stats.longest_queue = usize::try_from(read(&self.longest)).unwrap_or(usize::MAX);
            stats.spills = read(&self.spills);
            stats.injector_takes = read(&self.injector_takes);
            stats.steal_attempts = read(&self.steal_attempts);
            stats.steals = read(&self.steals);
            stats.stolen = read(&self.stolen);
            stats.parks = read(&self.parks);
            stats.messages_per_turn = Histogram {
                counts: std::array::from_fn(|n| read(&self.messages[n])),
                sum: read(&self.message_sum),
            };
        })
    }
}
