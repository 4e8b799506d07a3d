//! Messages that are received ahead of their turn, and count towards the bound until it comes
//! (rule M5).
//!
//! A behaviour that sorts what it receives takes all messages that have arrived, and begins
//! them later. For their senders those messages still wait. So they are counted as taken not
//! when they are received but when they are begun. A process that does this takes the slow
//! path; others pay nothing.

use super::cold_context::Holding;
use super::context::Context;
use crate::received::Received;
use krarup_gen::NoBound;
use std::sync::atomic::Ordering;
use std::task::Poll;

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// See [`BehaviorContext::hold_room`](crate::BehaviorContext::hold_room).
    pub(crate) fn hold_room(&mut self) -> Result<(), NoBound> {
        self.mailbox_bound().ok_or(NoBound)?;
        self.cold().holding = Holding::Sometimes;
        self.update_slow_path();
        Ok(())
    }

    /// See [`BehaviorContext::poll_holding`](crate::BehaviorContext::poll_holding).
    pub(crate) fn poll_holding(&mut self) -> Poll<(Received<M, C>, bool)> {
        let (received, keeps_room) = self.holding(Self::poll_receive);
        received.map(|item| {
            self.remember(&item);
            (item, keeps_room)
        })
    }

    /// See [`BehaviorContext::take_holding`](crate::BehaviorContext::take_holding).
    pub(crate) fn take_holding(&mut self) -> Option<(M, bool)> {
        let (mut batch, keeps_room) = self.holding(|ctx| ctx.take_batch(1));
        batch.pop().map(|message| (message, keeps_room))
    }

    /// Runs `receive`; also returns whether the message keeps its room. A message that is
    /// received in another way keeps none, because a handler may take messages itself.
    fn holding<T>(&mut self, receive: impl FnOnce(&mut Self) -> T) -> (T, bool) {
        let holds = self.cold.as_ref().is_some_and(|cold| cold.holding != Holding::Never);
        if !holds {
            return (receive(self), false);
        }
        self.cold().holding = Holding::Now;
        let received = receive(self);
        let after = std::mem::replace(&mut self.cold().holding, Holding::Sometimes);
        (received, after == Holding::Done)
    }

    /// See [`BehaviorContext::free_room`](crate::BehaviorContext::free_room).
    pub(crate) fn free_room(&mut self, messages: usize) {
        let Some(cold) = &mut self.cold else { return };
        // No more than were held: the count of taken messages must not pass that of the accepted ones.
        let freed = u64::try_from(messages).unwrap_or(u64::MAX).min(cold.held);
        cold.held -= freed;
        let taken = &self.cell.progress.taken;
        taken.store(taken.load(Ordering::Relaxed) + freed, Ordering::Relaxed);
        self.note_held_room();
    }

    /// See [`BehaviorContext::drops_oldest`](crate::BehaviorContext::drops_oldest).
    pub(crate) fn drops_oldest(&self) -> bool {
        self.cell.inbox.lock().takes_one_by_one()
    }

    /// Counts a message that was received on the slow path.
    #[cold]
    pub(super) fn count_received(&mut self) {
        match &mut self.cold {
            Some(cold) if cold.holding == Holding::Now => {
                cold.holding = Holding::Done;
                cold.held += 1;
                self.end_idle_time();
            }
            _ => self.cell.progress.count_taken(),
        }
    }

    /// Whether the only reason for the slow path is that messages keep their room.
    #[cold]
    pub(super) fn only_holds(&self) -> bool {
        !self.cell.is_routed()
            && self
                .cold
                .as_ref()
                .is_some_and(|cold| cold.holding != Holding::Never && !cold.is_in_the_way())
    }
}
