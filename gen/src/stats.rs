//! Counters of a node.
//!
//! All are counted since the start, or are what there is *now* where that is said. Each is
//! written where the thing happens, by one thread where it happens often, and read without
//! stopping anybody: counters that are read together may be of neighbouring moments, and of
//! a node at rest they are exact.

use std::time::Duration;

/// What a node has counted since it started (rule X4).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeStats {
    /// Living processes.
    pub processes: usize,
    /// Processes spawned since the start.
    pub spawned: u64,
    /// Registered names.
    pub names: usize,
    /// Aliases that are not revoked.
    pub aliases: usize,
    /// Timers set and not yet fired or cancelled.
    pub timers: usize,
    /// Messages that were accepted and never handled, or sent to a dead process
    /// (rules M7 and D7).
    pub dead_letters: u64,
    /// Times a mailbox was found to hold very many messages: see `NodeBuilder::mailbox_alarm`.
    pub deep_mailboxes: u64,
    /// Replies that came after their call had timed out or was given up (rule C3).
    pub late_replies: u64,
    /// Side threads for blocking work that are alive (they are started when needed, and end
    /// when idle).
    pub blocking_threads: usize,
    /// Blocking work that waits for a side thread or runs on one.
    pub blocking_work: usize,
    /// One entry per dispatcher.
    pub dispatchers: Vec<DispatcherStats>,
}

/// What a dispatcher has counted since it started (rule X4).
///
/// A simulation fills in the turns, those of high class, and what waits; a pinned dispatcher
/// has no queues and no thefts; one on calling threads has turns alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DispatcherStats {
    /// Its name.
    pub name: String,
    /// Its worker threads.
    pub workers: usize,
    /// Workers asleep now.
    pub parked: usize,
    /// Workers, spares among them, that look for work now.
    pub searching: usize,
    /// Turns run.
    pub turns: u64,
    /// Of these, turns of processes of high class (rule R6).
    pub high_turns: u64,
    /// Times a process was put into a queue: when it became ready, and at the end of a
    /// turn after which it had more to do.
    pub scheduled: u64,
    /// Processes put on the shared queue: from outside, by timers and spares, or spilled.
    pub injected: u64,
    /// Processes put on the shared queue because the worker's own was full (1 048 576); they are
    /// in `injected` too.
    pub spills: u64,
    /// Processes in queues now, of either class.
    pub queued: usize,
    /// The most processes ever seen in the shared queue, by a look every 10 ms while any worker
    /// is awake.
    pub longest_injector: usize,
    /// The most processes ever in the queue of one worker. Exact from two on; one is not
    /// counted.
    pub longest_queue: usize,
    /// Takes from the shared queue, each of one process and up to 16 more.
    pub injector_takes: u64,
    /// Looks at another worker's queue to steal from it, also if it was empty.
    pub steal_attempts: u64,
    /// Batches stolen from another worker.
    pub steals: u64,
    /// Processes stolen.
    pub stolen: u64,
    /// Times a worker has slept; counted when it wakes.
    pub parks: u64,
    /// Times a sleeping worker was woken because there was work.
    pub wakes: u64,
    /// Workers held now by a turn that is longer than the limit set (rule R4).
    pub blocked: usize,
    /// Turns that were longer than the limit.
    pub long_turns: u64,
    /// The longest a turn was seen to last, by a look every 10 ms: so none is missed that takes
    /// 20 ms, and each is up to 10 ms longer than this says.
    pub longest_turn: Duration,
    /// Spare workers that fill in now.
    pub spares: usize,
    /// Times the executor refused a process twice, or dropped its task
    /// (rule R7).
    pub refused: u64,
    /// Turns by the number of messages that were handled in them. Every 976th turn of a worker is
    /// measured, so this is a sample: divide by the sum to have the shares.
    pub messages_per_turn: Histogram,
    /// Its workers, then its spare workers, each by itself.
    pub each: Vec<WorkerStats>,
}

/// What one worker has counted since it started; see [`DispatcherStats`] for what is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerStats {
    /// Turns run.
    pub turns: u64,
    /// Of these, turns of processes of high class.
    pub high_turns: u64,
    /// Processes in its own queue now; 0 of a spare, which has none.
    pub queued: usize,
    /// The most processes ever in its own queue, from two on.
    pub longest_queue: usize,
    /// Processes that found its own queue full.
    pub spills: u64,
    /// Takes from the shared queue.
    pub injector_takes: u64,
    /// Looks at another worker's queue.
    pub steal_attempts: u64,
    /// Batches stolen.
    pub steals: u64,
    /// Processes stolen.
    pub stolen: u64,
    /// Times it has slept; counted when it wakes.
    pub parks: u64,
    /// A sample of its turns by the number of messages that were handled in them.
    pub messages_per_turn: Histogram,
}

/// How often numbers of some size were met, in steps of doubling.
///
/// | place | 0 | 1 | 2 | 3 | 4 | .. | 11 |
/// |---|---|---|---|---|---|---|---|
/// | numbers | 0 | 1 | 2, 3 | 4 to 7 | 8 to 15 | .. | 1024 and more |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Histogram(pub [u64; Histogram::PLACES]);

impl Histogram {
    /// Places there are.
    pub const PLACES: usize = 12;

    /// The place of a number.
    #[must_use]
    pub fn place(number: u64) -> usize {
        let place = number.checked_ilog2().map_or(0, |log| log as usize + 1);
        place.min(Self::PLACES - 1)
    }

    /// How many numbers were met.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Adds another to this one.
    pub fn add(&mut self, other: &Histogram) {
        self.0.iter_mut().zip(other.0).for_each(|(place, more)| *place += more);
    }
}

impl NodeStats {
    /// The counters after `fill`: for hosts.
    #[must_use]
    pub fn with(mut self, fill: impl FnOnce(&mut Self)) -> Self {
        fill(&mut self);
        self
    }

    /// The counters of the dispatcher of this name, if it has started.
    #[must_use]
    pub fn dispatcher(&self, name: &str) -> Option<&DispatcherStats> {
        self.dispatchers.iter().find(|dispatcher| dispatcher.name == name)
    }
}

impl DispatcherStats {
    /// Counters at zero: for hosts, which fill them in.
    #[must_use]
    pub fn new(name: String, workers: usize) -> Self {
        DispatcherStats { name, workers, ..Self::default() }
    }

    /// The counters after `fill`.
    #[must_use]
    pub fn with(mut self, fill: impl FnOnce(&mut Self)) -> Self {
        fill(&mut self);
        self
    }

    /// Takes over the counters of the workers, and their sums.
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
    /// The counters after `fill`: for hosts.
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
        sum.add(&Histogram([1; Histogram::PLACES]));
        sum.add(&Histogram([2; Histogram::PLACES]));
        assert_eq!((sum.0[11], sum.count()), (3, 36));
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
                messages_per_turn: Histogram([1; Histogram::PLACES]),
            };
        });
        let two = one.with(|worker| worker.longest_queue = 30);
        let mut stats = DispatcherStats::new("main".to_owned(), 2);
        stats.set_each(vec![one, two]);
        let expected = DispatcherStats::new("main".to_owned(), 2).with(|all| {
            (all.turns, all.high_turns, all.queued, all.longest_queue) = (2, 4, 6, 40);
            (all.spills, all.injector_takes, all.steal_attempts) = (10, 12, 14);
            (all.steals, all.stolen, all.parks) = (16, 18, 20);
            all.messages_per_turn = Histogram([2; Histogram::PLACES]);
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
