//! A ring of the newest events, with numbers that show what fell out.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;

/// The newest events of one kind.
pub(crate) struct EventRing<T> {
    capacity: usize,
    state: Mutex<EventRingState<T>>,
}

struct EventRingState<T> {
    events: VecDeque<(u64, Arc<T>)>,
    next: u64,
}

/// Some events of a ring.
pub(crate) struct Page<T> {
    pub(crate) first_seq: u64,
    pub(crate) next_seq: u64,
    pub(crate) lost: u64,
    pub(crate) items: Vec<(u64, Arc<T>)>,
}

/// Which events of a ring are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// Those with greater numbers.
    Number(u64),
    /// The newest.
    Newest,
}

impl After {
    /// The number after which a ring is read that will give its next event this number.
    pub(crate) fn number(self, next: u64, limit: usize) -> u64 {
        match self {
            After::Number(number) => number,
            After::Newest => next.saturating_sub(1).saturating_sub(limit as u64),
        }
    }
}

impl<T> EventRing<T> {
    pub(crate) fn new(capacity: usize) -> Self {
        EventRing {
            capacity,
            state: Mutex::new(EventRingState { events: VecDeque::new(), next: 1 }),
        }
    }

    /// Adds an event.
    pub(crate) fn push(&self, event: T) {
        let event = Arc::new(event);
        let mut state = self.state.lock();
        let seq = state.next;
        state.next += 1;
        let full = state.events.len() >= self.capacity;
        let oldest = if full { state.events.pop_front() } else { None };
        state.events.push_back((seq, event));
        drop(state);
        drop(oldest);
    }

    /// The oldest events that are asked for and wanted, at most `limit`.
    pub(crate) fn page(&self, after: After, limit: usize, wanted: impl Fn(&T) -> bool) -> Page<T> {
        let state = self.state.lock();
        let next_seq = state.next;
        let first_seq = state.events.front().map_or(next_seq, |(seq, _)| *seq);
        let events = state.events.iter();
        let items: Vec<_> = match after {
            After::Number(number) => {
                let later = events.filter(|(seq, event)| *seq > number && wanted(event));
                later.take(limit).cloned().collect()
            }
            After::Newest => {
                let newest = events.rev().filter(|(_, event)| wanted(event)).take(limit);
                let mut newest: Vec<_> = newest.cloned().collect();
                newest.reverse();
                newest
            }
        };
        drop(state);
        let lost = match after {
            After::Number(number) => first_seq.saturating_sub(number.saturating_add(1)),
            After::Newest => 0,
        };
        Page { first_seq, next_seq, lost, items }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v20_numbers_have_no_gap_and_tell_what_fell_out() {
        let ring = EventRing::new(4);
        let page = |after| {
            let page = ring.page(after, 3, |_| true);
            let items: Vec<u64> = page.items.iter().map(|(seq, _)| *seq).collect();
            (page.first_seq, page.next_seq, page.lost, items)
        };
        assert_eq!(page(After::Number(0)), (1, 1, 0, vec![]));
        (0..10).for_each(|n| ring.push(n));
        assert_eq!(page(After::Number(0)), (7, 11, 6, vec![7, 8, 9]));
        assert_eq!(page(After::Number(9)), (7, 11, 0, vec![10]));
        assert_eq!(page(After::Number(10)), (7, 11, 0, vec![]));
        assert_eq!(page(After::Number(u64::MAX)), (7, 11, 0, vec![]));
        assert_eq!(page(After::Newest), (7, 11, 0, vec![8, 9, 10]));
    }
}
