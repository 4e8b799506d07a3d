//! The work-stealing dispatcher: a few threads run any number of processes.
//!
//! ```text
//!            outside threads, timers                   a turn that makes others ready
//!                     │                                            │
//!                     ▼                                            ▼
//!               ┌───────────┐   batch of up to 17   ┌─────────────────────────┐
//!               │ injector  │ ────────────────────► │ local FIFO of worker 0  │──► turn
//!               └───────────┘                       └─────────────────────────┘
//!                     ▲ over 256 spill                   ▲ steal half
//!                     └──────────────────────────   ┌─────────────────────────┐
//!                                                   │ local FIFO of worker 1  │──► turn
//!                                                   └─────────────────────────┘
//! ```
//!
//! A worker takes from its own queue, then a batch from the injector, then half of a
//! random sibling's queue, then spins, yields, and parks. Every 61st take looks at the
//! injector first, so that work from outside is not starved by local work (rule R1). A
//! process whose budget is used up goes to the tail.

use super::pokes::Pokes;
use super::sleep::Sleep;
use super::watchdog::{INTERVAL, Verdict, Watchdog};
use crate::clock::Clock;
use crate::sync::Parker;
use crate::threads::{self, Around};
use crate::timer::Timers;
use crossbeam_deque::{Injector, Steal, Stealer, Worker};
use krarup_act::{Alarm, Poke, Ready, TurnLimits, contain};
use krarup_gen::DispatcherStats;
use parking_lot::Mutex;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::cell::OnceCell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

/// Processes in a local queue before new ones spill to the injector.
const LOCAL_CAPACITY: usize = 256;
/// Every this many takes the injector is looked at first.
const INJECTOR_INTERVAL: u32 = 61;
/// One process to run and up to 16 more to keep.
const BATCH: usize = 17;
/// Rounds of searching with a busy wait between them, then with a yield.
const SPINS: u32 = 4;
const YIELDS: u32 = 16;

pub(crate) struct Shared {
    name: String,
    limits: TurnLimits,
    injector: Injector<Ready>,
    stealers: Vec<Stealer<Ready>>,
    sleep: Sleep,
    watchdog: Watchdog,
    time: Time,
    stopped: AtomicBool,
    counters: Vec<Counters>,
    pokes: Vec<Pokes>,
    injected: AtomicU64,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// What one worker counts; written by it alone.
#[derive(Default)]
#[repr(align(128))]
struct Counters {
    turns: AtomicU64,
    steals: AtomicU64,
    parks: AtomicU64,
}

fn count(counter: &AtomicU64) {
    counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

/// What a worker thread has at hand.
struct Local {
    /// Which dispatcher it works for: several can be in one operating system process.
    dispatcher: *const Shared,
    index: usize,
    queue: Worker<Ready>,
}

thread_local! {
    static LOCAL: OnceCell<Local> = const { OnceCell::new() };
}

/// The node's clock and timers.
#[derive(Clone)]
pub(crate) struct Time {
    pub(crate) clock: Arc<Clock>,
    pub(crate) timers: Arc<Timers>,
}

/// How a shared dispatcher is set up.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) name: String,
    pub(crate) thread_prefix: String,
    pub(crate) workers: usize,
    pub(crate) limits: TurnLimits,
    pub(crate) time: Time,
}

impl Shared {
    /// Starts the workers. `around` is called on each thread and runs the worker within
    /// whatever context it needs (a tokio runtime).
    pub(crate) fn start(setup: Setup, around: &Around) -> io::Result<Arc<Self>> {
        let queues: Vec<_> = (0..setup.workers).map(|_| Worker::new_fifo()).collect();
        let parkers: Vec<_> = (0..setup.workers).map(|_| Parker::new()).collect();
        let shared = Arc::new(Shared {
            name: setup.name,
            limits: setup.limits,
            injector: Injector::new(),
            stealers: queues.iter().map(Worker::stealer).collect(),
            sleep: Sleep::new(&parkers),
            watchdog: Watchdog::default(),
            time: setup.time,
            stopped: AtomicBool::new(false),
            counters: queues.iter().map(|_| Counters::default()).collect(),
            pokes: queues.iter().map(|_| Pokes::default()).collect(),
            injected: AtomicU64::new(0),
            threads: Mutex::new(Vec::new()),
        });
        for (index, (queue, parker)) in queues.into_iter().zip(parkers).enumerate() {
            let dispatcher = Arc::clone(&shared);
            let around = Arc::clone(around);
            let started = threads::start(&format!("{}-{index}", setup.thread_prefix), move || {
                let mut worker = Some((queue, parker));
                around(&mut || {
                    if let Some((queue, parker)) = worker.take() {
                        dispatcher.work(index, queue, &parker);
                    }
                });
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

    /// Queues a ready process: on the worker's own queue if a worker calls, else on the
    /// injector.
    #[inline]
    pub(crate) fn schedule(&self, ready: Ready) {
        let mut ready = Some(ready);
        // A thread that is being torn down has no queue.
        let _ = LOCAL.try_with(|local| {
            if let Some(local) = local.get()
                && std::ptr::eq(local.dispatcher, self)
                && let Some(ready) = ready.take()
            {
                self.push(&local.queue, ready);
            }
        });
        if let Some(ready) = ready {
            self.inject(ready);
        }
    }

    /// A process made ready by the running turn will be run by this worker next, if it
    /// is alone: waking a sibling to steal it would cost more than it saves, and a chain
    /// of messages between two processes stays on one worker. A second one is worth a
    /// sibling.
    #[inline]
    fn push(&self, queue: &Worker<Ready>, ready: Ready) {
        let queued = queue.len();
        if queued >= LOCAL_CAPACITY {
            return self.inject(ready);
        }
        queue.push(ready);
        // This worker will take it in any case, so a hint is enough to decide; the fence of
        // a sure answer would cost as much as the push.
        if queued > 0 && self.sleep.could_wake() {
            self.sleep.wake_one();
        }
    }

    fn inject(&self, ready: Ready) {
        self.injected.fetch_add(1, Ordering::Relaxed);
        self.injector.push(ready);
        self.sleep.wake_one();
    }

    fn work(self: &Arc<Self>, index: usize, queue: Worker<Ready>, parker: &Parker) {
        self.rouse_watchdog();
        LOCAL.with(|local| {
            let local = local.get_or_init(|| Local { dispatcher: Arc::as_ptr(self), index, queue });
            let mut rng = SmallRng::seed_from_u64(index as u64);
            let counters = &self.counters[index];
            let mut tick = 0_u32;
            let mut searching = false;
            while !self.stopped.load(Ordering::Relaxed) {
                tick = tick.wrapping_add(1);
                let ready = self
                    .take_near(&local.queue, tick)
                    .or_else(|| self.search(index, &local.queue, &mut rng, parker, &mut searching));
                let Some(ready) = ready else { continue };
                if searching {
                    searching = false;
                    self.sleep.found();
                }
                count(&counters.turns);
                // A turn contains what its process does. This is the second line: a worker
                // must not be lost to whatever else may panic.
                match contain(|| ready.run(self.limits)) {
                    Ok(Some(again)) => self.push(&local.queue, again),
                    Ok(None) => {}
                    Err(reason) => {
                        tracing::error!(target: "krarup", %reason, "a turn panicked");
                    }
                }
            }
            // What nobody will run is dropped with the injector's, not with the thread.
            while let Some(ready) = local.queue.pop() {
                self.injector.push(ready);
            }
            self.clear();
        });
    }

    /// From the worker's own queue, or from the injector where it is time for that.
    #[inline]
    fn take_near(&self, queue: &Worker<Ready>, tick: u32) -> Option<Ready> {
        if tick.is_multiple_of(INJECTOR_INTERVAL)
            && let Some(ready) = self.take_injected(queue)
        {
            return Some(ready);
        }
        queue.pop()
    }

    fn take_injected(&self, queue: &Worker<Ready>) -> Option<Ready> {
        loop {
            match self.injector.steal_batch_with_limit_and_pop(queue, BATCH) {
                Steal::Success(ready) => return Some(ready),
                Steal::Empty => return None,
                Steal::Retry => {}
            }
        }
    }

    /// From the injector or a sibling; parks if there is nothing. `None`: look again.
    fn search(
        self: &Arc<Self>,
        index: usize,
        queue: &Worker<Ready>,
        rng: &mut SmallRng,
        parker: &Parker,
        searching: &mut bool,
    ) -> Option<Ready> {
        if !*searching {
            *searching = true;
            self.sleep.start_searching();
        }
        for round in 0..YIELDS {
            if let Some(ready) = self.take_injected(queue).or_else(|| self.steal(index, queue, rng))
            {
                return Some(ready);
            }
            if self.stopped.load(Ordering::Relaxed) {
                return None;
            }
            if round < SPINS {
                (0..1_u32 << round).for_each(|_| std::hint::spin_loop());
            } else {
                thread::yield_now();
            }
        }
        let any_work = || {
            self.stopped.load(Ordering::SeqCst)
                || !self.injector.is_empty()
                || self.stealers.iter().any(|stealer| !stealer.is_empty())
        };
        if self.sleep.park(index, parker, any_work) {
            count(&self.counters[index].parks);
        }
        // Also when it did not park in the end: it stood on the stack, and the watchdog may
        // have taken it for asleep.
        self.rouse_watchdog();
        None
    }

    fn rouse_watchdog(self: &Arc<Self>) {
        if self.watchdog.rouse() {
            self.set_watchdog();
        }
    }

    /// See [`krarup_act::Host::poke_later`]. The watchdog is awake, for a worker is.
    pub(crate) fn poke_later(&self, poke: &dyn Fn() -> Arc<dyn Poke>) -> bool {
        let added = LOCAL.try_with(|local| {
            local.get().is_some_and(|local| {
                std::ptr::eq(local.dispatcher, self) && self.pokes[local.index].add(poke)
            })
        });
        added.unwrap_or(false)
    }

    fn set_watchdog(self: &Arc<Self>) {
        // Weak: a timer must not keep a stopped dispatcher.
        let dispatcher = Arc::downgrade(self);
        let look = move || {
            if let Some(dispatcher) = dispatcher.upgrade() {
                dispatcher.look();
            }
        };
        let due = self.time.clock.now() + INTERVAL;
        self.time.timers.set(due, Alarm::Run(Box::new(look)));
    }

    /// The watchdog's timer has fired.
    fn look(self: &Arc<Self>) {
        if self.stopped.load(Ordering::SeqCst) {
            return;
        }
        self.pokes.iter().for_each(Pokes::poke);
        let all_asleep =
            || self.sleep.parked() == self.stealers.len() && self.pokes.iter().all(Pokes::is_empty);
        if self.watchdog.rest(all_asleep) {
            return;
        }
        let turns: Vec<_> = self.counters.iter().map(|c| c.turns.load(Ordering::Relaxed)).collect();
        let queued = |worker: usize| !self.injector.is_empty() || !self.stealers[worker].is_empty();
        if self.watchdog.look(&turns, queued) == Verdict::Wake {
            self.sleep.wake_one();
        }
        self.set_watchdog();
    }

    fn steal(&self, thief: usize, queue: &Worker<Ready>, rng: &mut SmallRng) -> Option<Ready> {
        let siblings = self.stealers.len();
        let start = rng.random_range(0..siblings);
        for offset in 0..siblings {
            let victim = (start + offset) % siblings;
            if victim == thief {
                continue;
            }
            loop {
                match self.stealers[victim].steal_batch_and_pop(queue) {
                    Steal::Success(ready) => {
                        count(&self.counters[thief].steals);
                        return Some(ready);
                    }
                    Steal::Empty => break,
                    Steal::Retry => {}
                }
            }
        }
        None
    }

    /// Tells the workers to end after the turn they are in. Does not wait: safe from
    /// inside a turn (seeds G-082).
    pub(crate) fn signal_stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        self.sleep.wake_all();
    }

    /// Waits for the workers to end, after [`Shared::signal_stop`]; not called by one.
    pub(crate) fn join(&self) {
        let threads = std::mem::take(&mut *self.threads.lock());
        for thread in threads {
            // A worker's panics are contained; one that is not has been reported by the panic
            // hook.
            let _ = thread.join();
        }
    }

    /// Runs a last turn of what is left after the stop: it was killed, so it ends, and
    /// whoever waits for it hears of that.
    pub(crate) fn clear(&self) {
        loop {
            match self.injector.steal() {
                Steal::Success(ready) => drop(contain(|| drop(ready.run(self.limits)))),
                Steal::Retry => {}
                Steal::Empty => return,
            }
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Timers of the dispatcher's own.
    pub(crate) fn timers(&self) -> usize {
        usize::from(self.watchdog.is_awake())
    }

    pub(crate) fn stats(&self) -> DispatcherStats {
        let sum = |pick: fn(&Counters) -> &AtomicU64| {
            self.counters.iter().map(|c| pick(c).load(Ordering::Relaxed)).sum()
        };
        DispatcherStats::new(self.name.clone(), self.stealers.len()).with(|stats| {
            stats.parked = self.sleep.parked();
            stats.turns = sum(|c| &c.turns);
            stats.steals = sum(|c| &c.steals);
            stats.parks = sum(|c| &c.parks);
            stats.injected = self.injected.load(Ordering::Relaxed);
        })
    }
}
