//! Receiving several messages at once (rule M10).

use super::context::Context;
use crate::mailbox::entry::{Body, MailboxEntry};
use crate::process::current;
use std::sync::atomic::Ordering;

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// Takes at most `most` messages that are available on Main, in their order and without
    /// waiting (rule M10), so that a handler can handle the messages that follow its own.
    /// Returns fewer, or none, if another item comes next or the turn ends.
    /// [`Context::sender`] is the sender of the last message. If Main has an order
    /// ([`Order`](crate::Order)), messages come in that order.
    pub fn take_batch(&mut self, most: usize) -> Vec<M> {
        self.take_batch_while(most, |_| true)
    }

    /// As [`Context::take_batch`], up to the first message that `wanted` rejects. That message
    /// is received next.
    pub fn take_batch_while(&mut self, most: usize, mut wanted: impl FnMut(&M) -> bool) -> Vec<M> {
        if self.slow_path() && self.is_ordered() {
            return self.take_sorted(most, wanted);
        }
        let mut batch = Vec::new();
        let mut one_by_one = false;
        while batch.len() < most {
            if self.main.as_ref().is_none_or(|main| main.is_empty()) {
                one_by_one = self.refill();
            }
            let front = self.main.as_ref().and_then(|main| main.front());
            match front.map(|entry| &entry.body) {
                Some(Body::Message(message)) if wanted(message) => {}
                _ => break,
            }
            let Some(message) = self.next_at_hand() else { break };
            batch.push(message);
        }
        if one_by_one {
            self.return_looked_at();
        }
        batch
    }

    /// Takes everything off Main if no entry is at hand. Returns whether the mailbox hands out
    /// entries one by one.
    fn refill(&mut self) -> bool {
        let mut inbox = self.cell.inbox.lock();
        let taken = inbox.take_main(&mut self.main);
        let one_by_one = inbox.takes_one_by_one();
        drop(inbox);
        if let Some(entry) = taken {
            self.main.get_or_insert_default().push_front(entry);
        }
        one_by_one
    }

    /// Puts entries that were examined and not taken back into the mailbox, where they can be
    /// dropped.
    pub(super) fn return_looked_at(&mut self) {
        let Some(main) = &mut self.main else { return };
        let mut inbox = self.cell.inbox.lock();
        while let Some(entry) = main.pop_back() {
            inbox.put_back(entry);
        }
    }

    /// Returns the next message, if one is at hand and nothing goes before it. `None` says
    /// nothing about the mailbox.
    #[inline]
    fn next_at_hand(&mut self) -> Option<M> {
        if self.slow_path() && !self.only_holds() || self.has_mail_ahead() {
            return None;
        }
        let main = self.main.as_mut()?;
        if main.is_empty() || !current::spend(&self.cell.host) {
            return None;
        }
        match main.pop_front()? {
            MailboxEntry { sender, body: Body::Message(message) } => {
                self.sender = sender;
                if self.slow_path() {
                    self.count_received();
                } else {
                    self.cell.progress.count_taken();
                }
                Some(message)
            }
            notice => {
                self.put_back(notice);
                None
            }
        }
    }

    /// Whether an entry goes before those on Main. Senders that wait for room do not count.
    pub(super) fn has_mail_ahead(&self) -> bool {
        self.cell.progress.attention.load(Ordering::Relaxed)
            && self.cell.inbox.lock().wants_attention()
    }
}
