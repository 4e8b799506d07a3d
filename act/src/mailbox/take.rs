//! How a process takes what lies in its mailbox, and gives back the memory of what is empty.
//!
//! Of Main all that has come is taken at once, and the process's queue and the mailbox's change
//! places: so nothing is copied, and their memory is used again.

use super::entry::{Body, ControlEntry, EntryQueue, MailboxEntry, SenderId};
use super::inbox::{Inbox, MainTake};
use crate::observe::trace::Tracer;
use std::mem::ManuallyDrop;

impl<M, C> Inbox<M, C> {
    /// Takes everything off Main: the oldest entry is returned, those after it are
    /// swapped into `batch`, which must be empty and whose memory is used again here; also if
    /// there are none after it.
    #[inline]
    pub(crate) fn take_main(&mut self, batch: &mut EntryQueue<M>) -> Option<MailboxEntry<M>> {
        debug_assert!(batch.as_ref().is_none_or(|batch| batch.is_empty()));
        let first = self.first.take();
        if self.takes != MainTake::Batch {
            return first.or_else(|| self.main.as_mut()?.pop_front());
        }
        if let Some(main) = self.main.as_ref().filter(|main| !main.is_empty()) {
            self.batch = u32::try_from(main.len()).unwrap_or(u32::MAX);
            std::mem::swap(&mut self.main, batch);
        } else if self.main.is_none() {
            self.main = batch.take();
        }
        first.or_else(|| batch.as_mut()?.pop_front())
    }

    /// Takes the message that lies in its own place, and who sent it; those behind it are
    /// swapped into `batch`, which must be none. The caller sees to it that the message is
    /// dropped: so it goes to its handler without a place in between.
    #[allow(clippy::inline_always, reason = "the message goes from its place to its handler")]
    #[inline(always)]
    pub(crate) fn take_first(
        &mut self,
        batch: &mut EntryQueue<M>,
    ) -> Option<(SenderId, ManuallyDrop<M>)> {
        match self.first.take() {
            Some(MailboxEntry { sender, body: Body::Message(message) }) => {
                if self.main.is_some() {
                    self.take_behind(batch);
                }
                Some((sender, ManuallyDrop::new(message)))
            }
            other => {
                self.first = other;
                None
            }
        }
    }

    /// Takes what lies behind the first, which has been taken.
    #[inline(never)]
    fn take_behind(&mut self, batch: &mut EntryQueue<M>) {
        debug_assert!(self.first.is_none() && batch.is_none());
        if let Some(main) = self.main.as_ref().filter(|main| !main.is_empty())
            && self.takes == MainTake::Batch
        {
            self.batch = u32::try_from(main.len()).unwrap_or(u32::MAX);
            *batch = self.main.take();
        }
    }

    /// Gives the memory of what is empty back; that of Main only if it is not kept for what
    /// may come soon.
    #[inline]
    pub(crate) fn release_memory(&mut self, keeps_main: bool) {
        if (self.main.is_some() && !keeps_main) || self.rare.is_some() {
            self.release_what_is_empty(keeps_main);
        }
    }

    #[inline(never)]
    fn release_what_is_empty(&mut self, keeps_main: bool) {
        if !keeps_main {
            drop(self.take_spare());
        }
        if self.rare.as_ref().is_some_and(|rare| rare.is_empty()) {
            self.rare = None;
        }
    }

    /// Takes the memory of Main if nothing lies in it.
    pub(crate) fn take_spare(&mut self) -> EntryQueue<M> {
        self.main.take_if(|main| main.is_empty())
    }

    /// Whether it holds memory for messages that are not there.
    #[cfg(test)]
    pub(crate) fn keeps_memory(&self) -> bool {
        self.main.as_ref().is_some_and(|main| main.is_empty())
    }

    /// Whether a fault has the process panic now.
    pub(crate) fn take_panic(&mut self) -> bool {
        self.rare.as_mut().is_some_and(|rare| std::mem::take(&mut rare.panics))
    }

    /// Takes the tracer that is to be put in the place of another.
    pub(crate) fn take_tracer(&mut self) -> Option<Tracer<M, C>> {
        self.rare.as_mut()?.tracer.take()
    }

    /// Takes what is next on the control lanes.
    pub(crate) fn take_control(&mut self) -> Option<ControlEntry<C>> {
        let rare = self.rare.as_mut()?;
        if rare.suspended > 0 {
            let place = rare.urgent.iter().position(ControlEntry::is_for_suspended)?;
            return rare.urgent.remove(place);
        }
        rare.urgent.pop_front().or_else(|| rare.system.pop_front())
    }
}
