//! The watchdog's timer (rule R4): it is set while a worker is awake.

use super::protocol::ProtocolQueue;
use crate::dispatcher::sleep::IdleWorkers;
use crate::dispatcher::watchdog::Watchdog;
use crate::dispatcher::worker_parker::WorkerParker;
use crate::models::checker::{bounded, joined, thread};
use krarup_gen::Timestamp;
use std::sync::Arc;

/// The part of [`Watchdog`] that a worker and the timer use.
trait ModelWatchdog: Send + Sync + 'static {
    fn activate(&self) -> bool;
    fn rest(&self, all_asleep: impl Fn() -> bool) -> bool;
}

impl ModelWatchdog for Watchdog {
    fn activate(&self) -> bool {
        Watchdog::activate(self, Timestamp::default)
    }

    fn rest(&self, all_asleep: impl Fn() -> bool) -> bool {
        Watchdog::rest(self, all_asleep, Timestamp::default)
    }
}

/// A worker parks while another thread pushes and the watchdog's timer fires. The worker is in a
/// turn after that, so exactly one timer is set. `activates` says whether the worker calls `activate`
/// after a park; its argument is whether the worker slept.
fn a_watched_push(watchdog: impl ModelWatchdog, activates: fn(bool) -> bool) {
    let parker = WorkerParker::new();
    let sleep = IdleWorkers::new(std::slice::from_ref(&parker));
    let shared = Arc::new((sleep, watchdog, ProtocolQueue::default()));
    assert!(shared.1.activate(), "the timer is set when the worker starts");
    let worker = thread::spawn({
        let shared = Arc::clone(&shared);
        move || {
            let (sleep, watchdog, queue) = &*shared;
            let mut set = 0;
            sleep.start_searching();
            while queue.pop().is_none() {
                if activates(sleep.park(0, false, || !queue.is_empty(), || parker.park())) {
                    set += usize::from(watchdog.activate());
                }
                thread::yield_now();
            }
            sleep.found(|| !queue.is_empty());
            set
        }
    });
    let timer = thread::spawn({
        let shared = Arc::clone(&shared);
        move || {
            let (sleep, watchdog, _) = &*shared;
            usize::from(!watchdog.rest(|| sleep.parked() == 1))
        }
    });
    let (sleep, _, queue) = &*shared;
    queue.push(7);
    sleep.wake_one();
    let set = joined(worker) + joined(timer);
    assert_eq!(set, 1, "timers set");
}

/// As in `SharedDispatcher::search`.
fn always(_has_slept: bool) -> bool {
    true
}

#[test]
fn a_worker_that_is_awake_is_watched() {
    bounded(3, || a_watched_push(Watchdog::new(None), always));
}

/// Work is hidden behind a turn that does not end. One look of the watchdog after the push makes
/// a sibling steal it, although the worker that made it ready woke no worker, and although a
/// sibling is just about to park.
fn hidden_work(looks: bool) {
    let parker = WorkerParker::new();
    let sleep = IdleWorkers::new(std::slice::from_ref(&parker));
    let shared = Arc::new((sleep, ProtocolQueue::default()));
    let sibling = thread::spawn({
        let shared = Arc::clone(&shared);
        move || {
            let (sleep, queue) = &*shared;
            sleep.start_searching();
            while queue.pop().is_none() {
                sleep.park(0, false, || !queue.is_empty(), || parker.park());
                thread::yield_now();
            }
            sleep.found(|| !queue.is_empty());
        }
    });
    let busy = thread::spawn({
        let shared = Arc::clone(&shared);
        move || shared.1.push(7)
    });
    joined(busy);
    if looks && !shared.1.is_empty() {
        shared.0.wake_one();
    }
    joined(sibling);
}

#[test]
fn work_behind_a_long_turn_is_found() {
    bounded(4, || hidden_work(true));
}

#[cfg(loom)]
mod broken {
    use super::*;
    use crate::sync::{AtomicBool, Ordering, fence};

    #[test]
    #[should_panic(expected = "deadlock")]
    fn work_behind_a_long_turn_stays_there_without_a_look() {
        bounded(4, || hidden_work(false));
    }

    /// [`Watchdog`] without one of its lines.
    #[derive(Default)]
    struct VariedWatchdog {
        activates_without_fence: bool,
        rests_without_fence: bool,
        looks_once: bool,
        awake: AtomicBool,
    }

    impl ModelWatchdog for VariedWatchdog {
        fn activate(&self) -> bool {
            if !self.activates_without_fence {
                fence(Ordering::SeqCst);
            }
            !self.awake.load(Ordering::Relaxed) && !self.awake.swap(true, Ordering::SeqCst)
        }

        fn rest(&self, all_asleep: impl Fn() -> bool) -> bool {
            if !all_asleep() {
                return false;
            }
            self.awake.store(false, Ordering::SeqCst);
            if !self.rests_without_fence {
                fence(Ordering::SeqCst);
            }
            self.looks_once || all_asleep() || !self.activate()
        }
    }

    #[test]
    fn the_copy_of_the_watchdog_without_a_fault_holds() {
        bounded(3, || a_watched_push(VariedWatchdog::default(), always));
    }

    #[test]
    #[should_panic(expected = "timers set")]
    fn a_worker_that_almost_slept_and_does_not_rouse_is_not_watched() {
        bounded(3, || a_watched_push(Watchdog::new(None), |has_slept| has_slept));
    }

    #[test]
    #[should_panic(expected = "timers set")]
    fn a_worker_that_rouses_without_its_fence_is_not_watched() {
        let fault =
            || VariedWatchdog { activates_without_fence: true, ..VariedWatchdog::default() };
        bounded(3, move || a_watched_push(fault(), always));
    }

    #[test]
    #[should_panic(expected = "timers set")]
    fn a_watchdog_that_rests_without_its_fence_leaves_a_worker_unwatched() {
        let fault = || VariedWatchdog { rests_without_fence: true, ..VariedWatchdog::default() };
        bounded(3, move || a_watched_push(fault(), always));
    }

    #[test]
    #[should_panic(expected = "timers set")]
    fn a_watchdog_that_checks_once_leaves_a_worker_unwatched() {
        let fault = || VariedWatchdog { looks_once: true, ..VariedWatchdog::default() };
        bounded(3, move || a_watched_push(fault(), always));
    }
}
