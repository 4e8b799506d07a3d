//! The work-stealing dispatcher: a few threads run any number of processes.
//!
//! ```text
//!            outside threads, timers                   a turn that makes others ready
//!                     │                                            │
//!                     ▼                                            ▼
//!               ┌───────────┐   batch of up to 17   ┌─────────────────────────┐
//!               │ injector  │ ────────────────────► │ local FIFO of worker 0  │──► turn
//!               └───────────┘                       └─────────────────────────┘
//!                     ▲ over a million spill              ▲ steal half, 32 at most
//!                     └──────────────────────────   ┌─────────────────────────┐
//!                                                   │ local FIFO of worker 1  │──► turn
//!                                                   └─────────────────────────┘
//! ```
//!
//! A worker takes from its own queue, then a batch from the injector, then half of a random
//! sibling's queue, 32 at most, unless stealing does not pay ([`super::steal_policy`]). Then it
//! spins, yields and parks. Every 61st take looks at the injector first, so that local work does
//! not starve work from outside (rule R1). A process whose budget is used up goes to the tail.
//!
//! Processes of high class have a queue of their own, [`PriorityQueue`];
//! [`super::priority_turns`] runs them. [`super::take`] says how a worker takes from its
//! own queue and the injector, [`super::search`] how it looks elsewhere, [`super::spare_workers`] how spare workers fill in,
//! [`super::recorded_turns`] what a worker does while turns are recorded.

use super::calling_thread;
use super::counters::Counters;
use super::late_timers::LateTimers;
use super::priority_queue::PriorityQueue;
use super::reports::Reports;
use super::run_queue::{RunQueue, RunQueueStealer};
use super::searcher::Searcher;
use super::setup::Setup;
use super::sleep::IdleWorkers;
use super::spare_protocol::{SpareSlot, SpareWorkers};
use super::turn;
use super::watchdog::Watchdog;
use super::worker_parker::WorkerParker;
use crate::threads;
use crossbeam_deque::{Injector, Steal};
use krarup_act::{Poke, Ready, contain, contain_inline};
use krarup_gen::{CurrentTurn, DispatcherStats, Timestamp, one_line};
use parking_lot::Mutex;
use std::cell::{Cell, OnceCell};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

#[cfg(all(test, not(loom)))]
mod stepped;

/// The most processes in a local queue before new ones spill to the injector. The limit is so
/// high that only a queue that grows without end reaches it. It is lower in unit tests, which
/// test the spilling.
const LOCAL_CAPACITY: usize = if cfg!(test) { 4_096 } else { 1 << 20 };
/// At every take of this number a worker looks first at the processes from outside (rule R1).
pub(super) const LOOK_UP_INTERVAL: u32 = 61;

pub(crate) struct SharedDispatcher {
    pub(super) setup: Setup,
    pub(super) priority_queue: PriorityQueue<Ready>,
    pub(super) injector: Injector<Ready>,
    pub(super) stealers: Vec<RunQueueStealer<Ready>>,
    pub(super) sleep: IdleWorkers,
    pub(super) spares: SpareWorkers,
    pub(super) watchdog: Watchdog,
    pub(super) reports: Reports,
    pub(super) stopped: AtomicBool,
    /// The counters of the workers, then of the spares.
    pub(super) counters: Vec<Counters>,
    pub(super) pokes: Vec<LateTimers>,
    injected: AtomicU64,
    pub(super) threads: Mutex<Vec<JoinHandle<()>>>,
}

/// The index and the queue of a worker thread.
pub(super) struct Local {
    pub(super) index: usize,
    pub(super) queue: RunQueue<Ready>,
}

/// The takes of a worker from its queue.
pub(super) struct TakeCount {
    /// The takes that it has begun.
    pub(super) begun: u64,
    /// At this take it looks first at the processes from outside.
    pub(super) look_up: u64,
    /// How often it has.
    pub(super) looks: u32,
}

impl TakeCount {
    pub(super) fn new() -> Self {
        TakeCount { begun: 0, look_up: LOOK_UP_INTERVAL.into(), looks: 0 }
    }
}

thread_local! {
    /// The address of the dispatcher that this thread works for, or 0. A node can have several.
    static AT: Cell<usize> = const { Cell::new(0) };
    static LOCAL: OnceCell<Local> = const { OnceCell::new() };
}

impl SharedDispatcher {
    /// Starts the workers.
    pub(crate) fn start(setup: Setup) -> io::Result<Arc<Self>> {
        let (shared, queues, parkers) = Self::make(setup);
        for (index, (queue, parker)) in queues.into_iter().zip(parkers).enumerate() {
            let mut queue = Some(queue);
            let started = shared.start_thread(index, move |dispatcher| {
                if let Some(queue) = queue.take() {
                    dispatcher.work(index, queue, &parker);
                }
            });
            match started {
                Ok(thread) => shared.threads.lock().push(thread),
                Err(error) => {
                    shared.signal_stop();
                    shared.join();
                    return Err(error);
                }
            }
        }
        Ok(shared)
    }

    /// Makes the dispatcher without threads, with the queues and parkers of its workers.
    pub(super) fn make(setup: Setup) -> (Arc<Self>, Vec<RunQueue<Ready>>, Vec<WorkerParker>) {
        let queues: Vec<_> = (0..setup.workers).map(|_| RunQueue::new()).collect();
        let mut parkers: Vec<_> =
            (0..setup.workers + setup.spares).map(|_| WorkerParker::new()).collect();
        let sleep = IdleWorkers::new(&parkers);
        let counters = parkers.iter().map(|_| Counters::default()).collect();
        let slots = parkers.drain(setup.workers..).enumerate();
        let slots =
            slots.map(|(n, parker)| SpareSlot { index: setup.workers + n, parker }).collect();
        let shared = Arc::new(SharedDispatcher {
            priority_queue: PriorityQueue::new(),
            injector: Injector::new(),
            stealers: queues.iter().map(RunQueue::stealer).collect(),
            sleep,
            spares: SpareWorkers::new(slots),
            watchdog: Watchdog::new(setup.long_turn),
            reports: Reports::new(&setup),
            setup,
            stopped: AtomicBool::new(false),
            counters,
            pokes: queues.iter().map(|_| LateTimers::default()).collect(),
            injected: AtomicU64::new(0),
            threads: Mutex::new(Vec::new()),
        });
        (shared, queues, parkers)
    }

    /// Whether processes of high class go first.
    pub(crate) fn has_classes(&self) -> bool {
        self.setup.classes
    }

    pub(super) fn start_thread(
        self: &Arc<Self>,
        index: usize,
        mut work: impl FnMut(&Arc<Self>) + Send + 'static,
    ) -> io::Result<JoinHandle<()>> {
        let dispatcher = Arc::clone(self);
        let name = self.setup.thread_name(index as u64);
        threads::start_with(name, self.setup.stack_size, move || {
            (dispatcher.setup.around)(&mut || work(&dispatcher));
        })
    }

    /// Queues a ready process: on the worker's own queue if a worker calls, otherwise on the
    /// injector.
    #[inline]
    pub(crate) fn schedule(&self, ready: Ready) {
        if AT.get() != std::ptr::from_ref(self).addr() {
            return self.inject(ready);
        }
        LOCAL.with(|local| match local.get() {
            Some(local) => self.push(local, ready),
            // Not reached: a worker has a queue as long as `AT` is set.
            None => self.inject(ready),
        });
    }

    /// A process that the running turn made ready runs next on this worker if it is alone in the
    /// queue. Waking a sibling to steal it would cost more than it saves, and a chain of
    /// messages between two processes stays on one worker. A second process in the queue
    /// justifies waking a sibling.
    #[inline]
    fn push(&self, local: &Local, ready: Ready) {
        let unwanted = |queued| queued < LOCAL_CAPACITY && !self.sleep.wants_work();
        match local.queue.push_private(ready, unwanted) {
            Ok(0) => {}
            // A sibling that looks for work now finds it: a search takes longer than this. If the system puts
            // this worker aside right here, and for as long, its next push wakes the sibling, or the watchdog.
            Ok(queued) => self.counters[local.index].note_length(queued + 1),
            Err(ready) => self.push_behind(local, ready),
        }
    }

    /// Out of line, so that the push of a process that nobody else wants takes few steps.
    #[inline(never)]
    fn push_behind(&self, local: &Local, ready: Ready) {
        let queued = local.queue.len();
        if queued >= LOCAL_CAPACITY {
            return self.spill(local, ready);
        }
        self.counters[local.index].note_length(queued + 1);
        if !self.sleep.wants_work() {
            return local.queue.push_unwanted(ready);
        }
        local.queue.push(ready);
        // This worker will take the process in any case, so a hint is enough to decide. The
        // fence of a certain answer would cost as much as the push.
        if self.sleep.could_wake() {
            self.sleep.wake_one();
        }
    }

    /// Queues a process that has more to do than one turn.
    pub(super) fn push_again(&self, local: &Local, ready: Ready) {
        if !self.injector.is_empty() {
            self.let_in(local);
        }
        self.push(local, ready);
    }

    #[cold]
    #[inline(never)]
    fn spill(&self, local: &Local, ready: Ready) {
        self.counters[local.index].count_spill();
        self.inject(ready);
    }

    #[cold]
    #[inline(never)]
    pub(super) fn inject(&self, ready: Ready) {
        self.injected.fetch_add(1, Ordering::Relaxed);
        self.injector.push(ready);
        self.sleep.wake_one();
    }

    fn work(self: &Arc<Self>, index: usize, queue: RunQueue<Ready>, parker: &WorkerParker) {
        self.wake_watchdog();
        LOCAL.with(|local| {
            let local = local.get_or_init(|| Local { index, queue });
            AT.set(Arc::as_ptr(self).addr());
            let mut searcher = Searcher::new(index);
            let shared = &**self;
            let counters = &shared.counters[index];
            let mut takes = TakeCount::new();
            let mut turns = || {
                while !shared.priority_queue.calls()
                    || self.attend(local, &mut searcher.searching, &mut takes)
                {
                    let ready = self.take(local, parker, &mut searcher, &mut takes);
                    let Some(ready) = ready else { continue };
                    if searcher.searching {
                        searcher.searching = false;
                        self.hand_on();
                    }
                    counters.count_turn();
                    let again = ready.run_at(&shared.setup.limits, counters.slot());
                    calling_thread::after_turn(|pid| counters.begin_turn(pid));
                    if let Some(again) = again {
                        self.push_again(local, again);
                    }
                }
            };
            // A turn contains the panics of its process. This is the second line of defence,
            // around all turns: no other panic may cost a worker either.
            while let Err(reason) = contain_inline(&mut turns) {
                // The log subscriber is user code too.
                let _ = contain(|| tracing::error!(target: "krarup", reason = %one_line(&reason), "a turn panicked outside its process"));
            }
            AT.set(0);
            // Processes that will not run any more are dropped with the injector, not with the
            // thread.
            while !local.queue.is_empty() {
                match local.queue.pop() {
                    Some(ready) => self.injector.push(ready),
                    // The watchdog or a sibling is about to take it.
                    None => std::thread::yield_now(),
                }
            }
            self.clear();
        });
    }

    /// The time of the watchdog's last look, for a worker: the watchdog is awake because the worker is.
    pub(crate) fn recent_time(&self) -> Option<Timestamp> {
        (AT.get() == std::ptr::from_ref(self).addr()).then(|| self.watchdog.recent_time())
    }

    /// See [`Host::poke_later`](krarup_act::Host::poke_later). The watchdog is awake, as above.
    pub(crate) fn poke_later(&self, process: &dyn Fn() -> Arc<dyn Poke>) -> bool {
        let added = LOCAL.try_with(|local| {
            let here = AT.get() == std::ptr::from_ref(self).addr();
            here && local.get().is_some_and(|local| self.pokes[local.index].add(process))
        });
        added.unwrap_or(false)
    }

    /// Tells the workers to end after their current turn. Does not wait, so it is safe to call
    /// inside a turn (seeds G-082).
    pub(crate) fn signal_stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        self.priority_queue.stop();
        self.sleep.wake_all();
    }

    /// Waits for the workers to end, after [`SharedDispatcher::signal_stop`]. A worker must not
    /// call it.
    pub(crate) fn join(&self) {
        let threads = std::mem::take(&mut *self.threads.lock());
        for thread in threads {
            // A worker's panics are contained; the panic hook has reported any that are not.
            let _ = thread.join();
        }
    }

    /// Runs the last turn of each process that is left after the stop. The process was killed,
    /// so it ends in that turn, and everything that waits for its end is notified.
    pub(crate) fn clear(&self) {
        // A process on a list keeps its host alive, and so this dispatcher.
        self.pokes.iter().for_each(|pokes| _ = pokes.poke());
        while let Some(ready) = self.priority_queue.pop() {
            drop(turn::run(ready, &self.setup.limits));
        }
        loop {
            match self.injector.steal() {
                Steal::Success(ready) => drop(turn::run(ready, &self.setup.limits)),
                Steal::Retry => {}
                Steal::Empty => return,
            }
        }
    }

    pub(crate) fn current_turns(&self, creation: u32) -> Vec<CurrentTurn> {
        let snapshots = self.counters.iter().map(Counters::snapshot);
        let turns = self.watchdog.turns(self.setup.time.clock.now(), snapshots).into_iter();
        turns.map(|turn| turn.of(&self.setup.name, creation)).collect()
    }

    pub(crate) fn stats(&self) -> DispatcherStats {
        let queued = |worker: usize| self.stealers.get(worker).map_or(0, RunQueueStealer::len);
        let each = self.counters.iter().enumerate();
        let each = each.map(|(index, counters)| counters.stats(queued(index))).collect();
        DispatcherStats::new(self.setup.name.clone(), self.stealers.len()).with(|stats| {
            stats.set_each(each);
            stats.queued += self.injector.len() + self.priority_queue.len();
            // A process that was queued has run or is still queued.
            stats.scheduled = stats.turns + stats.queued as u64;
            stats.injected = self.injected.load(Ordering::Relaxed);
            stats.parked = self.sleep.parked();
            stats.searching = self.sleep.searching();
            stats.wakes = self.sleep.wakes();
            stats.spares = self.spares.live();
            self.reports.fill(stats);
        })
    }
}
