//! The dispatcher that gives each process a thread of its own (rule R5).
//!
//! ```text
//!   admitted ──► slot and thread ──► waits ◄──────────┐
//!                                     │ ready         │ nothing to do
//!                                     └──► turn, turn ┘──► the process ends, then the thread
//! ```
//!
//! It is for code that needs its own thread: blocking clients, libraries that must be called
//! from one thread. A handler that blocks delays only its own process. There is one [`Ready`] of
//! a process, so a slot has room for one.

use super::calling_thread;
use super::counters::Counters;
use super::reports::Reports;
use super::setup::Setup;
use super::turn;
use super::watchdog::{INTERVAL, Watchdog};
use crate::threads;
use krarup_act::Ready;
use krarup_gen::{CurrentTurn, DispatcherStats};
use parking_lot::{Condvar, Mutex};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

pub(crate) struct Pinned {
    setup: Setup,
    /// Used only to know whether the timer is set. Each slot has a watchdog for what it sees.
    watchdog: Watchdog,
    reports: Reports,
    stopped: AtomicBool,
    /// By process number.
    slots: Mutex<BTreeMap<u64, Arc<PinnedThread>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Turns of processes that have ended.
    past_turns: AtomicU64,
}

/// One process and its thread.
struct PinnedThread {
    counters: Counters,
    watchdog: Watchdog,
    place: Mutex<PinnedSlot>,
    changed: Condvar,
}

#[derive(Default)]
struct PinnedSlot {
    ready: Option<Ready>,
    /// The process or the node has ended.
    ended: bool,
}

impl PinnedThread {
    fn put(&self, ready: Ready) {
        self.place.lock().ready = Some(ready);
        self.changed.notify_one();
    }

    fn end(&self) {
        self.place.lock().ended = true;
        self.changed.notify_one();
    }

    /// Waits until there is a turn to run. Returns `None` if there will be none.
    fn wait(&self) -> Option<Ready> {
        let mut place = self.place.lock();
        loop {
            if place.ready.is_some() || place.ended {
                return place.ready.take();
            }
            self.changed.wait(&mut place);
        }
    }
}

impl Pinned {
    /// Starts no thread.
    pub(crate) fn new(setup: Setup) -> Arc<Self> {
        Arc::new(Pinned {
            watchdog: Watchdog::new(None),
            reports: Reports::new(&setup),
            setup,
            stopped: AtomicBool::new(false),
            slots: Mutex::new(BTreeMap::new()),
            threads: Mutex::new(Vec::new()),
            past_turns: AtomicU64::new(0),
        })
    }

    /// Makes the slot and starts the thread of a process that is about to be spawned.
    pub(crate) fn slot(self: &Arc<Self>, process: u64) -> io::Result<()> {
        let mut threads = self.threads.lock();
        for ended in threads.extract_if(.., |thread| thread.is_finished()) {
            let _ = ended.join();
        }
        let slot = Arc::new(PinnedThread {
            counters: Counters::default(),
            watchdog: Watchdog::new(self.setup.long_turn),
            place: Mutex::new(PinnedSlot::default()),
            changed: Condvar::new(),
        });
        slot.watchdog.begin(self.setup.time.clock.now());
        self.slots.lock().insert(process, Arc::clone(&slot));
        if self.stopped.load(Ordering::SeqCst) {
            // The process will not be admitted, and its slot is then removed.
            return Ok(());
        }
        let dispatcher = Arc::clone(self);
        let started = threads::start_with(
            self.setup.thread_name(process),
            self.setup.stack_size,
            move || {
                (dispatcher.setup.around)(&mut || dispatcher.work(process, &slot));
            },
        );
        threads.push(started.inspect_err(|_| self.vacate(process))?);
        Ok(())
    }

    /// Removes the slot of a process that has ended or was not admitted.
    pub(crate) fn vacate(&self, process: u64) {
        let slot = {
            let mut slots = self.slots.lock();
            let Some(slot) = slots.remove(&process) else { return };
            // Under the lock: `stats` finds the turns in the sum or in the slot, once.
            self.past_turns.fetch_add(slot.counters.snapshot().turns, Ordering::Relaxed);
            slot
        };
        slot.end();
    }

    pub(crate) fn schedule(&self, ready: Ready) {
        let slot = self.slots.lock().get(&ready.pid().id()).cloned();
        match slot {
            Some(slot) => slot.put(ready),
            // The node has stopped. The process was killed, and ends in this turn.
            None => drop(turn::run(ready, &self.setup.limits)),
        }
    }

    fn work(self: &Arc<Self>, process: u64, slot: &PinnedThread) {
        while let Some(ready) = slot.wait() {
            let mut next = Some(ready);
            while let Some(ready) = next {
                slot.counters.begin_turn(process);
                if self.watchdog.activate(|| self.setup.time.clock.now()) {
                    let now = self.watchdog.recent_time();
                    self.each_slot(|slot| slot.watchdog.begin(now));
                    self.set_watchdog();
                }
                let run = |ready| turn::run(ready, &self.setup.limits);
                next = self.setup.turn_log.run(process, ready, run);
                calling_thread::after_turn(|_| {});
                if self.stopped.load(Ordering::Relaxed) {
                    next.take().into_iter().for_each(|ready| slot.put(ready));
                    break;
                }
            }
            slot.counters.idle();
            if self.stopped.load(Ordering::Relaxed) {
                return;
            }
        }
    }

    fn each_slot(&self, mut see: impl FnMut(&PinnedThread)) {
        let slots: Vec<_> = self.slots.lock().values().cloned().collect();
        slots.iter().for_each(|slot| see(slot));
    }

    fn set_watchdog(self: &Arc<Self>) {
        self.setup.time.look_after(INTERVAL, self, Self::look);
    }

    /// Called when the watchdog's timer fires.
    fn look(self: &Arc<Self>) {
        if self.stopped.load(Ordering::SeqCst) {
            return;
        }
        let all_asleep = || self.idle_slots() == self.slots.lock().len();
        if self.watchdog.rest(all_asleep, || self.setup.time.clock.now()) {
            self.reports.blocked(0);
            return;
        }
        let now = self.setup.time.clock.now();
        let mut blocked = 0;
        self.each_slot(|slot| {
            // No other process waits for this thread.
            let look = slot.watchdog.look(now, [slot.counters.snapshot()], |_| false);
            blocked += look.blocked;
            self.reports.tell(&look);
        });
        self.reports.blocked(blocked);
        self.set_watchdog();
    }

    fn idle_slots(&self) -> usize {
        self.slots.lock().values().filter(|slot| slot.counters.snapshot().pid == 0).count()
    }

    /// Tells the threads to end after their current turn. All processes have ended except those
    /// that block.
    pub(crate) fn signal_stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
    }

    /// Waits for the threads to end, after [`Pinned::signal_stop`].
    pub(crate) fn join(&self) {
        let threads = std::mem::take(&mut *self.threads.lock());
        for thread in threads {
            let _ = thread.join();
        }
    }

    /// Runs the last turn of each process that is left after the stop.
    pub(crate) fn clear(&self) {
        let slots = std::mem::take(&mut *self.slots.lock());
        for ready in slots.values().filter_map(|slot| slot.place.lock().ready.take()) {
            drop(turn::run(ready, &self.setup.limits));
        }
    }

    pub(crate) fn current_turns(&self, creation: u32) -> Vec<CurrentTurn> {
        let now = self.setup.time.clock.now();
        let mut turns = Vec::new();
        self.each_slot(|slot| {
            let turn = slot.watchdog.turns(now, [slot.counters.snapshot()]);
            turns.extend(turn.into_iter().map(|turn| {
                // Its thread has no number.
                turn.of(&self.setup.name, creation).with(|turn| turn.worker = None)
            }));
        });
        turns
    }

    pub(crate) fn stats(&self) -> DispatcherStats {
        let (each, past_turns): (Vec<_>, _) = {
            let slots = self.slots.lock();
            let each = slots.values().map(|slot| slot.counters.stats(0)).collect();
            (each, self.past_turns.load(Ordering::Relaxed))
        };
        DispatcherStats::new(self.setup.name.clone(), each.len()).with(|stats| {
            stats.is_pinned = true;
            stats.set_each(each);
            stats.turns += past_turns;
            stats.scheduled = stats.turns;
            stats.parked = self.idle_slots();
            self.reports.fill(stats);
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
