//! Models of processes that a worker has handed over (rule R1). Several threads act on them:
//! those that put them there, take them, read their number without the lock, and clear the
//! dispatcher after a stop. No process is lost and none is taken twice. See
//! [`crate::dispatcher::debtors`].

use crate::dispatcher::debtors::{Debtor, Debtors, ReleasedDebtors};
use crate::dispatcher::delayed_queue::QueuedProcess;
use crate::dispatcher::sleep::IdleWorkers;
use crate::models::checker::{bounded, joined, thread};
use crate::sync::Parker;
use std::iter;
use std::sync::Arc;

/// These are never called: see [`super::called`].
impl QueuedProcess for usize {
    fn number(&self) -> u64 {
        *self as u64
    }

    fn is_called(&self) -> bool {
        false
    }
}

/// The part of [`ReleasedDebtors`] that workers and the watchdog use.
trait Over: Send + Sync + 'static {
    fn put_all_of(&self, debtors: &Debtors<usize>);
    fn put(&self, ready: usize);
    fn take(&self) -> Option<usize>;
    fn is_empty(&self) -> bool;
}

impl Over for ReleasedDebtors<usize> {
    fn put_all_of(&self, debtors: &Debtors<usize>) {
        assert!(self.put_all_of(debtors).is_empty());
    }

    fn put(&self, ready: usize) {
        assert!(self.put([ready]).is_empty());
    }

    fn take(&self) -> Option<usize> {
        self.take()
    }

    fn is_empty(&self) -> bool {
        self.is_empty()
    }
}

fn owing(ready: usize) -> Debtors<usize> {
    let debtors = Debtors::new();
    assert_eq!(debtors.add(Debtor { due: 1, creditor: 0, ready }), Ok(1));
    debtors
}

/// As in `SharedDispatcher::clear`.
fn clear(over: &impl Over, debtors: &Debtors<usize>) -> Vec<usize> {
    over.put_all_of(debtors);
    iter::from_fn(|| over.take()).collect()
}

/// The last thread to clear the dispatcher after a stop does so during the watchdog's last look.
/// It finds all debtors.
fn a_look_at_the_stop(over: impl Over) {
    let shared = Arc::new((over, owing(7)));
    let watchdog = thread::spawn({
        let shared = Arc::clone(&shared);
        move || shared.0.put_all_of(&shared.1)
    });
    let found = clear(&shared.0, &shared.1);
    joined(watchdog);
    assert_eq!(found, [7], "who owes is lost");
}

/// A worker hands two debtors over and comes back for them, another worker that has work takes
/// in those it sees, and the watchdog looks. Each debtor is taken once.
fn two_are_let_go(over: impl Over) {
    let shared = Arc::new((over, owing(3)));
    let takes_in = thread::spawn({
        let shared = Arc::clone(&shared);
        move || iter::from_fn(|| shared.0.take()).collect::<Vec<_>>()
    });
    let watchdog = thread::spawn({
        let shared = Arc::clone(&shared);
        move || shared.0.put_all_of(&shared.1)
    });
    let over = &shared.0;
    over.put(1);
    over.put(2);
    let mut taken: Vec<_> = over.take().into_iter().collect();
    taken.extend(joined(takes_in));
    joined(watchdog);
    taken.extend(iter::from_fn(|| over.take()));
    taken.sort_unstable();
    assert_eq!(taken, [1, 2, 3], "one is lost, or taken twice");
    assert!(over.is_empty());
}

/// The watchdog cancels the debts at a long turn while another worker is about to park, which
/// reads the number without the lock. That worker takes the debtor. `wakes`: whether the
/// watchdog wakes a worker, as `SharedDispatcher::forget_debts` does.
fn a_look_against_a_park(over: impl Over, wakes: bool) {
    let parker = Parker::new();
    let sleep = IdleWorkers::new(std::slice::from_ref(&parker));
    let shared = Arc::new((over, owing(7), sleep));
    let worker = thread::spawn({
        let shared = Arc::clone(&shared);
        move || {
            let (over, _, sleep) = &*shared;
            sleep.start_searching();
            let taken = loop {
                if let Some(taken) = over.take() {
                    break taken;
                }
                sleep.park(0, &parker, None, || !over.is_empty());
                thread::yield_now();
            };
            sleep.found();
            taken
        }
    });
    let (over, debtors, sleep) = &*shared;
    over.put_all_of(debtors);
    if wakes && !over.is_empty() {
        sleep.wake_one();
    }
    assert_eq!(joined(worker), 7);
}

#[test]
fn who_owes_when_all_is_cleared_up_is_found_though_the_watchdog_looks() {
    bounded(4, || a_look_at_the_stop(ReleasedDebtors::new()));
}

#[test]
fn who_was_let_go_is_taken_once() {
    bounded(3, || two_are_let_go(ReleasedDebtors::new()));
}

#[test]
fn who_owes_at_a_long_turn_finds_the_worker_that_parks() {
    bounded(4, || a_look_against_a_park(ReleasedDebtors::new(), true));
}

#[cfg(loom)]
mod broken {
    use super::*;
    use crate::sync::{AtomicUsize, Mutex, MutexGuard, Ordering::Relaxed};
    use std::collections::VecDeque;

    /// The fault of [`Varied`].
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Fault {
        None,
        /// Debtors are taken out before the list is locked.
        TwoSteps,
        /// The number is written after the list has been unlocked.
        CountsLate,
        /// A thread reads the first process, and takes it out in a second step.
        LooksThenTakes,
    }

    /// [`ReleasedDebtors`] with a fault.
    struct Varied {
        fault: Fault,
        list: Mutex<VecDeque<usize>>,
        number: AtomicUsize,
    }

    impl Varied {
        fn with(fault: Fault) -> Self {
            Varied { fault, list: Mutex::new(VecDeque::new()), number: AtomicUsize::new(0) }
        }

        fn put_lazily(&self, ready: impl Iterator<Item = usize>) {
            let mut list = self.list.lock();
            list.extend(ready);
            self.count(list);
        }

        fn count(&self, list: MutexGuard<'_, VecDeque<usize>>) {
            let number = list.len();
            let held = (self.fault != Fault::CountsLate).then_some(list);
            self.number.store(number, Relaxed);
            drop(held);
        }
    }

    impl Over for Varied {
        fn put_all_of(&self, debtors: &Debtors<usize>) {
            if self.fault == Fault::TwoSteps {
                let all = debtors.take_all();
                self.put_lazily(all.into_iter().map(|debtor| debtor.ready));
            } else {
                let all = iter::once_with(|| debtors.take_all()).flatten();
                self.put_lazily(all.map(|debtor| debtor.ready));
            }
        }

        fn put(&self, ready: usize) {
            self.put_lazily(iter::once(ready));
        }

        fn take(&self) -> Option<usize> {
            if self.is_empty() {
                return None;
            }
            if self.fault == Fault::LooksThenTakes {
                let first = self.list.lock().front().copied();
                let mut list = self.list.lock();
                list.pop_front();
                self.count(list);
                return first;
            }
            let mut list = self.list.lock();
            let taken = list.pop_front();
            self.count(list);
            taken
        }

        fn is_empty(&self) -> bool {
            self.number.load(Relaxed) == 0
        }
    }

    #[test]
    fn the_copy_without_a_fault_holds() {
        bounded(4, || a_look_at_the_stop(Varied::with(Fault::None)));
        bounded(3, || two_are_let_go(Varied::with(Fault::None)));
        bounded(4, || a_look_against_a_park(Varied::with(Fault::None), true));
    }

    #[test]
    #[should_panic(expected = "who owes is lost")]
    fn who_is_taken_out_before_the_list_is_locked_is_lost_at_the_stop() {
        bounded(4, || a_look_at_the_stop(Varied::with(Fault::TwoSteps)));
    }

    #[test]
    #[should_panic(expected = "one is lost, or taken twice")]
    fn a_number_that_is_written_without_the_lock_loses_one() {
        bounded(3, || two_are_let_go(Varied::with(Fault::CountsLate)));
    }

    #[test]
    #[should_panic(expected = "one is lost, or taken twice")]
    fn who_is_looked_at_and_then_taken_is_taken_twice() {
        bounded(3, || two_are_let_go(Varied::with(Fault::LooksThenTakes)));
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_watchdog_that_forgets_debts_and_wakes_nobody_leaves_them_there() {
        bounded(4, || a_look_against_a_park(ReleasedDebtors::new(), false));
    }
}
