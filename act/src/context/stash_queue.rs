//! The stash of a process (rule M9).

use crate::mailbox::entry::SenderId;
use std::collections::VecDeque;

/// The messages that were set aside, and those of them that are to be handled again.
pub(crate) struct Stash<M> {
    aside: VecDeque<(SenderId, M)>,
    replay: VecDeque<(SenderId, M)>,
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

    pub(crate) fn keep(&mut self, sender: SenderId, message: M) {
        self.aside.push_back((sender, message));
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
    pub(crate) fn next(&mut self) -> Option<(SenderId, M)> {
        self.replay.pop_front()
    }

    pub(crate) fn shrink(&mut self) {
        self.aside.shrink_to_fit();
        self.replay.shrink_to_fit();
    }

    pub(crate) fn into_messages(self) -> impl Iterator<Item = (SenderId, M)> {
        self.replay.into_iter().chain(self.aside)
    }
}
