//! The line of senders that wait for room at one grain, in order of arrival (rules K2, M6).
//!
//! ```text
//!   stand ──► waiting ──► first of the line ──► granted ──► takes its permit
//!                │                │                │
//!                └────────────────┴────────────────┴──► leave: the next is first, or is granted
//! ```
//!
//! Each sender has a ticket. Free room is granted to the first sender, and only that one
//! is woken. A present grain grants room through the line of its own mailbox: the first
//! sender waits there on behalf of all, and is called to it once. Every operation takes
//! time logarithmic in the length of the line.

use std::collections::{BTreeMap, BTreeSet};
use std::task::Waker;

/// The waiting senders of one grain.
#[derive(Default)]
pub(crate) struct GrainLine {
    last: u64,
    /// The waker is `None` from the wake-up until the sender looks again.
    waiting: BTreeMap<u64, Option<Waker>>,
    granted: BTreeSet<u64>,
    /// The sender that waits in the line of the grain's mailbox.
    called: Option<u64>,
}

/// The position of a sender that leaves.
pub(crate) enum LeftLine {
    /// It had been granted room and had not taken it.
    Grant,
    /// It waited in line, or had no position. Its waker is dropped without the lock.
    Wait(Option<Waker>),
}

impl GrainLine {
    /// Joins the line, or keeps its position with a new waker. The caller drops the
    /// returned old waker without the lock.
    pub(crate) fn stand(&mut self, ticket: &mut Option<u64>, waker: Waker) -> Option<Waker> {
        let last = &mut self.last;
        let number = *ticket.get_or_insert_with(|| {
            *last += 1;
            *last
        });
        self.waiting.insert(number, Some(waker)).flatten()
    }

    /// Whether no sender waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether no sender waits, and no granted room is untaken.
    pub(crate) fn is_unused(&self) -> bool {
        self.waiting.is_empty() && self.granted.is_empty()
    }

    /// Whether no other sender waits before this one.
    pub(crate) fn is_first(&self, ticket: Option<u64>) -> bool {
        self.waiting.first_key_value().is_none_or(|(first, _)| Some(*first) == ticket)
    }

    /// Takes the room granted to this sender, if any.
    pub(crate) fn take_grant(&mut self, ticket: u64) -> bool {
        self.granted.remove(&ticket)
    }

    /// Removes a sender.
    pub(crate) fn leave(&mut self, ticket: u64) -> LeftLine {
        if self.granted.remove(&ticket) {
            return LeftLine::Grant;
        }
        LeftLine::Wait(self.waiting.remove(&ticket).flatten())
    }

    /// Grants room to the first sender and collects its waker, if it was not woken
    /// already. Returns false if no sender waits.
    pub(crate) fn grant(&mut self, woken: &mut Vec<Waker>) -> bool {
        let Some((ticket, waker)) = self.waiting.pop_first() else { return false };
        self.granted.insert(ticket);
        woken.extend(waker);
        true
    }

    /// Calls the first sender to the mailbox of the grain, once. Returns its waker.
    pub(crate) fn call_first(&mut self) -> Option<Waker> {
        let mut first = self.waiting.first_entry()?;
        if self.called.replace(*first.key()) == Some(*first.key()) {
            return None;
        }
        first.get_mut().take()
    }

    /// Records that this sender, the first, has reached the mailbox by itself.
    pub(crate) fn note_called(&mut self, ticket: Option<u64>) {
        self.called = ticket;
    }

    /// Empties the line, because there will be no room any more. Returns the wakers.
    pub(crate) fn dismiss(&mut self) -> impl Iterator<Item = Waker> + use<> {
        std::mem::take(&mut self.waiting).into_values().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wake_count::WakeCount;
    use proptest::prelude::*;

    proptest! {
        /// Senders join, leave and are granted room in any order. Room goes once to each
        /// of those that have waited longest, and leaving after a grant reports the grant.
        #[test]
        fn k2_permits_are_granted_in_the_order_of_arrival(
            steps in prop::collection::vec((0..5_u8, any::<prop::sample::Index>()), 1..200),
        ) {
            let mut line = GrainLine::default();
            let mut waiting: Vec<u64> = Vec::new();
            let mut granted: Vec<u64> = Vec::new();
            for (step, which) in steps {
                match step {
                    0 => {
                        let mut ticket = None;
                        prop_assert!(line.stand(&mut ticket, Waker::noop().clone()).is_none());
                        waiting.extend(ticket);
                    }
                    1 => {
                        let mut woken = Vec::new();
                        let is_granted = line.grant(&mut woken);
                        prop_assert_eq!(is_granted, !waiting.is_empty());
                        prop_assert_eq!(woken.len(), usize::from(is_granted));
                        if is_granted {
                            granted.push(waiting.remove(0));
                        }
                    }
                    2 if !waiting.is_empty() => {
                        let ticket = waiting.remove(which.index(waiting.len()));
                        prop_assert!(!line.take_grant(ticket));
                        prop_assert!(matches!(line.leave(ticket), LeftLine::Wait(_)));
                    }
                    3 if !granted.is_empty() => {
                        let ticket = granted.remove(which.index(granted.len()));
                        prop_assert!(!line.is_first(Some(ticket)) || waiting.is_empty());
                        prop_assert!(matches!(line.leave(ticket), LeftLine::Grant));
                        prop_assert!(matches!(line.leave(ticket), LeftLine::Wait(None)));
                    }
                    4 if !granted.is_empty() => {
                        let ticket = granted.remove(which.index(granted.len()));
                        prop_assert!(line.take_grant(ticket) && !line.take_grant(ticket));
                        prop_assert!(matches!(line.leave(ticket), LeftLine::Wait(None)));
                    }
                    _ => {}
                }
                prop_assert_eq!(line.is_empty(), waiting.is_empty());
                prop_assert_eq!(line.is_unused(), waiting.is_empty() && granted.is_empty());
                let first = waiting.first().copied();
                prop_assert!(line.is_first(first));
            }
        }
    }

    #[test]
    fn k2_the_first_of_the_line_is_called_to_the_mailbox_once() {
        let mut line = GrainLine::default();
        let (wakes, waker) = WakeCount::with_waker();
        let waker = || waker.clone();
        let (mut one, mut other) = (None, None);
        line.stand(&mut one, waker());
        line.stand(&mut other, waker());
        line.call_first().unwrap().wake();
        assert!(line.call_first().is_none(), "it knows");
        // It looks again and keeps waiting, which is no reason to call it again.
        line.stand(&mut one, waker());
        assert!(line.call_first().is_none());
        line.leave(one.unwrap());
        line.call_first().unwrap().wake();
        assert_eq!(wakes.count(), 2);
        assert!(line.is_first(other));
    }
}
