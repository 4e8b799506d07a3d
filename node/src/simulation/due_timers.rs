//! Timers of a simulation that are due and have not fired. The seed chooses their order.
//!
//! Timers of one process fire in the order in which they are due, and then in the order in which
//! they were set (rule T1). Among several processes any timer may be first, and turns may come
//! between: the timers of a real node fire on a thread of their own, beside its workers.
//!
//! ```text
//!   queues   process 1: 3 7 8     process 2: 4     set from outside: 5 6      (numbers in order of time)
//!   firsts   3, 4, 5                                                          what the seed chooses from
//! ```
//!
//! The firsts are a [`ChunkedList`], so a million timers that are due at one moment are chosen from and taken
//! one by one.

use crate::simulation::chunked_list::ChunkedList;
use crate::simulation::process_key::ProcessKey;
use krarup_act::{Alarm, TimerKey};
use krarup_gen::Pid;
use std::collections::{BTreeMap, VecDeque};

#[derive(Default)]
pub(crate) struct DueTimers {
    /// The process in whose turn each timer was set. Timers set from outside have none.
    owners: BTreeMap<TimerPlace, Pid>,
    /// The due timers of each process in their order; no queue is empty.
    queues: BTreeMap<TimerOwner, VecDeque<QueuedTimer>>,
    /// The number of the first timer of each queue, ascending.
    firsts: ChunkedList<(u64, TimerOwner)>,
    /// Where each due timer is.
    places: BTreeMap<TimerPlace, (TimerOwner, u64)>,
    added: u64,
}

pub(crate) struct Due {
    pub(crate) owner: Option<Pid>,
    place: TimerPlace,
    pub(crate) alarm: Alarm,
}

type TimerOwner = Option<ProcessKey>;

/// A timer: the creation of its node, and its key there.
type TimerPlace = (u32, u32, u32);

struct QueuedTimer {
    number: u64,
    due: Due,
}

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
        let (owner, number) = self.places.get(&place(node, key)).copied()?;
        self.remove(owner, number).map(|due| due.alarm)
    }

    /// Adds timers that are due, in this order.
    pub(crate) fn add(&mut self, due: Vec<(u32, TimerKey, Alarm)>) {
        for (node, key, alarm) in due {
            let place = place(node, key);
            let pid = self.owners.remove(&place);
            let (owner, number) = (pid.map(ProcessKey::from), self.added);
            self.added += 1;
            let queue = self.queues.entry(owner).or_default();
            if queue.is_empty() {
                self.firsts.push((number, owner));
            }
            queue.push_back(QueuedTimer { number, due: Due { owner: pid, place, alarm } });
            self.places.insert(place, (owner, number));
        }
    }

    /// How many timers of a node are due.
    pub(crate) fn of_node(&self, node: u32) -> usize {
        self.places.range((node, 0, 0)..=(node, u32::MAX, u32::MAX)).count()
    }

    /// How many timers could fire next: the first of each process.
    pub(crate) fn choices(&self) -> usize {
        self.firsts.len()
    }

    /// Takes out the timer with this number among those that could fire next.
    pub(crate) fn take(&mut self, choice: usize) -> Option<Due> {
        let (number, owner) = self.firsts.get(choice).copied()?;
        self.remove(owner, number)
    }

    /// Takes out the timers of a node, in the order in which they are due.
    pub(crate) fn take_of_node(&mut self, node: u32) -> Vec<Alarm> {
        self.owners.retain(|place, _| place.0 != node);
        let here = self.places.range((node, 0, 0)..=(node, u32::MAX, u32::MAX));
        let mut found: Vec<_> = here.map(|(_, (owner, number))| (*number, *owner)).collect();
        found.sort_unstable();
        let taken = found.into_iter().filter_map(|(number, owner)| self.remove(owner, number));
        taken.map(|due| due.alarm).collect()
    }

    fn remove(&mut self, owner: TimerOwner, number: u64) -> Option<Due> {
        let queue = self.queues.get_mut(&owner)?;
        let at = queue.binary_search_by_key(&number, |held| held.number).ok()?;
        let due = queue.remove(at)?.due;
        let next = queue.front().map(|held| held.number);
        if at == 0 {
            let place = |number| move |first: &(u64, TimerOwner)| *first < (number, owner);
            self.firsts.remove(self.firsts.partition_point(place(number)))?;
            match next {
                Some(next) => {
                    self.firsts.insert(self.firsts.partition_point(place(next)), (next, owner));
                }
                None => drop(self.queues.remove(&owner)),
            }
        }
        self.places.remove(&due.place);
        Some(due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a list of all timers, looked through from the front, would say.
    #[derive(Default)]
    struct PlainList(Vec<(Option<u64>, u32)>);

    impl PlainList {
        fn firsts(&self) -> Vec<usize> {
            let is_first = |at: &usize| self.0[..*at].iter().all(|one| one.0 != self.0[*at].0);
            (0..self.0.len()).filter(is_first).collect()
        }
    }

    fn key(index: u32) -> TimerKey {
        TimerKey { index, generation: 1 }
    }

    #[test]
    fn t1_due_timers_are_chosen_as_from_a_list_that_is_looked_through() {
        for seed in 0..50_u64 {
            let mut random = seed;
            let mut below = |n: usize| {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                usize::try_from(random >> 33).unwrap_or(0) % n.max(1)
            };
            let (mut timers, mut plain) = (DueTimers::default(), PlainList::default());
            for index in 0..300 {
                let owner = (below(4) > 0).then(|| below(9) as u64);
                timers.is_set(7, key(index), owner.map(|number| Pid::local(number, 7)));
                timers.add(vec![(7, key(index), Alarm::Run(Box::new(|| {})))]);
                plain.0.push((owner, index));
                match below(3) {
                    0 => {
                        let firsts = plain.firsts();
                        assert_eq!(timers.choices(), firsts.len());
                        let choice = below(firsts.len() + 1);
                        let taken = timers.take(choice).map(|due| due.place.1);
                        let expected = firsts.get(choice).map(|at| plain.0.remove(*at).1);
                        assert_eq!(taken, expected);
                    }
                    1 => {
                        let any = u32::try_from(below(index as usize + 1)).unwrap_or(0);
                        let there = plain.0.iter().position(|one| one.1 == any);
                        assert_eq!(timers.cancel(7, key(any)).is_some(), there.is_some());
                        there.map(|at| plain.0.remove(at));
                    }
                    _ => assert_eq!(timers.of_node(7), plain.0.len()),
                }
            }
            assert_eq!(timers.take_of_node(8).len(), 0);
            assert_eq!(timers.take_of_node(7).len(), plain.0.len());
            assert_eq!((timers.choices(), timers.of_node(7)), (0, 0));
        }
    }
}
