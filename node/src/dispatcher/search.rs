//! How a worker of a shared dispatcher looks for work outside its own queue, and sleeps if there
//! is none.
//!
//! From a long queue a stealing worker takes 32 processes at a time, as many as
//! `crossbeam-deque` moves in one batch. A worker that steals again after 32 turns pays little
//! for each of them (docs/decisions.md).
//!
//! ```text
//!   injector ──► half of a sibling's shared queue, ──► spin ──► half of a private queue, ──► yield ──► a private ──► park
//!       ▲        if stealing pays                       │      if it holds several          │    process behind     │
//!       │                                               │                                   │    the same turn      │
//!       └───────────────────────────────────────────────┴───────────────────────────────────┴───────────────────────┘ woken
//! ```
//!
//! If the program has sockets, a worker asks at the beginning of a search and after each yield which of them are ready, and the first one to
//! park waits for them ([`SharedWait`](krarup_act::SharedWait), [`super::worker_parker`]).
//!
//! What is private to a sibling ([`super::run_queue`]) is stolen later than what is shared: a theft interrupts all cores, and what the
//! sibling's turns make ready while a worker searches is shared. Several private processes were there before. A private process that
//! is alone is stolen at the end of a search, behind a turn only that has lasted for most of it, some microseconds: its own worker
//! runs it sooner.

use super::calling_thread;
use super::run_queue::{RunQueue, RunQueueStealer, until_settled};
use super::searcher::Searcher;
use super::shared::SharedDispatcher;
use super::steal_policy::{Sibling, Theft};
use super::worker_parker::WorkerParker;
use krarup_act::{Ready, poller, wake_polled};
use rand::Rng;
use rand::rngs::SmallRng;
use std::sync::Arc;
use std::thread;

/// The rounds of a search that end with a busy wait; the others end with a yield.
const SPINS: u32 = 4;

impl SharedDispatcher {
    /// Takes from the injector or from a sibling, and parks if both are empty. On `None` the
    /// worker looks again. A spare has no queue of its own, and takes one process at a time.
    pub(super) fn search(
        self: &Arc<Self>,
        index: usize,
        parker: &WorkerParker,
        searcher: &mut Searcher,
        take: impl Fn() -> Option<Ready>,
        own: Option<&RunQueue<Ready>>,
    ) -> Option<Ready> {
        let counters = &self.counters[index];
        let now = || self.setup.time.clock.now();
        if !searcher.searching {
            searcher.searching = true;
            counters.idle();
            self.sleep.start_searching();
            if counters.slot().take_muted() {
                // The process that it waits for is with a sibling, or soon will be, and so will it.
                searcher.policy.has_muted(now(), self.siblings(index));
            }
            searcher.policy.has_run_dry(counters.snapshot().turns, now, self.siblings(index));
        }
        let patience = searcher.policy.patience(now, self.siblings(index));
        searcher.with_private.clear();
        // A spare has no queue for what it wakes.
        let poller = own.and_then(|_| poller());
        for round in 0..searcher.rounds {
            if let Some(ready) = take() {
                searcher.has_taken();
                return Some(ready);
            }
            if let Some(poller) = &poller
                && (round == 0 || round >= SPINS)
            {
                poller.poll(&mut searcher.woken);
                if self.wakes_polled(index, searcher) {
                    return None;
                }
            }
            if patience.is_none()
                && let Some(ready) = self.take_from_others(index, searcher, own)
            {
                searcher.has_stolen();
                return Some(ready);
            }
            // The dispatcher has stopped, or a process of high class is ready.
            if self.priority_queue.interrupts() {
                return None;
            }
            if round == SPINS && patience.is_none() {
                searcher.with_private.extend(self.with_private(index));
                let several = |seen: &Sibling| self.stealers[seen.worker].private_len() > 1;
                if let Some(ready) = self.take_private(index, searcher, own, several) {
                    return Some(ready);
                }
            }
            if round < SPINS {
                (0..1_u32 << round).for_each(|_| std::hint::spin_loop());
            } else {
                thread::yield_now();
            }
        }
        let same_turn = |seen: &Sibling| self.sibling(seen.worker).turns == seen.turns;
        if let Some(ready) = self.take_private(index, searcher, own, same_turn) {
            return Some(ready);
        }
        let is_spare = index >= self.stealers.len();
        let any_work = || {
            !self.priority_queue.is_quiet()
                || (is_spare && self.spares.surplus())
                || !self.injector.is_empty()
                || (patience.is_none()
                    && (self.is_work_at_siblings() || self.is_several_private(index)))
                // A thief was there when the worker looked.
                || self.stealers.get(index).is_some_and(|own| !own.is_empty())
        };
        let begin = now();
        let polls = poller.is_some();
        let woken = &mut searcher.woken;
        let sleeps = || match (patience, poller) {
            (Some(limit), _) => parker.park_timeout(limit),
            (None, Some(poller)) => parker.park_in(&poller, woken),
            (None, None) => parker.park(),
        };
        if self.sleep.park(index, patience.is_some(), any_work, sleeps) {
            counters.count_park();
            if polls {
                searcher.has_polled();
            } else if patience.is_none() {
                searcher.has_slept(now() - begin);
            }
        }
        // Also if it did not park in the end: it was on the stack, and the watchdog may have
        // counted it as asleep.
        self.wake_watchdog();
        self.wakes_polled(index, searcher);
        None
    }

    /// Wakes what the poller has reported. Returns whether there was anything. The worker has left the search then, as with any work
    /// that it finds: a process of a dispatcher without threads runs right here, in a turn that the watchdog sees.
    fn wakes_polled(&self, index: usize, searcher: &mut Searcher) -> bool {
        if searcher.woken.is_empty() {
            return false;
        }
        searcher.searching = false;
        self.hand_on();
        let counters = &self.counters[index];
        let wakes = || wake_polled(searcher.woken.drain(..));
        calling_thread::deferred(wakes, |pid| counters.begin_turn(pid));
        counters.idle();
        true
    }

    /// Steals, and notes for the steal policy when and from whom.
    pub(super) fn take_from_others(
        &self,
        index: usize,
        searcher: &mut Searcher,
        own: Option<&RunQueue<Ready>>,
    ) -> Option<Ready> {
        let (ready, processes, victim) = self.steal(index, &mut searcher.rng, own)?;
        self.note_theft(index, searcher, processes, victim);
        Some(ready)
    }

    fn note_theft(&self, index: usize, searcher: &mut Searcher, processes: usize, victim: usize) {
        let when = self.setup.time.clock.now();
        let turns = self.counters[index].snapshot().turns;
        let theft = Theft { when, processes, from: self.sibling(victim), turns };
        searcher.policy.has_stolen(theft, self.siblings(index));
    }

    /// The siblings with private processes, and the turns that they are in.
    fn with_private(&self, index: usize) -> impl Iterator<Item = Sibling> {
        self.siblings(index).filter(|sibling| self.stealers[sibling.worker].private_len() > 0)
    }

    /// Takes private processes of one of the siblings that had some, if that pays.
    fn take_private(
        &self,
        index: usize,
        searcher: &mut Searcher,
        own: Option<&RunQueue<Ready>>,
        pays: impl Fn(&Sibling) -> bool,
    ) -> Option<Ready> {
        if searcher.with_private.is_empty() {
            return None;
        }
        let with_private = std::mem::take(&mut searcher.with_private);
        let (before, after) =
            with_private.split_at(searcher.rng.random_range(0..with_private.len()));
        let found = after.iter().chain(before).filter(|seen| pays(seen)).find_map(|seen| {
            self.counters[index].count_steal_attempt();
            Some((self.stealers[seen.worker].steal_private(own)?, seen.worker))
        });
        searcher.with_private = with_private;
        let ((ready, processes), victim) = found?;
        self.counters[index].count_steal(processes.max(1));
        self.note_theft(index, searcher, processes, victim);
        searcher.has_stolen();
        Some(ready)
    }

    /// Whether a sibling has several private processes.
    fn is_several_private(&self, index: usize) -> bool {
        self.siblings(index).any(|sibling| self.stealers[sibling.worker].private_len() > 1)
    }

    /// The other workers, as the steal policy sees them.
    pub(super) fn siblings(&self, policy: usize) -> impl Iterator<Item = Sibling> + Clone {
        let workers = 0..self.stealers.len();
        workers.filter(move |worker| *worker != policy).map(|worker| self.sibling(worker))
    }

    fn sibling(&self, worker: usize) -> Sibling {
        let turns = self.counters[worker].snapshot().turns;
        Sibling { worker, turns, has_work: !self.stealers[worker].is_empty() }
    }

    /// A searching worker has found a process to run, or stops searching for another reason.
    pub(super) fn hand_on(&self) {
        self.sleep.found(|| self.is_work_queued());
    }

    pub(super) fn is_work_queued(&self) -> bool {
        self.priority_queue.len() > 0 || !self.injector.is_empty() || self.is_work_at_siblings()
    }

    fn is_work_at_siblings(&self) -> bool {
        self.stealers.iter().any(RunQueueStealer::has_shared)
    }

    /// Steals. Returns the process to run, how many came with it, and from which worker.
    pub(super) fn steal(
        &self,
        policy: usize,
        rng: &mut SmallRng,
        own: Option<&RunQueue<Ready>>,
    ) -> Option<(Ready, usize, usize)> {
        let siblings = self.stealers.len();
        let start = rng.random_range(0..siblings);
        for offset in 0..siblings {
            let victim = (start + offset) % siblings;
            if victim == policy {
                continue;
            }
            self.counters[policy].count_steal_attempt();
            if let Some((ready, with_it)) = until_settled(|| self.stealers[victim].steal(own)) {
                self.counters[policy].count_steal(with_it.max(1));
                return Some((ready, with_it, victim));
            }
        }
        None
    }
}
