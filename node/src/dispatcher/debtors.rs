//! Processes that owe turns wait apart until they have paid (rule R1).
//!
//! A process owes turns ([`krarup_act::Debt`]) if it has filled another process's mailbox faster
//! than that process can empty it, and has more to do at once. In the queue it would be taken
//! again and again without any benefit, so it waits among the debtors of its worker.
//!
//! ```text
//!                      owes                   has paid
//!   worker's queue ───────────► its debtors ────────────────► its tail
//!                                 │      │ called
//!                                 │      └──────────────────► before all ready processes
//!                                 │      ┌──────────────────►   (`PriorityQueue`)
//!                                 │      │ called
//!                                 │      │
//!                                 │ the worker has nothing else, and the creditor is
//!                                 ▼ busy elsewhere; or the watchdog looks
//!                               handed over ──► a worker that has work, at its 61st take, or
//!                                               one that has none and does not hold back
//! ```
//!
//! **Paid.** A debt is paid when the worker has run as many turns as the debt counts, for each
//! process in the queue, and after [`LONGEST`] takes in any case. If a worker is in one turn
//! from one look of the watchdog to the next, 10 ms, the debts of its debtors are cancelled.
//!
//! **Called.** A process is called when something has arrived that it must handle before its
//! messages: a stop, a kill, an inspection (rules M4, X3). It does not pay. The calling thread
//! fetches it from here, and the next worker that ends a turn runs it. No call is missed,
//! although different threads put processes here and fetch them. The call is recorded before its
//! thread looks here ([`SharedDispatcher::recall`](super::shared::SharedDispatcher::recall)),
//! and a process that is put here is checked for calls under the lock of the queue that it
//! enters. Whichever of the two takes that lock second sees what the first has done.
//!
//! **One worker for the debtors and their creditor.** Two workers that fill one mailbox wait for
//! each other's cache lines at every message, and are slower than one of them alone. So a worker
//! that has only debtors hands over those whose creditor is crowded and busy elsewhere, and then
//! holds back as after a theft that did not pay ([`super::steal_policy`]). A creditor is busy
//! elsewhere if it is ready or running, is not itself one of these debtors, and another worker
//! is active; which worker runs it is not checked.
//!
//! **No debtor is left behind.** A worker that hands debtors over wakes no other worker, because
//! it comes back for them itself: it sleeps for a limited time, then takes handed-over debtors
//! and steals, in alternation ([`super::search`]). If it starts a long turn before that, the
//! watchdog wakes another worker for them.
//!
//! This file holds the queues; [`super::paying_debts`] says what a worker does with them.

use super::delayed_queue::{DelayedQueue, QueuedProcess};
use crate::sync::{AtomicU64, AtomicUsize, Mutex, Ordering::Relaxed};
use std::iter;

/// The most takes of the worker that a debtor waits.
pub(super) const LONGEST: u64 = 32_768;
/// No take of a worker has this number.
pub(super) const NEVER: u64 = u64::MAX;

/// In takes: how often a worker looks at the injector first (rule R1).
pub(super) const LOOK_UP_INTERVAL: u32 = 61;

/// The takes of a worker from its queue.
pub(super) struct TakeCount {
    /// Takes begun so far.
    pub(super) begun: u64,
    /// The take before which the worker looks at its debtors.
    pub(super) look: u64,
    /// The take before which the worker looks at the injector.
    pub(super) look_up: u64,
}

impl TakeCount {
    pub(super) fn new() -> Self {
        TakeCount { begun: 0, look: NEVER, look_up: LOOK_UP_INTERVAL.into() }
    }

    /// Whether debtors may be waiting: the worker must not sleep then.
    pub(super) fn has_debtors(&self) -> bool {
        self.look != NEVER
    }
}

/// A process that owes turns; in the models, a number.
pub(super) struct Debtor<T> {
    /// The take of the worker before which the debt is paid.
    pub(super) due: u64,
    pub(super) creditor: u64,
    pub(super) ready: T,
}

/// The debtors of one worker. Only that worker uses them, except when another thread clears the
/// dispatcher or calls one of them.
pub(super) struct Debtors<T> {
    queue: Mutex<DelayedQueue<Debtor<T>>>,
    /// Turns that the worker had begun at the last look of the watchdog.
    pub(super) turns: AtomicU64,
}

/// The debtors that workers have handed over.
pub(super) struct ReleasedDebtors<T> {
    queue: Mutex<DebtorQueue<T>>,
    /// The length of the queue; read without the lock as a hint.
    number: AtomicUsize,
}

/// First in, first out.
struct DebtorQueue<T> {
    apart: DelayedQueue<T>,
    /// The place of the next process.
    end: u64,
}

impl<T: QueuedProcess> QueuedProcess for Debtor<T> {
    fn number(&self) -> u64 {
        self.ready.number()
    }

    fn is_called(&self) -> bool {
        self.ready.is_called()
    }
}

impl<T: QueuedProcess> Debtors<T> {
    pub(super) fn new() -> Self {
        Debtors { queue: Mutex::new(DelayedQueue::new()), turns: AtomicU64::new(0) }
    }

    /// Adds a debtor and returns the take before which the first debtor has paid, or returns the
    /// process if it is called.
    pub(super) fn add(&self, debtor: Debtor<T>) -> Result<u64, T> {
        let mut queue = self.queue.lock();
        // Under the lock: see the module documentation.
        if debtor.is_called() {
            return Err(debtor.ready);
        }
        queue.insert(debtor.due, debtor);
        Ok(queue.first_place().unwrap_or(NEVER))
    }

    /// Takes out the debtors that have paid before this take. Returns the take at which the next
    /// one has.
    pub(super) fn take_paid(&self, take: u64, mut put: impl FnMut(T)) -> u64 {
        let mut queue = self.queue.lock();
        while let Some(debtor) = queue.pop_until(take) {
            put(debtor.ready);
        }
        queue.first_place().unwrap_or(NEVER)
    }

    pub(super) fn take_all(&self) -> Vec<Debtor<T>> {
        self.queue.lock().take_all().collect()
    }

    /// Takes out a process that is called.
    pub(super) fn fetch(&self, number: u64) -> Option<T> {
        self.queue.lock().fetch(number).map(|debtor| debtor.ready)
    }

    pub(super) fn len(&self) -> usize {
        self.queue.lock().len()
    }
}

impl<T: QueuedProcess> ReleasedDebtors<T> {
    pub(super) fn new() -> Self {
        let line = DebtorQueue { apart: DelayedQueue::new(), end: 0 };
        ReleasedDebtors { queue: Mutex::new(line), number: AtomicUsize::new(0) }
    }

    /// Cancels the debts of all debtors and moves them here in one step: a thread that clears
    /// the dispatcher meanwhile would otherwise see them in neither place. Returns the called
    /// ones.
    #[must_use]
    pub(super) fn put_all_of(&self, debtors: &Debtors<T>) -> Vec<T> {
        let all = iter::once_with(|| debtors.take_all()).flatten();
        self.put(all.map(|debtor| debtor.ready))
    }

    /// Adds processes, and checks each for calls under the lock. Returns the called ones.
    #[must_use]
    pub(super) fn put(&self, ready: impl IntoIterator<Item = T>) -> Vec<T> {
        let mut line = self.queue.lock();
        let mut called = Vec::new();
        for ready in ready {
            if ready.is_called() {
                called.push(ready);
                continue;
            }
            let end = line.end;
            line.end += 1;
            line.apart.insert(end, ready);
        }
        self.number.store(line.apart.len(), Relaxed);
        called
    }

    pub(super) fn take(&self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        self.take_out(|apart| apart.pop_until(NEVER))
    }

    /// Takes out a process that is called.
    pub(super) fn fetch(&self, number: u64) -> Option<T> {
        self.take_out(|apart| apart.fetch(number))
    }

    fn take_out(&self, take: impl FnOnce(&mut DelayedQueue<T>) -> Option<T>) -> Option<T> {
        let mut line = self.queue.lock();
        let taken = take(&mut line.apart);
        self.number.store(line.apart.len(), Relaxed);
        taken
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn len(&self) -> usize {
        self.number.load(Relaxed)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// The number of a process that is never called.
    struct Number(u64);

    impl QueuedProcess for Number {
        fn number(&self) -> u64 {
            self.0
        }

        fn is_called(&self) -> bool {
            false
        }
    }

    #[test]
    fn r1_a_worker_looks_when_the_first_of_its_debtors_has_paid_in_whatever_order_they_came() {
        let debtors = Debtors::new();
        let add = |number, due| {
            let added = debtors.add(Debtor { due, creditor: 0, ready: Number(number) });
            added.map_err(|called| called.0)
        };
        assert_eq!([add(1, 20), add(2, 30), add(3, 10), add(4, 20)], [20, 20, 10, 10].map(Ok));
        let mut paid = Vec::new();
        let mut look = |take| debtors.take_paid(take, |ready| paid.push(ready.0));
        assert_eq!([look(9), look(10), look(29), look(30)], [10, 20, 30, NEVER]);
        assert_eq!(paid, [3, 1, 4, 2]);
        assert_eq!(debtors.len(), 0);
    }
}
