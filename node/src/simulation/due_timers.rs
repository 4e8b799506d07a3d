//! Timers of a simulation that are due and have not fired. The seed chooses their order.
//!
//! Timers of one process fire in the order in which they are due, and then in the order in which
//! they were set (rule T1). Among several processes any timer may be first, and turns may come
//! between: the timers of a real node fire on a thread of their own, beside its workers.

use krarup_act::{Alarm, TimerKey};
use krarup_gen::Pid;
use std::collections::BTreeMap;

#[derive(Default)]
pub(crate) struct DueTimers {
    /// The process in whose turn each timer was set. Timers set from outside have none.
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

    /// Cancels a timer that is due and has not fired.
    pub(crate) fn cancel(&mut self, key: TimerKey) -> Option<Alarm> {
        let found = self.due.iter().position(|due| due.key == key)?;
        Some(self.due.remove(found).alarm)
    }

    /// Adds timers that are due, in this order.
    pub(crate) fn add(&mut self, due: Vec<(TimerKey, Alarm)>) {
        for (key, alarm) in due {
            let owner = self.owners.remove(&place(key));
            self.due.push(Due { owner, key, alarm });
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.due.len()
    }

    /// How many timers could fire next: the first of each process.
    pub(crate) fn choices(&self) -> usize {
        self.firsts().count()
    }

    /// Takes out the timer with this number.
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
