//! The messages that are held for the grains of one key until they are spawned (rules K1, K2).
//!
//! ```text
//!   oldest ──► │ m m m │ m │ m m ..
//!              └───────┴───┴── a release: what is before it belongs to a grain that ends behind it
//! ```

use std::collections::VecDeque;

/// A message that waits for its grain, and the number of its sender.
pub(crate) type QueuedMessage<M> = (M, u64);

pub(crate) struct HeldMessages<M> {
    messages: VecDeque<QueuedMessage<M>>,
    /// How many messages each grain gets that was released before it was spawned; none is zero.
    released: VecDeque<usize>,
    /// How many are held behind those.
    unreleased: usize,
}

/// What one grain is to get of the held messages.
pub(crate) struct HeldPart {
    rest: usize,
    /// Whether the grain was released behind them.
    pub(crate) is_released: bool,
}

impl<M> Default for HeldMessages<M> {
    fn default() -> Self {
        HeldMessages { messages: VecDeque::new(), released: VecDeque::new(), unreleased: 0 }
    }
}

impl<M> HeldMessages<M> {
    pub(crate) fn len(&self) -> usize {
        self.messages.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    #[cfg(test)]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &QueuedMessage<M>> {
        self.messages.iter()
    }

    pub(crate) fn push(&mut self, message: QueuedMessage<M>) {
        self.messages.push_back(message);
        self.unreleased += 1;
    }

    /// Releases the grain that gets the last messages. Returns false if none is to come, or the last
    /// one was released already.
    pub(crate) fn release(&mut self) -> bool {
        let messages = std::mem::take(&mut self.unreleased);
        if messages > 0 {
            self.released.push_back(messages);
        }
        messages > 0
    }

    /// Begins to give messages to a grain that was spawned.
    pub(crate) fn begin(&mut self) -> HeldPart {
        let released = self.released.pop_front();
        let rest = released.unwrap_or_else(|| std::mem::take(&mut self.unreleased));
        HeldPart { rest, is_released: released.is_some() }
    }

    /// The next message of the grain.
    pub(crate) fn take(&mut self, part: &mut HeldPart) -> Option<QueuedMessage<M>> {
        part.rest = part.rest.checked_sub(1)?;
        self.messages.pop_front()
    }

    /// Leaves this message, and those of the grain that follow, to the next grain.
    pub(crate) fn put_back(&mut self, message: QueuedMessage<M>, part: &HeldPart) {
        self.messages.push_front(message);
        if part.is_released {
            self.released.push_front(part.rest + 1);
        } else {
            self.unreleased = part.rest + 1;
        }
    }

    pub(crate) fn take_all(&mut self) -> Vec<QueuedMessage<M>> {
        std::mem::take(self).messages.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes what a grain gets, at most so many messages: it has no room for the next one.
    fn part(held: &mut HeldMessages<u32>, most: usize) -> (Vec<u32>, bool) {
        let (mut part, mut got) = (held.begin(), Vec::new());
        while let Some(message) = held.take(&mut part) {
            if got.len() == most {
                held.put_back(message, &part);
                break;
            }
            got.push(message.0);
        }
        (got, part.is_released)
    }

    #[test]
    fn k1_a_release_parts_the_held_messages_and_what_has_no_room_keeps_its_part() {
        let mut held = HeldMessages::default();
        assert!(!held.release(), "no grain is to come");
        for (messages, released) in [(0..3, true), (3..4, true), (4..6, false)] {
            messages.for_each(|message| held.push((message, 0)));
            assert!(!released || held.release() && !held.release());
        }
        assert_eq!((held.len(), held.is_empty()), (6, false));
        assert_eq!(part(&mut held, 1), (vec![0], true));
        assert_eq!(part(&mut held, 2), (vec![1, 2], true));
        assert_eq!(part(&mut held, 2), (vec![3], true));
        assert_eq!(part(&mut held, 1), (vec![4], false));
        held.push((6, 0));
        assert_eq!(part(&mut held, 9), (vec![5, 6], false));
        assert_eq!((part(&mut held, 9), held.len()), ((vec![], false), 0));
        held.push((7, 0));
        assert!(held.release());
        held.push((8, 0));
        assert_eq!(held.take_all(), [(7, 0), (8, 0)]);
        held.push((9, 0));
        assert_eq!(part(&mut held, 9), (vec![9], false));
    }
}
