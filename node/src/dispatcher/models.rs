//! Models of how workers fall asleep and are woken: no work is lost between one that
//! pushes and one that parks, and the watchdog's timer is set while a worker
//! is awake (rule R4).
//!
//! Each model is run with the real [`Sleep`] or [`Watchdog`]. A lost wake-up shows as a
//! deadlock: everybody is asleep, and the work lies there. [`Varied`] is the same
//! protocol once more, from which one line at a time is left out: each of those must
//! fail, which shows both what the line is for and that the model would notice.

use super::sleep::Sleep;
use super::spares::{Seat, Spares};
use super::watchdog::Watchdog;
use crate::sync::{AtomicBool, AtomicUsize, Mutex, Ordering, Parker, Unparker, fence};
use loom::model::Builder;
use loom::sync::Condvar;
use loom::thread;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// Runs a model in every order with at most this many preemptions.
fn check(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

/// What a worker and one that pushes use of [`Sleep`].
trait Protocol: Send + Sync + 'static {
    fn wake_one(&self);
    fn wake_all(&self);
    fn start_searching(&self);
    fn found(&self);
    /// A searching worker ends, as `Shared::fill_in` does.
    fn leave(&self);
    fn park(&self, worker: usize, parker: &Parker, any_work: impl FnOnce() -> bool) -> bool;
}

impl Protocol for Sleep {
    fn wake_one(&self) {
        self.wake_one();
    }

    fn wake_all(&self) {
        self.wake_all();
    }

    fn start_searching(&self) {
        self.start_searching();
    }

    fn found(&self) {
        self.found();
    }

    fn leave(&self) {
        self.found();
    }

    fn park(&self, worker: usize, parker: &Parker, any_work: impl FnOnce() -> bool) -> bool {
        self.park(worker, parker, None, any_work)
    }
}

/// [`Sleep`] of workers the first of whose parks is a doze, over at any moment: also when
/// somebody has just taken the worker off the stack.
struct DozesFirst {
    sleep: Sleep,
    dozed: AtomicBool,
}

impl DozesFirst {
    fn new(parkers: &[Parker]) -> Self {
        DozesFirst { sleep: Sleep::new(parkers), dozed: AtomicBool::new(false) }
    }
}

impl Protocol for DozesFirst {
    fn wake_one(&self) {
        self.sleep.wake_one();
    }

    fn wake_all(&self) {
        self.sleep.wake_all();
    }

    fn start_searching(&self) {
        self.sleep.start_searching();
    }

    fn found(&self) {
        self.sleep.found();
    }

    fn leave(&self) {
        self.sleep.found();
    }

    fn park(&self, worker: usize, parker: &Parker, any_work: impl FnOnce() -> bool) -> bool {
        let dozes = !self.dozed.swap(true, Ordering::Relaxed);
        self.sleep.park(worker, parker, dozes.then_some(Duration::ZERO), any_work)
    }
}

/// The queues with the contract of the real ones: what is pushed is taken once and in
/// order, and whether there is anything can be asked without a lock, so the question
/// orders nothing by itself.
#[derive(Default)]
struct Queue {
    items: Mutex<VecDeque<usize>>,
    length: AtomicUsize,
}

impl Queue {
    fn push(&self, item: usize) {
        let mut items = self.items.lock();
        items.push_back(item);
        self.length.store(items.len(), Ordering::Release);
    }

    fn pop(&self) -> Option<usize> {
        if self.is_empty() {
            return None;
        }
        let mut items = self.items.lock();
        let item = items.pop_front();
        self.length.store(items.len(), Ordering::Release);
        item
    }

    fn is_empty(&self) -> bool {
        self.length.load(Ordering::Acquire) == 0
    }
}

/// `Shared` as far as it puts workers to sleep and wakes them.
struct Dispatcher<P> {
    sleep: P,
    queue: Queue,
    stopped: AtomicBool,
}

impl<P: Protocol> Dispatcher<P> {
    /// As `Shared::inject`.
    fn inject(&self, item: usize) {
        self.queue.push(item);
        self.sleep.wake_one();
    }

    /// As `Shared::signal_stop`.
    fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        self.sleep.wake_all();
    }

    /// As `Shared::work`, without the rounds of searching before it parks.
    fn work(&self, worker: usize, parker: &Parker, run: impl Fn(usize)) {
        let mut searching = false;
        while !self.stopped.load(Ordering::Relaxed) {
            if !searching {
                searching = true;
                self.sleep.start_searching();
            }
            let Some(item) = self.queue.pop() else {
                let any_work = || self.stopped.load(Ordering::SeqCst) || !self.queue.is_empty();
                self.sleep.park(worker, parker, any_work);
                // To loom: what was seen may be old, do not look at it again for ever.
                thread::yield_now();
                continue;
            };
            searching = false;
            self.sleep.found();
            run(item);
        }
    }
}

/// Starts a dispatcher whose workers do `run` with each item, does `outside` beside
/// them, and waits for the workers to end.
fn workers<P: Protocol>(
    count: usize,
    protocol: impl FnOnce(&[Parker]) -> P,
    run: impl Fn(&Dispatcher<P>, usize) + Send + Sync + 'static,
    outside: impl FnOnce(&Dispatcher<P>),
) {
    let parkers: Vec<_> = (0..count).map(|_| Parker::new()).collect();
    let dispatcher = Arc::new(Dispatcher {
        sleep: protocol(&parkers),
        queue: Queue::default(),
        stopped: AtomicBool::new(false),
    });
    let run = Arc::new(run);
    let threads: Vec<_> = parkers
        .into_iter()
        .enumerate()
        .map(|(worker, parker)| {
            let dispatcher = Arc::clone(&dispatcher);
            let run = Arc::clone(&run);
            thread::spawn(move || {
                dispatcher.work(worker, &parker, |item| run(&dispatcher, item));
            })
        })
        .collect();
    outside(&dispatcher);
    for thread in threads {
        thread.join().expect("a worker does not panic");
    }
}

/// One push, and workers that are about to park or have parked: the item is found by
/// somebody, who then stops the others.
fn one_push<P: Protocol>(count: usize, protocol: impl FnOnce(&[Parker]) -> P) {
    workers(count, protocol, |dispatcher, _| dispatcher.stop(), |dispatcher| dispatcher.inject(7));
}

/// Two pushes and two workers: neither turn ends before the other has begun, so both
/// workers must be awake.
fn two_pushes<P: Protocol>(protocol: impl FnOnce(&[Parker]) -> P) {
    let begun = Arc::new((loom::sync::Mutex::new(0), Condvar::new()));
    let run = move |dispatcher: &Dispatcher<P>, _| {
        let (count, changed) = &*begun;
        let mut count = count.lock().expect("nothing panics under a lock");
        *count += 1;
        changed.notify_all();
        while *count < 2 {
            count = changed.wait(count).expect("nothing panics under a lock");
        }
        drop(count);
        dispatcher.stop();
    };
    workers(2, protocol, run, |dispatcher| {
        dispatcher.inject(1);
        dispatcher.inject(2);
    });
}

/// A push while a spare worker searches, finds nothing and leaves, and a worker parks: the
/// item is found by one of the two.
fn a_spare_leaves<P: Protocol>(protocol: impl FnOnce(&[Parker]) -> P) {
    workers(
        1,
        protocol,
        |dispatcher, _| dispatcher.stop(),
        |dispatcher| {
            dispatcher.sleep.start_searching();
            // Pushed by another thread: it sees one who searches, and wakes nobody.
            let found = dispatcher.queue.pop().is_some();
            dispatcher.inject(7);
            dispatcher.sleep.leave();
            assert!(!found, "nothing was there");
        },
    );
}

#[test]
fn a_spare_that_leaves_hands_on() {
    check(3, || a_spare_leaves(Sleep::new));
    check(3, || a_spare_leaves(Varied::with(Fault::None)));
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_spare_that_leaves_in_silence_loses_a_push() {
    check(3, || a_spare_leaves(Varied::with(Fault::LeavesInSilence)));
}

/// A spare parks, or is about to, while the watchdog finds it superfluous: it leaves.
fn a_spare_is_sent_away(send: fn(&Spares, &Sleep)) {
    let spare = Parker::new();
    let sleep = Sleep::new(std::slice::from_ref(&spare));
    let spares = Spares::new(vec![Seat { index: 0, parker: spare }]);
    spares.want(1);
    let seat = spares.enter().expect("a seat is free");
    let shared = Arc::new((sleep, spares));
    let thread = thread::spawn({
        let shared = Arc::clone(&shared);
        move || {
            let (sleep, spares) = &*shared;
            sleep.start_searching();
            while !spares.leaves() {
                sleep.park(seat.index, &seat.parker, None, || spares.surplus());
                thread::yield_now();
            }
            sleep.found();
        }
    });
    send(&shared.1, &shared.0);
    thread.join().expect("a spare does not panic");
    assert_eq!((shared.1.live(), shared.0.parked()), (0, 0));
}

#[test]
fn a_spare_that_parks_is_sent_away() {
    check(3, || {
        a_spare_is_sent_away(|spares, sleep| {
            assert!(spares.want(0));
            sleep.wake(0);
        });
    });
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_spare_that_is_woken_before_it_is_superfluous_stays() {
    check(3, || {
        a_spare_is_sent_away(|spares, sleep| {
            sleep.wake(0);
            spares.want(0);
        });
    });
}

/// Two spares of which one is too many: one leaves, not both.
#[test]
fn of_two_spares_one_leaves() {
    check(3, || {
        let seats = [0, 1].map(|index| Seat { index, parker: Parker::new() });
        let spares = Arc::new(Spares::new(seats.into()));
        spares.want(2);
        let seats = [spares.enter(), spares.enter()];
        assert!(seats.iter().all(Option::is_some) && spares.enter().is_none());
        assert!(spares.want(1));
        let other = thread::spawn({
            let spares = Arc::clone(&spares);
            move || usize::from(spares.leaves())
        });
        let left = usize::from(spares.leaves()) + other.join().expect("nothing panics");
        assert_eq!((left, spares.live(), spares.surplus()), (1, 1, false));
    });
}

#[test]
fn a_push_finds_the_worker_that_parks() {
    check(3, || one_push(1, Sleep::new));
}

#[test]
fn a_push_finds_one_of_two_that_park() {
    check(2, || one_push(2, Sleep::new));
}

#[test]
fn a_push_finds_the_worker_that_dozes() {
    check(3, || one_push(1, DozesFirst::new));
}

#[test]
fn a_push_finds_one_of_two_the_first_of_which_dozes() {
    check(2, || one_push(2, DozesFirst::new));
}

#[test]
fn two_pushes_wake_two_though_one_dozes() {
    check(2, || two_pushes(DozesFirst::new));
}

#[test]
fn the_last_searcher_that_finds_work_hands_on() {
    check(2, || two_pushes(Sleep::new));
}

#[test]
fn a_stop_ends_everybody() {
    check(2, || workers(2, Sleep::new, |_, _| {}, Dispatcher::stop));
}

/// What is wrong with [`Varied`].
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// The one who pushes reads the counters without a fence after its push.
    WakesWithoutFence,
    /// The one who parks reads the queues without a fence after its counters.
    ParksWithoutFence,
    /// It reads the queues before it is on the stack.
    LooksFirst,
    /// It does not look at the queues once more.
    DoesNotLook,
    /// The last searcher that finds work keeps it to itself.
    HandsNothingOn,
    /// A searcher ends, and nobody searches in its place.
    LeavesInSilence,
}

/// [`Sleep`] with a fault.
struct Varied {
    fault: Fault,
    searching: AtomicUsize,
    parked: AtomicUsize,
    stack: Mutex<Vec<usize>>,
    unparkers: Vec<Unparker>,
}

impl Varied {
    fn with(fault: Fault) -> impl FnOnce(&[Parker]) -> Self {
        move |parkers| Varied {
            fault,
            searching: AtomicUsize::new(0),
            parked: AtomicUsize::new(0),
            stack: Mutex::new(Vec::new()),
            unparkers: parkers.iter().map(|parker| parker.unparker().clone()).collect(),
        }
    }

    fn unpark_one(&self) {
        let worker = {
            let mut stack = self.stack.lock();
            if self.searching.load(Ordering::Relaxed) > 0 {
                return;
            }
            let Some(worker) = stack.pop() else { return };
            self.parked.fetch_sub(1, Ordering::Relaxed);
            self.searching.fetch_add(1, Ordering::Relaxed);
            worker
        };
        self.unparkers[worker].unpark();
    }

    fn leave_stack(&self, worker: usize) -> bool {
        let mut stack = self.stack.lock();
        let Some(place) = stack.iter().rposition(|parked| *parked == worker) else { return false };
        stack.remove(place);
        self.parked.fetch_sub(1, Ordering::Relaxed);
        self.searching.fetch_add(1, Ordering::Relaxed);
        true
    }
}

impl Protocol for Varied {
    fn wake_one(&self) {
        if self.fault != Fault::WakesWithoutFence {
            fence(Ordering::SeqCst);
        }
        if self.searching.load(Ordering::Relaxed) == 0 && self.parked.load(Ordering::Relaxed) > 0 {
            self.unpark_one();
        }
    }

    fn wake_all(&self) {
        self.unparkers.iter().for_each(Unparker::unpark);
    }

    fn start_searching(&self) {
        self.searching.fetch_add(1, Ordering::SeqCst);
    }

    fn found(&self) {
        if self.searching.fetch_sub(1, Ordering::SeqCst) == 1 && self.fault != Fault::HandsNothingOn
        {
            self.wake_one();
        }
    }

    fn leave(&self) {
        if self.fault == Fault::LeavesInSilence {
            self.searching.fetch_sub(1, Ordering::SeqCst);
        } else {
            self.found();
        }
    }

    fn park(&self, worker: usize, parker: &Parker, any_work: impl FnOnce() -> bool) -> bool {
        let mut any_work = Some(any_work);
        let mut look = || any_work.take().is_some_and(|any_work| any_work());
        let seen = self.fault == Fault::LooksFirst && look();
        {
            let mut stack = self.stack.lock();
            stack.push(worker);
            self.parked.fetch_add(1, Ordering::Relaxed);
            self.searching.fetch_sub(1, Ordering::Relaxed);
        }
        if self.fault != Fault::ParksWithoutFence {
            fence(Ordering::SeqCst);
        }
        if (seen || (self.fault != Fault::DoesNotLook && look())) && self.leave_stack(worker) {
            return false;
        }
        parker.park();
        self.leave_stack(worker);
        true
    }
}

/// Without a fault the copy is as good as the original: what fails below fails because
/// of its fault.
#[test]
fn the_copy_without_a_fault_holds() {
    check(2, || one_push(2, Varied::with(Fault::None)));
    check(2, || two_pushes(Varied::with(Fault::None)));
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_push_without_its_fence_is_lost() {
    check(3, || one_push(1, Varied::with(Fault::WakesWithoutFence)));
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_park_without_its_fence_loses_a_push() {
    check(3, || one_push(1, Varied::with(Fault::ParksWithoutFence)));
}

#[test]
#[should_panic(expected = "deadlock")]
fn looking_before_registering_loses_a_push() {
    check(3, || one_push(1, Varied::with(Fault::LooksFirst)));
}

#[test]
#[should_panic(expected = "deadlock")]
fn not_looking_again_loses_a_push() {
    check(3, || one_push(1, Varied::with(Fault::DoesNotLook)));
}

#[test]
#[should_panic(expected = "deadlock")]
fn work_that_is_not_handed_on_waits_behind_a_long_turn() {
    check(2, || two_pushes(Varied::with(Fault::HandsNothingOn)));
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_stop_that_wakes_before_it_says_why_leaves_workers_asleep() {
    let stop = |dispatcher: &Dispatcher<Sleep>| {
        dispatcher.sleep.wake_all();
        dispatcher.stopped.store(true, Ordering::SeqCst);
    };
    check(2, move || workers(2, Sleep::new, |_, _| {}, stop));
}

/// What a worker and the timer use of [`Watchdog`].
trait Watch: Send + Sync + 'static {
    fn rouse(&self) -> bool;
    fn rest(&self, all_asleep: impl Fn() -> bool) -> bool;
}

impl Watch for Watchdog {
    fn rouse(&self) -> bool {
        self.rouse()
    }

    fn rest(&self, all_asleep: impl Fn() -> bool) -> bool {
        self.rest(all_asleep)
    }
}

/// A worker parks while one pushes and the watchdog's timer fires: the worker is in a turn
/// after that, so a timer is set, and one only. `rouses` says when the worker sees to
/// the timer: given whether it has slept.
fn a_watched_push(watchdog: impl Watch, rouses: fn(bool) -> bool) {
    let parker = Parker::new();
    let sleep = Sleep::new(std::slice::from_ref(&parker));
    let shared = Arc::new((sleep, watchdog, Queue::default()));
    assert!(shared.1.rouse(), "the timer is set when the worker starts");
    let worker = thread::spawn({
        let shared = Arc::clone(&shared);
        move || {
            let (sleep, watchdog, queue) = &*shared;
            let mut set = 0;
            sleep.start_searching();
            while queue.pop().is_none() {
                if rouses(sleep.park(0, &parker, None, || !queue.is_empty())) {
                    set += usize::from(watchdog.rouse());
                }
                thread::yield_now();
            }
            sleep.found();
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
    let set = worker.join().expect("a worker does not panic")
        + timer.join().expect("the timer does not panic");
    assert_eq!(set, 1, "timers set");
}

/// As `Shared::search`.
fn always(_has_slept: bool) -> bool {
    true
}

#[test]
fn a_worker_that_is_awake_is_watched() {
    check(3, || a_watched_push(Watchdog::new(None), always));
}

/// [`Watchdog`] without one of its lines.
#[derive(Default)]
struct VariedWatchdog {
    rouses_without_fence: bool,
    rests_without_fence: bool,
    looks_once: bool,
    awake: AtomicBool,
}

impl Watch for VariedWatchdog {
    fn rouse(&self) -> bool {
        if !self.rouses_without_fence {
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
        self.looks_once || all_asleep() || !self.rouse()
    }
}

#[test]
fn the_copy_of_the_watchdog_without_a_fault_holds() {
    check(3, || a_watched_push(VariedWatchdog::default(), always));
}

#[test]
#[should_panic(expected = "timers set")]
fn a_worker_that_nearly_slept_and_says_nothing_is_not_watched() {
    check(3, || a_watched_push(Watchdog::new(None), |has_slept| has_slept));
}

#[test]
#[should_panic(expected = "timers set")]
fn a_worker_that_rouses_without_its_fence_is_not_watched() {
    let fault = || VariedWatchdog { rouses_without_fence: true, ..VariedWatchdog::default() };
    check(3, move || a_watched_push(fault(), always));
}

#[test]
#[should_panic(expected = "timers set")]
fn a_watchdog_that_rests_without_its_fence_leaves_a_worker_unwatched() {
    let fault = || VariedWatchdog { rests_without_fence: true, ..VariedWatchdog::default() };
    check(3, move || a_watched_push(fault(), always));
}

#[test]
#[should_panic(expected = "timers set")]
fn a_watchdog_that_looks_once_leaves_a_worker_unwatched() {
    let fault = || VariedWatchdog { looks_once: true, ..VariedWatchdog::default() };
    check(3, move || a_watched_push(fault(), always));
}
