//! The wait that idle workers and a thread share: whoever has to be woken is, and what has become ready is seen, whoever is in the
//! poller and whoever runs a handler.

use super::checker::{Condvar, Mutex as Lock, bounded, joined, thread};
use crate::polling::poller::{Poller, wake_polled};
use crate::polling::shared_wait::{Selection, SharedWait};
use crate::polling::turns::{PollEntry, PollTurns, ThreadTurn};
use crate::sync::{AtomicBool, AtomicU8, Mutex, Ordering};
use std::io;
use std::sync::{Arc, OnceLock};
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

/// The system, as edge-triggered as epoll: a wake is reported once, to whoever waits or comes next, and so is an event.
#[derive(Clone, Default)]
struct ModelSystem(Arc<(Lock<SystemReport>, Condvar)>);

#[derive(Default)]
struct SystemReport {
    woken: bool,
    events: Vec<Waker>,
}

impl ModelSystem {
    fn report(&self, report: impl FnOnce(&mut SystemReport)) {
        report(&mut self.0.0.lock());
        self.0.1.notify_one();
    }
}

impl Selection for ModelSystem {
    fn select(&mut self, limit: Option<Duration>, woken: &mut Vec<Waker>) -> io::Result<()> {
        let mut reported = self.0.0.lock();
        while limit.is_none() && !reported.woken && reported.events.is_empty() {
            reported = self.0.1.wait(reported);
        }
        reported.woken = false;
        woken.append(&mut reported.events);
        Ok(())
    }
}

const AWAKE: u8 = 0;
const ASLEEP: u8 = 1;
const TOLD: u8 = 2;

/// A worker that sleeps in the poller or, if that is occupied, here. It is awake for ever when it was told.
#[derive(Default)]
struct SleepingWorker {
    state: AtomicU8,
    elsewhere: (Lock<bool>, Condvar),
    poller: Mutex<Option<Arc<SharedWait>>>,
}

impl SleepingWorker {
    fn sleep(self: &Arc<Self>, poller: &Arc<SharedWait>, woken: &mut Vec<Waker>) {
        *self.poller.lock() = Some(Arc::clone(poller));
        let sleeps = Ordering::SeqCst;
        if self.state.compare_exchange(AWAKE, ASLEEP, sleeps, sleeps).is_ok() {
            let still = || self.state.load(Ordering::SeqCst) == ASLEEP;
            let waker = Waker::from(Arc::clone(self));
            if !poller.wait(woken, &still, &waker) {
                let mut told = self.elsewhere.0.lock();
                while !*told {
                    told = self.elsewhere.1.wait(told);
                }
                drop(told);
                poller.is_back(&waker);
            }
        }
        *self.elsewhere.0.lock() = false;
        self.state.swap(AWAKE, Ordering::SeqCst);
    }
}

impl Wake for SleepingWorker {
    fn wake(self: Arc<Self>) {
        if self.state.swap(TOLD, Ordering::SeqCst) == ASLEEP {
            *self.elsewhere.0.lock() = true;
            self.elsewhere.1.notify_one();
            let poller = self.poller.lock().clone();
            poller.into_iter().for_each(|poller| poller.wake());
        }
    }
}

/// A flag, and the worker that waits for it.
struct WorkFlag {
    is_up: AtomicBool,
    worker: Arc<SleepingWorker>,
}

impl Wake for WorkFlag {
    fn wake(self: Arc<Self>) {
        self.is_up.store(true, Ordering::SeqCst);
        Arc::clone(&self.worker).wake();
    }
}

impl WorkFlag {
    fn new() -> Arc<Self> {
        Arc::new(WorkFlag { is_up: AtomicBool::new(false), worker: Arc::default() })
    }

    /// What its worker does: sleeps and wakes what is reported, until the flag is up.
    fn work(&self, poller: &Arc<SharedWait>) {
        let mut woken = Vec::new();
        while !self.is_up.load(Ordering::SeqCst) {
            self.worker.sleep(poller, &mut woken);
            wake_polled(woken.drain(..));
        }
    }
}

/// In a model no time passes.
fn now() -> Instant {
    static NOW: OnceLock<Instant> = OnceLock::new();
    *NOW.get_or_init(Instant::now)
}

/// Runs `body` beside the thread of a poller, which must end with it.
fn beside_the_thread(body: impl FnOnce(&Arc<SharedWait>, &ModelSystem)) {
    let system = ModelSystem::default();
    let wakeup = system.clone();
    let wakes = move || {
        wakeup.report(|reported| reported.woken = true);
        Ok(())
    };
    let poller = Arc::new(SharedWait::at(now, system.clone(), wakes));
    let serves = Arc::clone(&poller);
    let serving = thread::spawn(move || serves.serve().unwrap());
    body(&poller, &system);
    poller.close().unwrap();
    joined(serving);
}

#[test]
fn i10_a_worker_that_waits_for_sockets_is_woken_for_other_work() {
    bounded(3, || {
        beside_the_thread(|poller, _| {
            let flag = WorkFlag::new();
            let (works, there) = (Arc::clone(&flag), Arc::clone(poller));
            let worker = thread::spawn(move || works.work(&there));
            // Another worker, which may take what is meant for the first one.
            poller.poll(&mut Vec::new());
            flag.wake();
            poller.poll(&mut Vec::new());
            joined(worker);
        });
    });
}

#[test]
fn i10_an_event_is_seen_whoever_waits() {
    bounded(3, || {
        beside_the_thread(|poller, system| {
            let flag = WorkFlag::new();
            let (works, there) = (Arc::clone(&flag), Arc::clone(poller));
            let worker = thread::spawn(move || works.work(&there));
            system.report(|reported| reported.events.push(Waker::from(flag)));
            joined(worker);
        });
    });
}

#[test]
fn i10_an_event_is_seen_while_the_worker_that_polled_last_runs_a_handler() {
    bounded(3, || {
        beside_the_thread(|poller, system| {
            let flag = WorkFlag::new();
            let (works, there) = (Arc::clone(&flag), Arc::clone(poller));
            let worker = thread::spawn(move || works.work(&there));
            // The worker of this thread polls, and then runs a handler that waits for the other one.
            poller.poll(&mut Vec::new());
            system.report(|reported| reported.events.push(Waker::from(flag)));
            joined(worker);
        });
    });
}

#[test]
fn i10_the_thread_guards_again_when_the_last_worker_has_left() {
    bounded(3, || {
        let turns = Arc::new(PollTurns::new(now));
        assert_eq!(turns.enter_to_wait(Waker::noop()), PollEntry::WakesThread);
        let guarded = Arc::clone(&turns);
        let thread = thread::spawn(move || guarded.thread_turn());
        assert!(turns.enter_to_poll());
        turns.leave(false);
        // Nobody polls any more.
        assert_eq!(joined(thread), ThreadTurn::Waits);
    });
}

#[test]
fn i10_the_end_of_all_sockets_wakes_the_worker_that_waits_for_them() {
    bounded(3, || {
        let mut worker = None;
        beside_the_thread(|poller, _| {
            let there = Arc::clone(poller);
            worker = Some(thread::spawn(move || {
                let worker = Arc::new(SleepingWorker::default());
                // The first time it sends the thread away.
                for _ in 0..2 {
                    // Nobody tells it, so it must not sleep elsewhere.
                    *worker.elsewhere.0.lock() = true;
                    worker.sleep(&there, &mut Vec::new());
                }
                worker
            }));
        });
        worker.into_iter().for_each(|worker| drop(joined(worker)));
    });
}
