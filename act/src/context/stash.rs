//! What a process keeps of messages that it has set aside (rule M9).

use crate::mailbox::entry::SenderId;
use std::collections::VecDeque;

/// What a process has set aside, and what of that is to be handled again.
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

    /// As many as are kept, of both kinds.
    pub(crate) fn len(&self) -> usize {
        self.aside.len() + self.replay.len()
    }

    /// Those that wait for a call to be handled again.
    pub(crate) fn set_aside(&self) -> usize {
        self.aside.len()
    }

    pub(crate) fn keep(&mut self, sender: SenderId, message: M) {
        self.aside.push_back((sender, message));
    }

    /// Has all handled again. What came back earlier and has not had its turn was received
    /// after what has been set aside since.
    pub(crate) fn replay_all(&mut self) {
        self.aside.append(&mut self.replay);
        std::mem::swap(&mut self.aside, &mut self.replay);
    }

    pub(crate) fn has_replay(&self) -> bool {
        !self.replay.is_empty()
    }

    /// The next message that is to be handled again.
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
