//! Processes that owe turns sit apart until they have paid (rule R1).
//!
//! One that has filled another's mailbox faster than that can empty it, and has more to do at
//! once, owes turns ([`krarup_act::Debt`]). In the queue it would come round again and again for
//! nothing, so it sits with the debtors of its worker.
//!
//! ```text
//!                      owes                   has paid
//!   worker's queue ───────────► its debtors ────────────────► its tail
//!                                 │      │ called
//!                                 │      └──────────────────► before all that are ready
//!                                 │      ┌──────────────────►   (`Express`)
//!                                 │      │ called
//!                                 │      │
//!                                 │ the worker has nothing else, and whom they fill is at
//!                                 ▼ work elsewhere; or the watchdog looks
//!                               handed over ──► a worker that has work, at its 61st take, or
//!                                               one that has none and does not hold back
//! ```
//!
//! **Paid** is a debt when the worker has run as many turns as it counts, for each process in the
//! queue, and after [`LONGEST`] takes in any case. While a worker is in one turn from a look of
//! the watchdog to the next, 10 ms, what is owed to it is forgotten.
//!
//! **Called** is a process for which a stop, a kill, an inspection or anything else has come that
//! goes before its messages (rules M4, X3). It does not pay: the thread that calls it fetches it
//! from here, and the next worker that ends a turn runs it. No call is missed, though processes
//! are put here and fetched by different threads. A call is written down before its thread looks
//! here ([`Shared::recall`](super::shared::Shared::recall)), and a process that is put here is asked for calls under the lock of the
//! queue that it enters. So of the two, in whatever order they have that lock, the second sees
//! what the first has done.
//!
//! **One worker for those who fill and who is filled.** Two workers that fill one mailbox wait for
//! each other's cache lines with each message, and are slower than one of them alone. So a
//! worker that has nothing but debtors, of those who are crowded and at work elsewhere, lets
//! them go, and holds back as after a theft that did not pay ([`super::steal_policy`]). At work
//! elsewhere is who is ready or running and not among these debtors, while some other worker is
//! at work: by whom it is run is not asked.
//!
//! **None is forgotten.** Who lets debtors go wakes nobody, for it comes back for them itself: it
//! sleeps for a limited time, then takes of them and steals by turns ([`super::search`]). If
//! it has got a long turn before that, the watchdog's look wakes somebody for them.
//!
//! Here is where they sit; what a worker does with them is in [`super::paying_debts`].

use super::delayed_queue::{DelayedQueue, QueuedProcess};
use crate::sync::{AtomicU64, AtomicUsize, Mutex, Ordering::Relaxed};
use std::iter;

/// Nobody sits longer, in takes of the worker.
pub(super) const LONGEST: u64 = 32_768;
/// No take of a worker has this number.
pub(super) const NEVER: u64 = u64::MAX;

/// Every this many takes a worker looks at what comes from outside first (rule R1).
pub(super) const LOOK_UP_INTERVAL: u32 = 61;

/// The takes of a worker from its queue.
pub(super) struct TakeCount {
    /// Those it has begun.
    pub(super) begun: u64,
    /// Before which it looks at its debtors.
    pub(super) look: u64,
    /// Before which it looks at what comes from outside.
    pub(super) look_up: u64,
}

impl TakeCount {
    pub(super) fn new() -> Self {
        TakeCount { begun: 0, look: NEVER, look_up: LOOK_UP_INTERVAL.into() }
    }

    /// Whether somebody may sit with the debtors: the worker must not sleep then.
    pub(super) fn has_debtors(&self) -> bool {
        self.look != NEVER
    }
}

/// Of a `Ready` process; of a number in the models.
pub(super) struct Debtor<T> {
    /// The take of the worker before which it has paid.
    pub(super) due: u64,
    pub(super) creditor: u64,
    pub(super) ready: T,
}

/// Those who owe at one worker. Its own, but for who clears up and who calls one of them.
pub(super) struct Debtors<T> {
    queue: Mutex<DelayedQueue<Debtor<T>>>,
    /// Turns that the worker had begun at the last look of the watchdog.
    pub(super) turns: AtomicU64,
}

/// Those whom a worker has let go.
pub(super) struct ReleasedDebtors<T> {
    queue: Mutex<DebtorQueue<T>>,
    /// How many; read without the lock as a hint.
    number: AtomicUsize,
}

/// First in, first out.
struct DebtorQueue<T> {
    apart: DelayedQueue<T>,
    /// The place of the next.
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

    /// The take before which the first of them has paid; or the process, if it is called.
    pub(super) fn add(&self, debtor: Debtor<T>) -> Result<u64, T> {
        let mut queue = self.queue.lock();
        // Under the lock: see the module.
        if debtor.is_called() {
            return Err(debtor.ready);
        }
        queue.insert(debtor.due, debtor);
        Ok(queue.first_place().unwrap_or(NEVER))
    }

    /// Takes those out who have paid before this take; when the next has.
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

    /// Takes out one that is called.
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

    /// Forgets what they owe, in one step: who clears up meanwhile would else see them neither
    /// there nor here. Gives back those who are called.
    #[must_use]
    pub(super) fn put_all_of(&self, debtors: &Debtors<T>) -> Vec<T> {
        let all = iter::once_with(|| debtors.take_all()).flatten();
        self.put(all.map(|debtor| debtor.ready))
    }

    /// What is put here is asked for under the lock. Gives back those who are called.
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

    /// Takes out one that is called.
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

    /// The number of a process that nobody calls.
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
