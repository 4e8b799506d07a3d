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
//! **State.** The process itself, a [`Ready`], is parked here while it has nothing to do. A
//! sender that finds it takes it out and schedules it. A sender that does not find it knows
//! that the process is queued or running. Putting a message in and taking the process out are
//! one critical section. Checking for messages and putting the process back are another. So no
//! wake-up can be lost between them (rule R2), and no second flag has to agree with the queue.
//!
//! | phase | `parked` | a message arrives | a waker fires | a pending exit arrives |
//! |---|---|---|---|---|
//! | Idle | there | schedule | schedule | schedule |
//! | Waiting (inside a handler) | there | stays queued | schedule | schedule |
//! | Listening (no room for more) | there | stays queued, but on a control lane: schedule | schedule | schedule |
//! | Muted (until a receiver has caught up) | there | stays queued, but on a control lane: schedule | schedule | schedule |
//! | Active (queued or running) | taken | stays queued | `notified` | seen at the next message or await |
//! | Terminated | taken | refused | ignored | ignored |
//!
//! **Idle slot.** The first message to an empty mailbox lies in `first`, inside the cell, so a
//! process that gets one message at a time never allocates a queue. A process that goes idle
//! keeps its queue, because it may need it again soon. It is poked some 10 ms later and then
//! frees the queue, so that processes that stay idle hold none.

use super::cold::ColdMailbox;
use super::drain::DrainedMailbox;
use super::entry::{Body, ControlEntry, EntryQueue, MailboxEntry, Notice, SenderId};
use super::muted_senders::MutedSender;
use super::overflow::Overflow;
use crate::calls::slot::SlotSender;
use crate::host::ready::Ready;
use crate::process::current;
use krarup_gen::SpawnError;
use std::collections::VecDeque;
use std::sync::Arc;

/// The state of a process, as far as its mailbox must know it. See the table above.
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
    parked: Option<Ready>,
    /// User messages accepted on Main since the start; see [`Inbox::push_main`].
    pub(super) accepted: u64,
    /// The greatest number of user messages that wait on Main.
    pub(super) bound: u32,
    /// The length of the last batch: the capacity that a new queue reserves.
    pub(super) batch: u32,
    pub(super) first: Option<MailboxEntry<M>>,
    pub(super) main: EntryQueue<M>,
    pub(super) cold: Option<Box<ColdMailbox<M, C>>>,
}

/// From this queue length on a sender pays for each message that it adds. It pays one message
/// of its own turn for each `CHARGE_STEP` messages that wait, up to a limit, so that a sender of one
/// or two messages is not delayed for long.
pub(crate) const CHARGE_STEP: usize = 64;
const MOST_CHARGED: usize = 1_024;
/// From this number of steps on, 9984 messages, a sender also checks whether to notify the
/// host ([`crate::Host::mailbox_is_deep`]).
const DEEP: usize = 156;
/// The host is notified at lengths that are multiples of this.
pub(crate) const DEEP_STEP: usize = 16;

/// The bound of a mailbox without one.
pub(crate) const UNBOUNDED: u32 = u32::MAX;

/// Why a message was not put in.
pub(crate) enum Refused<M> {
    Dead(M),
    Full(M),
    /// Full, and the overflow choice is not to refuse (rule M6).
    Overflow(M),
    /// Main has become a route since the sender checked, or there is a simulated link.
    Routed(M),
}

impl<M, C> Inbox<M, C> {
    pub(crate) fn new(bound: u32, overflow: Overflow<M>) -> Self {
        let takes = MainTake::of(&overflow);
        let cold = match overflow {
            Overflow::Refuse => None,
            overflow => Some(Box::new(ColdMailbox { overflow, ..ColdMailbox::default() })),
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

    /// Puts a user's message on Main of the process with the number `receiver`. `taken`
    /// returns how many user messages the process has taken off Main so far; the difference
    /// from the number accepted is the number that waits. `taken` only grows, and is written
    /// before a message is handled. So a stale value can refuse a message that has just got
    /// room, but never accept one too many. A sender that has seen an effect of a message also
    /// sees its room (rule M5).
    #[inline]
    pub(crate) fn push_main(
        &mut self,
        message: M,
        sender: SenderId,
        receiver: u64,
        taken: impl FnOnce() -> u64,
        deep: impl FnOnce(usize),
    ) -> Result<Option<Ready>, Refused<M>> {
        if self.phase == MailboxPhase::Terminated {
            return Err(Refused::Dead(message));
        }
        if self.way != MainPush::Direct {
            return Err(Refused::Routed(message));
        }
        self.put(message, sender, receiver, taken, deep)
    }

    /// As [`Inbox::push_main`], after a check that the process is alive and Main is no route.
    #[allow(clippy::inline_always, reason = "avoids one more copy of the message")]
    #[inline(always)]
    pub(crate) fn put(
        &mut self,
        message: M,
        sender: SenderId,
        receiver: u64,
        taken: impl FnOnce() -> u64,
        deep: impl FnOnce(usize),
    ) -> Result<Option<Ready>, Refused<M>> {
        if self.bound != UNBOUNDED && !self.has_room(taken()) {
            return Err(match &self.cold {
                Some(cold) if !matches!(cold.overflow, Overflow::Refuse) => {
                    Refused::Overflow(message)
                }
                _ => Refused::Full(message),
            });
        }
        self.put_in(message, sender, receiver, deep);
        Ok(self.ready_for_mail())
    }

    /// Whether [`Inbox::push_main`] would put a message in directly.
    #[inline]
    pub(crate) fn is_open(&self, taken: impl FnOnce() -> u64) -> bool {
        self.phase != MailboxPhase::Terminated
            && self.way == MainPush::Direct
            && (self.bound == UNBOUNDED || self.has_room(taken()))
    }

    /// Puts a message on Main for which there is room. `deep` is called with the queue length,
    /// at multiples of `DEEP_STEP`, if very many messages wait.
    #[allow(clippy::inline_always, reason = "keeps the message in registers until it is stored")]
    #[inline(always)]
    pub(crate) fn put_in(
        &mut self,
        message: M,
        sender: SenderId,
        receiver: u64,
        deep: impl FnOnce(usize),
    ) {
        self.accepted += 1;
        // Write to each of the two places directly; a temporary would be one more copy.
        if self.first.is_none() && self.main.as_ref().is_none_or(|main| main.is_empty()) {
            self.first = Some(MailboxEntry { sender, body: Body::Message(message) });
        } else {
            let main = self.queue();
            main.push_back(MailboxEntry { sender, body: Body::Message(message) });
            let length = main.len();
            if length >= CHARGE_STEP {
                // For a sender of another node the receiver's number would mean another
                // process.
                self.charge(length, if sender == 0 { 0 } else { receiver }, deep);
            }
        }
    }

    /// Returns the queue behind `first`. A new one gets the capacity that the last batch
    /// needed.
    #[inline]
    fn queue(&mut self) -> &mut VecDeque<MailboxEntry<M>> {
        let room = self.batch.clamp(4, 256) as usize;
        self.main.get_or_insert_with(|| Box::new(VecDeque::with_capacity(room)))
    }

    /// Charges the running turn for one more message in a queue of this length. The last batch
    /// is added, because the receiver may not have handled all of it yet.
    #[inline]
    fn charge(&self, length: usize, receiver: u64, deep: impl FnOnce(usize)) {
        let steps = (length + self.batch as usize) / CHARGE_STEP;
        if steps >= DEEP {
            return self.charge_deep(steps, length, receiver, deep);
        }
        current::charge(u32::try_from(steps).unwrap_or(0), receiver);
    }

    /// As [`Inbox::charge`], for a queue so long that the host should be notified.
    #[cold]
    fn charge_deep(&self, steps: usize, length: usize, receiver: u64, deep: impl FnOnce(usize)) {
        let charged = u32::try_from(steps.min(MOST_CHARGED)).unwrap_or(0);
        current::charge(charged, receiver);
        let length = length + usize::from(self.first.is_some());
        if length.is_multiple_of(DEEP_STEP) {
            deep(length);
        }
    }

    pub(super) fn has_room(&self, taken: u64) -> bool {
        self.bound == UNBOUNDED || self.accepted.wrapping_sub(taken) < u64::from(self.bound)
    }

    /// Puts a notice on Main of a living process, regardless of the bound.
    pub(crate) fn push_notice(
        &mut self,
        notice: Box<Notice<M>>,
        deep: impl FnOnce(usize),
    ) -> Option<Ready> {
        debug_assert!(self.phase != MailboxPhase::Terminated);
        self.push_entry(MailboxEntry { sender: 0, body: Body::Notice(notice) }, deep);
        self.ready_for_mail()
    }

    pub(super) fn push_entry(&mut self, entry: MailboxEntry<M>, deep: impl FnOnce(usize)) {
        if self.first.is_none() && self.main.as_ref().is_none_or(|main| main.is_empty()) {
            self.first = Some(entry);
        } else {
            let main = self.queue();
            main.push_back(entry);
            let length = main.len();
            if length >= CHARGE_STEP {
                self.charge(length, 0, deep);
            }
        }
    }

    /// Takes the process out to be scheduled because a message has arrived. Only from Idle:
    /// messages do not wake a process that waits inside a handler.
    #[inline]
    pub(crate) fn ready_for_mail(&mut self) -> Option<Ready> {
        if self.phase != MailboxPhase::Idle {
            return None;
        }
        self.phase = MailboxPhase::Active;
        self.parked.take()
    }

    /// As [`Inbox::ready_for_mail`], for an entry on a control lane.
    pub(crate) fn ready_for_control(&mut self) -> Option<Ready> {
        if matches!(self.phase, MailboxPhase::Listening | MailboxPhase::Muted) {
            self.phase = MailboxPhase::Idle;
        }
        self.ready_for_mail()
    }

    /// Takes the process out to be scheduled, from every phase in which it is parked. An
    /// active process is marked to be polled again.
    pub(crate) fn ready_for_wake(&mut self) -> Option<Ready> {
        match self.phase {
            MailboxPhase::Idle
            | MailboxPhase::Waiting
            | MailboxPhase::Listening
            | MailboxPhase::Muted => {
                self.phase = MailboxPhase::Active;
                self.parked.take()
            }
            MailboxPhase::Active => {
                self.notified = true;
                None
            }
            MailboxPhase::Terminated => None,
        }
    }

    /// Records that the process has started; returns the slot of the spawner.
    pub(crate) fn initialise(&mut self) -> Option<SlotSender<Result<(), SpawnError>>> {
        self.initialised = true;
        self.cold.as_mut().and_then(|cold| cold.starter.take())
    }

    /// Parks the process. `phase` is Idle, Waiting or Listening.
    #[inline]
    pub(crate) fn park(&mut self, phase: MailboxPhase, process: Ready) {
        debug_assert!(
            self.parked.is_none()
                && !matches!(phase, MailboxPhase::Active | MailboxPhase::Terminated)
        );
        self.phase = phase;
        self.parked = Some(process);
    }

    /// Returns the number of handles on the waker of the parked process; `None` if it is not
    /// parked.
    pub(crate) fn handles_on_waker(&self) -> Option<usize> {
        self.parked.as_ref().map(Ready::handles_on_waker)
    }

    /// Whether the mailbox is empty and holds nothing else for the process.
    #[inline]
    pub(crate) fn is_still(&self) -> bool {
        !self.notified && self.cold.is_none() && self.first.is_none() && self.main.is_none()
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

    pub(crate) fn has_pending_exit(&self) -> bool {
        self.cold.as_ref().is_some_and(|cold| cold.pending_exit.is_some())
    }

    /// Handles a stop that arrived before the first poll, when the kind of process was not
    /// known yet. If the process neither stops in order nor traps exits, the stop becomes a
    /// pending exit. Returns whether there was one.
    pub(crate) fn set_pending_exit_by_early_stop(&mut self) -> bool {
        if self.orderly || self.trapping {
            return false;
        }
        let Some(cold) = &mut self.cold else { return false };
        let stop = cold.urgent.iter().position(|control| matches!(control, ControlEntry::Stop(_)));
        match stop.and_then(|place| cold.urgent.remove(place)) {
            Some(ControlEntry::Stop(reason)) => {
                cold.pending_exit = Some(reason);
                true
            }
            _ => false,
        }
    }

    /// Whether an entry waits on the control lanes.
    fn has_control(&self) -> bool {
        self.controls() > 0
    }

    /// Returns the number of entries on the control lanes.
    pub(crate) fn controls(&self) -> usize {
        self.cold.as_ref().map_or(0, |cold| cold.urgent.len() + cold.system.len())
    }

    /// Whether the process is suspended, so that it handles nothing until it is resumed.
    pub(crate) fn is_suspended(&self) -> bool {
        self.cold.as_ref().is_some_and(|cold| cold.suspended > 0)
    }

    /// Whether there is an entry that the process would receive now.
    #[inline]
    pub(crate) fn has_mail(&self) -> bool {
        match &self.cold {
            None => self.has_main(),
            Some(cold) if cold.suspended > 0 => {
                cold.urgent.iter().any(ControlEntry::is_for_suspended)
            }
            Some(_) => self.has_main() || self.has_control(),
        }
    }

    /// Whether an entry goes before those on Main.
    pub(crate) fn has_mail_ahead(&self) -> bool {
        if self.is_suspended() { self.has_mail() } else { self.has_control() }
    }

    /// Whether the process must handle something before its next message, other than granting
    /// room.
    pub(crate) fn wants_attention(&self) -> bool {
        self.has_pending_exit()
            || self.has_mail_ahead()
            || self
                .cold
                .as_ref()
                .is_some_and(|cold| cold.suspended > 0 || cold.tracer.is_some() || cold.panics)
    }

    /// Moves the last entry forward over at most `places` messages, and returns over how many.
    /// It never overtakes a message of its own sender or a notice (rules M1, M3).
    pub(crate) fn overtake(&mut self, places: usize) -> usize {
        let (Some(main), first) = (&mut self.main, &mut self.first) else { return 0 };
        let Some(end) = main.len().checked_sub(1) else { return 0 };
        let sender = main[end].sender;
        let may_pass = |other: &MailboxEntry<M>| {
            other.sender != sender && matches!(other.body, Body::Message(_))
        };
        for passed in 0..places {
            match end.checked_sub(passed) {
                Some(at) if at > 0 && may_pass(&main[at - 1]) => main.swap(at, at - 1),
                Some(0) => {
                    let Some(first) = first.as_mut().filter(|first| may_pass(first)) else {
                        return passed;
                    };
                    std::mem::swap(first, &mut main[0]);
                }
                _ => return passed,
            }
        }
        places
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

    /// Returns the lengths of the Urgent and System lanes.
    pub(crate) fn control_lengths(&self) -> (usize, usize) {
        self.cold.as_ref().map_or((0, 0), |cold| (cold.urgent.len(), cold.system.len()))
    }

    pub(crate) fn accepted(&self) -> u64 {
        self.accepted
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Enqueues messages by their senders, 0 for a notice, then moves the last one forward.
    fn overtakes(senders: &[u64], places: usize) -> (usize, Vec<u64>) {
        let mut inbox = Inbox::<u64, ()>::new(UNBOUNDED, Overflow::Refuse);
        for sender in senders {
            match sender {
                0 => drop(inbox.push_notice(Box::new(Notice::Finish), |_| ())),
                sender => inbox.put_in(*sender, *sender, 99, |_| ()),
            }
        }
        let passed = inbox.overtake(places);
        let mut batch = None;
        let first = inbox.take_main(&mut batch);
        let entries = first.into_iter().chain(batch.into_iter().flat_map(|batch| *batch));
        (passed, entries.map(|entry| entry.sender).collect())
    }

    #[test]
    fn m1_a_late_message_overtakes_only_messages_of_other_senders() {
        for (senders, places, passed, order) in [
            (&[1, 2, 3][..], 1, 1, &[1, 3, 2][..]),
            (&[1, 2, 3], 2, 2, &[3, 1, 2]),
            (&[1, 2, 3], 9, 2, &[3, 1, 2]),
            (&[1, 2, 3], 0, 0, &[1, 2, 3]),
            // Not a message of the same sender.
            (&[3, 2, 3], 9, 1, &[3, 3, 2]),
            (&[1, 3, 3], 9, 0, &[1, 3, 3]),
            // Not a notice, in any position.
            (&[1, 0, 2, 3], 9, 1, &[1, 0, 3, 2]),
            (&[0, 1, 3], 9, 1, &[0, 3, 1]),
            (&[1, 0, 3], 9, 0, &[1, 0, 3]),
            (&[1], 9, 0, &[1]),
        ] {
            let expected = (passed, order.to_vec());
            assert_eq!(overtakes(senders, places), expected, "{senders:?} by {places}");
        }
    }
}
