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
    pub(crate) fn replay_all(&mut self) {
        self.aside.append(&mut self.replay);
        std::mem::swap(&mut self.aside, &mut self.replay);
    }

    pub(crate) fn has_replay(&self) -> bool {
        !self.replay.is_empty()
    }

    /// Takes the next message that is to be handled again.
    pub(crate) fn next(&mut self) -> Option<StashedMessage<M>> {
        self.replay.pop_front()
    }

    pub(crate) fn shrink(&mut self) {
        self.aside.shrink_to_fit();
        self.replay.shrink_to_fit();
    }

    pub(crate) fn into_messages(self) -> impl Iterator<Item = StashedMessage<M>> {
        self.replay.into_iter().chain(self.aside)
    }
}
