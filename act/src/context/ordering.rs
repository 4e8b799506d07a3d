//! Receiving messages in another order than that of their arrival (rule M12).

use super::context::Context;
use crate::mailbox::entry::{Body, MailboxEntry};
use crate::mailbox::order::{Order, SortsEntries};
use crate::process::crash::drop_contained;
use crate::process::current;
use krarup_gen::OrderError;

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// Has this process take the messages on Main in this order from now on. For use in
    /// `init`, if the order is not known when the process is spawned, or for a worker of a
    /// pool. Messages that an earlier order has sorted already come first, in that order.
    ///
    /// # Errors
    /// [`OrderError`] if the mailbox drops its oldest message when it is full, or if the process hands its messages on.
    pub fn set_order(&mut self, order: Order<M>) -> Result<(), OrderError> {
        if self.cell.inbox.lock().takes_one_by_one() {
            return Err(OrderError::DropsOldest);
        }
        if self.cell.is_routed() {
            return Err(OrderError::HandsOn);
        }
        let sorted = &mut self.cold().sorted;
        let before = sorted.replace(order.0);
        if let (Some(mut before), Some(sorted)) = (before, sorted) {
            while let Some(entry) = before.pop() {
                sorted.put_sorted(entry);
            }
            drop_contained(before);
        }
        self.update_slow_path();
        Ok(())
    }

    pub(super) fn is_ordered(&self) -> bool {
        self.cold.as_ref().is_some_and(|cold| cold.sorted.is_some())
    }

    /// Takes the first of all waiting entries.
    #[cold]
    pub(super) fn next_sorted(&mut self) -> Option<MailboxEntry<M>> {
        self.sort()?.pop()
    }

    /// Sorts all entries that have arrived.
    pub(super) fn sort(&mut self) -> Option<&mut dyn SortsEntries<M>> {
        let sorted = self.cold.as_mut()?.sorted.as_deref_mut()?;
        // Entries that a panic of a priority function has left, or that were taken before the
        // order was set.
        if let Some(main) = &mut self.main {
            sorted.take_in(main);
        }
        let first = self.cell.inbox.lock().take_main(&mut self.main);
        if let Some(first) = first {
            self.main.get_or_insert_default().push_front(first);
        }
        if let Some(main) = &mut self.main {
            sorted.take_in(main);
        }
        Some(sorted)
    }

    /// As [`Context::take_batch_while`].
    #[cold]
    pub(super) fn take_sorted(
        &mut self,
        most: usize,
        mut wanted: impl FnMut(&M) -> bool,
    ) -> Vec<M> {
        let mut batch = Vec::new();
        while batch.len() < most && !self.has_other_slow_path() && !self.has_mail_ahead() {
            match self.sort().and_then(|sorted| sorted.first()).map(|entry| &entry.body) {
                Some(Body::Message(message)) if wanted(message) => {}
                _ => break,
            }
            if !current::spend(&self.cell.host) {
                break;
            }
            let sorted = self.cold.as_mut().and_then(|cold| cold.sorted.as_mut());
            let Some(MailboxEntry { sender, body: Body::Message(message) }) =
                sorted.and_then(|sorted| sorted.pop())
            else {
                break;
            };
            self.sender = sender;
            self.count_received();
            batch.push(message);
        }
        batch
    }
}
