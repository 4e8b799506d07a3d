//! The senders that wait for room in the queue to one peer, in the order in which they arrived
//! (rule Zmsg13).
//!
//! ```text
//!  new ──► in line ──── room: one at a time ──► granted ──► sends, leaves ──► the next
//!             └── dropped: leaves                  └── dropped: leaves ─────► the next
//! ```
//!
//! A granted sender may send one message whatever waits by then. So nobody that sends without
//! waiting can keep it in line for ever.

use std::collections::{BTreeMap, BTreeSet};
use std::task::Waker;

/// The place of a sender in the line.
pub(crate) type Place = u64;

/// The line.
#[derive(Debug, Default)]
pub(crate) struct RoomLine {
    waiting: BTreeMap<Place, Waker>,
    granted: BTreeSet<Place>,
    last: Place,
}

impl RoomLine {
    /// Whether a sender waits in line, or may send and has not sent yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.granted.is_empty()
    }

    /// Joins the end of the line.
    pub(crate) fn join(&mut self, waker: Waker) -> Place {
        self.last += 1;
        self.waiting.insert(self.last, waker);
        self.last
    }

    /// Whether the sender with this place may send. Otherwise the waker is kept. Returns the
    /// waker that must be dropped without a lock.
    pub(crate) fn poll(&mut self, place: Place, waker: Waker) -> (bool, Option<Waker>) {
        if self.granted.contains(&place) {
            return (true, Some(waker));
        }
        (false, self.waiting.insert(place, waker))
    }

    /// Leaves the line. Returns the waker that must be dropped without a lock.
    pub(crate) fn leave(&mut self, place: Place) -> Option<Waker> {
        self.granted.remove(&place);
        self.waiting.remove(&place)
    }

    /// Grants room to the first in line, if nobody else has it already. The waker must be woken
    /// without a lock.
    pub(crate) fn grant(&mut self) -> Option<Waker> {
        if self.granted.is_empty() { self.grant_beside() } else { None }
    }

    /// Grants room to the first in line, also if somebody else has it and does not use it.
    pub(crate) fn grant_beside(&mut self) -> Option<Waker> {
        let (place, waker) = self.waiting.pop_first()?;
        self.granted.insert(place);
        Some(waker)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::task::Wake;

    struct Counted(AtomicU64);

    impl Wake for Counted {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn zmsg13_senders_in_line_are_granted_room_one_at_a_time_in_their_order() {
        const MOST: u64 = 100_000;
        let woken = Arc::new(Counted(AtomicU64::new(0)));
        let mut line = RoomLine::default();
        let places: Vec<Place> = (0..MOST).map(|_| line.join(Arc::clone(&woken).into())).collect();
        for (at, place) in places.iter().enumerate() {
            line.grant().unwrap().wake();
            // One wake-up for each, and none for the others.
            assert_eq!(woken.0.load(Ordering::Relaxed), at as u64 + 1);
            assert!(line.grant().is_none(), "two senders have room at a time");
            assert!(line.poll(*place, Arc::clone(&woken).into()).0);
            assert!(line.leave(*place).is_none());
        }
        assert!(line.is_empty() && line.grant().is_none());
    }

    #[test]
    fn zmsg13_a_sender_that_gives_up_leaves_the_line_and_its_room_to_the_next() {
        let waker = || Waker::noop().clone();
        let mut line = RoomLine::default();
        let places: Vec<Place> = (0..4).map(|_| line.join(waker())).collect();
        assert!(line.leave(places[1]).is_some());
        assert!(line.grant().is_some());
        // It was granted and gives up.
        assert!(line.leave(places[0]).is_none());
        assert!(!line.poll(places[2], waker()).0);
        assert!(line.grant().is_some());
        assert_eq!([2, 3].map(|at| line.poll(places[at], waker()).0), [true, false]);
        // A place that was left is no place: nobody waits for it.
        assert!(line.leave(places[1]).is_none());
        assert!(!line.is_empty());
        // One that does not use its room is passed over.
        assert!(line.grant().is_none() && line.grant_beside().is_some());
        assert!(line.poll(places[3], waker()).0);
        assert!([2, 3].iter().all(|at| line.leave(places[*at]).is_none()));
        assert!(line.is_empty());
    }
}
