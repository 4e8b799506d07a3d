//! The line of publishers that wait for room (rule E9). The first of the line is tried first, so
//! that none waits for ever behind others. Only a subscriber that has no room itself passes the line: those
//! before it wait for it, and it makes no room before it has published.

use crate::process::crash::{drop_contained, ignore};
use krarup_gen::Pid;
use std::collections::{BTreeMap, BTreeSet};
use std::task::Waker;

/// The place of a publisher in the line; 0: none.
#[derive(Debug, Default)]
pub(crate) struct PublisherPlace(u64);

#[derive(Default)]
pub(crate) struct WaitingPublishers {
    /// By place.
    line: BTreeMap<u64, WaitingPublisher>,
    /// The places of each process that waits. [`WaitingPublishers::of`] is asked before each event that
    /// is published to one slow subscriber: a search of the line would make that n² for n publishers.
    places: BTreeSet<(PublisherKey, u64)>,
    last: u64,
}

/// The numbers of a process and of its node.
type PublisherKey = (u64, u32);

fn key_of(process: Pid) -> PublisherKey {
    (process.id(), process.creation())
}

struct WaitingPublisher {
    /// The process that publishes, if it is one.
    process: Option<Pid>,
    /// One that was woken has none until it waits again.
    waker: Option<Waker>,
}

/// The wakers that are left when a publisher has left the line. Both are a user's: they are used when
/// nothing is locked.
#[must_use = "the next publisher is not told"]
pub(crate) struct LeftPublishers {
    /// That of the next publisher, if it is the first now.
    next: Option<Waker>,
    /// That of the publisher that has left.
    own: Option<Waker>,
}

impl LeftPublishers {
    /// Wakes the next publisher.
    pub(crate) fn tell(self) {
        drop_contained(self.own);
        if let Some(next) = self.next {
            ignore(|| next.wake());
        }
    }
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
        let before = self.line.insert(place.0, WaitingPublisher { process, waker: Some(waker) });
        // A publication may go on in another process than the one where it began.
        if let Some(WaitingPublisher { process: Some(before), .. }) = before
            && process != Some(before)
        {
            self.places.remove(&(key_of(before), place.0));
        }
        self.places.extend(process.map(|process| (key_of(process), place.0)));
        before?.waker
    }

    /// Leaves the line.
    pub(crate) fn leave(&mut self, place: &mut PublisherPlace) -> LeftPublishers {
        let place = std::mem::take(&mut place.0);
        let was_first = self.line.first_key_value().is_some_and(|(first, _)| *first == place);
        let own = self.line.remove(&place).and_then(|publisher| {
            if let Some(process) = publisher.process {
                self.places.remove(&(key_of(process), place));
            }
            publisher.waker
        });
        LeftPublishers { next: if was_first { self.first() } else { None }, own }
    }

    /// Takes the waker of the first publisher.
    pub(crate) fn first(&mut self) -> Option<Waker> {
        self.line.first_entry()?.get_mut().waker.take()
    }

    /// Takes the waker of this process, if it waits in the line too.
    pub(crate) fn of(&mut self, process: Pid) -> Option<Waker> {
        let key = key_of(process);
        let (_, place) = self.places.range((key, 0)..=(key, u64::MAX)).next()?;
        self.line.get_mut(place)?.waker.take()
    }

    pub(crate) fn take_all(&mut self) -> Vec<Waker> {
        self.places.clear();
        std::mem::take(&mut self.line).into_values().filter_map(|waits| waits.waker).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::task::Wake;

    const MANY: u64 = 100_000;

    #[test]
    fn e9_a_process_is_found_in_a_line_of_100_000_without_a_search() {
        let (mut line, pid) = (WaitingPublishers::default(), |number| Pid::local(number, 1));
        let mut places: Vec<_> = (0..MANY).map(|_| PublisherPlace::default()).collect();
        for (place, number) in places.iter_mut().zip(1..) {
            assert!(line.wait(place, Some(pid(number)), Waker::noop().clone()).is_none());
        }
        for number in (1..=MANY).rev() {
            // A process that does not wait, one of another node, one that waits, and is woken once.
            assert!(line.of(pid(MANY + number)).is_none());
            assert!(line.of(Pid::local(number, 2)).is_none());
            assert!(line.of(pid(number)).is_some() && line.of(pid(number)).is_none());
        }
        for place in &mut places {
            line.leave(place).tell();
        }
        assert!(line.line.is_empty() && line.places.is_empty());
    }

    #[test]
    fn e9_of_a_process_that_waits_twice_the_first_place_counts() {
        let (mut line, process) = (WaitingPublishers::default(), Some(Pid::local(7, 1)));
        let (mut other, mut first, mut second) = Default::default();
        line.wait(&mut other, None, Waker::noop().clone());
        line.wait(&mut first, process, Waker::noop().clone());
        line.wait(&mut second, process, Waker::noop().clone());
        assert!(process.and_then(|process| line.of(process)).is_some());
        assert!(process.and_then(|process| line.of(process)).is_none(), "it was woken");
        line.leave(&mut first).tell();
        assert!(process.and_then(|process| line.of(process)).is_some());
        assert_eq!(line.take_all().len(), 1);
        assert!(process.and_then(|process| line.of(process)).is_none());
    }

    #[test]
    fn e9_a_publication_that_goes_on_in_another_process_is_one_of_that() {
        let mut line = WaitingPublishers::default();
        let (mut place, mut later) = Default::default();
        let [one, other] = [1, 2].map(|number| Some(Pid::local(number, 1)));
        line.wait(&mut place, one, Waker::noop().clone());
        line.wait(&mut later, one, Waker::noop().clone());
        assert!(line.wait(&mut place, other, Waker::noop().clone()).is_some());
        assert!(other.and_then(|process| line.of(process)).is_some());
        assert!(one.and_then(|process| line.of(process)).is_some(), "its other one waits");
        line.leave(&mut place).tell();
        line.leave(&mut later).tell();
        assert!(line.places.is_empty());
    }

    /// A waker of a user, whose destructor may do anything.
    struct NotedWaker(Arc<AtomicBool>);

    impl Wake for NotedWaker {
        fn wake(self: Arc<Self>) {}
    }

    impl Drop for NotedWaker {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    #[test]
    fn e8_the_waker_of_a_publisher_that_leaves_is_dropped_when_nothing_is_locked() {
        let mut line = WaitingPublishers::default();
        let (mut first, mut next) = Default::default();
        let noted = Arc::new(AtomicBool::new(false));
        line.wait(&mut first, None, Waker::from(Arc::new(NotedWaker(Arc::clone(&noted)))));
        line.wait(&mut next, None, Waker::noop().clone());
        // The topic is locked until it has returned.
        let left = line.leave(&mut first);
        assert!(left.next.is_some() && !noted.load(Ordering::Relaxed));
        left.tell();
        assert!(noted.load(Ordering::Relaxed));
    }
}
