//! Counters of a node.
//!
//! All values are counted since the start, or are current values where the text says *now*.
//! Each is written where the event happens, by a single thread if the event is frequent, and is
//! read without stopping any thread. Counters that are read together may come from slightly
//! different moments. In a node at rest they are exact.

use crate::{CountsBy, DeadLetterCause, MessageTotals, ReasonKind, RefusalCause, RestartKind};
use std::time::Duration;

/// The counters of a node since it started (rule X4).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
#[non_exhaustive]
pub struct NodeStats {
    /// Live processes now.
    pub processes: usize,
    /// Processes spawned since the start.
    pub spawned: u64,
    /// Processes that have ended since the start, by the kind of their reasons. At rest
    /// `spawned` less these is `processes`.
    pub ended: CountsBy<ReasonKind>,
    /// The messages of the processes that have ended. With those of the living, which a walk
    /// returns, they are the messages of the node: read these first, then walk. A process that
    /// ends between the two is left out, so the sum is never too high.
    pub messages_of_ended: MessageTotals,
    /// Registered names now.
    pub names: usize,
    /// Aliases now that are not revoked.
    pub aliases: usize,
    /// Timers now that are set and have neither fired nor been cancelled.
    pub timers: usize,
    /// Messages that were accepted and never handled, or sent to an ended process (rules M7 and
    /// D7).
    pub dead_letters: u64,
    /// The same by cause.
    pub dead_letters_by_cause: CountsBy<DeadLetterCause>,
    /// Messages that were given back to their senders, by cause. That there is no room at once for
    /// a send that waits is none, and neither is a reservation without room or without a process.
    pub refusals: CountsBy<RefusalCause>,
    /// Calls that have timed out.
    pub timed_out_calls: u64,
    /// Cycles of calls that were found (rule C5).
    pub deadlocks: u64,
    /// States that have failed and were replaced, by who has replaced them.
    pub restarts: CountsBy<RestartKind>,
    /// Supervisors that have given up (rule S5).
    pub gave_up: u64,
    /// How often a mailbox was found to hold very many messages: see
    /// `NodeBuilder::mailbox_alarm`.
    pub deep_mailboxes: u64,
    /// Replies that came after their call had timed out or was given up (rule C3).
    pub late_replies: u64,
    /// Side threads for blocking work now. They are started when needed, and end when idle.
    pub blocking_threads: usize,
    /// Blocking work now that waits for a side thread or runs on one.
    pub blocking_work: usize,
    /// One entry per dispatcher that has started. A node that has stopped has none: a stop removes
    /// its dispatchers with their counters.
    pub dispatchers: Vec<DispatcherStats>,
}

/// The counters of a dispatcher since it started (rule X4).
///
/// A simulation fills in only the turns, those of high class, and the queued processes. A
/// pinned dispatcher has no queues and no steals. A calling-thread dispatcher has only turns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
#[non_exhaustive]
pub struct DispatcherStats {
    /// Its name.
    pub name: String,
    /// Whether it gives each process a thread of its own (rule R5).
    pub is_pinned: bool,
    /// Its worker threads; of a pinned dispatcher those of its processes.
    pub workers: usize,
    /// Workers asleep now.
    pub parked: usize,
    /// Workers, including spare workers, that search for work now.
    pub searching: usize,
    /// Turns run.
    pub turns: u64,
    /// How many of these were turns of processes of high class (rule R6).
    pub high_turns: u64,
    /// How often a process was put into a queue: when it became ready, and after a turn that
    /// left it with more to do.
    pub scheduled: u64,
    /// Processes put into the shared queue: from outside, by timers and spare workers, as
    /// spills, or by the watchdog from behind a long turn.
    pub injected: u64,
    /// Processes put into the shared queue because the worker's own queue was full (1 048 576).
    /// They are included in `injected`.
    pub spills: u64,
    /// Processes in queues now, of both classes.
    pub queued: usize,
    /// The most processes seen in the shared queue, sampled every 10 ms while any worker is
    /// awake.
    pub longest_injector: usize,
    /// The most processes ever in the queue of one worker, in both of its parts. From two on; a length of one is not
    /// recorded.
    pub longest_queue: usize,
    /// How often a worker took from the shared queue: one process and up to 16 more each time.
    pub injector_takes: u64,
    /// How often a worker looked at another worker's queue to steal from it, also if it was
    /// empty.
    pub steal_attempts: u64,
    /// Batches stolen from another worker by a worker.
    pub steals: u64,
    /// Processes stolen.
    pub stolen: u64,
    /// How often a worker has slept, counted when it wakes.
    pub parks: u64,
    /// How often a sleeping worker was woken because there was work.
    pub wakes: u64,
    /// Workers held now by a turn that is longer than the limit (rule R4).
    pub blocked: usize,
    /// Turns that were longer than the limit.
    pub long_turns: u64,
    /// The longest turn seen, sampled every 10 ms. So no turn of 20 ms or more is missed, and a
    /// turn may be up to 10 ms longer than this value.
    pub longest_turn: Duration,
    /// How long its workers have run processes.
    ///
    /// It is sampled, as [`ProcessInfo::running_time`](crate::ProcessInfo::running_time) is, whose
    /// sum it is.
    pub running: Duration,
    /// Spare workers that fill in now.
    pub spares: usize,
    /// How often the executor refused a process twice, or dropped its task (rule R7).
    pub refused: u64,
    /// Turns by the number of messages handled in them. Every 976th turn of a worker is
    /// measured, so this is a sample: divide by the sum to get the shares.
    pub messages_per_turn: Histogram,
    /// The counters of each worker, then of each spare worker.
    pub each: Vec<WorkerStats>,
}

/// The counters of one worker since it started; see [`DispatcherStats`] for their meaning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
#[non_exhaustive]
pub struct WorkerStats {
    /// Turns run.
    pub turns: u64,
    /// How many of these were turns of processes of high class.
    pub high_turns: u64,
    /// Processes in its own queue now; 0 for a spare worker, which has none.
    pub queued: usize,
    /// The most processes ever in its own queue, from two on.
    pub longest_queue: usize,
    /// Processes that found its own queue full.
    pub spills: u64,
    /// How often it took from the shared queue.
    pub injector_takes: u64,
    /// How often it looked at another worker's queue.
    pub steal_attempts: u64,
    /// Batches stolen.
    pub steals: u64,
    /// Processes stolen.
    pub stolen: u64,
    /// How often it has slept, counted when it wakes.
    pub parks: u64,
    /// A sample of its turns by the number of messages handled in them.
    pub messages_per_turn: Histogram,
}

/// Counts of numbers by size, in classes that double, and their sum.
///
/// | place | 0 | 1 | 2 | 3 | 4 | .. | 11 |
/// |---|---|---|---|---|---|---|---|
/// | numbers | 0 | 1 | 2, 3 | 4 to 7 | 8 to 15 | .. | 1024 and more |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Histogram {
    /// How many numbers were counted at each place.
    pub counts: [u64; Histogram::PLACES],
    /// The sum of these numbers.
    pub sum: u64,
}

impl Histogram {
    /// The number of places.
    pub const PLACES: usize = 12;

    /// Returns the place of a number.
    #[must_use]
    pub fn place(number: u64) -> usize {
        let place = number.checked_ilog2().map_or(0, |log| log as usize + 1);
        place.min(Self::PLACES - 1)
    }

    /// Returns how many numbers were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Adds the counts of another histogram.
    pub fn add(&mut self, other: &Histogram) {
        self.counts.iter_mut().zip(other.counts).for_each(|(place, more)| *place += more);
        self.sum += other.sum;
    }
}

impl NodeStats {
    /// Returns the counters after `fill`. For hosts.
    #[must_use]
    pub fn with(mut self, fill: impl FnOnce(&mut Self)) -> Self {
        fill(&mut self);
        self
    }

    /// Returns the counters of the dispatcher of this name, if it has started.
    #[must_use]
    pub fn dispatcher(&self, name: &str) -> Option<&DispatcherStats> {
        self.dispatchers.iter().find(|dispatcher| dispatcher.name == name)
    }
}

impl DispatcherStats {
    /// Creates counters at zero, for hosts to fill in.
    #[must_use]
    pub fn new(name: String, workers: usize) -> Self {
        DispatcherStats { name, workers, ..Self::default() }
    }

    /// Returns the counters after `fill`.
    #[must_use]
    pub fn with(mut self, fill: impl FnOnce(&mut Self)) -> Self {
        fill(&mut self);
        self
    }

    /// Adds the counters of another dispatcher. Name and kind stay; the longest of anything is the
    /// longer of both.
    pub fn add(&mut self, other: &DispatcherStats) {
        // Field by field, so that a new field cannot be left out unnoticed.
        let DispatcherStats {
            name: _,
            is_pinned: _,
            workers,
            parked,
            searching,
            turns,
            high_turns,
            scheduled,
            injected,
            spills,
            queued,
            longest_injector,
            longest_queue,
            injector_takes,
            steal_attempts,
            steals,
            stolen,
            parks,
            wakes,
            blocked,
            long_turns,
            longest_turn,
            running,
            spares,
            refused,
            messages_per_turn,
            each,
        } = other;
        self.workers += workers;
        self.parked += parked;
        self.searching += searching;
        self.turns += turns;
        self.high_turns += high_turns;
        self.scheduled += scheduled;
        self.injected += injected;
        self.spills += spills;
        self.queued += queued;
        self.longest_injector = self.longest_injector.max(*longest_injector);
        self.longest_queue = self.longest_queue.max(*longest_queue);
        self.injector_takes += injector_takes;
        self.steal_attempts += steal_attempts;
        self.steals += steals;
        self.stolen += stolen;
        self.parks += parks;
        self.wakes += wakes;
        self.blocked += blocked;
        self.long_turns += long_turns;
        self.longest_turn = self.longest_turn.max(*longest_turn);
        self.running += *running;
        self.spares += spares;
        self.refused += refused;
        self.messages_per_turn.add(messages_per_turn);
        self.each.extend(each.iter().copied());
    }

    /// Sets the counters of the workers, and adds them to the sums.
    pub fn set_each(&mut self, each: Vec<WorkerStats>) {
        for worker in &each {
            self.turns += worker.turns;
            self.high_turns += worker.high_turns;
            self.queued += worker.queued;
            self.longest_queue = self.longest_queue.max(worker.longest_queue);
            self.spills += worker.spills;
            self.injector_takes += worker.injector_takes;
            self.steal_attempts += worker.steal_attempts;
            self.steals += worker.steals;
            self.stolen += worker.stolen;
            self.parks += worker.parks;
            self.messages_per_turn.add(&worker.messages_per_turn);
        }
        self.each = each;
    }
}

impl WorkerStats {
    /// Returns the counters after `fill`. For hosts.
    #[must_use]
    pub fn with(mut self, fill: impl FnOnce(&mut Self)) -> Self {
        fill(&mut self);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_fall_into_places_that_double() {
        let places: Vec<_> =
            [0, 1, 2, 3, 4, 7, 8, 1023, 1024, u64::MAX].map(Histogram::place).into();
        assert_eq!(places, [0, 1, 2, 2, 3, 3, 4, 10, 11, 11]);
        let mut sum = Histogram::default();
        sum.add(&Histogram { counts: [1; Histogram::PLACES], sum: 5 });
        sum.add(&Histogram { counts: [2; Histogram::PLACES], sum: 6 });
        assert_eq!((sum.counts[11], sum.count(), sum.sum), (3, 36, 11));
    }

    #[test]
    fn x4_a_dispatcher_has_the_sums_of_its_workers_and_their_longest_queue() {
        let one = WorkerStats::default().with(|worker| {
            *worker = WorkerStats {
                turns: 1,
                high_turns: 2,
                queued: 3,
                longest_queue: 40,
                spills: 5,
                injector_takes: 6,
                steal_attempts: 7,
                steals: 8,
                stolen: 9,
                parks: 10,
                messages_per_turn: Histogram { counts: [1; Histogram::PLACES], sum: 4 },
            };
        });
        let two = one.with(|worker| worker.longest_queue = 30);
        let mut stats = DispatcherStats::new("main".to_owned(), 2);
        stats.set_each(vec![one, two]);
        let expected = DispatcherStats::new("main".to_owned(), 2).with(|all| {
            (all.turns, all.high_turns, all.queued, all.longest_queue) = (2, 4, 6, 40);
            (all.spills, all.injector_takes, all.steal_attempts) = (10, 12, 14);
            (all.steals, all.stolen, all.parks) = (16, 18, 20);
            all.messages_per_turn = Histogram { counts: [2; Histogram::PLACES], sum: 8 };
            all.each = vec![one, two];
        });
        assert_eq!(stats, expected);
        assert_eq!(stats.workers, 2);
        let other = DispatcherStats::new("disk".to_owned(), 1);
        let node = NodeStats::default().with(|node| node.dispatchers = vec![stats, other]);
        assert_eq!(node.dispatcher("disk").map(|it| it.workers), Some(1));
        assert_eq!(node.dispatcher("main").map(|it| it.workers), Some(2));
        assert_eq!(node.dispatcher("net"), None);
    }
}
