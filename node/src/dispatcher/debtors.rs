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
//! [`SAMPLE_INTERVAL`] takes at most, and while a worker is in one turn from a look of the
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

use super::counters::SAMPLE_INTERVAL;
use super::shared::Shared;
use super::thief::Thief;
use crossbeam_deque::Worker;
use krarup_act::{Debt, Ready};
use parking_lot::Mutex;
use std::cmp::Ordering;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};
use std::iter;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Nobody sits longer, in takes of the worker.
const LONGEST: u64 = 32_768;
/// No take of a worker has this number.
const NEVER: u64 = u64::MAX;

/// The takes of a worker from its queue.
pub(super) struct Takes {
    /// Those it has begun.
    pub(super) begun: u64,
    /// Before which it looks at its debtors.
    look: u64,
}

impl Takes {
    pub(super) fn new() -> Self {
        Takes { begun: 0, look: NEVER }
    }

    /// Whether somebody may sit with the debtors: the worker must not sleep then.
    pub(super) fn has_debtors(&self) -> bool {
        self.look != NEVER
    }
}

struct Debtor {
    /// The take of the worker before which it has paid.
    due: u64,
    creditor: u64,
    ready: Ready,
}

/// Those who owe at one worker. Its own, but for who clears up.
#[derive(Default)]
pub(super) struct Debtors {
    heap: Mutex<BinaryHeap<Debtor>>,
    /// Turns that the worker had begun at the last look of the watchdog.
    turns: AtomicU64,
}

/// Those whom a worker has let go.
#[derive(Default)]
pub(super) struct HandedOver {
    list: Mutex<VecDeque<Ready>>,
    /// How many; read without the lock as a hint.
    number: AtomicUsize,
}

impl Debtors {
    /// The take before which the first of them has paid.
    fn add(&self, debtor: Debtor) -> u64 {
        let mut heap = self.heap.lock();
        heap.push(debtor);
        heap.peek().map_or(NEVER, |first| first.due)
    }

    /// Takes those out who have paid before this take; when the next has.
    fn take_paid(&self, take: u64, mut put: impl FnMut(Ready)) -> u64 {
        let mut heap = self.heap.lock();
        while heap.peek().is_some_and(|first| first.due <= take) {
            heap.pop().into_iter().for_each(|debtor| put(debtor.ready));
        }
        heap.peek().map_or(NEVER, |first| first.due)
    }

    /// Has those pay at once who are called.
    fn forgive_called(&self) {
        let mut heap = self.heap.lock();
        if heap.iter().any(|debtor| debtor.ready.is_called()) {
            let forgiven = |debtor: Debtor| {
                let due = if debtor.ready.is_called() { 0 } else { debtor.due };
                Debtor { due, ..debtor }
            };
            *heap = std::mem::take(&mut *heap).into_iter().map(forgiven).collect();
        }
    }

    fn take_all(&self) -> Vec<Debtor> {
        std::mem::take(&mut *self.heap.lock()).into_vec()
    }

    fn len(&self) -> usize {
        self.heap.lock().len()
    }
}

impl HandedOver {
    /// What is put here is asked for under the lock.
    pub(super) fn put(&self, ready: impl IntoIterator<Item = Ready>) {
        let mut list = self.list.lock();
        list.extend(ready);
        self.number.store(list.len(), Relaxed);
    }

    pub(super) fn take(&self) -> Option<Ready> {
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

    fn len(&self) -> usize {
        self.number.load(Relaxed)
    }
}

impl Shared {
    /// Begins a take of a worker.
    #[inline]
    pub(super) fn begin_take(
        &self,
        at: (usize, &Worker<Ready>),
        thief: &mut Thief,
        takes: &mut Takes,
    ) {
        takes.begun += 1;
        if takes.has_debtors() {
            self.look_at_debtors(at, thief, takes);
        }
    }

    /// Has a process sit with the debtors of a worker.
    #[cold]
    pub(super) fn sit_out(
        &self,
        (worker, queue): (usize, &Worker<Ready>),
        takes: &mut Takes,
        debt: Debt,
        ready: Ready,
    ) {
        let turns = u64::from(debt.turns) * queue.len().max(1) as u64;
        let due = takes.begun + turns.min(LONGEST);
        takes.look = self.debtors[worker].add(Debtor { due, creditor: debt.creditor, ready });
    }

    #[cold]
    fn look_at_debtors(
        &self,
        (worker, queue): (usize, &Worker<Ready>),
        thief: &mut Thief,
        takes: &mut Takes,
    ) {
        let debtors = &self.debtors[worker];
        if queue.is_empty() {
            self.part_with_debtors(worker, queue, thief);
            takes.look = NEVER;
            return;
        }
        let samples = takes.begun.is_multiple_of(u64::from(SAMPLE_INTERVAL));
        if samples {
            debtors.forgive_called();
        }
        if samples || takes.begun >= takes.look {
            takes.look = debtors.take_paid(takes.begun, |ready| queue.push(ready));
        }
    }

    /// A worker has nothing to do but for its debtors: they have their turns at once, except
    /// those whose creditors are crowded still and at work elsewhere.
    fn part_with_debtors(&self, worker: usize, queue: &Worker<Ready>, thief: &mut Thief) {
        let debtors = self.debtors[worker].take_all();
        let others = self.counters.iter().enumerate().filter(|(index, _)| *index != worker);
        let alone = others.map(|(_, counters)| counters.glance()).all(|glance| glance.pid == 0);
        // Who sits here is not at work elsewhere: two may have flooded each other.
        let pids = || debtors.iter().map(|debtor| debtor.ready.pid().id()).collect::<BTreeSet<_>>();
        let here = (!alone).then(pids);
        let is_elsewhere = |creditor: u64| {
            here.as_ref().is_some_and(|here| !here.contains(&creditor))
                && (self.setup.processes)(creditor).is_some_and(|process| process.is_crowded())
        };
        let (let_go, kept): (Vec<_>, Vec<_>) =
            debtors.into_iter().partition(|debtor| is_elsewhere(debtor.creditor));
        if !let_go.is_empty() {
            self.handed_over.put(let_go.into_iter().map(|debtor| debtor.ready));
            let now = self.setup.time.clock.now();
            thief.has_let_go(now, self.siblings(worker));
        }
        let several = kept.len() > 1;
        kept.into_iter().for_each(|debtor| queue.push(debtor.ready));
        if several && self.sleep.could_wake() {
            // They may owe again and again, and none is ever pushed behind another.
            self.sleep.wake_one();
        }
    }

    /// A worker that has work takes in who was let go. Also one that finds its work outside,
    /// each time a single process: it might never come to look for more.
    pub(super) fn take_in(&self, queue: &Worker<Ready>) {
        if !self.handed_over.is_empty() && !(queue.is_empty() && self.injector.is_empty()) {
            while let Some(ready) = self.handed_over.take() {
                queue.push(ready);
            }
        }
    }

    /// The watchdog looks: forgets what is owed at workers that are still in the same turn.
    pub(super) fn forget_debts_at_long_turns(&self) {
        for (debtors, counters) in self.debtors.iter().zip(&self.counters) {
            let turns = counters.glance().turns;
            if debtors.turns.swap(turns, Relaxed) == turns {
                self.forget_debts(debtors);
            }
        }
    }

    /// Forgets all debts.
    pub(super) fn forget_all_debts(&self) {
        self.debtors.iter().for_each(|debtors| self.forget_debts(debtors));
    }

    fn forget_debts(&self, debtors: &Debtors) {
        // In one step, or who clears up meanwhile would see them neither here nor there.
        let all = iter::once_with(|| debtors.take_all()).flatten();
        self.handed_over.put(all.map(|debtor| debtor.ready));
        if !self.handed_over.is_empty() {
            self.sleep.wake_one();
        }
    }

    /// Those who owe, wherever they sit.
    pub(super) fn number_of_debtors(&self) -> usize {
        self.debtors.iter().map(Debtors::len).sum::<usize>() + self.handed_over.len()
    }
}

/// The first to have paid is the greatest.
impl Ord for Debtor {
    fn cmp(&self, other: &Self) -> Ordering {
        other.due.cmp(&self.due)
    }
}

impl PartialOrd for Debtor {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Debtor {
    fn eq(&self, other: &Self) -> bool {
        self.due == other.due
    }
}

impl Eq for Debtor {}
