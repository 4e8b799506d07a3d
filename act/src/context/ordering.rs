//! Taking messages in another order than that of their arrival (rule M12).

use super::context::Context;
use crate::mailbox::entry::{Body, MailboxEntry};
use crate::mailbox::order::{Order, Sorted};
use crate::process::crash::drop_contained;
use crate::process::current;
use krarup_gen::OrderError;

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// Has this process take the messages on Main in this order from now on: in `init`, where it
    /// was not known when the process was spawned, or for a worker of a pool. Messages that an order
    /// before this one has sorted already come first, as it has sorted them.
    ///
    /// # Errors
    /// [`OrderError`]: the mailbox drops its oldest message when it is full, and has to have it.
    pub fn set_order(&mut self, order: Order<M>) -> Result<(), OrderError> {
        if self.cell.inbox.lock().is_singly() {
            return Err(OrderError);
        }
        let before = match &mut self.rare().sorted {
            Some(sorted) => Some(sorted.reorder(order)),
            none => {
                *none = Some(Box::new(Sorted::new(order)));
                None
            }
        };
        self.look_for_detours();
        drop_contained(before);
        Ok(())
    }

    pub(super) fn is_ordered(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.sorted.is_some())
    }

    /// The first of all that waits.
    #[cold]
    pub(super) fn next_sorted(&mut self) -> Option<MailboxEntry<M>> {
        self.sort()?.pop()
    }

    /// Sorts all that has arrived.
    fn sort(&mut self) -> Option<&mut Sorted<M>> {
        let sorted = self.rare.as_mut()?.sorted.as_mut()?;
        // What a panic of a priority function has left, or what was there before the order.
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
        while batch.len() < most && !self.has_other_detours() && !self.has_mail_ahead() {
            match self.sort().and_then(|sorted| sorted.first()).map(|entry| &entry.body) {
                Some(Body::Message(message)) if wanted(message) => {}
                _ => break,
            }
            if !current::spend(|| self.cell.host.now()) {
                break;
            }
            let sorted = self.rare.as_mut().and_then(|rare| rare.sorted.as_mut());
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
