//! Processes that owe turns sit apart until they have paid (rule R1).
//!
//! One that has filled another's mailbox faster than that can empty it, and has more to do at
//! once, owes turns ([`krarup_act::Debt`]). In the queue it would come round again and again for
//! nothing, so it sits with the debtors of its worker.
//!
//! ```text
//!                      owes                   has paid, or is called
//!   worker's queue ───────────► its debtors ────────────────────────────► its tail
//!                                    │ the worker has nothing else, and whom they fill is at
//!                                    │ work elsewhere; or the watchdog looks
//!                                    ▼
//!                               handed over ──► a worker that has work, at its 61st take, or
//!                                               one that has none and does not hold back
//! ```
//!
//! **Paid** is a debt when the worker has run as many turns as it counts, for each process in the
//! queue, and after [`LONGEST`] takes in any case. Whoever has to see a stop or a kill sits out
//! [`SAMPLE_INTERVAL`](super::counters::SAMPLE_INTERVAL) takes at most, and while a worker is in one turn from a look of the
//! watchdog to the next, 10 ms, what is owed to it is forgotten.
//!
//! **One worker for those who fill and who is filled.** Two workers that fill one mailbox wait for
//! each other's cache lines with each message, and are slower than one of them alone. So a
//! worker that has nothing but debtors, of those who are crowded and at work elsewhere, lets
//! them go, and holds back as after a theft that did not pay ([`super::thief`]). At work
//! elsewhere is who is ready or running and not among these debtors, while some other worker is
//! at work: by whom it is run is not asked.
//!
//! **None is forgotten.** Who lets debtors go wakes nobody, for it comes back for them itself: it
//! sleeps for a limited time, then takes of them and steals by turns ([`super::searching`]). If
//! it has got a long turn before that, the watchdog's look wakes somebody for them.
//!
//! Here is where they sit; what a worker does with them is in [`super::sitting_out`].

use crate::sync::{AtomicU64, AtomicUsize, Mutex, Ordering::Relaxed};
use krarup_act::Ready;
use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};
use std::iter;

/// Nobody sits longer, in takes of the worker.
pub(super) const LONGEST: u64 = 32_768;
/// No take of a worker has this number.
pub(super) const NEVER: u64 = u64::MAX;

/// Every this many takes a worker looks at what comes from outside first (rule R1).
pub(super) const LOOK_UP_INTERVAL: u32 = 61;

/// The takes of a worker from its queue.
pub(super) struct Takes {
    /// Those it has begun.
    pub(super) begun: u64,
    /// Before which it looks at its debtors.
    pub(super) look: u64,
    /// Before which it looks at what comes from outside.
    pub(super) look_up: u64,
}

impl Takes {
    pub(super) fn new() -> Self {
        Takes { begun: 0, look: NEVER, look_up: LOOK_UP_INTERVAL.into() }
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

/// Those who owe at one worker. Its own, but for who clears up.
pub(super) struct Debtors<T> {
    heap: Mutex<BinaryHeap<Debtor<T>>>,
    /// Turns that the worker had begun at the last look of the watchdog.
    pub(super) turns: AtomicU64,
}

/// Those whom a worker has let go.
pub(super) struct HandedOver<T> {
    list: Mutex<VecDeque<T>>,
    /// How many; read without the lock as a hint.
    number: AtomicUsize,
}

impl<T> Debtors<T> {
    pub(super) fn new() -> Self {
        Debtors { heap: Mutex::new(BinaryHeap::new()), turns: AtomicU64::new(0) }
    }

    /// The take before which the first of them has paid.
    pub(super) fn add(&self, debtor: Debtor<T>) -> u64 {
        let mut heap = self.heap.lock();
        heap.push(debtor);
        heap.peek().map_or(NEVER, |first| first.due)
    }

    /// Takes those out who have paid before this take; when the next has.
    pub(super) fn take_paid(&self, take: u64, mut put: impl FnMut(T)) -> u64 {
        let mut heap = self.heap.lock();
        while heap.peek().is_some_and(|first| first.due <= take) {
            heap.pop().into_iter().for_each(|debtor| put(debtor.ready));
        }
        heap.peek().map_or(NEVER, |first| first.due)
    }

    pub(super) fn take_all(&self) -> Vec<Debtor<T>> {
        std::mem::take(&mut *self.heap.lock()).into_vec()
    }

    pub(super) fn len(&self) -> usize {
        self.heap.lock().len()
    }
}

impl Debtors<Ready> {
    /// Has those pay at once who are called.
    pub(super) fn forgive_called(&self) {
        let mut heap = self.heap.lock();
        if heap.iter().any(|debtor| debtor.ready.is_called()) {
            let forgiven = |debtor: Debtor<Ready>| {
                let due = if debtor.ready.is_called() { 0 } else { debtor.due };
                Debtor { due, ..debtor }
            };
            *heap = std::mem::take(&mut *heap).into_iter().map(forgiven).collect();
        }
    }
}

impl<T> HandedOver<T> {
    pub(super) fn new() -> Self {
        HandedOver { list: Mutex::new(VecDeque::new()), number: AtomicUsize::new(0) }
    }

    /// Forgets what they owe, in one step: who clears up meanwhile would else see them neither
    /// there nor here.
    pub(super) fn put_all_of(&self, debtors: &Debtors<T>) {
        let all = iter::once_with(|| debtors.take_all()).flatten();
        self.put(all.map(|debtor| debtor.ready));
    }

    /// What is put here is asked for under the lock.
    pub(super) fn put(&self, ready: impl IntoIterator<Item = T>) {
        let mut list = self.list.lock();
        list.extend(ready);
        self.number.store(list.len(), Relaxed);
    }

    pub(super) fn take(&self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let mut list = self.list.lock();
        let taken = list.pop_front();
        self.number.store(list.len(), Relaxed);
        taken
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn len(&self) -> usize {
        self.number.load(Relaxed)
    }
}

/// The first to have paid is the greatest.
impl<T> Ord for Debtor<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.due.cmp(&self.due)
    }
}

impl<T> PartialOrd for Debtor<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Debtor<T> {
    fn eq(&self, other: &Self) -> bool {
        self.due == other.due
    }
}

impl<T> Eq for Debtor<T> {}
