//! The work-stealing dispatcher: a few threads run any number of processes.
//!
//! ```text
//!            outside threads, timers                   a turn that makes others ready
//!                     │                                            │
//!                     ▼                                            ▼
//!               ┌───────────┐   batch of up to 17   ┌─────────────────────────┐
//!               │ injector  │ ────────────────────► │ local FIFO of worker 0  │──► turn
//!               └───────────┘                       └─────────────────────────┘
//!                     ▲ over 4096 spill                   ▲ steal half
//!                     └──────────────────────────   ┌─────────────────────────┐
//!                                                   │ local FIFO of worker 1  │──► turn
//!                                                   └─────────────────────────┘
//! ```
//!
//! A worker takes from its own queue, then a batch from the injector, then half of a
//! random sibling's queue, unless that does not pay ([`Thief`]), then spins, yields, and
//! parks. Every 61st take looks at the injector first, so that work from outside is not starved by local work (rule R1). A
//! process whose budget is used up goes to the tail.

use super::calling;
use super::counters::Counters;
use super::pokes::Pokes;
use super::reports::Reports;
use super::setup::Setup;
use super::sleep::Sleep;
use super::spares::{Seat, Spares};
use super::thief::{Sibling, Thief};
use super::turn;
use super::watchdog::{INTERVAL, Watchdog};
use crate::sync::Parker;
use crate::threads;
use crossbeam_deque::{Injector, Steal, Stealer, Worker};
use krarup_act::{Poke, Ready, contain};
use krarup_gen::DispatcherStats;
use parking_lot::Mutex;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::cell::{Cell, OnceCell};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

/// Processes in a local queue before new ones spill to the injector.
const LOCAL_CAPACITY: usize = 4_096;
/// Every this many takes the injector is looked at first.
const INJECTOR_INTERVAL: u32 = 61;
/// One process to run and up to 16 more to keep.
const BATCH: usize = 17;
/// Rounds of searching with a busy wait between them, then with a yield.
const SPINS: u32 = 4;
const YIELDS: u32 = 16;

pub(crate) struct Shared {
    setup: Setup,
    injector: Injector<Ready>,
    stealers: Vec<Stealer<Ready>>,
    sleep: Sleep,
    spares: Spares,
    watchdog: Watchdog,
    reports: Reports,
    stopped: AtomicBool,
    /// Of the workers, then of the spares.
    counters: Vec<Counters>,
    pokes: Vec<Pokes>,
    injected: AtomicU64,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// What a worker thread has at hand.
struct Local {
    index: usize,
    queue: Worker<Ready>,
}

/// A worker that looks for something to run beyond its own queue.
struct Seeker {
    /// It is counted as searching.
    searching: bool,
    thief: Thief,
    rng: SmallRng,
}

thread_local! {
    /// Which dispatcher this thread works for, for there can be several: its address, or 0.
    static AT: Cell<usize> = const { Cell::new(0) };
    static LOCAL: OnceCell<Local> = const { OnceCell::new() };
}

impl Shared {
    /// Starts the workers.
    pub(crate) fn start(setup: Setup) -> io::Result<Arc<Self>> {
        let queues: Vec<_> = (0..setup.workers).map(|_| Worker::new_fifo()).collect();
        let mut parkers: Vec<_> =
            (0..setup.workers + setup.spares).map(|_| Parker::new()).collect();
        let sleep = Sleep::new(&parkers);
        let counters = parkers.iter().map(|_| Counters::default()).collect();
        let seats = parkers.drain(setup.workers..).enumerate();
        let seats = seats.map(|(n, parker)| Seat { index: setup.workers + n, parker }).collect();
        let shared = Arc::new(Shared {
            injector: Injector::new(),
            stealers: queues.iter().map(Worker::stealer).collect(),
            sleep,
            spares: Spares::new(seats),
            watchdog: Watchdog::new(setup.long_turn),
            reports: Reports::new(&setup.name, Arc::clone(&setup.processes)),
            setup,
            stopped: AtomicBool::new(false),
            counters,
            pokes: queues.iter().map(|_| Pokes::default()).collect(),
            injected: AtomicU64::new(0),
            threads: Mutex::new(Vec::new()),
        });
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

    fn start_thread(
        self: &Arc<Self>,
        index: usize,
        mut work: impl FnMut(&Arc<Self>) + Send + 'static,
    ) -> io::Result<JoinHandle<()>> {
        let dispatcher = Arc::clone(self);
        let name = format!("{}-{index}", self.setup.thread_prefix);
        threads::start_with(&name, self.setup.stack_size, move || {
            (dispatcher.setup.around)(&mut || work(&dispatcher));
        })
    }

    /// Queues a ready process: on the worker's own queue if a worker calls, else on the
    /// injector.
    #[inline]
    pub(crate) fn schedule(&self, ready: Ready) {
        if AT.get() != std::ptr::from_ref(self).addr() {
            return self.inject(ready);
        }
        LOCAL.with(|local| match local.get() {
            Some(local) => self.push(&local.queue, ready),
            // Not reached: a worker has a queue as long as it says so.
            None => self.inject(ready),
        });
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
            self.rouse_sibling();
        }
    }

    #[cold]
    #[inline(never)]
    fn rouse_sibling(&self) {
        self.sleep.wake_one();
    }

    #[cold]
    #[inline(never)]
    fn inject(&self, ready: Ready) {
        self.injected.fetch_add(1, Ordering::Relaxed);
        self.injector.push(ready);
        self.sleep.wake_one();
    }

    fn work(self: &Arc<Self>, index: usize, queue: Worker<Ready>, parker: &Parker) {
        self.rouse_watchdog();
        LOCAL.with(|local| {
            let local = local.get_or_init(|| Local { index, queue });
            AT.set(Arc::as_ptr(self).addr());
            let rng = SmallRng::seed_from_u64(index as u64);
            let mut seeker = Seeker { searching: false, thief: Thief::default(), rng };
            let counters = &self.counters[index];
            let mut tick = 0_u32;
            let mut turns = || {
                while !self.stopped.load(Ordering::Relaxed) {
                    tick = tick.wrapping_add(1);
                    let ready = self.take_near(&local.queue, tick).or_else(|| {
                        let take = || self.take_injected(&local.queue);
                        let steal = |stealer: &Stealer<Ready>| {
                            let stolen = stealer.steal_batch_and_pop(&local.queue);
                            with_number(stolen, || 1 + local.queue.len())
                        };
                        self.search(index, parker, &mut seeker, take, steal)
                    });
                    let Some(ready) = ready else { continue };
                    if seeker.searching {
                        seeker.searching = false;
                        self.sleep.found();
                    }
                    counters.count_turn();
                    let again = ready.run_seen(&self.setup.limits, counters.in_hand());
                    calling::after_turn(|pid| counters.begin_turn(pid));
                    if let Some(again) = again {
                        self.push(&local.queue, again);
                    }
                }
            };
            // A turn contains what its process does. This is the second line, around all turns:
            // a worker must not be lost to whatever else may panic.
            while let Err(reason) = contain(&mut turns) {
                tracing::error!(target: "krarup", %reason, "a turn panicked");
            }
            AT.set(0);
            // What nobody will run is dropped with the injector's, not with the thread.
            while let Some(ready) = local.queue.pop() {
                self.injector.push(ready);
            }
            self.clear();
        });
    }

    /// A spare worker, until it is not needed any more.
    fn fill_in(self: &Arc<Self>, seat: &Seat) {
        let rng = SmallRng::seed_from_u64(seat.index as u64);
        // What a spare takes it takes one by one, and whether that pays is no question.
        let mut seeker = Seeker { searching: false, thief: Thief::default(), rng };
        let steal = |stealer: &Stealer<Ready>| with_number(stealer.steal(), || 0);
        while !self.stopped.load(Ordering::Relaxed) && !self.spares.leaves() {
            let take = || Self::take_one(|| self.injector.steal());
            let ready = self.search(seat.index, &seat.parker, &mut seeker, take, steal);
            let Some(ready) = ready else { continue };
            seeker.searching = false;
            self.sleep.found();
            let counters = &self.counters[seat.index];
            counters.begin_turn(ready.pid().id());
            let again = turn::run(ready, &self.setup.limits);
            calling::after_turn(|pid| counters.begin_turn(pid));
            if let Some(again) = again {
                self.inject(again);
            }
        }
        self.counters[seat.index].idle();
        if seeker.searching {
            self.sleep.found();
        }
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
        Self::take_one(|| self.injector.steal_batch_with_limit_and_pop(queue, BATCH))
    }

    fn take_one<T>(steal: impl Fn() -> Steal<T>) -> Option<T> {
        loop {
            match steal() {
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
        parker: &Parker,
        seeker: &mut Seeker,
        take: impl Fn() -> Option<Ready>,
        steal: impl Fn(&Stealer<Ready>) -> Steal<(Ready, usize)>,
    ) -> Option<Ready> {
        let counters = &self.counters[index];
        let now = || self.setup.time.clock.now();
        if !seeker.searching {
            seeker.searching = true;
            counters.idle();
            self.sleep.start_searching();
            seeker.thief.has_run_dry(now, self.siblings(index));
        }
        let patience = seeker.thief.patience(now, self.siblings(index));
        for round in 0..YIELDS {
            if let Some(ready) = take() {
                return Some(ready);
            }
            if patience.is_none()
                && let Some((ready, stolen)) = self.steal(index, &mut seeker.rng, &steal)
            {
                seeker.thief.has_stolen(stolen, now());
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
        let is_spare = index >= self.stealers.len();
        let any_work = || {
            self.stopped.load(Ordering::SeqCst)
                || (is_spare && self.spares.surplus())
                || !self.injector.is_empty()
                || (patience.is_none() && self.is_work_at_siblings())
        };
        if self.sleep.park(index, parker, patience, any_work) {
            counters.count_park();
        }
        // Also when it did not park in the end: it stood on the stack, and the watchdog may
        // have taken it for asleep.
        self.rouse_watchdog();
        None
    }

    /// The other workers, as a thief sees them.
    fn siblings(&self, thief: usize) -> impl Iterator<Item = Sibling> + Clone {
        let workers = self.counters.iter().zip(&self.stealers).enumerate();
        workers.filter(move |(index, _)| *index != thief).map(|(_, (counters, stealer))| Sibling {
            turns: counters.glance().turns,
            has_work: !stealer.is_empty(),
        })
    }

    fn is_work_queued(&self) -> bool {
        !self.injector.is_empty() || self.is_work_at_siblings()
    }

    fn is_work_at_siblings(&self) -> bool {
        self.stealers.iter().any(|stealer| !stealer.is_empty())
    }

    fn rouse_watchdog(self: &Arc<Self>) {
        if self.watchdog.rouse() {
            self.watchdog.begin(self.setup.time.clock.now());
            self.set_watchdog();
        }
    }

    /// See [`krarup_act::Host::poke_later`]. The watchdog is awake, for a worker is.
    pub(crate) fn poke_later(&self, process: &dyn Fn() -> Arc<dyn Poke>) -> bool {
        let added = LOCAL.try_with(|local| {
            let here = AT.get() == std::ptr::from_ref(self).addr();
            here && local.get().is_some_and(|local| self.pokes[local.index].add(process))
        });
        added.unwrap_or(false)
    }

    fn set_watchdog(self: &Arc<Self>) {
        self.setup.time.look_after(INTERVAL, self, Self::look);
    }

    /// The watchdog's timer has fired.
    fn look(self: &Arc<Self>) {
        if self.stopped.load(Ordering::SeqCst) {
            return;
        }
        self.pokes.iter().for_each(Pokes::poke);
        let workers = self.stealers.len();
        // The spares first: they are started here and nowhere else.
        let all_asleep = || {
            self.spares.live() == 0
                && self.sleep.parked() == workers
                && self.pokes.iter().all(Pokes::is_empty)
        };
        if self.watchdog.rest(all_asleep) {
            self.reports.blocked(0);
            return;
        }
        let queued = |worker: usize| {
            !self.injector.is_empty() || self.stealers.get(worker).is_some_and(|s| !s.is_empty())
        };
        let glances = self.counters.iter().map(Counters::glance);
        let look = self.watchdog.look(self.setup.time.clock.now(), glances, queued);
        if look.hidden {
            self.sleep.wake_one();
        }
        self.fit_spares(look.stuck);
        self.reports.blocked(look.blocked);
        self.reports.tell(&look);
        self.set_watchdog();
    }

    /// As many spare workers as workers are stuck, if there is work for them.
    fn fit_spares(self: &Arc<Self>, stuck: usize) {
        if self.spares.want(stuck) {
            (self.stealers.len()..self.counters.len()).for_each(|spare| self.sleep.wake(spare));
        } else if stuck > self.spares.live() && self.sleep.parked() == 0 && self.is_work_queued() {
            self.start_spare();
        }
    }

    fn start_spare(self: &Arc<Self>) {
        let mut threads = self.threads.lock();
        // Under the lock: whoever joins after the stop joins this one too.
        if self.stopped.load(Ordering::SeqCst) {
            return;
        }
        for ended in threads.extract_if(.., |thread| thread.is_finished()) {
            let _ = ended.join();
        }
        let Some(seat) = self.spares.enter() else { return };
        let index = seat.index;
        let seat = Mutex::new(Some(seat));
        let seat = Arc::new(seat);
        let taken = Arc::clone(&seat);
        let started = self.start_thread(index, move |dispatcher| {
            let Some(seat) = taken.lock().take() else { return };
            dispatcher.fill_in(&seat);
            dispatcher.spares.give_back(seat);
        });
        match started {
            Ok(thread) => threads.push(thread),
            Err(error) => {
                tracing::warn!(target: "krarup", %error, "no thread for a spare worker");
                self.spares.miss();
                seat.lock().take().into_iter().for_each(|seat| self.spares.give_back(seat));
            }
        }
    }

    fn steal(
        &self,
        thief: usize,
        rng: &mut SmallRng,
        steal: impl Fn(&Stealer<Ready>) -> Steal<(Ready, usize)>,
    ) -> Option<(Ready, usize)> {
        let siblings = self.stealers.len();
        let start = rng.random_range(0..siblings);
        for offset in 0..siblings {
            let victim = (start + offset) % siblings;
            if victim == thief {
                continue;
            }
            let stolen = Self::take_one(|| steal(&self.stealers[victim]));
            if stolen.is_some() {
                self.counters[thief].count_steal();
                return stolen;
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
        // A process on a list holds its host, and so this.
        self.pokes.iter().for_each(Pokes::poke);
        loop {
            match self.injector.steal() {
                Steal::Success(ready) => drop(turn::run(ready, &self.setup.limits)),
                Steal::Retry => {}
                Steal::Empty => return,
            }
        }
    }

    /// Timers of the dispatcher's own.
    pub(crate) fn timers(&self) -> usize {
        usize::from(self.watchdog.is_awake())
    }

    pub(crate) fn stats(&self) -> DispatcherStats {
        let (turns, steals, parks) = Counters::sums(&self.counters);
        DispatcherStats::new(self.setup.name.clone(), self.stealers.len()).with(|stats| {
            stats.parked = self.sleep.parked();
            (stats.turns, stats.steals, stats.parks) = (turns, steals, parks);
            self.reports.fill(stats);
            stats.spares = self.spares.live();
            stats.injected = self.injected.load(Ordering::Relaxed);
        })
    }
}

/// What was stolen, with the number of processes that came with it.
fn with_number(stolen: Steal<Ready>, number: impl Fn() -> usize) -> Steal<(Ready, usize)> {
    match stolen {
        Steal::Success(ready) => Steal::Success((ready, number())),
        Steal::Empty => Steal::Empty,
        Steal::Retry => Steal::Retry,
    }
}
