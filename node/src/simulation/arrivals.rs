//! Chooses which of several senders' messages arrives first, where either could.
//!
//! A simulation runs one turn after the other, so all messages of one turn would arrive before
//! all messages of the next. On a node with several workers the two turns run at the same time
//! if the second process was ready before the first one sent, and their messages to a third
//! process mix. So a message may overtake those that were sent after the last event that its
//! sender knows of:
//!
//! ```text
//!   event   1  b is made ready
//!           2  a sends m to c                 c: m
//!           3  a sends to b                   (if it does, b knows of event 2)
//!           4  b sends n to c                 c: m n   or, without 3,   n m
//! ```
//!
//! An event is anything that reaches a process: it is made ready, or a message or a signal
//! arrives. A process knows all events up to the last one that reached it before its turn.
//! Communication through shared memory is not an event.
//!
//! A message sent from outside any process neither overtakes others nor is overtaken: the test's
//! own thread does one thing after the other, and processes run only when it drives them.

use crate::simulation::process_key::ProcessKey;
use krarup_gen::Pid;
use std::collections::BTreeMap;

#[derive(Default)]
pub(crate) struct Arrivals {
    events: u64,
    /// The last event that reached each process.
    knows: BTreeMap<ProcessKey, u64>,
    /// The events of the messages that have arrived at each process since its last turn.
    came: BTreeMap<ProcessKey, Vec<u64>>,
    /// The last event that the running process knows.
    running: Option<u64>,
}

/// The most messages that one overtakes. Without a limit each message to a mailbox of a hundred thousand is moved
/// over half of them, and so many take minutes.
const FURTHEST: usize = 1000;

/// The event of a message that no other may overtake.
const NEVER: u64 = 0;

impl Arrivals {
    /// Records an event at a process other than a message on Main.
    pub(crate) fn reached(&mut self, pid: Pid) {
        self.events += 1;
        self.knows.insert(pid.into(), self.events);
    }

    pub(crate) fn turn_begins(&mut self, pid: Pid) {
        self.came.remove(&pid.into());
        self.running = Some(self.knows.get(&pid.into()).copied().unwrap_or(self.events));
    }

    pub(crate) fn turn_is_over(&mut self) {
        self.running = None;
    }

    pub(crate) fn ended(&mut self, pid: Pid) {
        self.knows.remove(&pid.into());
        self.came.remove(&pid.into());
    }

    /// How many of the last messages to this process a message sent now may overtake, at most [`FURTHEST`].
    pub(crate) fn passable(&self, to: Pid, outside: bool) -> usize {
        match (self.running, self.came.get(&to.into())) {
            (Some(knows), Some(came)) if !outside => {
                came.iter().rev().take(FURTHEST).take_while(|event| **event > knows).count()
            }
            _ => 0,
        }
    }

    /// Records a message that has overtaken this many of the last.
    pub(crate) fn arrived(&mut self, to: Pid, outside: bool, passed: usize) {
        self.reached(to);
        let event = if outside || self.running.is_none() { NEVER } else { self.events };
        let came = self.came.entry(to.into()).or_default();
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
    fn t2_a_message_may_pass_messages_that_were_sent_concurrently() {
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
        // It is put before the last of two: the next one may overtake the later two of three.
        arrivals.arrived(C, false, 1);
        assert_eq!(arrivals.passable(C, false), 3);
        arrivals.turn_is_over();
        // No turn runs.
        assert_eq!(arrivals.passable(C, false), 0);
        // The receiver has taken all messages.
        arrivals.turn_begins(C);
        arrivals.turn_is_over();
        arrivals.turn_begins(B);
        assert_eq!(arrivals.passable(C, false), 0);
    }

    #[test]
    fn t2_a_message_passes_a_thousand_at_most() {
        let mut arrivals = Arrivals::default();
        arrivals.reached(A);
        arrivals.reached(B);
        arrivals.turn_begins(A);
        for sent in 1..=1500 {
            arrivals.arrived(C, false, 0);
            arrivals.turn_begins(B);
            assert_eq!(arrivals.passable(C, false), sent.min(1000));
        }
    }

    #[test]
    fn t2_a_message_passes_none_that_its_sender_may_know_of() {
        let mut arrivals = Arrivals::default();
        arrivals.reached(A);
        arrivals.reached(B);
        arrivals.turn_begins(A);
        arrivals.arrived(C, false, 0);
        // From here on B may know of that message.
        arrivals.arrived(B, false, 0);
        arrivals.arrived(C, false, 0);
        arrivals.turn_is_over();
        arrivals.turn_begins(B);
        assert_eq!(arrivals.passable(C, false), 1);
        arrivals.turn_is_over();
        // No message overtakes one from outside, nor those before it.
        arrivals.arrived(C, true, 0);
        arrivals.turn_begins(B);
        assert_eq!(arrivals.passable(C, false), 0);
    }
}
