//! The ready processes of a simulation, by class.
//!
//! While processes of high class are ready, one of them has the next turn. After 16 such turns
//! in a row a normal process has one, if any is ready (rule R6).

use crate::dispatcher::priority_queue::IN_A_ROW;
use crate::simulation::chunked_list::ChunkedList;
use crate::simulation::process_key::ProcessKey;
use krarup_act::Ready;
use krarup_gen::{Class, Pid};
use std::collections::BTreeSet;

#[derive(Default)]
pub(crate) struct ReadyLists {
    normal: ChunkedList<Ready>,
    high: ChunkedList<Ready>,
    /// All living processes of high class.
    highs: BTreeSet<ProcessKey>,
    /// Turns of high processes since the last turn of a normal one.
    in_a_row: u32,
    turns: u64,
    high_turns: u64,
}

/// The processes that may have the next turn.
pub(crate) struct Candidates {
    class: Class,
    /// Their places in the list; `None`: the whole list of their class.
    places: Option<Vec<usize>>,
    pub(crate) count: usize,
}

impl ReadyLists {
    pub(crate) fn push(&mut self, ready: Ready) {
        let is_high = ready.is_high() || self.highs.contains(&ready.pid().into());
        let class = if is_high { Class::High } else { Class::Normal };
        self.of_class(class).push(ready);
    }

    /// Prepares for a process of this class, which is about to be spawned.
    pub(crate) fn expect(&mut self, pid: Pid, class: Class) {
        if class == Class::High {
            self.highs.insert(pid.into());
        }
    }

    /// Removes a process that has ended or was not admitted.
    pub(crate) fn forget(&mut self, pid: Pid) {
        self.highs.remove(&pid.into());
    }

    /// The processes that may have the next turn, without those for which `holds` returns true.
    pub(crate) fn candidates(&self, holds: Option<&dyn Fn(Pid) -> bool>) -> Candidates {
        let of = |class, list: &ChunkedList<Ready>| match holds {
            None => Candidates { class, places: None, count: list.len() },
            Some(holds) => {
                let places = list.iter().enumerate().filter(|(_, ready)| !holds(ready.pid()));
                let places: Vec<usize> = places.map(|(place, _)| place).collect();
                let count = places.len();
                Candidates { class, places: Some(places), count }
            }
        };
        let (high, normal) = (of(Class::High, &self.high), of(Class::Normal, &self.normal));
        let tired = self.in_a_row >= IN_A_ROW && normal.count > 0;
        if high.count == 0 || tired { normal } else { high }
    }

    /// The process of one of the candidates; the lists must not have changed since.
    pub(crate) fn candidate(&self, candidates: &Candidates, chosen: usize) -> Pid {
        let place = candidates.places.as_ref().map_or(chosen, |places| places[chosen]);
        let list = if candidates.class == Class::High { &self.high } else { &self.normal };
        list.get(place).expect("a candidate is in its list").pid()
    }

    /// Takes out one of the candidates; the lists must not have changed since.
    pub(crate) fn take(&mut self, candidates: &Candidates, chosen: usize) -> (Ready, u64) {
        let place = candidates.places.as_ref().map_or(chosen, |places| places[chosen]);
        self.take_from(candidates.class, place)
    }

    /// Takes out this process if it is ready, with the number of its turn.
    pub(crate) fn take_this(&mut self, pid: Pid) -> Option<(Ready, u64)> {
        [Class::Normal, Class::High].into_iter().find_map(|class| {
            let list = self.of_class(class);
            let place = list.iter().position(|ready| ready.pid().is_same_process(pid))?;
            Some(self.take_from(class, place))
        })
    }

    fn take_from(&mut self, class: Class, place: usize) -> (Ready, u64) {
        self.turns += 1;
        if class == Class::High {
            self.in_a_row += 1;
            self.high_turns += 1;
        } else {
            self.in_a_row = 0;
        }
        // The others keep their order of arrival, so a trace reads as it happened.
        let ready = self.of_class(class).remove(place).expect("a candidate is in its list");
        (ready, self.turns)
    }

    /// Takes out the processes of the node with this creation: none runs any more.
    pub(crate) fn take_of_node(&mut self, creation: u32) -> Vec<Ready> {
        let is_there = |ready: &Ready| ready.pid().creation() == creation;
        let mut taken = self.normal.take_if(is_there);
        taken.append(&mut self.high.take_if(is_there));
        taken
    }

    /// How many processes are ready.
    pub(crate) fn len(&self) -> usize {
        self.normal.len() + self.high.len()
    }

    /// The number of turns so far, and of those of high class among them.
    pub(crate) fn turns(&self) -> (u64, u64) {
        (self.turns, self.high_turns)
    }

    fn of_class(&mut self, class: Class) -> &mut ChunkedList<Ready> {
        match class {
            Class::High => &mut self.high,
            _ => &mut self.normal,
        }
    }
}
