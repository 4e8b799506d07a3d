//! Taking entries out of a mailbox, and freeing its unused memory.
//!
//! All entries of Main are taken at once: the queue of the process and that of the mailbox are
//! swapped, so that nothing is copied and both allocations are reused.

use super::entry::{Body, EntryQueue, MailboxEntry, SenderId};
use super::inbox::Inbox;
use super::inbox_core::MainTake;
use crate::in_transit::InTransit;
use std::collections::VecDeque;

/// What [`Inbox::take_first`] has taken.
pub(crate) enum TakenFirst<M> {
    Message(SenderId, InTransit<M>),
    /// A message that was made of an event, with the number of its subscription.
    Event(SenderId, InTransit<M>),
    /// Nothing: the first entry is another one, or there is none.
    None,
}

impl<M> Inbox<M> {
    /// Takes everything off Main. Returns the oldest entry and swaps those behind it into
    /// `batch`. `batch` must be empty; its memory is reused here, even if there are no entries
    /// behind the first.
    #[inline]
    pub(crate) fn take_main(&mut self, batch: &mut EntryQueue<M>) -> Option<MailboxEntry<M>> {
        debug_assert!(batch.as_ref().is_none_or(|batch| batch.is_empty()));
        let first = self.first.take();
        if self.takes != MainTake::Batch {
            return first.or_else(|| self.main.as_mut()?.pop_front());
        }
        if let Some(main) = self.main.as_ref().filter(|main| !main.is_empty()) {
            self.batch = u16::try_from(main.len()).unwrap_or(u16::MAX);
            std::mem::swap(&mut self.main, batch);
        } else if self.main.is_none() {
            self.main = batch.take();
        }
        first.or_else(|| batch.as_mut()?.pop_front())
    }

    /// Takes the message in `first`, and its sender. The entries behind it are swapped into
    /// `batch`, which must be `None`. The message is moved to its handler
    /// without a temporary.
    #[allow(clippy::inline_always, reason = "see `in_transit`")]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn take_first(&mut self, batch: &mut EntryQueue<M>) -> TakenFirst<M> {
        match self.first.take() {
            Some(MailboxEntry { sender, body: Body::Message(message) }) => {
                if self.main.is_some() {
                    self.take_behind(batch);
                }
                TakenFirst::Message(sender, InTransit::new(message))
            }
            Some(MailboxEntry { sender, body: Body::Event(message) }) => {
                if self.main.is_some() {
                    self.take_behind(batch);
                }
                TakenFirst::Event(sender, InTransit::new(message))
            }
            other => {
                self.first = other;
                TakenFirst::None
            }
        }
    }

    /// Takes the entries behind `first`, which has been taken.
    #[inline(never)]
    fn take_behind(&mut self, batch: &mut EntryQueue<M>) {
        debug_assert!(self.first.is_none() && batch.is_none());
        if let Some(main) = self.main.as_ref().filter(|main| !main.is_empty())
            && self.takes == MainTake::Batch
        {
            self.batch = u16::try_from(main.len()).unwrap_or(u16::MAX);
            *batch = self.main.take();
        }
    }

    /// Frees the memory of empty parts; that of Main only if `keeps_main` is false, because
    /// more messages may come soon.
    #[inline]
    pub(crate) fn release_memory(&mut self, keeps_main: bool) {
        if (self.main.is_some() && !keeps_main) || self.cold.is_some() {
            self.release_what_is_empty(keeps_main);
        }
    }

    #[inline(never)]
    fn release_what_is_empty(&mut self, keeps_main: bool) {
        if !keeps_main {
            drop(self.take_spare());
        }
        self.release_cold();
    }

    /// Takes the memory of Main if it is empty.
    pub(crate) fn take_spare(&mut self) -> EntryQueue<M> {
        self.main.take_if(|main| main.is_empty())
    }

    /// Whether it holds memory for a queue that is empty.
    #[cfg(test)]
    pub(crate) fn keeps_memory(&self) -> bool {
        self.main.as_ref().is_some_and(|main| main.is_empty())
    }
}

/// Takes an entry out of a queue, by moving those before it, which are few. `VecDeque::remove` does the same with
/// far more code, which would be compiled for each type of message.
pub(crate) fn take_at<T>(queue: &mut VecDeque<T>, place: usize) -> Option<T> {
    if place >= queue.len() {
        return None;
    }
    for at in (1..=place).rev() {
        queue.swap(at, at - 1);
    }
    queue.pop_front()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn m6_an_entry_is_taken_from_any_place_and_the_others_keep_their_order() {
        for place in 0..4 {
            // The queue goes round its end.
            let mut queue = VecDeque::with_capacity(4);
            queue.extend([9, 9, 0, 1]);
            queue.drain(..2);
            queue.extend([2, 3]);
            assert_eq!(take_at(&mut queue, place), Some(place));
            assert!(queue.iter().copied().eq((0..4).filter(|other| *other != place)));
            assert_eq!(take_at(&mut queue, 3), None);
        }
    }
}
