//! The senders that wait for room in one mailbox, in order of arrival (rule M6).
//!
//! Each has a number in the order in which they arrived. So a sender that leaves, because it
//! got room or gave up, is found without a scan of the others. All of this runs under the lock
//! of the mailbox, and there may be a hundred thousand senders.

use super::permit::WaitsForRoom;
use crate::slots::Slots;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

/// The senders in line, and the lines of senders that wait for several mailboxes.
#[derive(Default)]
pub(crate) struct WaitingSenders {
    line: PlacesInLine,
    waiters: Slots<Arc<dyn WaitsForRoom>>,
    /// How many of the waiters are lines of senders.
    lines: usize,
}

/// Who comes next. It knows waiters by the places where they lie, and by their addresses in memory, which are
/// stable while they are in line.
#[derive(Default)]
struct PlacesInLine {
    /// The places of the waiters, by their numbers.
    in_order: BTreeMap<u64, usize>,
    /// The number of each waiter, by its address in memory.
    numbers: BTreeMap<usize, u64>,
    next: u64,
}

impl PlacesInLine {
    /// Adds a waiter to the end, unless it is in line already. Its place is asked for if it is not.
    fn push(&mut self, address: usize, place: impl FnOnce() -> usize) -> bool {
        let Entry::Vacant(free) = self.numbers.entry(address) else { return false };
        free.insert(self.next);
        self.in_order.insert(self.next, place());
        self.next += 1;
        true
    }

    /// Removes the first waiter, and returns its place.
    fn pop(&mut self) -> Option<usize> {
        self.in_order.pop_first().map(|(_, place)| place)
    }

    /// Removes a waiter, and returns its place.
    fn remove(&mut self, address: usize) -> Option<usize> {
        let number = self.numbers.remove(&address)?;
        self.in_order.remove(&number)
    }
}

fn address(waiter: &Arc<dyn WaitsForRoom>) -> usize {
    Arc::as_ptr(waiter).addr()
}

impl WaitingSenders {
    pub(crate) fn is_empty(&self) -> bool {
        self.line.in_order.is_empty()
    }

    /// The number of senders in line, without the lines of senders.
    pub(crate) fn senders(&self) -> usize {
        self.line.in_order.len() - self.lines
    }

    /// Adds a waiter to the end, unless it is in line already.
    pub(crate) fn push(&mut self, waiter: &Arc<dyn WaitsForRoom>) {
        if self.line.push(address(waiter), || self.waiters.put(Arc::clone(waiter))) {
            self.lines += usize::from(waiter.is_line());
        }
    }

    /// Removes the first waiter.
    pub(crate) fn pop(&mut self) -> Option<Arc<dyn WaitsForRoom>> {
        let waiter = self.line.pop().and_then(|place| self.waiters.take(place))?;
        self.line.numbers.remove(&address(&waiter));
        self.lines -= usize::from(waiter.is_line());
        Some(waiter)
    }

    /// Removes this waiter, if it is in line.
    pub(crate) fn remove(&mut self, waiter: &Arc<dyn WaitsForRoom>) {
        if let Some(place) = self.line.remove(address(waiter)) {
            drop(self.waiters.take(place));
            self.lines -= usize::from(waiter.is_line());
        }
    }
}

/// Removes all, in order of arrival.
impl Iterator for WaitingSenders {
    type Item = Arc<dyn WaitsForRoom>;

    fn next(&mut self) -> Option<Self::Item> {
        self.pop()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::mailbox::permit::Waiter;

    fn waiter() -> Arc<dyn WaitsForRoom> {
        Waiter::<()>::with_place().0
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
        let order: Vec<_> = waiting.collect();
        let expected = [2, 3, 4, 0].map(|number: usize| &waiters[number]);
        assert_eq!(order.len(), 4);
        assert!(order.iter().zip(expected).all(|(one, other)| Arc::ptr_eq(one, other)));
    }
}
