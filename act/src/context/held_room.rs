//! Messages that are received ahead of their turn, and count towards the bound until it comes
//! (rule M5).
//!
//! A behaviour that sorts what it receives takes all that has come, and begins it later. To its
//! senders those messages wait like those in the mailbox: so they are not counted as taken when they are
//! received, but when they are begun. A process that does this takes a detour; others pay nothing.

use super::context::{Context, Holding};
use crate::received::Received;
use krarup_gen::NoBound;
use std::sync::atomic::Ordering;
use std::task::Poll;

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// From now on messages that are received with [`Context::poll_holding`] or
    /// [`Context::take_holding`] keep their room in the mailbox until [`Context::free_room`] gives
    /// it back.
    ///
    /// # Errors
    /// The mailbox has no bound: there is nothing to keep.
    pub fn hold_room(&mut self) -> Result<(), NoBound> {
        self.mailbox().ok_or(NoBound)?;
        self.rare().holding = Holding::Sometimes;
        self.look_for_detours();
        Ok(())
    }

    /// As to poll [`Context::receive`]; and whether what has come keeps its room. What comes
    /// beyond the bound, of a timer say, keeps none.
    pub fn poll_holding(&mut self) -> Poll<(Received<M, C>, bool)> {
        let (received, keeps_room) = self.holding(Self::poll_receive);
        received.map(|item| {
            self.remember(&item);
            (item, keeps_room)
        })
    }

    /// As [`Context::take_batch`] of one message; and whether it keeps its room.
    pub fn take_holding(&mut self) -> Option<(M, bool)> {
        let (mut batch, keeps_room) = self.holding(|ctx| ctx.take_batch(1));
        batch.pop().map(|message| (message, keeps_room))
    }

    /// Receives in some way; and whether what was received keeps its room. Received in another way
    /// it keeps none: a handler may take messages itself.
    fn holding<T>(&mut self, receive: impl FnOnce(&mut Self) -> T) -> (T, bool) {
        let holds = self.rare.as_ref().is_some_and(|rare| rare.holding != Holding::Never);
        if !holds {
            return (receive(self), false);
        }
        self.rare().holding = Holding::Now;
        let received = receive(self);
        let after = std::mem::replace(&mut self.rare().holding, Holding::Sometimes);
        (received, after == Holding::Done)
    }

    /// So many messages that kept their room are begun, or lost: others may come.
    pub fn free_room(&mut self, messages: usize) {
        let taken = &self.cell.progress.taken;
        let more = u64::try_from(messages).unwrap_or(u64::MAX);
        taken.store(taken.load(Ordering::Relaxed).saturating_add(more), Ordering::Relaxed);
    }

    /// Whether the mailbox drops its oldest message when it is full: then what has been
    /// received cannot be dropped any more, and had better stay there.
    #[must_use]
    pub fn drops_oldest(&self) -> bool {
        self.cell.inbox.lock().is_singly()
    }

    /// A message was received by a detour.
    #[cold]
    pub(super) fn count_received(&mut self) {
        match &mut self.rare {
            Some(rare) if rare.holding == Holding::Now => {
                rare.holding = Holding::Done;
                self.break_silence();
            }
            _ => self.cell.progress.count_taken(),
        }
    }

    /// Whether the only detour is that what is received keeps its room.
    #[cold]
    pub(super) fn only_holds(&self) -> bool {
        !self.cell.is_routed()
            && self
                .rare
                .as_ref()
                .is_some_and(|rare| rare.holding != Holding::Never && !rare.is_in_the_way())
    }
}
