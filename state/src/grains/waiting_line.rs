//! The senders that wait for a place at one grain, in the order in which they came (rules K2, M6).
//!
//! ```text
//!   stand ──► waiting ──► first of the line ──► granted ──► takes its place
//!                │                │                │
//!                └────────────────┴────────────────┴──► leave: the next is first, or is granted
//! ```
//!
//! Each has a ticket. A place that comes free is granted to the first; only that one is woken. A
//! grain that is there gives its places in the line of its own mailbox: there the first stands for
//! all, and is called for that once. Every operation takes the logarithm of the line's length.

use std::collections::{BTreeMap, BTreeSet};
use std::task::Waker;

/// The line of one grain.
#[derive(Default)]
pub(crate) struct GrainLine {
    last: u64,
    /// The waker is gone once it was woken, until the waiter looks again.
    waiting: BTreeMap<u64, Option<Waker>>,
    granted: BTreeSet<u64>,
    /// The one that stands in the line of the grain's mailbox.
    called: Option<u64>,
}

/// What a waiter had that leaves.
pub(crate) enum LeftLine {
    /// A place that it has not taken.
    Grant,
    /// A place in the line, or nothing; its waker is dropped when no lock is held.
    Wait(Option<Waker>),
}

impl GrainLine {
    /// Stands in line, or goes on standing there; the waker of before is dropped when no lock is
    /// held.
    pub(crate) fn stand(&mut self, ticket: &mut Option<u64>, waker: Waker) -> Option<Waker> {
        let last = &mut self.last;
        let number = *ticket.get_or_insert_with(|| {
            *last += 1;
            *last
        });
        self.waiting.insert(number, Some(waker)).flatten()
    }

    /// Whether nobody waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether nobody waits, and nobody has a place to take.
    pub(crate) fn is_unused(&self) -> bool {
        self.waiting.is_empty() && self.granted.is_empty()
    }

    /// Whether nobody waits before this one.
    pub(crate) fn is_first(&self, ticket: Option<u64>) -> bool {
        self.waiting.first_key_value().is_none_or(|(first, _)| Some(*first) == ticket)
    }

    /// Takes the place that was granted to this one, if one was.
    pub(crate) fn take_grant(&mut self, ticket: u64) -> bool {
        self.granted.remove(&ticket)
    }

    /// Waits no more.
    pub(crate) fn leave(&mut self, ticket: u64) -> LeftLine {
        if self.granted.remove(&ticket) {
            return LeftLine::Grant;
        }
        LeftLine::Wait(self.waiting.remove(&ticket).flatten())
    }

    /// Grants a place to the first, which is to be woken if it was not already; false if nobody
    /// waits.
    pub(crate) fn grant(&mut self, woken: &mut Vec<Waker>) -> bool {
        let Some((ticket, waker)) = self.waiting.pop_first() else { return false };
        self.granted.insert(ticket);
        woken.extend(waker);
        true
    }

    /// Calls the first to the mailbox of the grain, once: whom to wake.
    pub(crate) fn call_first(&mut self) -> Option<Waker> {
        let mut first = self.waiting.first_entry()?;
        if self.called.replace(*first.key()) == Some(*first.key()) {
            return None;
        }
        first.get_mut().take()
    }

    /// This one, the first, has found the mailbox itself.
    pub(crate) fn note_called(&mut self, ticket: Option<u64>) {
        self.called = ticket;
    }

    /// There will be no place any more: whom to wake.
    pub(crate) fn dismiss(&mut self) -> impl Iterator<Item = Waker> + use<> {
        std::mem::take(&mut self.waiting).into_values().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    #[derive(Default)]
    struct Wakes(AtomicUsize);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    proptest! {
        /// Whoever stands, leaves and is granted in whatever order: places go to those that have
        /// waited longest, once each, and a grant that is given up is seen as one.
        #[test]
        fn k2_places_are_granted_in_the_order_in_which_their_waiters_came(
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
        let wakes = Arc::new(Wakes::default());
        let waker = || Waker::from(Arc::clone(&wakes));
        let (mut one, mut other) = (None, None);
        line.stand(&mut one, waker());
        line.stand(&mut other, waker());
        line.call_first().unwrap().wake();
        assert!(line.call_first().is_none(), "it knows");
        // It looks again and goes on standing: that is no reason to call it again.
        line.stand(&mut one, waker());
        assert!(line.call_first().is_none());
        line.leave(one.unwrap());
        line.call_first().unwrap().wake();
        assert_eq!(wakes.0.load(Ordering::Relaxed), 2);
        assert!(line.is_first(other));
    }
}
