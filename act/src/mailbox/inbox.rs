//! The mailbox of one process, with the state of the process in it.
//!
//! ```text
//!            senders                    one lock                       the process
//!   send ──►  ┌───────────────────────────────────────────────┐
//!             │ first │ main: VecDeque │ urgent │ system │ exit│──► takes all of Main at
//!             ├───────────────────────────────────────────────┤    once, then handles it
//!             │ parked: Option<Ready>  notified  phase        │    without the lock
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
use super::muted_senders::MutedSender;
use super::overflow::Overflow;
use crate::calls::slot::SlotSender;
use crate::cold_box::ColdBox;
use crate::host::ready::Ready;
use krarup_gen::SpawnError;
use std::sync::Arc;

/// The state of a process, as far as its mailbox must know it. [`super::parking`] has the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MailboxPhase {
    Active,
    Idle,
    Waiting,
    Listening,
    Muted,
    Terminated,
}

/// How a message is put on Main.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MainPush {
    /// Directly.
    Direct,
    /// Over the simulated link of the host.
    SimulatedLink,
    /// Not at all: Main is a route.
    Route,
}

/// How messages are taken off Main.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MainTake {
    /// All messages at once.
    Batch,
    /// One by one, so that the oldest of all is in the mailbox, where it can be dropped.
    OneByOne,
    /// One by one, whatever the overflow: other threads take messages out too.
    AlwaysOneByOne,
}

impl MainTake {
    pub(super) fn of<M>(overflow: &Overflow<M>) -> Self {
        if matches!(overflow, Overflow::DropOldest) { MainTake::OneByOne } else { MainTake::Batch }
    }
}

#[allow(clippy::struct_excessive_bools, reason = "independent flags")]
pub(crate) struct Inbox<M, C> {
    pub(crate) phase: MailboxPhase,
    /// A waker fired while the process was active: poll it again.
    pub(crate) notified: bool,
    /// Whether exit signals arrive as notices.
    pub(crate) trapping: bool,
    /// Whether a stop requested by the parent or the node arrives as `ControlEntry::Stop`.
    pub(crate) orderly: bool,
    pub(crate) initialised: bool,
    pub(crate) way: MainPush,
    /// Whether messages of other types than the process's own are accepted too.
    pub(crate) others: bool,
    pub(super) takes: MainTake,
    pub(super) parked: Option<Ready>,
    /// User messages accepted on Main since the start; see [`Inbox::push_main`].
    pub(super) accepted: u64,
    /// The greatest number of user messages that wait on Main.
    pub(super) bound: u32,
    /// The length of the last batch: the capacity that a new queue reserves.
    pub(super) batch: u32,
    pub(super) first: Option<MailboxEntry<M>>,
    pub(super) main: EntryQueue<M>,
    pub(super) cold: Option<ColdBox<ColdMailbox<M, C>>>,
}

/// The bound of a mailbox without one.
pub(crate) const UNBOUNDED: u32 = u32::MAX;

impl<M, C> Inbox<M, C> {
    pub(crate) fn new(bound: u32, overflow: Overflow<M>) -> Self {
        let takes = MainTake::of(&overflow);
        let cold = match overflow {
            Overflow::Refuse => None,
            overflow => Some(ColdBox::new(ColdMailbox { overflow, ..ColdMailbox::default() })),
        };
        Inbox {
            phase: MailboxPhase::Active,
            notified: false,
            trapping: false,
            orderly: false,
            initialised: false,
            way: MainPush::Direct,
            others: false,
            takes,
            parked: None,
            accepted: 0,
            bound,
            batch: 0,
            first: None,
            main: None,
            cold,
        }
    }

    /// Records that the process has started; returns the slot of the spawner.
    pub(crate) fn initialise(&mut self) -> Option<SlotSender<Result<(), SpawnError>>> {
        self.initialised = true;
        self.cold.as_mut().and_then(|cold| cold.starter.take())
    }

    /// Whether anything waits on Main.
    #[inline]
    pub(crate) fn has_main(&self) -> bool {
        self.first.is_some() || self.main.as_ref().is_some_and(|main| !main.is_empty())
    }

    pub(crate) fn cold(&mut self) -> &mut ColdMailbox<M, C> {
        self.cold.get_or_insert_default()
    }

    pub(crate) fn cold_if_any(&mut self) -> Option<&mut ColdMailbox<M, C>> {
        self.cold.as_deref_mut()
    }

    /// Whether there may be a pending exit, a starter, or an entry on the control lanes.
    #[inline]
    pub(crate) fn has_cold(&self) -> bool {
        self.cold.is_some()
    }

    /// Has a sender wait until the process has taken all messages that wait now.
    pub(crate) fn enter_muted(&mut self, sender: Arc<dyn MutedSender>) {
        let due = self.accepted;
        self.cold().muted.enter(due, sender);
    }

    /// Whether senders are muted until the process has caught up.
    pub(crate) fn has_muted(&self) -> bool {
        self.cold.as_ref().is_some_and(|cold| !cold.muted.is_empty())
    }

    /// Takes out the muted senders that wait for no more than `taken` messages.
    #[inline]
    pub(crate) fn take_muted(&mut self, taken: u64) -> Vec<Arc<dyn MutedSender>> {
        match &mut self.cold {
            Some(cold) if !cold.muted.is_empty() => cold.muted.take_due(taken),
            _ => Vec::new(),
        }
    }

    pub(crate) fn accepted(&self) -> u64 {
        self.accepted
    }

    /// The sender of the first entry that lies in the mailbox; 0: none, or from outside.
    pub(crate) fn head_sender(&self) -> u64 {
        let first = self.first.as_ref();
        let queued = || self.main.as_ref().and_then(|main| main.front());
        first.or_else(queued).map_or(0, MailboxEntry::sender)
    }

    /// The bytes of the queues that it holds.
    pub(crate) fn queue_bytes(&self) -> usize {
        let main = self.main.as_ref().map_or(0, |main| {
            size_of_val(&**main) + main.capacity() * size_of::<MailboxEntry<M>>()
        });
        let cold = self.cold.as_ref().map_or(0, |cold| cold.bytes());
        main + cold
    }

    pub(crate) fn bound(&self) -> Option<usize> {
        (self.bound != UNBOUNDED).then_some(self.bound as usize)
    }

    /// Closes the mailbox: nothing is accepted from now on. Returns the contents, to be
    /// dropped outside the lock.
    pub(crate) fn close(&mut self) -> DrainedMailbox<M, C> {
        self.phase = MailboxPhase::Terminated;
        DrainedMailbox { first: self.first.take(), main: self.main.take(), cold: self.cold.take() }
    }
}
