//! The watchdog looks at the workers from outside. It finds long turns and work hidden behind
//! them, and measures running time (rules R4, X3).
//!
//! While any worker is awake a timer looks every [`INTERVAL`]; while all sleep there is no
//! timer. A look sees which turn a worker is in, and of which process.
//!
//! - **Hidden work.** A worker that makes one process ready does not wake a sibling, because it
//!   runs that process itself as soon as its turn is over (see `SharedDispatcher::push`). A
//!   worker is *stuck* if it is still in the turn in which the last look found it. If work is
//!   queued behind a stuck worker, the watchdog wakes a sibling, which steals that work; what is private to the
//!   worker it moves to the injector first. If no sibling sleeps, a spare worker starts.
//! - **Long turns.** A turn that has been seen for as long as the limit is reported, once.
//! - **Running time.** As with the tick of an operating system, the time since the last look is
//!   charged to the processes that run now. This costs a turn nothing, counts turns that still
//!   run, and is right on average.

use super::counters::WorkerSnapshot;
use crate::sync::{AtomicBool, Mutex, Ordering, fence};
use krarup_gen::{CurrentTurn, Pid, Timestamp};
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// The time between two looks.
pub(crate) const INTERVAL: Duration = Duration::from_millis(10);

pub(crate) struct Watchdog {
    /// Whether the timer is set.
    awake: AtomicBool,
    /// The time of the last look, or at which the timer was set, in nanoseconds. Written before `awake`
    /// is set, so while a worker is awake it is [`INTERVAL`] ago, or as much more as the timer is late.
    recent: AtomicU64,
    /// Turns at least this long are reported. `None`: no turn is reported.
    limit: Option<Duration>,
    seen: Mutex<LastLook>,
}

/// The result of the last look.
#[derive(Default)]
struct LastLook {
    at: Timestamp,
    workers: Vec<WatchedWorker>,
}

#[derive(Clone, Copy, Default)]
struct WatchedWorker {
    snapshot: WorkerSnapshot,
    /// When this turn was first seen.
    since: Timestamp,
    reported: bool,
}

/// The result of a look.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct WatchdogReport {
    /// Workers that are still in the turn of the last look.
    pub(crate) stuck: usize,
    /// Those of them that have work queued behind them.
    pub(crate) hidden: Vec<usize>,
    /// Turns beyond the limit that still run.
    pub(crate) blocked: usize,
    /// The longest time for which a still running turn has been seen.
    pub(crate) longest: Duration,
    /// The turns to be reported now.
    pub(crate) long: Vec<LongTurn>,
    /// The processes that run now; each is charged with `tick`.
    pub(crate) running: Vec<u64>,
    /// The time since the last look.
    pub(crate) tick: Duration,
}

/// A turn beyond the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LongTurn {
    pub(crate) worker: usize,
    pub(crate) pid: u64,
    /// How long it has been seen, which is a lower bound of its length.
    pub(crate) held: Duration,
}

/// A turn that a worker is in, as the looks have seen it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WatchedTurn {
    pub(crate) worker: usize,
    pub(crate) pid: u64,
    /// Zero if no look has seen it yet.
    pub(crate) held: Duration,
    /// Whether it is beyond the limit.
    pub(crate) is_long: bool,
}

impl WatchedTurn {
    /// The turn of a process of the node with this creation.
    pub(crate) fn of(self, dispatcher: &str, creation: u32) -> CurrentTurn {
        CurrentTurn::new(Pid::local(self.pid, creation), dispatcher.to_owned()).with(|turn| {
            turn.worker = Some(self.worker);
            turn.held = self.held;
            turn.is_long = self.is_long;
        })
    }
}

impl Watchdog {
    pub(crate) fn new(limit: Option<Duration>) -> Self {
        let (awake, recent) = (AtomicBool::new(false), AtomicU64::new(0));
        Watchdog { awake, recent, limit, seen: Mutex::new(LastLook::default()) }
    }

    /// Called when a worker has woken up, or has almost fallen asleep. Returns whether the timer
    /// must be set now. `now` reads the clock.
    pub(crate) fn activate(&self, now: impl FnOnce() -> Timestamp) -> bool {
        // Pairs with the fence in `rest`: the worker leaves the stack, then reads the flag.
        fence(Ordering::SeqCst);
        if self.awake.load(Ordering::Acquire) {
            return false;
        }
        self.recent.store(now().as_nanos(), Ordering::Relaxed);
        !self.awake.swap(true, Ordering::SeqCst)
    }

    /// The time of the last look, or at which the timer was set. For a worker in a turn, to whom an
    /// interval more or less makes no difference.
    pub(crate) fn recent_time(&self) -> Timestamp {
        Timestamp::from_nanos(self.recent.load(Ordering::Relaxed))
    }

    /// Whether the timer need not be set again because all workers sleep. Looks twice: a worker
    /// that woke up after the first look has seen the timer as set, unless its fence came after
    /// this one, and then the second look sees it awake.
    pub(crate) fn rest(
        &self,
        all_asleep: impl Fn() -> bool,
        now: impl FnOnce() -> Timestamp,
    ) -> bool {
        if !all_asleep() {
            return false;
        }
        self.awake.store(false, Ordering::SeqCst);
        // Pairs with the fence in `activate`: the flag is cleared, then the stack is read.
        fence(Ordering::SeqCst);
        all_asleep() || !self.activate(now)
    }

    /// Sets the start of the first interval after a rest. Nothing ran during the rest, so
    /// nothing is charged for it.
    pub(crate) fn begin(&self, now: Timestamp) {
        self.seen.lock().at = now;
    }

    /// Compares the workers with the last look. `queued` says whether work waits behind a
    /// worker.
    pub(crate) fn look(
        &self,
        now: Timestamp,
        workers: impl IntoIterator<Item = WorkerSnapshot>,
        queued: impl Fn(usize) -> bool,
    ) -> WatchdogReport {
        let mut seen = self.seen.lock();
        let mut look = WatchdogReport { tick: now.since(seen.at), ..WatchdogReport::default() };
        seen.at = now;
        self.recent.store(now.as_nanos(), Ordering::Relaxed);
        for (index, snapshot) in workers.into_iter().enumerate() {
            if seen.workers.len() <= index {
                seen.workers.push(WatchedWorker::default());
            }
            let worker = &mut seen.workers[index];
            if snapshot.pid == 0 || snapshot != worker.snapshot {
                *worker = WatchedWorker { snapshot, since: now, reported: false };
            } else {
                look.stuck += 1;
                if queued(index) {
                    look.hidden.push(index);
                }
                let held = now.since(worker.since);
                look.longest = look.longest.max(held);
                if !worker.reported && self.limit.is_some_and(|limit| held >= limit) {
                    worker.reported = true;
                    look.long.push(LongTurn { worker: index, pid: snapshot.pid, held });
                }
                look.blocked += usize::from(worker.reported);
            }
            if snapshot.pid != 0 {
                look.running.push(snapshot.pid);
            }
        }
        look
    }

    /// The turns that the workers are in now (rule V95). It changes nothing.
    pub(crate) fn turns(
        &self,
        now: Timestamp,
        workers: impl IntoIterator<Item = WorkerSnapshot>,
    ) -> Vec<WatchedTurn> {
        let seen = self.seen.lock();
        let turn = |(worker, snapshot): (usize, WorkerSnapshot)| {
            // A later turn of the same worker was not seen yet.
            let known = seen.workers.get(worker).filter(|known| known.snapshot == snapshot);
            WatchedTurn {
                worker,
                pid: snapshot.pid,
                held: known.map_or(Duration::ZERO, |known| now.since(known.since)),
                is_long: known.is_some_and(|known| known.reported),
            }
        };
        let busy = workers.into_iter().enumerate().filter(|(_, snapshot)| snapshot.pid != 0);
        busy.map(turn).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_millis(100);

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    fn snapshots<const N: usize>(workers: [(u64, u64); N]) -> [WorkerSnapshot; N] {
        workers.map(|(turns, pid)| WorkerSnapshot { turns, pid })
    }

    #[test]
    fn r4_work_behind_a_turn_that_does_not_end_is_found() {
        let watchdog = Watchdog::new(None);
        let look = |millis, workers, queued: fn(usize) -> bool| {
            let look = watchdog.look(at(millis), snapshots(workers), queued);
            (look.stuck, look.hidden)
        };
        assert_eq!(look(10, [(5, 1), (9, 2)], |_| true), (0, vec![]));
        assert_eq!(look(20, [(6, 1), (9, 2)], |worker| worker == 0), (1, vec![]));
        assert_eq!(look(30, [(6, 1), (9, 2)], |worker| worker == 0), (2, vec![0]));
        assert_eq!(look(40, [(7, 1), (9, 2)], |_| false), (1, vec![]));
        // A worker without a process is never stuck.
        assert_eq!(look(50, [(7, 0), (9, 0)], |_| true), (0, vec![]));
        assert_eq!(look(60, [(7, 0), (9, 0)], |_| true), (0, vec![]));
    }

    #[test]
    fn r4_a_long_turn_is_reported_once_and_counted_while_it_lasts() {
        let watchdog = Watchdog::new(Some(LIMIT));
        let look = |millis, turns, pid| {
            let look = watchdog.look(at(millis), snapshots([(1, 0), (turns, pid)]), |_| false);
            (look.long, look.blocked)
        };
        assert_eq!(look(10, 3, 7), (vec![], 0));
        assert_eq!(look(109, 3, 7), (vec![], 0));
        let long = LongTurn { worker: 1, pid: 7, held: Duration::from_millis(100) };
        assert_eq!(look(110, 3, 7), (vec![long], 1));
        assert_eq!(look(500, 3, 7), (vec![], 1));
        // The next turn of the same process is measured anew.
        assert_eq!(look(510, 4, 7), (vec![], 0));
        assert_eq!(look(600, 4, 7), (vec![], 0));
        let long = LongTurn { worker: 1, pid: 7, held: Duration::from_millis(101) };
        assert_eq!(look(611, 4, 7), (vec![long], 1));
        assert_eq!(look(620, 4, 0), (vec![], 0));
        // Without a limit no turn is reported.
        let silent = Watchdog::new(None);
        silent.look(at(10), snapshots([(1, 1)]), |_| false);
        let look = silent.look(Timestamp::MAX, snapshots([(1, 1)]), |_| false);
        assert_eq!((look.stuck, look.blocked, look.long), (1, 0, vec![]));
    }

    #[test]
    fn v95_the_turns_of_the_workers_are_told_with_the_time_since_the_first_look() {
        let watchdog = Watchdog::new(Some(LIMIT));
        watchdog.look(at(10), snapshots([(5, 3), (9, 4), (2, 0)]), |_| false);
        let turns = |millis, workers| {
            let turns = watchdog.turns(at(millis), snapshots(workers)).into_iter();
            let told = turns.map(|it| (it.worker, it.pid, it.held.as_millis(), it.is_long));
            told.collect::<Vec<_>>()
        };
        // The second worker is in another turn of the same process, the third in none.
        let now = [(5, 3), (10, 4), (2, 0)];
        assert_eq!(turns(60, now), [(0, 3, 50, false), (1, 4, 0, false)]);
        watchdog.look(at(110), snapshots(now), |_| false);
        assert_eq!(turns(130, now), [(0, 3, 120, true), (1, 4, 20, false)]);
        // To ask is no look.
        let look = watchdog.look(at(210), snapshots(now), |_| false);
        assert_eq!((look.blocked, look.long.len(), look.tick), (2, 1, Duration::from_millis(100)));
    }

    #[test]
    fn x3_the_time_since_the_last_look_is_charged_to_the_running_processes() {
        let watchdog = Watchdog::new(None);
        let look = |millis, workers| {
            let look = watchdog.look(at(millis), snapshots(workers), |_| false);
            (look.running, look.tick)
        };
        // All workers have slept until now.
        watchdog.begin(at(1000));
        assert_eq!(look(1010, [(5, 3), (9, 0)]), (vec![3], Duration::from_millis(10)));
        assert_eq!(look(1025, [(5, 3), (10, 4)]), (vec![3, 4], Duration::from_millis(15)));
        watchdog.begin(at(2000));
        assert_eq!(look(2010, [(6, 0), (10, 0)]), (vec![], Duration::from_millis(10)));
    }

    #[test]
    fn the_timer_is_set_once_for_all_workers() {
        let watchdog = Watchdog::new(None);
        assert!(watchdog.activate(|| at(1)));
        assert!(!watchdog.activate(|| at(2)));
        assert!(!watchdog.rest(|| false, || at(3)));
        assert!(!watchdog.activate(|| at(4)));
        assert_eq!(watchdog.recent_time(), at(1), "the timer was set then");
        assert!(watchdog.rest(|| true, || at(5)));
        assert!(watchdog.activate(|| at(6)));
        assert_eq!(watchdog.recent_time(), at(6));
        watchdog.look(at(16), [], |_| false);
        assert_eq!(watchdog.recent_time(), at(16));
    }
}
