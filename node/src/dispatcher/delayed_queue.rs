//! A queue of processes from which any process can be fetched by its number.

use krarup_act::Ready;
use std::collections::BTreeMap;

/// An entry of such a queue: a ready process, or a number in the models.
pub(super) trait QueuedProcess {
    /// The number of the process.
    fn number(&self) -> u64;

    /// Whether it has something to handle before its next message.
    fn is_called(&self) -> bool;
}

impl QueuedProcess for Ready {
    fn number(&self) -> u64 {
        self.pid().id()
    }

    fn is_called(&self) -> bool {
        Ready::is_called(self)
    }
}

/// Holds each process at most once, as there is only one [`Ready`] of it.
pub(super) struct DelayedQueue<T> {
    /// By place, then by number.
    queue: BTreeMap<(u64, u64), T>,
    /// The place of each process, by number.
    places: BTreeMap<u64, u64>,
}

impl<T: QueuedProcess> DelayedQueue<T> {
    pub(super) fn new() -> Self {
        DelayedQueue { queue: BTreeMap::new(), places: BTreeMap::new() }
    }

    pub(super) fn insert(&mut self, place: u64, waits: T) {
        self.places.insert(waits.number(), place);
        self.queue.insert((place, waits.number()), waits);
    }

    /// The lowest occupied place.
    pub(super) fn first_place(&self) -> Option<u64> {
        self.queue.first_key_value().map(|((place, _), _)| *place)
    }

    /// Takes out the first process if its place is not after this one.
    pub(super) fn pop_until(&mut self, place: u64) -> Option<T> {
        let first = self.queue.first_entry().filter(|first| first.key().0 <= place)?;
        self.places.remove(&first.key().1);
        Some(first.remove())
    }

    /// Takes out the process with this number.
    pub(super) fn fetch(&mut self, number: u64) -> Option<T> {
        let place = self.places.remove(&number)?;
        self.queue.remove(&(place, number))
    }

    pub(super) fn take_all(&mut self) -> impl Iterator<Item = T> + use<T> {
        self.places.clear();
        std::mem::take(&mut self.queue).into_values()
    }

    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }
}
