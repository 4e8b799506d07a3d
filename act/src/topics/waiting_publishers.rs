//! The line of publishers that wait for room (rule E9). The first of the line is tried first, so
//! that none waits for ever behind others. Only a subscriber that has no room itself passes the line: those
//! before it wait for it, and it makes no room before it has published.

use krarup_gen::Pid;
use std::collections::BTreeMap;
use std::task::Waker;

/// The place of a publisher in the line; 0: none.
#[derive(Debug, Default)]
pub(crate) struct PublisherPlace(u64);

#[derive(Default)]
pub(crate) struct WaitingPublishers {
    /// By place.
    line: BTreeMap<u64, WaitingPublisher>,
    last: u64,
}

struct WaitingPublisher {
    /// The process that publishes, if it is one.
    process: Option<Pid>,
    /// One that was woken has none until it waits again.
    waker: Option<Waker>,
}

impl WaitingPublishers {
    /// Whether none is before it.
    pub(crate) fn is_next(&self, place: &PublisherPlace) -> bool {
        self.line.first_key_value().is_none_or(|(first, _)| *first == place.0)
    }

    /// Keeps its place, or gives it the last one. Returns the waker that is replaced, to be dropped
    /// without a lock.
    pub(crate) fn wait(
        &mut self,
        place: &mut PublisherPlace,
        process: Option<Pid>,
        waker: Waker,
    ) -> Option<Waker> {
        if place.0 == 0 {
            self.last += 1;
            place.0 = self.last;
        }
        let waits = WaitingPublisher { process, waker: Some(waker) };
        self.line.insert(place.0, waits)?.waker
    }

    /// Leaves the line. Returns a waker: that of the next publisher if it is the first now.
    pub(crate) fn leave(&mut self, place: &mut PublisherPlace) -> Option<Waker> {
        let place = std::mem::take(&mut place.0);
        let was_first = self.line.first_key_value().is_some_and(|(first, _)| *first == place);
        let own = self.line.remove(&place).and_then(|publisher| publisher.waker);
        // To wake the one that leaves does no harm, and its waker must not be dropped under the
        // lock.
        if was_first { self.first().or(own) } else { own }
    }

    /// Takes the waker of the first publisher.
    pub(crate) fn first(&mut self) -> Option<Waker> {
        self.line.first_entry()?.get_mut().waker.take()
    }

    /// Takes the waker of this process, if it waits in the line too.
    pub(crate) fn of(&mut self, process: Pid) -> Option<Waker> {
        let is_it = |publisher: &&mut WaitingPublisher| {
            publisher.process.is_some_and(|waits| waits.is_same_process(process))
        };
        self.line.values_mut().find(is_it)?.waker.take()
    }

    pub(crate) fn take_all(&mut self) -> Vec<Waker> {
        std::mem::take(&mut self.line).into_values().filter_map(|waits| waits.waker).collect()
    }
}
