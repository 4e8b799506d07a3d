//! The senders that wait for room in one mailbox, in order of arrival (rule M6).
//!
//! Each has a number in the order in which they arrived. So a sender that leaves, because it
//! got room or gave up, is found without a scan of the others. All of this runs under the lock
//! of the mailbox, and there may be a hundred thousand senders.

use super::permit::Waiter;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The senders in line, and the lines of senders that wait for several mailboxes.
pub(crate) struct WaitingSenders<M> {
    /// The waiters by their numbers.
    in_order: BTreeMap<u64, Arc<Waiter<M>>>,
    /// The number of each waiter, by its address in memory, which is stable while it is in
    /// line.
    numbers: BTreeMap<usize, u64>,
    next: u64,
    /// How many of the waiters are lines of senders.
    lines: usize,
}

fn place<M>(waiter: &Arc<Waiter<M>>) -> usize {
    Arc::as_ptr(waiter).addr()
}

impl<M> WaitingSenders<M> {
    pub(crate) fn is_empty(&self) -> bool {
        self.in_order.is_empty()
    }

    /// The number of senders in line, without the lines of senders.
    pub(crate) fn senders(&self) -> usize {
        self.in_order.len() - self.lines
    }

    /// Adds a waiter to the end, unless it is in line already.
    pub(crate) fn push(&mut self, waiter: &Arc<Waiter<M>>) {
        let number = self.next;
        if let std::collections::btree_map::Entry::Vacant(free) = self.numbers.entry(place(waiter))
        {
            free.insert(number);
            self.in_order.insert(number, Arc::clone(waiter));
            self.lines += usize::from(waiter.is_line());
            self.next += 1;
        }
    }

    /// Removes the first waiter.
    pub(crate) fn pop(&mut self) -> Option<Arc<Waiter<M>>> {
        let (_, waiter) = self.in_order.pop_first()?;
        self.numbers.remove(&place(&waiter));
        self.lines -= usize::from(waiter.is_line());
        Some(waiter)
    }

    /// Removes this waiter, if it is in line.
    pub(crate) fn remove(&mut self, waiter: &Arc<Waiter<M>>) {
        if let Some(number) = self.numbers.remove(&place(waiter)) {
            self.in_order.remove(&number);
            self.lines -= usize::from(waiter.is_line());
        }
    }
}

impl<M> Default for WaitingSenders<M> {
    fn default() -> Self {
        WaitingSenders { in_order: BTreeMap::new(), numbers: BTreeMap::new(), next: 0, lines: 0 }
    }
}

/// Iterates in order of arrival.
impl<M> IntoIterator for WaitingSenders<M> {
    type Item = Arc<Waiter<M>>;
    type IntoIter = std::collections::btree_map::IntoValues<u64, Arc<Waiter<M>>>;

    fn into_iter(self) -> Self::IntoIter {
        self.in_order.into_values()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::calls::slot::slot;

    fn waiter() -> Arc<Waiter<()>> {
        Arc::new(Waiter::new(slot().0))
    }

    #[test]
    fn m6_waiting_senders_are_served_in_order_and_can_leave_from_any_position() {
        let waiters: Vec<_> = (0..5).map(|_| waiter()).collect();
        let mut waiting = WaitingSenders::default();
        waiters.iter().for_each(|waiter| waiting.push(waiter));
        waiting.push(&waiters[2]);
        waiting.remove(&waiters[1]);
        waiting.remove(&waiters[1]);
        assert!(waiting.pop().is_some_and(|first| Arc::ptr_eq(&first, &waiters[0])));
        // A waiter that comes back goes to the end.
        waiting.push(&waiters[0]);
        let order: Vec<_> = waiting.into_iter().collect();
        let expected = [2, 3, 4, 0].map(|number: usize| &waiters[number]);
        assert_eq!(order.len(), 4);
        assert!(order.iter().zip(expected).all(|(one, other)| Arc::ptr_eq(one, other)));
    }
}
