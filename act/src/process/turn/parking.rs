//! Where a process goes after a poll that was not its last: into its mailbox, or on with its turn.
//!
//! A poll that has only looked for a message, and found none, is parked by [`Life::park`] itself. All else that may be asked
//! of a process that stops to run is looked at by `park_with_care`, out of line.

use super::super::awaited::AwaitedProcess;
use super::super::cell::Cell;
use super::super::muting::release;
use super::super::progress::{ContextMark, ProcessMark};
use super::super::turn_state::{AfterSpecialPoll, Wants};
use super::super::{current, wait_graph};
use super::Life;
use super::locked_life::LockedLife;
use crate::mailbox::inbox_core::MailboxPhase;
use krarup_gen::Result;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The result of parking after a poll that was not the last.
pub(super) enum Parked<L> {
    /// There is more to do in this turn.
    Again(Pin<Box<L>>),
    /// There is more to do, but the budget is used up.
    NextTurn(Pin<Box<L>>),
    /// It is in its mailbox, or another thread has already taken it from there.
    Done,
}

impl<M, C, S, F> Life<M, C, S, F>
where
    M: Send + 'static,
    C: Send + 'static,
    S: FnOnce() -> F + Send + 'static,
    F: Future<Output = Result> + Send + 'static,
{
    /// Decides, under the mailbox's lock, where the process goes. Once it is parked, only the
    /// lock keeps other workers out. Nothing of the process is touched after that.
    #[inline]
    pub(super) fn park(self: Pin<Box<Self>>) -> Parked<Self> {
        if !current::wants_a_message_only() {
            return self.park_with_care();
        }
        let mut locked = LockedLife::new(self);
        if locked.inbox().is_still() {
            locked.life().cell.progress.waits_for.store(0, Ordering::Relaxed);
            locked.park(MailboxPhase::Idle);
            return Parked::Done;
        }
        locked.unlock().park_with_care()
    }

    /// Parks when there is more to check than the absence of messages.
    #[inline(never)]
    fn park_with_care(self: Pin<Box<Self>>) -> Parked<Self> {
        if current::is_traced()
            && let Some(context) = current::keep()
        {
            self.cell.untyped().begin_in_context(context);
        }
        let wants = current::wants();
        let wait = if wants == Wants::Other { current::wait() } else { AwaitedProcess::NONE };
        self.cell.progress.waits_for.store(wait.word(), Ordering::Relaxed);
        if current::is_special() {
            if !self.parks_after(current::after_special_poll(), wait) {
                return self.again();
            }
        } else if current::wants_poke() {
            // A process that waits for several things may be kept busy by one of them for a
            // long time.
            if wait.is_none() || self.cell.others() != wait.handles() {
                current::begin_clock_poll();
                return Parked::Again(self);
            }
            if !self.cell.list_for_poke() {
                return self.again();
            }
        }
        let keeps_memory = wants == Wants::Message && keeps_memory(&self.cell);
        let mut locked = LockedLife::new(self);
        if locked.inbox().has_cold() && locked.inbox().has_waiters() {
            // The process takes no more messages for now, so there may be room.
            let life = locked.unlock();
            life.cell.grant_room();
            locked = LockedLife::new(life);
        }
        let stops_in_order = locked.life().cell.progress.notes(ContextMark::StopsInOrder);
        let inbox = locked.inbox();
        if inbox.has_cold()
            && (inbox.has_pending_exit() || inbox.set_pending_exit_by_early_stop(stops_in_order))
        {
            locked.life().cell.progress.attention.store(true, Ordering::Relaxed);
            return Parked::Again(locked.unlock());
        }
        let woken = inbox.marks.take_wake();
        if wants == Wants::Turn {
            locked.life().cell.progress.rest();
            let due = locked.take_due();
            let life = locked.unlock();
            if let Some(due) = due {
                release(due);
            }
            return Parked::NextTurn(life);
        }
        if woken || inbox.is_without_context() {
            return locked.unlock().again();
        }
        let phase = if wants == Wants::Message {
            if inbox.has_mail() {
                return Parked::Again(locked.unlock());
            }
            MailboxPhase::Idle
        } else if wants == Wants::Control {
            if inbox.has_mail_ahead() {
                return Parked::Again(locked.unlock());
            }
            MailboxPhase::Listening
        } else if wants == Wants::Main {
            if inbox.has_mail_on_main_alone() {
                return Parked::Again(locked.unlock());
            }
            MailboxPhase::Selecting
        } else {
            MailboxPhase::Waiting
        };
        let muted = inbox.take_muted(u64::MAX);
        if phase == MailboxPhase::Idle {
            inbox.release_memory(keeps_memory);
        }
        let marked = inbox.marks.wants_search();
        let has_mail = !wait.is_none() && locked.has_unhandled();
        let searches = has_mail || (marked && !wait.is_none());
        let searcher = if searches { Some(Arc::clone(&locked.life().cell)) } else { None };
        {
            let mut locked = locked;
            locked.park(phase);
        }
        if let Some(muted) = muted {
            release(muted);
        }
        if let Some(cell) = searcher {
            wait_graph::wake_cycle(cell.untyped(), has_mail);
        }
        Parked::Done
    }

    /// Polls the future again within the budget. A future that wakes itself in every poll thus
    /// gives other processes their turns.
    fn again(self: Pin<Box<Self>>) -> Parked<Self> {
        if current::spend(&self.cell.host) {
            return Parked::Again(self);
        }
        self.cell.progress.rest();
        // It may wake itself for long without a look at its messages.
        let muted = self.cell.inbox.lock().take_muted(u64::MAX);
        if let Some(muted) = muted {
            release(muted);
        }
        Parked::NextTurn(self)
    }

    /// Does what follows a special poll. Returns whether the process may park.
    #[cold]
    fn parks_after(&self, poll: AfterSpecialPoll, wait: AwaitedProcess) -> bool {
        match poll {
            AfterSpecialPoll::Park => true,
            AfterSpecialPoll::Poke => self.cell.list_for_poke(),
            AfterSpecialPoll::PollAgain => false,
            AfterSpecialPoll::Suspect => {
                self.suspect(wait);
                false
            }
        }
    }

    /// Records whether the process waits for the call alone. It does if no other code has a
    /// handle on the waker, or had one and woke the process with it.
    #[cold]
    fn suspect(&self, wait: AwaitedProcess) {
        let inbox = self.cell.inbox.lock();
        if !wait.is_none() && !inbox.marks.is_woken() && self.cell.others() == wait.handles() {
            self.cell.progress.waits_for.store(wait.alone().word(), Ordering::Relaxed);
        }
    }
}

/// Whether a process that goes idle keeps the memory of its queue until it is poked.
#[inline]
fn keeps_memory<M, C>(cell: &Arc<Cell<M, C>>) -> bool
where
    M: Send + 'static,
    C: Send + 'static,
{
    cell.progress.has(ProcessMark::Listed) || (current::keeps_memory() && cell.list_for_poke())
}
