//! Workers that sleep in the poller of the program, one of them, and on their threads, the others: a push and a stop find
//! them as they find any that park.

use super::protocol::{ModelDispatcher, SleepProtocol, one_push, two_pushes, workers};
use crate::dispatcher::sleep::IdleWorkers;
use crate::dispatcher::worker_parker::WorkerParker;
use crate::models::checker::{Condvar, Mutex as Lock, bounded};
use krarup_act::Poller;
use std::sync::Arc;
use std::task::Waker;

/// A poller for which nothing happens. A wake is given to whoever waits, or comes next.
#[derive(Default)]
struct ModelPoller {
    state: Lock<PollerState>,
    changed: Condvar,
}

#[derive(Default)]
struct PollerState {
    is_occupied: bool,
    is_woken: bool,
}

impl Poller for ModelPoller {
    fn poll(&self, _: &mut Vec<Waker>) {
        let mut state = self.state.lock();
        if !state.is_occupied {
            state.is_woken = false;
        }
    }

    fn wait(&self, _: &mut Vec<Waker>, still: &dyn Fn() -> bool, _: &Waker) -> bool {
        {
            let mut state = self.state.lock();
            if state.is_occupied {
                return false;
            }
            state.is_occupied = true;
        }
        let waits = still();
        let mut state = self.state.lock();
        while waits && !state.is_woken {
            state = self.changed.wait(state);
        }
        state.is_woken = false;
        state.is_occupied = false;
        true
    }

    fn is_back(&self, _: &Waker) {}

    fn wake(&self) {
        self.state.lock().is_woken = true;
        self.changed.notify_one();
    }
}

/// [`IdleWorkers`] whose workers sleep in the poller, if it is free.
struct SleepsInPoller {
    sleep: IdleWorkers,
    poller: Arc<ModelPoller>,
}

impl SleepsInPoller {
    fn new(parkers: &[WorkerParker]) -> Self {
        SleepsInPoller { sleep: IdleWorkers::new(parkers), poller: Arc::default() }
    }
}

impl SleepProtocol for SleepsInPoller {
    fn wake_one(&self) {
        self.sleep.wake_one();
        // Some other thread polls, and takes what is meant for the worker.
        self.poller.poll(&mut Vec::new());
    }

    fn wake_all(&self) {
        self.sleep.wake_all();
        self.poller.poll(&mut Vec::new());
    }

    fn start_searching(&self) {
        self.sleep.start_searching();
    }

    fn found(&self, any_work: impl FnOnce() -> bool) {
        self.sleep.found(any_work);
    }

    fn leave(&self, any_work: impl FnOnce() -> bool) {
        self.sleep.found(any_work);
    }

    fn park(&self, worker: usize, parker: &WorkerParker, any_work: impl FnOnce() -> bool) -> bool {
        let poller: Arc<dyn Poller> = Arc::clone(&self.poller) as _;
        let sleeps = || parker.park_in(&poller, &mut Vec::new());
        self.sleep.park(worker, false, any_work, sleeps)
    }
}

#[test]
fn a_push_finds_the_worker_that_sleeps_in_the_poller() {
    bounded(3, || one_push(1, SleepsInPoller::new));
}

#[test]
fn a_push_finds_one_of_two_that_sleep_in_the_poller_and_elsewhere() {
    bounded(2, || one_push(2, SleepsInPoller::new));
}

#[test]
fn two_pushes_find_the_worker_in_the_poller_and_the_one_elsewhere() {
    bounded(2, || two_pushes(SleepsInPoller::new));
}

#[test]
fn a_stop_ends_the_worker_in_the_poller_and_the_one_elsewhere() {
    bounded(2, || workers(2, SleepsInPoller::new, |_, _| {}, ModelDispatcher::stop));
}
