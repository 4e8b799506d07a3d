//! Timers that are due in a simulation and have not fired: in what order they do, the seed says.
//!
//! Of one process they fire in the order in which they are due, and set (rule T1). Of several
//! processes any may be first, and turns may come between: a real node's timers fire on a
//! thread of their own, beside its workers.

use krarup_act::{Alarm, TimerKey};
use krarup_gen::Pid;
use std::collections::BTreeMap;

#[derive(Default)]
pub(crate) struct DueTimers {
    /// Whose the timers are that are set: the number of the process in whose turn it was
    /// done; not those from outside.
    owners: BTreeMap<(u32, u32), Pid>,
    due: Vec<Due>,
}

pub(crate) struct Due {
    pub(crate) owner: Option<Pid>,
    key: TimerKey,
    pub(crate) alarm: Alarm,
}

fn place(key: TimerKey) -> (u32, u32) {
    (key.index, key.generation)
}

impl DueTimers {
    pub(crate) fn is_set(&mut self, key: TimerKey, owner: Option<Pid>) {
        if let Some(owner) = owner {
            self.owners.insert(place(key), owner);
        }
    }

    pub(crate) fn cancelled(&mut self, key: TimerKey) {
        self.owners.remove(&place(key));
    }

    /// Takes a timer back that was due and has not fired.
    pub(crate) fn cancel(&mut self, key: TimerKey) -> Option<Alarm> {
        let found = self.due.iter().position(|due| due.key == key)?;
        Some(self.due.remove(found).alarm)
    }

    /// These are due, in this order.
    pub(crate) fn add(&mut self, due: Vec<(TimerKey, Alarm)>) {
        for (key, alarm) in due {
            let owner = self.owners.remove(&place(key));
            self.due.push(Due { owner, key, alarm });
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.due.len()
    }

    /// How many could fire next: the first of each process.
    pub(crate) fn choices(&self) -> usize {
        self.firsts().count()
    }

    /// Takes the one of this number out.
    pub(crate) fn take(&mut self, choice: usize) -> Option<Due> {
        let place = self.firsts().nth(choice)?;
        Some(self.due.remove(place))
    }

    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = Alarm> + use<> {
        std::mem::take(&mut self.due).into_iter().map(|due| due.alarm)
    }

    fn firsts(&self) -> impl Iterator<Item = usize> {
        let is_first =
            |at: &usize| !self.due[..*at].iter().any(|due| due.owner == self.due[*at].owner);
        (0..self.due.len()).filter(is_first)
    }
}
