//! The messages that a behaviour holds, and the marks that wait for them (rule M13).
//!
//! ```text
//!   received      [ 1 ][ 2 ]   mark a   [ 3 ]   mark b      (oldest first)
//!   generation       0            │       1        │
//!   held             2            │       1        │
//!                                 ▼                ▼
//!                    released when 1 and 2 are     and when 3 is too
//! ```
//!
//! A mark ends a generation, and a message belongs to the generation in which it was received.
//! The marks of a generation are released when no message of it, and of none before it, is held.
//! So a mark waits for exactly the messages before it, whatever is received behind it.

use crate::observe::watched_job::Mark;
use crate::sync::{AtomicUsize, Mutex, Ordering};
use std::collections::VecDeque;
use std::sync::Arc;

/// The messages that a behaviour holds. Made with the first of them, and kept by the cell.
#[derive(Default)]
pub(crate) struct MessagesInHand {
    /// How many are held, of all generations. Written under the lock.
    held: AtomicUsize,
    /// How many of them keep their room in the mailbox, and so count as waiting there. Written
    /// by the turn.
    in_mailbox: AtomicUsize,
    generations: Mutex<Generations>,
}

#[derive(Default)]
struct Generations {
    /// The number of the oldest.
    first: u64,
    /// The oldest first. The last one is open: it has no mark, or nothing was received behind its marks. One
    /// that is alone and has neither messages nor marks stays, for the next message.
    each: VecDeque<Generation>,
}

#[derive(Default)]
struct Generation {
    held: usize,
    /// The marks behind it.
    marks: Vec<Mark>,
}

impl MessagesInHand {
    /// Notes how many of the held messages keep their room.
    pub(crate) fn note_in_mailbox(&self, messages: usize) {
        self.in_mailbox.store(messages, Ordering::Relaxed);
    }

    /// How many are held that do not count as waiting in the mailbox.
    pub(crate) fn beside_mailbox(&self) -> usize {
        let in_mailbox = self.in_mailbox.load(Ordering::Relaxed);
        self.held.load(Ordering::Relaxed).saturating_sub(in_mailbox)
    }

    pub(crate) fn hold(self: &Arc<Self>) -> HeldCount {
        let generation = {
            let mut generations = self.generations.lock();
            self.held.store(self.held.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            generations.hold()
        };
        HeldCount { of: Arc::clone(self), generation }
    }

    fn handled(&self, generation: u64) {
        let released = {
            let mut generations = self.generations.lock();
            self.held.store(self.held.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
            generations.handled(generation)
        };
        // Not under the lock: a mark runs a user's function.
        drop(released);
    }

    /// Keeps a mark until all messages before it are handled.
    pub(crate) fn mark(&self, mark: Mark) {
        let refused = self.generations.lock().mark(mark);
        drop(refused);
    }

    /// Releases all marks, because the process ends.
    pub(crate) fn close(&self) {
        let released = self.generations.lock().close();
        drop(released);
    }
}

impl Generations {
    /// Counts a message. Returns its generation.
    fn hold(&mut self) -> u64 {
        if self.each.back().is_none_or(|last| !last.marks.is_empty()) {
            self.each.push_back(Generation::default());
        }
        if let Some(last) = self.each.back_mut() {
            last.held += 1;
        }
        self.first + self.each.len() as u64 - 1
    }

    /// Counts a handled message. Returns the marks that nothing holds back any more.
    fn handled(&mut self, generation: u64) -> Vec<Mark> {
        // `None` if the process has ended: the generation was closed.
        let index =
            generation.checked_sub(self.first).and_then(|index| usize::try_from(index).ok());
        let Some(of) = index.and_then(|index| self.each.get_mut(index)) else { return Vec::new() };
        of.held -= 1;
        if of.held > 0 || (self.each.len() == 1 && self.holds_nothing()) {
            return Vec::new();
        }
        self.release()
    }

    /// Ends the oldest generations of which no message is held.
    fn release(&mut self) -> Vec<Mark> {
        let mut released = Vec::new();
        while self.each.front().is_some_and(|first| first.held == 0) {
            released.extend(self.each.pop_front().into_iter().flat_map(|first| first.marks));
            self.first += 1;
        }
        released
    }

    /// Whether the last generation has neither messages nor marks.
    fn holds_nothing(&self) -> bool {
        self.each.back().is_some_and(|last| last.held == 0 && last.marks.is_empty())
    }

    /// Takes in a mark, or returns it if nothing holds it back.
    fn mark(&mut self, mark: Mark) -> Option<Mark> {
        if self.each.len() == 1 && self.holds_nothing() {
            return Some(mark);
        }
        match self.each.back_mut() {
            Some(last) => {
                last.marks.push(mark);
                None
            }
            None => Some(mark),
        }
    }

    fn close(&mut self) -> VecDeque<Generation> {
        let each = std::mem::take(&mut self.each);
        self.first += each.len() as u64;
        each
    }
}

/// Counts a message as held while it lives.
pub(crate) struct HeldCount {
    of: Arc<MessagesInHand>,
    generation: u64,
}

impl Drop for HeldCount {
    fn drop(&mut self) {
        self.of.handled(self.generation);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::Weak;

    fn mark(of: &MessagesInHand) -> Weak<dyn std::any::Any + Send + Sync> {
        let mark: Mark = Arc::new(());
        let weak = Arc::downgrade(&mark);
        of.mark(mark);
        weak
    }

    fn is_held(mark: &Weak<dyn std::any::Any + Send + Sync>) -> bool {
        mark.strong_count() > 0
    }

    #[test]
    fn m13_a_mark_waits_for_exactly_the_messages_before_it() {
        let of = Arc::new(MessagesInHand::default());
        assert!(!is_held(&mark(&of)));
        drop(of.hold());
        assert!(!is_held(&mark(&of)), "the only message is handled");
        let (one, two) = (of.hold(), of.hold());
        let (first, same) = (mark(&of), mark(&of));
        let three = of.hold();
        let second = mark(&of);
        let four = of.hold();
        assert_eq!(of.beside_mailbox(), 4);
        // Behind them, or not the last before them.
        drop((three, four, one));
        assert!(is_held(&first) && is_held(&same) && is_held(&second));
        drop(two);
        assert!(!is_held(&first) && !is_held(&same) && !is_held(&second));
        assert_eq!(of.beside_mailbox(), 0);
        let five = of.hold();
        let third = mark(&of);
        let six = of.hold();
        let last = mark(&of);
        drop(five);
        assert!(!is_held(&third) && is_held(&last));
        drop(six);
        assert!(!is_held(&last) && !is_held(&mark(&of)));
    }

    #[test]
    fn m13_a_process_that_ends_releases_its_marks_and_messages_end_later() {
        let of = Arc::new(MessagesInHand::default());
        let one = of.hold();
        let first = mark(&of);
        let two = of.hold();
        let second = mark(&of);
        of.close();
        assert!(!is_held(&first) && !is_held(&second));
        let three = of.hold();
        let third = mark(&of);
        drop((one, two));
        assert!(is_held(&third));
        drop(three);
        assert!(!is_held(&third));
    }

    #[test]
    fn m13_a_hundred_thousand_marks_behind_one_message_are_released() {
        let of = Arc::new(MessagesInHand::default());
        let oldest = of.hold();
        for _ in 0..100_000 {
            let one = of.hold();
            let _ = mark(&of);
            drop(one);
        }
        assert!(of.generations.lock().each.len() == 100_000);
        drop(oldest);
        assert!(of.generations.lock().each.len() <= 1);
        assert!(!is_held(&mark(&of)));
    }
}
