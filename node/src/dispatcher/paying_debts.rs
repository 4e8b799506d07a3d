//! How a worker of a shared dispatcher handles processes that owe turns. The drawing is in
//! [`super::debtors`].

use super::debtors::{Debtor, Debtors, LONGEST, NEVER, TakeCount};
use super::delayed_queue::QueuedProcess;
use super::shared::SharedDispatcher;
use super::steal_policy::StealPolicy;
use crossbeam_deque::Worker;
use krarup_act::{Debt, Ready};
use krarup_gen::Pid;
use std::collections::BTreeSet;
use std::sync::atomic::Ordering::Relaxed;

impl SharedDispatcher {
    /// Begins a take of a worker.
    #[inline]
    pub(super) fn begin_take(
        &self,
        at: (usize, &Worker<Ready>),
        thief: &mut StealPolicy,
        takes: &mut TakeCount,
    ) {
        takes.begun += 1;
        if takes.has_debtors() {
            self.look_at_debtors(at, thief, takes);
        }
    }

    /// Makes a process wait among the debtors of a worker.
    #[cold]
    pub(super) fn sit_out(
        &self,
        (worker, queue): (usize, &Worker<Ready>),
        takes: &mut TakeCount,
        debt: Debt,
        ready: Ready,
    ) {
        let turns = u64::from(debt.turns) * queue.len().max(1) as u64;
        let due = takes.begun + turns.min(LONGEST);
        let debtor = Debtor { due, creditor: debt.creditor, ready };
        match self.debtors[worker].add(debtor) {
            Ok(look) => takes.look = look,
            Err(called) => self.schedule_called(called),
        }
    }

    /// Fetches a process that may owe turns and now has something to handle at once (see
    /// [`super::debtors`]). A process that is not found is in a queue or in a turn, and handles
    /// it there.
    pub(crate) fn recall(&self, pid: Pid) {
        let number = pid.id();
        let at_workers = self.debtors.iter().find_map(|debtors| debtors.fetch(number));
        if let Some(called) = at_workers.or_else(|| self.handed_over.fetch(number)) {
            self.schedule_called(called);
        }
    }

    #[cold]
    fn look_at_debtors(
        &self,
        (worker, queue): (usize, &Worker<Ready>),
        thief: &mut StealPolicy,
        takes: &mut TakeCount,
    ) {
        let debtors = &self.debtors[worker];
        if queue.is_empty() {
            self.part_with_debtors(worker, queue, thief);
            takes.look = NEVER;
            return;
        }
        if takes.begun >= takes.look {
            takes.look = debtors.take_paid(takes.begun, |ready| queue.push(ready));
        }
    }

    /// Handles the debtors of a worker that has nothing else to run. They have their turns at
    /// once, except those whose creditors are still crowded and busy elsewhere, which are handed
    /// over.
    fn part_with_debtors(&self, worker: usize, queue: &Worker<Ready>, thief: &mut StealPolicy) {
        let debtors = self.debtors[worker].take_all();
        let others = self.counters.iter().enumerate().filter(|(index, _)| *index != worker);
        let alone = others.map(|(_, counters)| counters.glance()).all(|glance| glance.pid == 0);
        // A creditor in this list is not busy elsewhere: two processes may have flooded each
        // other.
        let pids = || debtors.iter().map(QueuedProcess::number).collect::<BTreeSet<_>>();
        let here = (!alone).then(pids);
        let is_elsewhere = |creditor: u64| {
            here.as_ref().is_some_and(|here| !here.contains(&creditor))
                && (self.setup.processes)(creditor).is_some_and(|process| process.is_crowded())
        };
        let (let_go, kept): (Vec<_>, Vec<_>) =
            debtors.into_iter().partition(|debtor| is_elsewhere(debtor.creditor));
        if !let_go.is_empty() {
            let called = self.handed_over.put(let_go.into_iter().map(|debtor| debtor.ready));
            called.into_iter().for_each(|called| self.schedule_called(called));
            let now = self.setup.time.clock.now();
            thief.has_let_go(now, self.siblings(worker));
        }
        let several = kept.len() > 1;
        kept.into_iter().for_each(|debtor| queue.push(debtor.ready));
        if several && self.sleep.could_wake() {
            // They may owe again and again, and then no push ever finds another process in the
            // queue.
            self.sleep.wake_one();
        }
    }

    /// Takes handed-over debtors into the queue of a worker that has work. Work in the injector
    /// counts: a worker that finds a single process there each time might never search.
    pub(super) fn take_in(&self, queue: &Worker<Ready>) {
        let has_work = !queue.is_empty() || !self.injector.is_empty();
        if !self.handed_over.is_empty() && has_work {
            while let Some(ready) = self.handed_over.take() {
                queue.push(ready);
            }
        }
    }

    /// Cancels the debts at workers that are still in the turn of the watchdog's last look.
    pub(super) fn forget_debts_at_long_turns(&self) {
        for (debtors, counters) in self.debtors.iter().zip(&self.counters) {
            let turns = counters.glance().turns;
            if debtors.turns.swap(turns, Relaxed) == turns {
                self.forget_debts(debtors);
            }
        }
    }

    /// Cancels all debts.
    pub(super) fn forget_all_debts(&self) {
        self.debtors.iter().for_each(|debtors| self.forget_debts(debtors));
    }

    fn forget_debts(&self, debtors: &Debtors<Ready>) {
        let called = self.handed_over.put_all_of(debtors);
        called.into_iter().for_each(|called| self.schedule_called(called));
        if !self.handed_over.is_empty() {
            self.sleep.wake_one();
        }
    }

    /// The number of processes that owe turns, at workers and handed over.
    pub(super) fn number_of_debtors(&self) -> usize {
        self.debtors.iter().map(Debtors::len).sum::<usize>() + self.handed_over.len()
    }
}
