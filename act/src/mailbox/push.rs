//! Putting entries into a mailbox, and what a sender pays for a long queue.
//!
//! A user's message needs room; a notice does not. A sender that adds to a long queue is charged
//! part of its own turn, so that the receiver gets turns to empty it.

use super::entry::{Body, MailboxEntry, Notice, SenderId};
use super::inbox::Inbox;
use super::inbox_core::{InboxCore, MailboxPhase, MainPush, UNBOUNDED};
use crate::cold_box::ColdBox;
use crate::host::ready::Ready;
use crate::process::current;
use crate::sync::{AtomicU64, Ordering};
use std::collections::VecDeque;

/// From this queue length on a sender pays for each message that it adds. It pays one message
/// of its own turn for each `CHARGE_STEP` messages that wait, up to a limit, so that a sender of one
/// or two messages is not delayed for long.
pub(crate) const CHARGE_STEP: usize = 64;
const MOST_CHARGED: usize = 1_024;
/// From this number of steps on, 9984 messages, a sender also checks whether to notify the
/// host ([`Host::mailbox_is_deep`](crate::Host::mailbox_is_deep)).
const DEEP: usize = 156;
/// The host is notified at lengths that are multiples of this.
pub(crate) const DEEP_STEP: usize = 16;

/// Who hears that very many messages wait. Called with the mailbox locked.
pub(crate) trait HearsOfDepth {
    fn is_deep(&self, length: usize);
}

/// Why a message was not put in.
pub(crate) enum Refused<M> {
    Dead(M),
    Full(M),
    /// Full, and the overflow choice is not to refuse (rule M6).
    Overflow(M),
    /// Main has become a route since the sender checked, or there is a simulated link.
    Routed(M),
}

impl<M> Inbox<M> {
    /// Puts a user's message on Main of the process with the number `receiver`. `taken`
    /// is how many user messages the process has taken off Main so far; the difference
    /// from the number accepted is the number that waits. `taken` only grows, and is written
    /// before a message is handled, relaxed. So a stale value can refuse a message that has just got
    /// room, but never accept one too many. A sender that has seen an effect of a message also
    /// sees its room (rule M5).
    #[inline]
    pub(crate) fn push_main(
        &mut self,
        message: M,
        sender: SenderId,
        receiver: u64,
        taken: &AtomicU64,
        hears: &dyn HearsOfDepth,
    ) -> Result<Option<Ready>, Refused<M>> {
        if self.phase == MailboxPhase::Terminated {
            return Err(Refused::Dead(message));
        }
        if self.way != MainPush::Direct {
            return Err(Refused::Routed(message));
        }
        self.put(message, sender, receiver, taken, hears)
    }

    /// As [`Inbox::push_main`], after a check that the process is alive and Main is no route.
    #[allow(clippy::inline_always, reason = "see `in_transit`")]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn put(
        &mut self,
        message: M,
        sender: SenderId,
        receiver: u64,
        taken: &AtomicU64,
        hears: &dyn HearsOfDepth,
    ) -> Result<Option<Ready>, Refused<M>> {
        if self.bound != UNBOUNDED && !self.has_room(taken.load(Ordering::Relaxed)) {
            return Err(match &self.cold {
                Some(cold) if cold.overflow.is_some() => Refused::Overflow(message),
                _ => Refused::Full(message),
            });
        }
        self.put_in(message, sender, receiver, hears);
        Ok(self.ready_for_mail())
    }

    /// Puts a message on Main for which there is room. `hears` is told the queue length,
    /// at multiples of `DEEP_STEP`, if very many messages wait.
    #[allow(clippy::inline_always, reason = "see `in_transit`")]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn put_in(
        &mut self,
        message: M,
        sender: SenderId,
        receiver: u64,
        hears: &dyn HearsOfDepth,
    ) {
        self.accepted = self.accepted.wrapping_add(1);
        // Write to each of the two places directly; a temporary would be one more copy.
        if self.first.is_none() && self.main.as_ref().is_none_or(|main| main.is_empty()) {
            self.first = Some(MailboxEntry { sender, body: Body::Message(message) });
        } else {
            let main = self.queue();
            main.push_back(MailboxEntry { sender, body: Body::Message(message) });
            let length = main.len();
            // For a sender of another node the receiver's number would mean another process.
            let receiver = if sender == 0 { 0 } else { receiver };
            if length >= CHARGE_STEP && charge(length + usize::from(self.batch), receiver) {
                self.tell_depth(length, hears);
            }
        }
    }

    /// Returns the queue behind `first`. A new one gets the capacity that the last batch
    /// needed.
    #[inline]
    fn queue(&mut self) -> &mut VecDeque<MailboxEntry<M>> {
        // The room is computed where it is needed: a closure would have it computed for each message.
        if self.main.is_none() {
            self.main = Some(new_queue(self.core.batch));
        }
        self.main.get_or_insert_default()
    }

    /// Tells the length of a very long queue, at multiples of `DEEP_STEP`.
    #[cold]
    fn tell_depth(&self, queued: usize, hears: &dyn HearsOfDepth) {
        let length = queued + usize::from(self.first.is_some());
        if length.is_multiple_of(DEEP_STEP) {
            hears.is_deep(length);
        }
    }

    /// Puts a notice on Main of a living process, regardless of the bound.
    pub(crate) fn push_notice(
        &mut self,
        notice: ColdBox<Notice<M>>,
        hears: &dyn HearsOfDepth,
    ) -> Option<Ready> {
        debug_assert!(self.phase != MailboxPhase::Terminated);
        self.push_entry(MailboxEntry { sender: 0, body: Body::Notice(notice) }, hears);
        self.ready_for_mail()
    }

    pub(crate) fn push_entry(&mut self, entry: MailboxEntry<M>, hears: &dyn HearsOfDepth) {
        if self.first.is_none() && self.main.as_ref().is_none_or(|main| main.is_empty()) {
            self.first = Some(entry);
        } else {
            let main = self.queue();
            main.push_back(entry);
            let length = main.len();
            if length >= CHARGE_STEP && charge(length + usize::from(self.batch), 0) {
                self.tell_depth(length, hears);
            }
        }
    }
}

impl InboxCore {
    /// Whether [`Inbox::push_main`] would put a message in directly.
    #[inline]
    pub(crate) fn is_open(&self, taken: &AtomicU64) -> bool {
        self.phase != MailboxPhase::Terminated
            && self.way == MainPush::Direct
            && (self.bound == UNBOUNDED || self.has_room(taken.load(Ordering::Relaxed)))
    }

    pub(super) fn has_room(&self, taken: u64) -> bool {
        self.bound == UNBOUNDED || self.waiting(taken) < self.bound
    }
}

#[cold]
#[inline(never)]
fn new_queue<T>(last_batch: u16) -> ColdBox<VecDeque<T>> {
    ColdBox::new(VecDeque::with_capacity(usize::from(last_batch.clamp(4, 256))))
}

/// Charges the running turn for one more message at a process for which so many wait: in the queue, and in the
/// last batch, because it may not have handled all of that yet. Returns whether the host should be notified.
#[inline]
fn charge(waiting: usize, receiver: u64) -> bool {
    let steps = waiting / CHARGE_STEP;
    current::charge(u32::try_from(steps.min(MOST_CHARGED)).unwrap_or(0), receiver);
    steps >= DEEP
}
