//! What a worker writes down for others to read: what it does now and has done.

use krarup_act::WorkerSlot;
use krarup_gen::{Histogram, WorkerStats};
use std::sync::atomic::{AtomicU64, Ordering};

/// Every so many takes of a worker one turn is measured. A multiple of
/// `debtors::LOOK_UP_INTERVAL`, where a worker looks up anyway.
pub(crate) const SAMPLE_INTERVAL: u32 = 61 * 16;

/// In a cache line of its own, written by one worker alone: relaxed loads and stores are
/// enough, and the worker pays for them what it pays for its own variables.
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct Counters {
    turns: AtomicU64,
    /// In hand is the process it runs; none while it looks for one or sleeps.
    seat: WorkerSlot,
    /// The longest its own queue has been, from two on.
    longest: AtomicU64,
    high_turns: AtomicU64,
    spills: AtomicU64,
    injector_takes: AtomicU64,
    steal_attempts: AtomicU64,
    steals: AtomicU64,
    stolen: AtomicU64,
    parks: AtomicU64,
    messages: [AtomicU64; Histogram::PLACES],
}

/// A worker at a glance: which turn it is in, and of which process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WorkerSnapshot {
    pub(crate) turns: u64,
    /// 0: it is in none.
    pub(crate) pid: u64,
}

fn add(counter: &AtomicU64, number: u64) {
    counter.store(counter.load(Ordering::Relaxed) + number, Ordering::Relaxed);
}

impl Counters {
    /// It begins a turn of this process. The end of a turn is not written down: the next
    /// begins at once, or the worker is idle.
    #[inline]
    pub(crate) fn begin_turn(&self, pid: u64) {
        add(&self.turns, 1);
        self.seat.take_in_hand(pid);
    }

    /// As [`Counters::begin_turn`], of a process of high class.
    pub(crate) fn begin_high_turn(&self, pid: u64) {
        add(&self.high_turns, 1);
        self.begin_turn(pid);
    }

    /// It begins a turn of a process that is written down at its [`Counters::seat`].
    #[inline]
    pub(crate) fn count_turn(&self) {
        add(&self.turns, 1);
    }

    /// Where the turns that it runs leave word.
    #[inline]
    pub(crate) fn seat(&self) -> &WorkerSlot {
        &self.seat
    }

    /// It has nothing to run at hand.
    pub(crate) fn idle(&self) {
        self.seat.take_in_hand(0);
    }

    /// Its own queue holds so many, more than one.
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

    /// It has stolen so many processes at once.
    pub(crate) fn count_steal(&self, processes: usize) {
        add(&self.steals, 1);
        add(&self.stolen, processes as u64);
    }

    pub(crate) fn count_park(&self) {
        add(&self.parks, 1);
    }

    /// A turn that was measured handled so many messages.
    pub(crate) fn count_messages(&self, messages: u64) {
        add(&self.messages[Histogram::place(messages)], 1);
    }

    /// The two may be of neighbouring turns: then the next glance tells.
    pub(crate) fn glance(&self) -> WorkerSnapshot {
        WorkerSnapshot { turns: self.turns.load(Ordering::Relaxed), pid: self.seat.pid() }
    }

    /// All of them, of a worker whose queue holds so many now.
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
            stats.messages_per_turn = Histogram(std::array::from_fn(|n| read(&self.messages[n])));
        })
    }
}
