//! The line of publishers that wait for room (rule E9). The first of the line is tried first, so
//! that none waits for ever behind others.

use std::collections::BTreeMap;
use std::task::Waker;

/// The place of a publisher in the line; 0: none.
#[derive(Debug, Default)]
pub(crate) struct PublisherPlace(u64);

#[derive(Default)]
pub(crate) struct WaitingPublishers {
    /// By place. A publisher that was woken has no waker until it waits again.
    line: BTreeMap<u64, Option<Waker>>,
    last: u64,
}

impl WaitingPublishers {
    /// Whether none is before it.
    pub(crate) fn is_next(&self, place: &PublisherPlace) -> bool {
        self.line.first_key_value().is_none_or(|(first, _)| *first == place.0)
    }

    /// Keeps its place, or gives it the last one. Returns the waker that is replaced, to be dropped
    /// without a lock.
    pub(crate) fn wait(&mut self, place: &mut PublisherPlace, waker: Waker) -> Option<Waker> {
        if place.0 == 0 {
            self.last += 1;
            place.0 = self.last;
        }
        self.line.insert(place.0, Some(waker)).flatten()
    }

    /// Leaves the line. Returns a waker: that of the next publisher if it is the first now.
    pub(crate) fn leave(&mut self, place: &mut PublisherPlace) -> Option<Waker> {
        let place = std::mem::take(&mut place.0);
        let was_first = self.line.first_key_value().is_some_and(|(first, _)| *first == place);
        let own = self.line.remove(&place).flatten();
        // To wake the one that leaves does no harm, and its waker must not be dropped under the
        // lock.
        if was_first { self.first().or(own) } else { own }
    }

    /// Takes the waker of the first publisher.
    pub(crate) fn first(&mut self) -> Option<Waker> {
        self.line.first_entry()?.get_mut().take()
    }

    pub(crate) fn take_all(&mut self) -> Vec<Waker> {
        std::mem::take(&mut self.line).into_values().flatten().collect()
    }
}
