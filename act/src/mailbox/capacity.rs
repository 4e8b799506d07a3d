//! How a mailbox gives room: to a message that is to come, by what is chosen for a full one,
//! and to the senders that stand in line (rule M6). All under the mailbox's lock.

use super::entry::MailboxEntry;
use super::inbox::{Inbox, MailboxPhase, MainPush, MainTake, UNBOUNDED};
use super::overflow::{Divert, Overflow};
use super::permit::Waiter;
use crate::host::ready::Ready;
use std::sync::Arc;

/// Room for one message, as the mailbox gives it.
pub(crate) enum MailboxRoom<M> {
    /// In the mailbox; it counts from now on. The message that had to make room is handed
    /// out, to be dropped outside the lock.
    Here(Option<MailboxEntry<M>>),
    /// The message is to be dropped.
    Nowhere,
    /// The message is to go to a fallback.
    Elsewhere(Divert<M>),
}

/// Why there is no room.
pub(crate) enum NoCapacity {
    Dead,
    Full,
    Routed,
}

impl<M, C> Inbox<M, C> {
    /// Chooses anew what is done when the mailbox is full; what was chosen before is handed
    /// out, to be dropped outside the lock.
    ///
    /// # Errors
    /// The choice, for the mailbox has no bound, or its process has ended.
    pub(crate) fn set_overflow(
        &mut self,
        overflow: Overflow<M>,
    ) -> Result<Overflow<M>, Overflow<M>> {
        if self.bound == UNBOUNDED || self.phase == MailboxPhase::Terminated {
            return Err(overflow);
        }
        if self.takes != MainTake::AlwaysSingly {
            self.takes = MainTake::of(&overflow);
        }
        Ok(std::mem::replace(&mut self.rare().overflow, overflow))
    }

    /// Finds room for a message that is to come: as [`Inbox::push_main`] would, and with
    /// what is chosen for a full mailbox (rule M6). If there is none, and a waiter is given,
    /// that stands in line from now on.
    pub(crate) fn reserve(
        &mut self,
        taken: u64,
        waiter: Option<&Arc<Waiter<M>>>,
    ) -> Result<MailboxRoom<M>, NoCapacity> {
        // Who would wait does not overtake those who do.
        if waiter.is_some() && self.has_waiters() && self.phase != MailboxPhase::Terminated {
            return Err(self.crowded(waiter));
        }
        match self.take_room(taken) {
            Ok(()) => return Ok(MailboxRoom::Here(None)),
            Err(NoCapacity::Full) => {}
            Err(crowded) => return Err(crowded),
        }
        match self.rare.as_ref().map(|rare| &rare.overflow) {
            None | Some(Overflow::Refuse) => Err(self.crowded(waiter)),
            Some(Overflow::DropNewest) => Ok(MailboxRoom::Nowhere),
            Some(Overflow::Divert(divert)) => Ok(MailboxRoom::Elsewhere(divert.clone())),
            // The one that goes was counted as accepted, and the one that comes is in its
            // stead.
            Some(Overflow::DropOldest) => match self.remove_oldest() {
                Some(oldest) => Ok(MailboxRoom::Here(Some(oldest))),
                // All room is reserved by messages that are still to come.
                None => Err(self.crowded(waiter)),
            },
        }
    }

    /// As [`Inbox::reserve`], for who has tried the fallback in vain.
    pub(crate) fn reserve_here(
        &mut self,
        taken: u64,
        waiter: Option<&Arc<Waiter<M>>>,
    ) -> Result<(), NoCapacity> {
        match self.take_room(taken) {
            Err(NoCapacity::Full) => Err(self.crowded(waiter)),
            taken => taken,
        }
    }

    fn take_room(&mut self, taken: u64) -> Result<(), NoCapacity> {
        if self.phase == MailboxPhase::Terminated {
            return Err(NoCapacity::Dead);
        }
        if self.way == MainPush::Route {
            return Err(NoCapacity::Routed);
        }
        if !self.has_room(taken) {
            return Err(NoCapacity::Full);
        }
        self.accepted += 1;
        Ok(())
    }

    /// There is no room: a waiter that is given stands in line.
    fn crowded(&mut self, waiter: Option<&Arc<Waiter<M>>>) -> NoCapacity {
        if let Some(waiter) = waiter {
            self.rare().waiting.push(waiter);
        }
        NoCapacity::Full
    }

    /// Whether messages are taken out one by one.
    pub(crate) fn is_singly(&self) -> bool {
        self.takes != MainTake::Batch
    }

    /// Puts an entry in again, before all that lie here.
    pub(crate) fn put_back(&mut self, entry: MailboxEntry<M>) {
        if let Some(second) = self.first.replace(entry) {
            self.main.get_or_insert_default().push_front(second);
        }
    }

    /// Takes the message out that has waited longest.
    fn remove_oldest(&mut self) -> Option<MailboxEntry<M>> {
        if self.first.as_ref().is_some_and(MailboxEntry::takes_room) {
            let oldest = self.first.take();
            // The idle slot holds the oldest entry, or nothing.
            self.first = self.main.as_mut().and_then(|main| main.pop_front());
            return oldest;
        }
        let main = self.main.as_mut()?;
        let place = main.iter().position(MailboxEntry::takes_room)?;
        main.remove(place)
    }

    /// Messages are taken out one by one from now on, so that what waits lies here.
    pub(crate) fn take_singly(&mut self) {
        self.takes = MainTake::AlwaysSingly;
    }

    /// Takes out up to so many of the newest messages, in their order, as if they had never been
    /// accepted; none that lies before anything else.
    pub(crate) fn take_newest(&mut self, most: usize) -> Vec<MailboxEntry<M>> {
        let mut newest = Vec::new();
        while newest.len() < most {
            let Some(main) = self.main.as_mut() else { break };
            match main.pop_back() {
                Some(entry) if entry.takes_room() => newest.push(entry),
                Some(other) => {
                    main.push_back(other);
                    break;
                }
                None => break,
            }
            self.accepted -= 1;
        }
        newest.reverse();
        newest
    }

    /// Room that was reserved is not used.
    pub(crate) fn give_back(&mut self) {
        if self.phase != MailboxPhase::Terminated {
            self.accepted -= 1;
        }
    }

    /// Puts in what room was reserved for; gives it back if the process has ended.
    pub(crate) fn fill(
        &mut self,
        entry: MailboxEntry<M>,
        deep: impl FnOnce(usize),
    ) -> Result<Option<Ready>, MailboxEntry<M>> {
        if self.phase == MailboxPhase::Terminated {
            return Err(entry);
        }
        self.push_entry(entry, deep);
        Ok(self.ready_for_mail())
    }

    /// Has a line of senders stand here, once; whether there is anybody to wait for.
    pub(crate) fn stand(&mut self, waiter: &Arc<Waiter<M>>) -> bool {
        if self.phase == MailboxPhase::Terminated {
            return false;
        }
        self.rare().waiting.push(waiter);
        true
    }

    /// A sender waits no longer.
    pub(crate) fn forget_waiter(&mut self, waiter: &Arc<Waiter<M>>) {
        if let Some(rare) = &mut self.rare {
            rare.waiting.remove(waiter);
        }
    }

    /// Reserves room for the first sender that waits, if there is both.
    pub(crate) fn next_waiter(&mut self, taken: u64) -> Option<Arc<Waiter<M>>> {
        if !self.has_waiters() || !self.has_room(taken) {
            return None;
        }
        let waiter = self.rare.as_mut()?.waiting.pop()?;
        self.accepted += 1;
        Some(waiter)
    }

    /// Whether senders wait for room.
    pub(crate) fn has_waiters(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| !rare.waiting.is_empty())
    }
}
