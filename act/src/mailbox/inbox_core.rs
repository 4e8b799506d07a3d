//! What a mailbox has apart from its messages, and so apart from their types.
//!
//! Whatever works on this alone is compiled once; what works on an [`Inbox`](super::inbox::Inbox) is compiled again for
//! each type of message (docs/decisions.md).

use super::cold::ColdMailbox;
use super::muted_senders::MutedSender;
use super::overflow::Overflow;
use super::park_marks::ParkMarks;
use crate::calls::slot::SlotSender;
use crate::cold_box::ColdBox;
use crate::host::ready::Ready;
use crate::observe::item_log::ChangedLog;
use crate::observe::state_label::StateLabel;
use krarup_gen::SpawnError;
use std::sync::Arc;

/// The state of a process, as far as its mailbox must know it. [`super::parking`] has the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MailboxPhase {
    Active,
    Idle,
    Selecting,
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

pub(crate) struct InboxCore {
    pub(crate) phase: MailboxPhase,
    /// What was asked of the process while it was active.
    pub(crate) marks: ParkMarks,
    pub(crate) way: MainPush,
    pub(super) takes: MainTake,
    /// The length of the last batch: the capacity that a new queue reserves.
    pub(super) batch: u16,
    /// The state that the process shows as its label. Written under the lock of its relations too.
    pub(crate) shown: StateLabel,
    pub(super) parked: Option<Ready>,
    /// User messages accepted on Main since the start, the low 32 bits of their number; see
    /// [`Inbox::push_main`](super::inbox::Inbox::push_main).
    pub(super) accepted: u32,
    /// The greatest number of user messages that wait on Main.
    pub(super) bound: u32,
    pub(super) cold: Option<ColdBox<ColdMailbox>>,
}

/// The bound of a mailbox without one.
pub(crate) const UNBOUNDED: u32 = u32::MAX;

/// The greatest bound. A greater one that is asked for counts as this one, and not as none.
pub(crate) const MAX_BOUND: u32 = UNBOUNDED - 1;

impl InboxCore {
    #[inline]
    pub(super) fn new(bound: u32, takes: MainTake, cold: Option<ColdBox<ColdMailbox>>) -> Self {
        InboxCore {
            phase: MailboxPhase::Active,
            marks: ParkMarks::default(),
            way: MainPush::Direct,
            takes,
            batch: 0,
            shown: StateLabel::default(),
            parked: None,
            accepted: 0,
            bound,
            cold,
        }
    }

    /// Takes the slot of the spawner, if it waits for the start.
    pub(crate) fn take_starter(&mut self) -> Option<SlotSender<Result<(), SpawnError>>> {
        self.cold.as_mut().and_then(|cold| cold.starter.take())
    }

    pub(crate) fn cold(&mut self) -> &mut ColdMailbox {
        self.cold.get_or_insert_default()
    }

    pub(crate) fn cold_if_any(&mut self) -> Option<&mut ColdMailbox> {
        self.cold.as_deref_mut()
    }

    /// Whether there may be a pending exit, a starter, or an entry on the control lanes.
    #[inline]
    pub(crate) fn has_cold(&self) -> bool {
        self.cold.is_some()
    }

    /// Has a sender wait until the process has taken all messages that wait now; `taken` is how many it has taken.
    pub(crate) fn enter_muted(&mut self, sender: Arc<dyn MutedSender>, taken: u64) {
        let due = self.accepted(taken);
        self.cold().muted.enter(due, sender);
    }

    /// Whether senders are muted until the process has caught up.
    pub(crate) fn has_muted(&self) -> bool {
        self.cold.as_ref().is_some_and(|cold| !cold.muted.is_empty())
    }

    /// Takes out the muted senders that wait for no more than `taken` messages. An empty vector would have to be
    /// dropped by a call each time that a process rests.
    #[inline]
    pub(crate) fn take_muted(&mut self, taken: u64) -> Option<Vec<Arc<dyn MutedSender>>> {
        match &mut self.cold {
            Some(cold) if !cold.muted.is_empty() => Some(cold.muted.take_due(taken)),
            _ => None,
        }
    }

    /// How many user messages wait on Main, with those that room is kept for. `taken` is how many were taken off it: no more
    /// than were accepted, for it is read under the lock that the caller has, or before that: then it can only be too small.
    #[inline]
    pub(crate) fn waiting(&self, taken: u64) -> u32 {
        self.accepted.wrapping_sub(low_bits(taken))
    }

    /// How many messages were accepted, less those that were dropped to make room for later ones.
    pub(crate) fn accepted(&self, taken: u64) -> u64 {
        taken + u64::from(self.waiting(taken))
    }

    /// How many messages were accepted and then dropped to make room for later ones.
    pub(crate) fn dropped(&self) -> u64 {
        self.cold.as_ref().map_or(0, |cold| cold.dropped)
    }

    pub(crate) fn bound(&self) -> Option<usize> {
        (self.bound != UNBOUNDED).then_some(self.bound as usize)
    }

    /// Frees the rarely used parts if they are empty.
    pub(crate) fn release_cold(&mut self) {
        if self.cold.as_ref().is_some_and(|cold| cold.is_empty()) {
            self.cold = None;
        }
    }

    /// Whether the context is gone and the process is still to start.
    #[inline]
    pub(crate) fn is_without_context(&self) -> bool {
        self.cold.as_ref().is_some_and(|cold| cold.without_context)
    }

    /// Takes the mark that the context of a process that had not started is gone; true if the process is to count as
    /// started.
    pub(crate) fn starts_without_context(&mut self) -> bool {
        let Some(cold) = &mut self.cold else { return false };
        std::mem::take(&mut cold.without_context) && cold.pending_exit.is_none()
    }

    /// Takes the request of an injected fault to panic now.
    pub(crate) fn take_panic(&mut self) -> bool {
        self.cold.as_mut().is_some_and(|cold| std::mem::take(&mut cold.panics))
    }

    /// Returns the flight recorder and the trace if they have changed.
    pub(crate) fn take_changed_log(&mut self) -> Option<ChangedLog> {
        let cold = self.cold.as_mut()?;
        if !std::mem::take(&mut cold.log_changed) {
            return None;
        }
        cold.item_log.take_if(|log| log.is_idle());
        Some(ChangedLog(cold.item_log.clone()))
    }
}

/// The low 32 bits of a number of messages. A mailbox counts in 32 bits what the process counts in 64: it never holds
/// 2^32 messages, which would take 100 GB, so the difference of the two is exact.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "these bits are what it is about")]
fn low_bits(count: u64) -> u32 {
    count as u32
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn x3_a_mailbox_counts_on_beyond_32_bits() {
        let mut inbox = InboxCore::new(2, MainTake::Batch, None);
        inbox.accepted = u32::MAX;
        let taken = u64::from(u32::MAX);
        assert_eq!((inbox.waiting(taken), inbox.accepted(taken)), (0, taken));
        assert!(inbox.reserve_here(taken, None).is_ok() && inbox.reserve_here(taken, None).is_ok());
        assert_eq!((inbox.waiting(taken), inbox.accepted(taken)), (2, taken + 2));
        assert!(inbox.reserve_here(taken, None).is_err(), "two are its bound");
        inbox.give_back();
        inbox.give_back();
        assert_eq!((inbox.waiting(taken), inbox.accepted(taken)), (0, taken));
    }
}
