//! The stash of a process (rule M9).

use crate::mailbox::entry::SenderId;
use crate::traces::carried::CarriedContext;
use std::collections::VecDeque;

/// A message that was set aside.
pub(crate) struct StashedMessage<M> {
    pub(crate) sender: SenderId,
    pub(crate) message: M,
    /// The trace to which its handling belongs.
    pub(crate) context: Option<Box<CarriedContext>>,
}

/// The messages that were set aside, and those of them that are to be handled again.
pub(crate) struct Stash<M> {
    aside: VecDeque<StashedMessage<M>>,
    replay: VecDeque<StashedMessage<M>>,
}

impl<M> Default for Stash<M> {
    fn default() -> Self {
        Stash { aside: VecDeque::new(), replay: VecDeque::new() }
    }
}

impl<M> Stash<M> {
    pub(crate) fn is_empty(&self) -> bool {
        self.aside.is_empty() && self.replay.is_empty()
    }

    /// Returns the number of messages of both kinds.
    pub(crate) fn len(&self) -> usize {
        self.aside.len() + self.replay.len()
    }

    /// Returns the number of messages that wait for `unstash_all`.
    pub(crate) fn set_aside(&self) -> usize {
        self.aside.len()
    }

    pub(crate) fn keep(&mut self, stashed: StashedMessage<M>) {
        self.aside.push_back(stashed);
    }

    /// Has all messages handled again. Those of an earlier call that are not handled yet come
    /// last: they were received after the messages that were set aside since.
    ///
    /// Only the messages that were set aside are moved. An actor may call this in each of its
    /// handlers, and to move all others each time would cost their number squared.
    pub(crate) fn replay_all(&mut self) {
        if self.replay.is_empty() {
            std::mem::swap(&mut self.aside, &mut self.replay);
        }
        for stashed in self.aside.drain(..).rev() {
            self.replay.push_front(stashed);
        }
    }

    pub(crate) fn has_replay(&self) -> bool {
        !self.replay.is_empty()
    }

    /// Takes the next message that is to be handled again.
    pub(crate) fn next(&mut self) -> Option<StashedMessage<M>> {
        self.replay.pop_front()
    }

    /// Takes the first message that is to be handled again and is wanted.
    pub(crate) fn take_where(
        &mut self,
        mut wanted: impl FnMut(&M) -> bool,
    ) -> Option<StashedMessage<M>> {
        let place = self.replay.iter().position(|stashed| wanted(&stashed.message))?;
        self.replay.remove(place)
    }

    pub(crate) fn shrink(&mut self) {
        self.aside.shrink_to_fit();
        self.replay.shrink_to_fit();
    }

    pub(crate) fn into_messages(self) -> impl Iterator<Item = StashedMessage<M>> {
        self.replay.into_iter().chain(self.aside)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn keep(stash: &mut Stash<u32>, messages: impl IntoIterator<Item = u32>) {
        for message in messages {
            stash.keep(StashedMessage { sender: 0, message, context: None });
        }
    }

    #[test]
    fn m9_messages_that_are_to_be_handled_again_do_not_move_when_more_are() {
        let mut stash = Stash::default();
        keep(&mut stash, 1..=100);
        stash.replay_all();
        assert_eq!(stash.next().map(|stashed| stashed.message), Some(1));
        let place =
            |stash: &Stash<u32>| std::ptr::from_ref(stash.replay.back().expect("some")).addr();
        let before = place(&stash);
        stash.replay_all();
        assert_eq!(place(&stash), before, "nothing was set aside");
        keep(&mut stash, [1]);
        stash.replay_all();
        assert_eq!(place(&stash), before, "one was set aside");
        let order: Vec<u32> = stash.into_messages().map(|stashed| stashed.message).collect();
        assert_eq!(order, (1..=100).collect::<Vec<_>>());
    }
}
