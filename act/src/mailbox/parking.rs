//! Parking a process in its mailbox, and taking it out to be scheduled.
//!
//! A [`Ready`] is the process itself. It is parked in its mailbox while it has nothing to do. A
//! sender that finds it takes it out and schedules it. A sender that does not find it knows
//! that the process is queued or running. Putting a message in and taking the process out are
//! one critical section. Checking for messages and putting the process back are another. So no
//! wake-up can be lost between them (rule R2), and no second flag has to agree with the queue.
//!
//! | phase | `parked` | a message arrives | a waker fires | a pending exit arrives |
//! |---|---|---|---|---|
//! | Idle | there | schedule | schedule | schedule |
//! | Selecting (inside a handler, for one message) | there | schedule | schedule | schedule |
//! | Waiting (inside a handler) | there | stays queued | schedule | schedule |
//! | Listening (no room for more) | there | stays queued, but on a control lane: schedule | schedule | schedule |
//! | Muted (until a receiver has caught up) | there | stays queued, but on a control lane: schedule | schedule | schedule |
//! | Active (queued or running) | taken | stays queued | `marks` | seen at the next message or await |
//! | Terminated | taken | refused | ignored | ignored |

use super::inbox::Inbox;
use super::inbox_core::{InboxCore, MailboxPhase};
use crate::host::ready::Ready;

impl InboxCore {
    /// Takes the process out to be scheduled because a message has arrived. Only from Idle and Selecting:
    /// messages do not wake a process that waits for something else inside a handler.
    #[inline]
    pub(crate) fn ready_for_mail(&mut self) -> Option<Ready> {
        if !matches!(self.phase, MailboxPhase::Idle | MailboxPhase::Selecting) {
            return None;
        }
        self.phase = MailboxPhase::Active;
        self.parked.take()
    }

    /// As [`InboxCore::ready_for_mail`], for an entry on a control lane.
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
            | MailboxPhase::Selecting
            | MailboxPhase::Waiting
            | MailboxPhase::Listening
            | MailboxPhase::Muted => {
                self.phase = MailboxPhase::Active;
                self.parked.take()
            }
            MailboxPhase::Active => {
                self.marks.note_wake();
                None
            }
            MailboxPhase::Terminated => None,
        }
    }

    /// Whether a process can be parked in this phase.
    #[inline]
    pub(crate) fn has_place(&self, phase: MailboxPhase) -> bool {
        self.parked.is_none() && !matches!(phase, MailboxPhase::Active | MailboxPhase::Terminated)
    }

    /// Parks the process. `phase` is Idle, Selecting, Waiting, Listening or Muted.
    #[inline]
    pub(crate) fn park(&mut self, phase: MailboxPhase, process: Ready) {
        debug_assert!(self.has_place(phase));
        self.phase = phase;
        self.parked = Some(process);
    }

    /// Returns the number of handles on the waker of the parked process; `None` if it is not
    /// parked.
    pub(crate) fn handles_on_waker(&self) -> Option<usize> {
        self.parked.as_ref().map(Ready::handles_on_waker)
    }
}

impl<M> Inbox<M> {
    /// Whether the mailbox is empty and holds nothing else for the process.
    #[inline]
    pub(crate) fn is_still(&self) -> bool {
        !self.marks.is_woken() && self.cold.is_none() && self.first.is_none() && self.main.is_none()
    }
}
