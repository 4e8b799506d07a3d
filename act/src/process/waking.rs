//! Waking a process: by a waker, by a poke, by a pending exit.
//!
//! All of them take the process out of its mailbox under the lock, and schedule it after the lock is
//! released.

use super::awaited::AwaitedProcess;
use super::cell::Cell;
use super::cell_core::CellCore;
use super::crash::{drop_contained, ignore};
use super::current::{self, CurrentContext};
use super::exit_source::ExitSource;
use super::progress::{ContextMark, ProcessMark};
use super::turn_state::Wants;
use super::untyped_cell::UntypedCell;
use super::waker::UsedHandle;
use crate::calls::slot::SlotSender;
use crate::host::host::Poke;
use crate::host::ready::Ready;
use crate::mailbox::inbox_core::{InboxCore, MailboxPhase, MainPush};
use crate::sync::Ordering;
use krarup_gen::{Reason, SpawnError};
use std::sync::Arc;
use std::task::Waker;

impl<M: Send + 'static, C: Send + 'static> Cell<M, C> {
    /// Schedules the process, in whatever phase it waits.
    pub(crate) fn wake(&self, used_up: Option<UsedHandle<'_>>) {
        let mut inbox = self.inbox.lock();
        let ready = inbox.ready_for_wake();
        if let Some(handle) = used_up {
            handle.spend();
        }
        let ready = self.noted(&inbox, ready);
        drop(inbox);
        self.schedule_if(ready);
    }

    /// Has the process poked some 10 ms from now, see [`Host::poke_later`](crate::Host::poke_later).
    /// Returns false if it will not be. A poke between this check and the lock of the mailbox sets
    /// a mark there, as any waker does.
    pub(super) fn list_for_poke(self: &Arc<Self>) -> bool {
        self.list_as(&|| Arc::clone(self) as Arc<dyn Poke>)
    }
}

impl dyn UntypedCell + '_ {
    /// Takes the reason with which the process must end now. If there is none, the process will
    /// be polled, and a foreign waker that waits for a message is woken first.
    ///
    /// A process whose context is gone will neither receive nor call `initialised`. It counts as started here, and not
    /// when the context is dropped, because a behaviour that fails drops its context before it returns.
    #[cold]
    pub(super) fn take_pending_exit(&self) -> Option<Reason> {
        let core = self.cell_core();
        if self.locked(|inbox| inbox.marks.ends_name_waits()) {
            // A wait may be polled only when its own waker was woken.
            let waits = core.host.name_waits();
            waits.into_iter().for_each(|waits| waits.wake_process(core.pid().id()));
        }
        let (starts, starter, pending_exit, receiver, context) = self.locked(|inbox| {
            let starts = inbox.starts_without_context();
            let starter = if starts { core.start_without_context(inbox) } else { None };
            let cold = inbox.cold_if_any()?;
            let (pending_exit, receiver) = (cold.pending_exit.take(), cold.receiver.take());
            if let (Some(_), Some(source)) = (&pending_exit, &mut cold.exit_source) {
                source.taken = true;
                // It ran when the exit arrived, and has returned from a poll since.
                source
                    .handling
                    .get_or_insert(matches!(current::wants(), Wants::Other | Wants::Main));
            }
            let context = cold.context.take();
            if starts {
                // It receives nothing, so it looks at nothing but a pending exit, which is still to come.
                core.progress.attention.store(false, Ordering::Relaxed);
                inbox.release_cold();
            }
            Some((starts, starter, pending_exit, receiver, context))
        })?;
        current::resume(context);
        if starts {
            core.complete_start(starter);
        }
        if let Some(receiver) = receiver {
            ignore(|| receiver.wake());
            // The wake-up has also set this flag for the process, but the poll that follows now
            // serves it.
            self.locked(|inbox| inbox.marks.take_wake());
        }
        pending_exit
    }

    /// Whether the process is to end by an exit signal that it has sent to itself. That ends it at once, also one that
    /// goes on to its own end without a wait (rule L7).
    #[cold]
    pub(crate) fn has_own_exit(&self) -> bool {
        let pid = self.cell_core().pid();
        self.locked(|inbox| {
            inbox.cold_if_any().is_some_and(|cold| {
                let by = cold.exit_source.as_ref().and_then(|source| source.by);
                cold.pending_exit.is_some() && by.is_some_and(|by| by.is_same_process(pid))
            })
        })
    }

    /// Has the process run in this trace context from its next poll on.
    #[cold]
    pub(crate) fn begin_in_context(&self, context: Box<CurrentContext>) {
        self.locked(|inbox| inbox.cold().context = Some(context));
        self.cell_core().progress.attention.store(true, Ordering::Relaxed);
    }

    /// Registers a waker that is woken before the process is polled the next time.
    #[cold]
    pub(crate) fn wake_before_poll(&self, waker: &Waker) {
        // A waker is foreign code, so it is cloned and dropped outside the lock.
        let waker = waker.clone();
        let before = self.locked(|inbox| {
            if inbox.phase == MailboxPhase::Terminated {
                Some(waker)
            } else {
                self.cell_core().progress.attention.store(true, Ordering::Relaxed);
                inbox.cold().receiver.replace(waker)
            }
        });
        drop_contained(before);
    }
}

impl CellCore {
    /// Takes a waiting process out to be scheduled, and records whether nothing else could have woken it.
    #[must_use]
    pub(super) fn wake_waiting(&self, inbox: &mut InboxCore) -> Option<Ready> {
        if let Some(wait) = self.edge(inbox) {
            // The process is parked, so its own turn does not write this word now.
            self.progress.waits_for.store(wait.alone().word(), Ordering::Relaxed);
        }
        let ready = inbox.ready_for_wake();
        self.noted(inbox, ready)
    }

    /// Completes the spawn of the process (rule D2); `starter` is the slot of the spawner. The context of a spawn ends
    /// with the start of the process.
    #[inline]
    pub(crate) fn complete_start(&self, starter: Option<SlotSender<Result<(), SpawnError>>>) {
        if current::is_traced() {
            current::end_handling(None);
        }
        self.host.note_initialised(self.pid());
        if let Some(starter) = starter {
            let _ = starter.send(Ok(()));
        }
    }

    /// Counts a process as started whose context is gone.
    fn start_without_context(
        &self,
        inbox: &mut InboxCore,
    ) -> Option<SlotSender<Result<(), SpawnError>>> {
        // The context was the only one to write these marks.
        self.progress.note(ContextMark::NotStarted, false);
        inbox.take_starter()
    }

    /// Records that the context was dropped before the process had started.
    #[cold]
    #[must_use]
    pub(crate) fn drop_context(&self, inbox: &mut InboxCore) -> Option<Ready> {
        if inbox.phase == MailboxPhase::Terminated {
            return None;
        }
        inbox.cold().without_context = true;
        self.progress.attention.store(true, Ordering::Relaxed);
        let ready = inbox.ready_for_wake();
        self.noted(inbox, ready)
    }

    /// Makes the process end with this reason, without running `terminate`. The first pending
    /// exit wins (rule L9). Returns the process to be scheduled, and the reason that is not
    /// used: it is a user value, to be dropped outside the lock.
    #[must_use]
    pub(crate) fn set_pending_exit(
        &self,
        inbox: &mut InboxCore,
        reason: Reason,
        source: ExitSource,
    ) -> (Option<Ready>, Option<Reason>) {
        if inbox.phase == MailboxPhase::Terminated {
            return (None, Some(reason));
        }
        if !inbox.has_pending_exit() {
            let handling = self.is_handling(inbox);
            inbox.cold().exit_source = Some(ExitSource { handling, ..source });
        }
        let pending_exit = &mut inbox.cold().pending_exit;
        let late = if pending_exit.is_some() { Some(reason) } else { pending_exit.replace(reason) };
        self.progress.attention.store(true, Ordering::Relaxed);
        let ready = inbox.ready_for_wake();
        (self.noted(inbox, ready), late)
    }

    /// Whether the process is inside a handler. `None` if it runs, so that this is not known.
    fn is_handling(&self, inbox: &InboxCore) -> Option<bool> {
        match inbox.phase {
            MailboxPhase::Waiting | MailboxPhase::Selecting => Some(true),
            MailboxPhase::Active if self.progress.turn.is_running() => None,
            // Queued: the record of a call in a handler is still there.
            MailboxPhase::Active => Some(self.progress.waits_for.load(Ordering::Relaxed) != 0),
            _ => Some(false),
        }
    }

    /// The process that this one waits for, if only that answer or its timer can wake it (rule
    /// C5).
    pub(crate) fn edge(&self, inbox: &InboxCore) -> Option<AwaitedProcess> {
        let wait = AwaitedProcess::of_word(self.progress.waits_for.load(Ordering::Relaxed));
        let alone = !wait.is_none()
            && !wait.is_for_room()
            && inbox.phase == MailboxPhase::Waiting
            && inbox.handles_on_waker() == Some(wait.handles());
        alone.then_some(wait)
    }

    fn list_as(&self, process: &dyn Fn() -> Arc<dyn Poke>) -> bool {
        if self.progress.has(ProcessMark::Listed) {
            return true;
        }
        self.progress.set(ProcessMark::Listed, true);
        let listed = self.host.poke_later(process);
        if !listed {
            self.progress.set(ProcessMark::Listed, false);
        }
        listed
    }

    /// Returns the process as it was taken out of its mailbox, to be scheduled when the lock is
    /// released. An entry other than a message that has not made it ready is told to the simulated link.
    #[inline]
    #[must_use]
    pub(super) fn noted(&self, inbox: &InboxCore, ready: Option<Ready>) -> Option<Ready> {
        if ready.is_none() && inbox.way != MainPush::Direct {
            self.touch_simulated_link();
        }
        ready
    }
}

impl<M: Send + 'static, C: Send + 'static> Poke for Cell<M, C> {
    fn poke(self: Arc<Self>) {
        let mut inbox = self.inbox.lock();
        self.progress.set(ProcessMark::Listed, false);
        if inbox.phase == MailboxPhase::Idle {
            // The process is idle, and no message has come for a while.
            let spare = inbox.take_spare();
            drop(inbox);
            drop(spare);
            return;
        }
        let ready = self.wake_waiting(&mut inbox);
        drop(inbox);
        self.schedule_if(ready);
    }
}
