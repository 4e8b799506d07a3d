//! Links to processes of one peer: the effect of each signal, so that both ends agree
//! (rules Zlink3 to Zlink5).
//!
//! For each pair of a local process and a remote process, an entry is either active, or
//! inactive with the number of an unlink that the peer has not acknowledged yet:
//!
//! ```text
//!             link, LINK received                unlink (UNLINK_ID is sent)
//!  no entry ───────────────────► active ───────────────────────────► unlinking
//!     ▲  ▲                        │    ▲                                │   │
//!     │  └── UNLINK_ID received ──┘    └────── link (LINK is sent) ─────┘   │
//!     │      or exit received                                              │
//!     └──────────────── UNLINK_ID_ACK with that number received ───────────┘
//! ```
//!
//! The number distinguishes an acknowledgement of this unlink from one of an earlier
//! unlink. An exit or a link that was sent before the peer received the unlink finds no
//! active entry and is ignored.

use std::collections::HashMap;
use std::hash::Hash;
use std::num::NonZeroU64;

/// The links of a connection. A key is a pair of a local and a remote process.
#[derive(Clone, Debug)]
pub struct Links<K> {
    entries: HashMap<K, LinkEntry>,
    last: u64,
    capacity: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum LinkEntry {
    Active,
    Unlinking(NonZeroU64),
}

/// The limit of links is reached. A peer that exceeds it is to be disconnected for
/// overload (rule Zlink10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the connection has {limit} links, and may not have more")]
pub struct TooManyLinks {
    /// The largest number of entries.
    pub limit: usize,
}

/// The effect of a received `LINK`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkReceived {
    /// The two are linked now. If the local process has ended, the caller answers with an
    /// exit and calls [`Links::ended`].
    Linked,
    /// They are linked already, or an unlink is pending: nothing changes.
    Ignored,
}

impl<K: Eq + Hash> Links<K> {
    /// Creates an empty set of at most `capacity` entries.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Links { entries: HashMap::new(), last: 0, capacity }
    }

    /// The number of entries: links, and unlinks that are not acknowledged yet.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether the two are linked.
    pub fn is_linked(&self, key: &K) -> bool {
        self.entries.get(key) == Some(&LinkEntry::Active)
    }

    /// Links from the local process. Returns whether `LINK` must be sent, which is not so
    /// if they are linked already.
    ///
    /// # Errors
    /// [`TooManyLinks`]; nothing was changed.
    pub fn link(&mut self, key: K) -> Result<bool, TooManyLinks> {
        if self.is_linked(&key) {
            return Ok(false);
        }
        self.room_for(&key)?;
        self.entries.insert(key, LinkEntry::Active);
        Ok(true)
    }

    /// Unlinks from the local process. Returns the number for `UNLINK_ID`, if they were linked.
    pub fn unlink(&mut self, key: &K) -> Option<NonZeroU64> {
        let entry = self.entries.get_mut(key).filter(|entry| **entry == LinkEntry::Active)?;
        // Numbers are from 1 to 2^64 - 1. Those not yet acknowledged differ.
        self.last = self.last.checked_add(1).unwrap_or(1);
        let number = NonZeroU64::new(self.last).unwrap_or(NonZeroU64::MIN);
        *entry = LinkEntry::Unlinking(number);
        Some(number)
    }

    /// Handles a received `LINK`.
    ///
    /// # Errors
    /// [`TooManyLinks`]; nothing was changed.
    pub fn link_received(&mut self, key: K) -> Result<LinkReceived, TooManyLinks> {
        if self.entries.contains_key(&key) {
            return Ok(LinkReceived::Ignored);
        }
        self.room_for(&key)?;
        self.entries.insert(key, LinkEntry::Active);
        Ok(LinkReceived::Linked)
    }

    /// Handles a received `UNLINK_ID` and returns whether they were linked. In both cases
    /// `UNLINK_ID_ACK` with the received number must be sent before any other signal to
    /// that process (rule Zlink5).
    pub fn unlink_received(&mut self, key: &K) -> bool {
        let linked = self.is_linked(key);
        if linked {
            self.entries.remove(key);
        }
        linked
    }

    /// Handles a received `UNLINK_ID_ACK`. Returns whether it acknowledges the last
    /// unlink, which is then complete.
    pub fn acknowledged(&mut self, key: &K, number: NonZeroU64) -> bool {
        let expected = self.entries.get(key) == Some(&LinkEntry::Unlinking(number));
        if expected {
            self.entries.remove(key);
        }
        expected
    }

    /// Handles a received exit by link, and removes the link. Returns whether the exit
    /// takes effect: only if they were linked (rule Zsec5).
    pub fn exit_received(&mut self, key: &K) -> bool {
        self.unlink_received(key)
    }

    /// Records the end of the local process, and removes the entry. Returns whether an
    /// exit by link must be sent.
    pub fn ended(&mut self, key: &K) -> bool {
        self.entries.remove(key) == Some(LinkEntry::Active)
    }

    /// Records the loss of the connection, and removes all entries. Returns the linked
    /// pairs, in no particular order. Each link ends with `noconnection`.
    pub fn lost(&mut self) -> Vec<K> {
        let linked = self.entries.drain().filter(|(_, entry)| *entry == LinkEntry::Active);
        linked.map(|(key, _)| key).collect()
    }

    /// Removes the entries with other keys. Nobody is notified.
    pub fn retain(&mut self, mut keeps: impl FnMut(&K) -> bool) {
        self.entries.retain(|key, _| keeps(key));
    }

    fn room_for(&self, key: &K) -> Result<(), TooManyLinks> {
        if self.entries.len() >= self.capacity && !self.entries.contains_key(key) {
            return Err(TooManyLinks { limit: self.capacity });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{HashSet, VecDeque};

    /// The signals between the two processes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    enum PipeSignal {
        Link,
        Unlink(NonZeroU64),
        Ack(NonZeroU64),
        Exit,
    }

    /// Two nodes with one process each, and the signals in transit.
    #[derive(Clone)]
    struct World {
        links: [Links<()>; 2],
        pipes: [VecDeque<PipeSignal>; 2],
        alive: [bool; 2],
        /// How often each process was notified of the end of the other since it linked.
        told: [u8; 2],
    }

    impl World {
        fn new() -> Self {
            World {
                links: [Links::new(1), Links::new(1)],
                pipes: [VecDeque::new(), VecDeque::new()],
                alive: [true; 2],
                told: [0; 2],
            }
        }

        /// The part of the state that decides what can still happen.
        fn key(&self) -> impl Eq + Hash + use<> {
            let entries =
                self.links.clone().map(|links| (links.entries.get(&()).copied(), links.last));
            (entries, self.pipes.clone(), self.alive, self.told)
        }

        fn link(&mut self, side: usize) {
            if self.links[side].link(()).unwrap() {
                self.pipes[side].push_back(PipeSignal::Link);
            }
        }

        fn unlink(&mut self, side: usize) {
            if let Some(number) = self.links[side].unlink(&()) {
                self.pipes[side].push_back(PipeSignal::Unlink(number));
            }
        }

        fn end(&mut self, side: usize) {
            self.alive[side] = false;
            if self.links[side].ended(&()) {
                self.pipes[side].push_back(PipeSignal::Exit);
            }
        }

        fn deliver(&mut self, to: usize) {
            let Some(signal) = self.pipes[1 - to].pop_front() else { return };
            match signal {
                PipeSignal::Link if !self.alive[to] => self.pipes[to].push_back(PipeSignal::Exit),
                PipeSignal::Link => drop(self.links[to].link_received(()).unwrap()),
                PipeSignal::Unlink(number) => {
                    self.links[to].unlink_received(&());
                    self.pipes[to].push_back(PipeSignal::Ack(number));
                }
                PipeSignal::Ack(number) => drop(self.links[to].acknowledged(&(), number)),
                PipeSignal::Exit => {
                    if self.links[to].exit_received(&()) {
                        self.told[to] += 1;
                    }
                }
            }
        }

        fn lose(&mut self) {
            for side in 0..2 {
                self.told[side] += u8::try_from(self.links[side].lost().len()).unwrap();
                self.pipes[side].clear();
            }
        }

        /// All states that can follow.
        fn next(&self) -> Vec<World> {
            let mut next = Vec::new();
            let mut with = |change: &dyn Fn(&mut World)| {
                let mut world = self.clone();
                change(&mut world);
                next.push(world);
            };
            for side in 0..2 {
                if self.alive[side] {
                    with(&|world| world.link(side));
                    with(&|world| world.unlink(side));
                    with(&|world| world.end(side));
                }
                if !self.pipes[1 - side].is_empty() {
                    with(&|world| world.deliver(side));
                }
            }
            with(&|world| world.lose());
            next
        }

        fn settle(&mut self) {
            while self.pipes.iter().any(|pipe| !pipe.is_empty()) {
                self.deliver(0);
                self.deliver(1);
            }
        }
    }

    #[test]
    fn zlink4_in_all_interleavings_to_depth_8_both_ends_agree_at_rest() {
        let mut known = HashSet::new();
        let mut worlds = vec![World::new()];
        for _ in 0..8 {
            worlds = worlds
                .iter()
                .flat_map(World::next)
                .filter(|world| known.insert(world.key()))
                .collect();
            for world in &worlds {
                let mut rest = world.clone();
                rest.settle();
                let linked = [0, 1].map(|side| rest.links[side].is_linked(&()));
                assert_eq!(linked[0], linked[1], "{:?}", world.links);
                // No unlink waits forever, and no process is linked to an ended one.
                assert!(linked[0] || rest.links.iter().all(Links::is_empty));
                assert!(!linked[0] || rest.alive == [true; 2]);
            }
        }
        assert!(known.len() > 1_000, "{}", known.len());
    }

    #[test]
    fn zlink3_no_exit_in_transit_is_delivered_after_unlink() {
        let mut world = World::new();
        world.link(0);
        world.deliver(1);
        world.end(1);
        world.unlink(0);
        world.settle();
        assert_eq!(world.told, [0, 0]);
    }

    #[test]
    fn zlink5_a_link_read_while_unlinking_changes_nothing_and_numbers_differ() {
        let mut links = Links::new(10);
        assert_eq!(links.link('a'), Ok(true));
        assert_eq!(links.link('a'), Ok(false));
        let first = links.unlink(&'a').unwrap();
        assert_eq!(links.unlink(&'a'), None);
        assert_eq!(links.link_received('a'), Ok(LinkReceived::Ignored));
        assert!(!links.is_linked(&'a'));
        assert_eq!(links.link('a'), Ok(true));
        let second = links.unlink(&'a').unwrap();
        assert_ne!(first, second);
        assert!(!links.acknowledged(&'a', first));
        assert!(links.acknowledged(&'a', second));
        assert!(links.is_empty());
    }

    #[test]
    fn zsec5_an_exit_is_delivered_only_over_an_existing_link() {
        let mut links = Links::new(10);
        assert!(!links.exit_received(&1));
        assert_eq!(links.link_received(1), Ok(LinkReceived::Linked));
        assert!(links.exit_received(&1));
        assert!(!links.exit_received(&1));
    }

    #[test]
    fn zlink10_links_are_bounded_and_leave_no_state_behind() {
        let mut links = Links::new(2);
        assert_eq!(links.link_received(1), Ok(LinkReceived::Linked));
        assert_eq!(links.link(2), Ok(true));
        assert_eq!(links.link(3), Err(TooManyLinks { limit: 2 }));
        assert_eq!(links.link_received(3), Err(TooManyLinks { limit: 2 }));
        // An existing entry does not count again.
        assert_eq!(links.link(1), Ok(false));
        let mut lost = links.lost();
        lost.sort_unstable();
        assert_eq!(lost, [1, 2]);
        assert!(links.is_empty());
    }
}
