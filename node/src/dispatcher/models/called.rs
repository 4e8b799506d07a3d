//! Models of processes that are called while they owe turns (rules M4, X3): the calling thread
//! fetches the process, whichever thread moves it meanwhile. See [`crate::dispatcher::debtors`].

use crate::dispatcher::debtors::{Debtor, Debtors, ReleasedDebtors};
use crate::dispatcher::delayed_queue::QueuedProcess;
use crate::models::checker::{bounded, joined, thread};
use crate::sync::{AtomicBool, Mutex, Ordering::Relaxed};
use std::sync::Arc;

const NUMBER: u64 = 7;

/// The step that is left out.
#[derive(Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(loom), allow(dead_code, reason = "only the models of loom find these"))]
enum CalledFault {
    None,
    /// A process that is put among the debtors is not checked for calls.
    IsNotAsked,
    /// The turn records its debt after the mailbox has been unlocked.
    LeavesLate,
}

/// The mailbox, which a process shares with the threads that call it.
struct Mailbox {
    attention: AtomicBool,
    state: Mutex<CalledState>,
    fault: CalledFault,
}

#[derive(Default)]
struct CalledState {
    called: bool,
    owes: bool,
}

/// The process.
struct CalledProcess(Arc<Mailbox>);

impl QueuedProcess for CalledProcess {
    fn number(&self) -> u64 {
        NUMBER
    }

    fn is_called(&self) -> bool {
        if self.0.fault == CalledFault::IsNotAsked {
            return false;
        }
        self.0.attention.load(Relaxed) && self.0.state.lock().called
    }
}

struct CalledModel {
    mailbox: Arc<Mailbox>,
    debtors: Debtors<CalledProcess>,
    handed_over: ReleasedDebtors<CalledProcess>,
    /// Stands for the queues of ready processes: how many processes have entered them.
    ready: Mutex<usize>,
}

impl CalledModel {
    fn new(fault: CalledFault) -> Arc<Self> {
        let mailbox = Mailbox { attention: AtomicBool::new(false), state: Mutex::default(), fault };
        Arc::new(CalledModel {
            mailbox: Arc::new(mailbox),
            debtors: Debtors::new(),
            handed_over: ReleasedDebtors::new(),
            ready: Mutex::new(0),
        })
    }

    fn schedule(&self, ready: impl IntoIterator<Item = CalledProcess>) {
        *self.ready.lock() += ready.into_iter().count();
    }

    /// The end of a turn that leaves a debt, as in `Life::leave_debt` and
    /// `SharedDispatcher::sit_out`.
    fn owe(&self) {
        let process = CalledProcess(Arc::clone(&self.mailbox));
        let mut state = self.mailbox.state.lock();
        if state.called {
            drop(state);
            return self.schedule([process]);
        }
        if self.mailbox.fault == CalledFault::LeavesLate {
            drop(state);
            let added = self.debtors.add(Debtor { due: 1, creditor: 0, ready: process });
            self.mailbox.state.lock().owes = true;
            return self.schedule(added.err());
        }
        state.owes = true;
        drop(state);
        let added = self.debtors.add(Debtor { due: 1, creditor: 0, ready: process });
        self.schedule(added.err());
    }

    /// As in `Cell::unlock_called` and `SharedDispatcher::recall`.
    fn call(&self) {
        let mut state = self.mailbox.state.lock();
        state.called = true;
        self.mailbox.attention.store(true, Relaxed);
        let owes = state.owes;
        drop(state);
        if owes {
            let fetched = self.debtors.fetch(NUMBER);
            self.schedule(fetched.or_else(|| self.handed_over.fetch(NUMBER)));
        }
    }

    /// As in `SharedDispatcher::part_with_debtors`: for a while the process is in neither queue.
    fn part(&self) {
        let debtors = self.debtors.take_all().into_iter().map(|debtor| debtor.ready);
        let called = self.handed_over.put(debtors.collect::<Vec<_>>());
        self.schedule(called);
    }

    /// As in `SharedDispatcher::forget_debts`.
    fn forget(&self) {
        let called = self.handed_over.put_all_of(&self.debtors);
        self.schedule(called);
    }
}

/// A process owes turns, the worker or the watchdog moves it, and a thread calls it.
fn a_call(fault: CalledFault, owes_already: bool, moves: fn(&CalledModel)) {
    let house = CalledModel::new(fault);
    if owes_already {
        house.owe();
    }
    let worker = thread::spawn({
        let house = Arc::clone(&house);
        move || {
            if !owes_already {
                house.owe();
            }
            moves(&house);
        }
    });
    house.call();
    joined(worker);
    let ready = *house.ready.lock();
    assert_eq!(ready, 1, "it is called, and waits for its debt");
}

#[test]
fn who_is_called_as_it_begins_to_owe_is_fetched() {
    bounded(4, || a_call(CalledFault::None, false, |_| {}));
    bounded(4, || a_call(CalledFault::None, false, CalledModel::forget));
}

#[test]
fn who_is_called_as_it_is_let_go_is_fetched() {
    bounded(4, || a_call(CalledFault::None, true, CalledModel::part));
    bounded(4, || a_call(CalledFault::None, true, CalledModel::forget));
}

#[cfg(loom)]
#[test]
#[should_panic(expected = "waits for its debt")]
fn who_is_not_asked_as_it_begins_to_owe_is_missed() {
    bounded(4, || a_call(CalledFault::IsNotAsked, false, |_| {}));
}

#[cfg(loom)]
#[test]
#[should_panic(expected = "waits for its debt")]
fn who_is_not_asked_as_it_is_let_go_is_missed() {
    bounded(4, || a_call(CalledFault::IsNotAsked, true, CalledModel::part));
}

#[cfg(loom)]
#[test]
#[should_panic(expected = "waits for its debt")]
fn a_debt_that_is_left_when_the_mailbox_is_unlocked_hides_the_process() {
    bounded(4, || a_call(CalledFault::LeavesLate, false, |_| {}));
}
