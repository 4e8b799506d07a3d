//! Which message of several senders is first, where either could be.
//!
//! A simulation runs one turn after the other, so all that one turn sends would lie before all
//! that the next one sends. On a node of several workers the two turns run at the same time
//! if the second process was ready before the first one sent, and their messages to a third
//! mix. So a message may be put before those that were sent since its sender had the last of
//! what it knows:
//!
//! ```text
//!   event   1  b is made ready
//!           2  a sends m to c                 c: m
//!           3  a sends to b                   (if it does, b knows of event 2)
//!           4  b sends n to c                 c: m n   or, without 3,   n m
//! ```
//!
//! An event is whatever reaches a process: it is made ready, or something comes to it. A process
//! knows all events up to the last that reached it before its turn. What processes tell each
//! other through memory that they share is no event. What is sent from outside any process
//! neither passes others nor is passed: the test's own thread does one thing after the
//! other, and processes run when it lets them.

use krarup_gen::Pid;
use std::collections::BTreeMap;

#[derive(Default)]
pub(crate) struct Arrivals {
    events: u64,
    /// The last event that reached each process, by its number.
    knows: BTreeMap<u64, u64>,
    /// The events of the messages that have come to each process since its last turn.
    came: BTreeMap<u64, Vec<u64>>,
    /// What the process knows whose turn runs.
    running: Option<u64>,
}

/// No process passes a message of this event.
const NEVER: u64 = 0;

impl Arrivals {
    /// Something has reached a process that is no message on Main.
    pub(crate) fn reached(&mut self, pid: Pid) {
        self.events += 1;
        self.knows.insert(pid.id(), self.events);
    }

    pub(crate) fn turn_begins(&mut self, pid: Pid) {
        self.came.remove(&pid.id());
        self.running = Some(self.knows.get(&pid.id()).copied().unwrap_or(self.events));
    }

    pub(crate) fn turn_is_over(&mut self) {
        self.running = None;
    }

    pub(crate) fn ended(&mut self, pid: Pid) {
        self.knows.remove(&pid.id());
        self.came.remove(&pid.id());
    }

    /// How many of the last messages to this process one that is sent now may be put before.
    pub(crate) fn passable(&self, to: Pid, outside: bool) -> usize {
        match (self.running, self.came.get(&to.id())) {
            (Some(knows), Some(came)) if !outside => {
                came.iter().rev().take_while(|event| **event > knows).count()
            }
            _ => 0,
        }
    }

    /// A message has been put before so many of the last.
    pub(crate) fn arrived(&mut self, to: Pid, outside: bool, passed: usize) {
        self.reached(to);
        let event = if outside || self.running.is_none() { NEVER } else { self.events };
        let came = self.came.entry(to.id()).or_default();
        came.insert(came.len().saturating_sub(passed), event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Pid = Pid::local(1, 1);
    const B: Pid = Pid::local(2, 1);
    const C: Pid = Pid::local(3, 1);

    #[test]
    fn t2_a_message_passes_those_that_its_sender_cannot_know_of() {
        let mut arrivals = Arrivals::default();
        arrivals.reached(A);
        arrivals.reached(B);
        arrivals.turn_begins(A);
        arrivals.arrived(C, false, 0);
        arrivals.arrived(C, false, 0);
        arrivals.turn_is_over();
        arrivals.turn_begins(B);
        assert_eq!(arrivals.passable(C, false), 2);
        assert_eq!(arrivals.passable(C, true), 0);
        // The one between the two: what comes next passes the later two of three.
        arrivals.arrived(C, false, 1);
        assert_eq!(arrivals.passable(C, false), 3);
        arrivals.turn_is_over();
        // Nobody's turn.
        assert_eq!(arrivals.passable(C, false), 0);
        // The receiver has taken what there was.
        arrivals.turn_begins(C);
        arrivals.turn_is_over();
        arrivals.turn_begins(B);
        assert_eq!(arrivals.passable(C, false), 0);
    }

    #[test]
    fn t2_a_message_passes_none_that_its_sender_may_know_of() {
        let mut arrivals = Arrivals::default();
        arrivals.reached(A);
        arrivals.reached(B);
        arrivals.turn_begins(A);
        arrivals.arrived(C, false, 0);
        // From here on B may know of that.
        arrivals.arrived(B, false, 0);
        arrivals.arrived(C, false, 0);
        arrivals.turn_is_over();
        arrivals.turn_begins(B);
        assert_eq!(arrivals.passable(C, false), 1);
        arrivals.turn_is_over();
        // What came from outside is passed by nobody, nor what lies before it.
        arrivals.arrived(C, true, 0);
        arrivals.turn_begins(B);
        assert_eq!(arrivals.passable(C, false), 0);
    }
}
