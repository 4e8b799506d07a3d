//! The mailbox of one process, with the state of the process in it.
//!
//! ```text
//!            senders                    one lock                       the process
//!   send ──►  ┌───────────────────────────────────────────────┐
//!             │ first │ main: VecDeque │ urgent │ system │ exit│──► takes all of Main at
//!             ├───────────────────────────────────────────────┤    once, then handles it
//!             │ parked: Option<Ready>  marks  phase           │    without the lock
//!             └───────────────────────────────────────────────┘
//! ```
//!
//! **State.** The process itself, a [`Ready`], is parked here while it has nothing to do
//! ([`super::parking`]). So putting a message in and taking the process out are one critical
//! section.
//!
//! **Idle slot.** The first message to an empty mailbox lies in `first`, inside the cell, so a
//! process that gets one message at a time never allocates a queue. A process that goes idle
//! keeps its queue, because it may need it again soon. It is poked some 10 ms later and then
//! frees the queue, so that processes that stay idle hold none.

use super::cold::ColdMailbox;
use super::drain::DrainedMailbox;
use super::entry::{EntryQueue, MailboxEntry};
use super::inbox_core::{InboxCore, MailboxPhase, MainTake};
use super::overflow::Overflow;
use std::ops::{Deref, DerefMut};

pub(crate) struct Inbox<M> {
    pub(super) core: InboxCore,
    pub(super) first: Option<MailboxEntry<M>>,
    pub(super) main: EntryQueue<M>,
}

/// The fields of the part that knows no type of message are the mailbox's own.
impl<M> Deref for Inbox<M> {
    type Target = InboxCore;

    #[inline]
    fn deref(&self) -> &InboxCore {
        &self.core
    }
}

impl<M> DerefMut for Inbox<M> {
    #[inline]
    fn deref_mut(&mut self) -> &mut InboxCore {
        &mut self.core
    }
}

impl<M: Send + 'static> Inbox<M> {
    #[allow(clippy::inline_always, reason = "it is made in place, in its cell")]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn new(bound: u32, overflow: Overflow<M>) -> Self {
        let takes = MainTake::of(&overflow);
        let cold = match overflow {
            Overflow::Refuse => None,
            overflow => Some(ColdMailbox::with_overflow(Box::new(overflow))),
        };
        Inbox { core: InboxCore::new(bound, takes, cold), first: None, main: None }
    }

    /// What happens to a message that exceeds the bound; `None`: it is refused.
    pub(super) fn overflow(&self) -> Option<&Overflow<M>> {
        self.cold.as_ref()?.overflow.as_ref()?.downcast_ref()
    }

    /// Whether it drops a message when it is full.
    pub(crate) fn drops_when_full(&self) -> bool {
        matches!(self.overflow(), Some(Overflow::DropNewest | Overflow::DropOldest))
    }
}

impl<M> Inbox<M> {
    /// Whether anything waits on Main.
    #[inline]
    pub(crate) fn has_main(&self) -> bool {
        self.first.is_some() || self.main.as_ref().is_some_and(|main| !main.is_empty())
    }

    /// The sender of the first entry that lies in the mailbox; 0: none, or from outside.
    pub(crate) fn head_sender(&self) -> u64 {
        let queued = || self.main.as_ref().and_then(|main| main.front());
        self.first.as_ref().or_else(queued).map_or(0, MailboxEntry::sender)
    }

    /// The bytes of the queues that it holds.
    pub(crate) fn queue_bytes(&self) -> usize {
        let main = self.main.as_ref().map_or(0, |main| {
            size_of_val(&**main) + main.capacity() * size_of::<MailboxEntry<M>>()
        });
        let cold = self.cold.as_ref().map_or(0, |cold| cold.bytes());
        main + cold
    }

    /// Closes the mailbox: nothing is accepted from now on. Returns the contents, to be
    /// dropped outside the lock.
    pub(crate) fn close(&mut self) -> DrainedMailbox<M> {
        self.phase = MailboxPhase::Terminated;
        let dropped = self.core.dropped();
        let drained = DrainedMailbox {
            first: self.first.take(),
            main: self.main.take(),
            cold: self.core.cold.take(),
        };
        if dropped > 0 {
            // The numbers of a process that has ended count them too.
            self.core.cold().dropped = dropped;
        }
        drained
    }
}
