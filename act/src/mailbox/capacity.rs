//! Room in a mailbox: for a message that is still to come, with the overflow choice of a full
//! mailbox, and for the senders in line (rule M6). All of it runs under the mailbox's lock.

use super::entry::MailboxEntry;
use super::inbox::Inbox;
use super::inbox_core::{InboxCore, MailboxPhase, MainPush, MainTake, UNBOUNDED};
use super::overflow::{Divert, Overflow};
use super::permit::{Waiter, WaitsForRoom};
use super::push::HearsOfDepth;
use super::take::take_at;
use crate::host::ready::Ready;
use std::any::Any;
use std::sync::Arc;

/// The room that a mailbox grants for one message.
pub(crate) enum MailboxRoom<M> {
    /// In the mailbox; it counts towards the bound from now on. Holds the message that was
    /// removed to make room, to be dropped outside the lock.
    Here(Option<MailboxEntry<M>>),
    /// The message will be dropped.
    Nowhere,
    /// The message will go to a fallback.
    Elsewhere(Divert<M>),
}

/// Why there is no room.
pub(crate) enum NoCapacity {
    Dead,
    Full,
    Routed,
}

impl<M: Send + 'static> Inbox<M> {
    /// Changes the overflow choice. Returns the one before, to be dropped outside the lock; `None`: messages were refused.
    ///
    /// # Errors
    /// The new choice, if the mailbox has no bound or its process has ended.
    pub(crate) fn set_overflow(
        &mut self,
        overflow: Overflow<M>,
    ) -> Result<Option<Box<dyn Any + Send>>, Overflow<M>> {
        if self.bound == UNBOUNDED || self.phase == MailboxPhase::Terminated {
            return Err(overflow);
        }
        if self.takes != MainTake::AlwaysOneByOne {
            self.takes = MainTake::of(&overflow);
        }
        let overflow = match overflow {
            Overflow::Refuse => None,
            overflow => Some(Box::new(overflow) as Box<dyn Any + Send>),
        };
        Ok(std::mem::replace(&mut self.cold().overflow, overflow))
    }

    /// Reserves room for a message that is still to come, with the overflow choice of a full
    /// mailbox (rule M6). If there is no room, a given waiter joins the line. A choice to drop is for senders that do
    /// not wait: for one that `waits` a full mailbox has no room.
    pub(crate) fn reserve(
        &mut self,
        taken: u64,
        waiter: Option<&Arc<dyn WaitsForRoom>>,
        waits: bool,
    ) -> Result<MailboxRoom<M>, NoCapacity> {
        // A sender that is ready to wait does not overtake those that wait already.
        if waiter.is_some() && self.has_waiters() && self.phase != MailboxPhase::Terminated {
            return Err(self.full(waiter));
        }
        match self.take_room(taken) {
            Ok(()) => return Ok(MailboxRoom::Here(None)),
            Err(NoCapacity::Full) => {}
            Err(refused) => return Err(refused),
        }
        match self.overflow() {
            None | Some(Overflow::Refuse) => Err(self.full(waiter)),
            Some(_) if waits && self.drops_when_full() => Err(self.full(waiter)),
            Some(Overflow::DropNewest) => Ok(MailboxRoom::Nowhere),
            Some(Overflow::Divert(divert)) => Ok(MailboxRoom::Elsewhere(divert.clone())),
            // The removed message stays counted as accepted; the new one takes its place in
            // the count.
            Some(Overflow::DropOldest) => match self.remove_oldest() {
                Some(oldest) => {
                    self.cold().dropped += 1;
                    Ok(MailboxRoom::Here(Some(oldest)))
                }
                // All room is reserved for messages that are still to come.
                None => Err(self.full(waiter)),
            },
        }
    }

    /// Reserves room for the first waiting sender, if there is a sender and room for it.
    pub(crate) fn next_waiter(&mut self, taken: u64) -> Option<Arc<Waiter<M>>> {
        let waiter: Arc<dyn Any + Send + Sync> = self.core.take_waiter(taken)?;
        waiter.downcast().ok()
    }
}

impl<M> Inbox<M> {
    /// Puts an entry back in front of all others.
    pub(crate) fn put_back(&mut self, entry: MailboxEntry<M>) {
        if let Some(second) = self.first.replace(entry) {
            self.main.get_or_insert_default().push_front(second);
        }
    }

    /// Removes the message that has waited longest.
    fn remove_oldest(&mut self) -> Option<MailboxEntry<M>> {
        if self.first.as_ref().is_some_and(MailboxEntry::takes_room) {
            let oldest = self.first.take();
            // `first` holds the oldest entry, or nothing.
            self.first = self.main.as_mut().and_then(|main| main.pop_front());
            return oldest;
        }
        let main = self.main.as_mut()?;
        let place = main.iter().position(MailboxEntry::takes_room)?;
        take_at(main, place)
    }

    /// Takes out at most `most` of the newest messages, in their order, as if they had never
    /// been accepted. It stops at the first entry that is not such a message.
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
            self.accepted = self.accepted.wrapping_sub(1);
        }
        newest.reverse();
        newest
    }

    /// Puts an entry into reserved room; returns it if the process has ended.
    pub(crate) fn fill(
        &mut self,
        entry: MailboxEntry<M>,
        hears: &dyn HearsOfDepth,
    ) -> Result<Option<Ready>, MailboxEntry<M>> {
        if self.phase == MailboxPhase::Terminated {
            return Err(entry);
        }
        self.push_entry(entry, hears);
        Ok(self.ready_for_mail())
    }
}

impl InboxCore {
    /// As [`Inbox::reserve`], after the fallback had no room.
    pub(crate) fn reserve_here(
        &mut self,
        taken: u64,
        waiter: Option<&Arc<dyn WaitsForRoom>>,
    ) -> Result<(), NoCapacity> {
        match self.take_room(taken) {
            Err(NoCapacity::Full) => Err(self.full(waiter)),
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
        self.accepted = self.accepted.wrapping_add(1);
        Ok(())
    }

    /// Reports that there is no room. A given waiter joins the line.
    fn full(&mut self, waiter: Option<&Arc<dyn WaitsForRoom>>) -> NoCapacity {
        if let Some(waiter) = waiter {
            self.cold().waiting.push(waiter);
        }
        NoCapacity::Full
    }

    /// Whether messages are taken out one by one.
    pub(crate) fn takes_one_by_one(&self) -> bool {
        self.takes != MainTake::Batch
    }

    /// Has messages taken out one by one from now on, so that all waiting messages are in the
    /// mailbox.
    pub(crate) fn take_one_by_one(&mut self) {
        self.takes = MainTake::AlwaysOneByOne;
    }

    /// Returns room that was reserved and not used.
    pub(crate) fn give_back(&mut self) {
        if self.phase != MailboxPhase::Terminated {
            self.accepted = self.accepted.wrapping_sub(1);
        }
    }

    /// Adds a line of senders to the waiters, once. Returns false if the process has ended.
    pub(crate) fn stand(&mut self, waiter: &Arc<dyn WaitsForRoom>) -> bool {
        if self.phase == MailboxPhase::Terminated {
            return false;
        }
        self.cold().waiting.push(waiter);
        true
    }

    /// Removes a sender that has stopped waiting.
    pub(crate) fn forget_waiter(&mut self, waiter: &Arc<dyn WaitsForRoom>) {
        if let Some(cold) = &mut self.cold {
            cold.waiting.remove(waiter);
        }
    }

    /// Reserves room for the first waiting sender, if there is a sender and room for it.
    fn take_waiter(&mut self, taken: u64) -> Option<Arc<dyn WaitsForRoom>> {
        if !self.has_waiters() || !self.has_room(taken) {
            return None;
        }
        let waiter = self.cold.as_mut()?.waiting.pop()?;
        self.accepted = self.accepted.wrapping_add(1);
        Some(waiter)
    }

    /// How many senders wait for room. Those that wait at a pool are counted there.
    pub(crate) fn waiters(&self) -> usize {
        self.cold.as_ref().map_or(0, |cold| cold.waiting.senders())
    }

    /// Whether senders wait for room.
    pub(crate) fn has_waiters(&self) -> bool {
        self.cold.as_ref().is_some_and(|cold| !cold.waiting.is_empty())
    }
}
