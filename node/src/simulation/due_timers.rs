//! Timers of a simulation that are due and have not fired. The seed chooses their order.
//!
//! Timers of one process fire in the order in which they are due, and then in the order in which
//! they were set (rule T1). Among several processes any timer may be first, and turns may come
//! between: the timers of a real node fire on a thread of their own, beside its workers.

use crate::simulation::process_key::ProcessKey;
use krarup_act::{Alarm, TimerKey};
use krarup_gen::Pid;
use std::collections::BTreeMap;

#[derive(Default)]
pub(crate) struct DueTimers {
    /// The process in whose turn each timer was set. Timers set from outside have none.
    owners: BTreeMap<TimerPlace, Pid>,
    due: Vec<Due>,
}

pub(crate) struct Due {
    pub(crate) owner: Option<Pid>,
    place: TimerPlace,
    pub(crate) alarm: Alarm,
}

/// A timer: the creation of its node, and its key there.
type TimerPlace = (u32, u32, u32);

fn place(node: u32, key: TimerKey) -> TimerPlace {
    (node, key.index, key.generation)
}

impl DueTimers {
    pub(crate) fn is_set(&mut self, node: u32, key: TimerKey, owner: Option<Pid>) {
        if let Some(owner) = owner {
            self.owners.insert(place(node, key), owner);
        }
    }

    pub(crate) fn cancelled(&mut self, node: u32, key: TimerKey) {
        self.owners.remove(&place(node, key));
    }

    /// Cancels a timer that is due and has not fired.
    pub(crate) fn cancel(&mut self, node: u32, key: TimerKey) -> Option<Alarm> {
        let found = self.due.iter().position(|due| due.place == place(node, key))?;
        Some(self.due.remove(found).alarm)
    }

    /// Adds timers that are due, in this order.
    pub(crate) fn add(&mut self, due: Vec<(u32, TimerKey, Alarm)>) {
        for (node, key, alarm) in due {
            let place = place(node, key);
            let owner = self.owners.remove(&place);
            self.due.push(Due { owner, place, alarm });
        }
    }

    /// How many timers of a node are due.
    pub(crate) fn of_node(&self, node: u32) -> usize {
        self.due.iter().filter(|due| due.place.0 == node).count()
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

    /// Takes out the timers of a node.
    pub(crate) fn take_of_node(&mut self, node: u32) -> Vec<Alarm> {
        self.owners.retain(|place, _| place.0 != node);
        self.due.extract_if(.., |due| due.place.0 == node).map(|due| due.alarm).collect()
    }

    fn firsts(&self) -> impl Iterator<Item = usize> {
        let owner = |due: &Due| due.owner.map(ProcessKey::from);
        let is_first = move |at: &usize| {
            !self.due[..*at].iter().any(|due| owner(due) == owner(&self.due[*at]))
        };
        (0..self.due.len()).filter(is_first)
    }
}
