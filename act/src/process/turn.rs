//! How a process runs, from its first turn to its last.
//!
//! A process is one future. A turn is one or more polls of it by one worker. The [`Life`] that
//! holds the future moves as a [`Ready`] from the mailbox to a queue, to a worker, and back.
//!
//! ```text
//!              run                       Pending
//!   queue ───────────►  poll  ─────────────────────────────┐
//!     ▲                  │ ▲                               ▼
//!     │                  │ │ a message came, or   no message ────────────► Idle
//!     │                  │ │ a waker fired        waits otherwise ───────► Waiting
//!     └──────────────────┼─┴───────────────────── asks for another turn
//!                        ▼
//!                  ended, or exit pending ──► end: drop the future, then see `ending.rs`
//! ```
//!
//! No closure here that knows the future is given to a method of `Option` or `bool`: a debug build would compile all that
//! uses these methods again when a handler is edited (docs/decisions.md). So it says `if` where `then` would do.

mod locked_life;

use self::locked_life::LockedLife;
use super::awaited::AwaitedProcess;
use super::cell::Cell;
use super::current::OrphanCause;
use super::muting::release;
use super::progress::{ContextMark, ProcessMark};
use super::turn_span::TurnSpan;
use super::turn_state::{AfterSpecialPoll, Wants};
use super::waker::WakingHandle;
use super::{contained, crash, current, ending, wait_graph};
use crate::host::ready::{Ready, RunTurn, TurnLimits};
use crate::host::worker_slot::WorkerSlot;
use crate::mailbox::inbox_core::MailboxPhase;
use krarup_gen::{Pid, Reason, ReasonKind, Result};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};

pin_project_lite::pin_project! {
    /// A process's future and its cell.
    #[repr(C)]
    pub(crate) struct Life<M, C, S, F>
    where
        M: Send,
        M: 'static,
        C: Send,
        C: 'static,
    {
        cell: WakingHandle<Cell<M, C>>,
        #[pin]
        stage: Stage<S, F>,
    }
}

pin_project_lite::pin_project! {
    /// The future is made in place, from its seed. An async block around both would reserve
    /// memory for the seed beside the future.
    #[project = StageProjection]
    enum Stage<S, F> {
        NotStarted { seed: Option<S> },
Running { #[pin] future: F },
Ended,
    }
}

impl<M, C, S, F> Life<M, C, S, F>
where
    M: Send + 'static,
    C: Send + 'static,
    S: FnOnce() -> F + Send + 'static,
    F: Future<Output = Result> + Send + 'static,
{
    /// Makes a process that has not run. `seed` makes its future in its first turn (rule D1).
    pub(crate) fn ready(cell: WakingHandle<Cell<M, C>>, seed: S) -> Ready {
        Ready::new(Box::pin(Life { cell, stage: Stage::NotStarted { seed: Some(seed) } }))
    }
}

impl<M, C, S, F> RunTurn for Life<M, C, S, F>
where
    M: Send + 'static,
    C: Send + 'static,
    S: FnOnce() -> F + Send + 'static,
    F: Future<Output = Result> + Send + 'static,
{
    fn run(mut self: Pin<Box<Self>>, limits: &TurnLimits, slot: &WorkerSlot) -> Option<Ready> {
        if current::is_busy() | limits.spans {
            return self.run_apart(limits, slot);
        }
        slot.begin(self.cell.pid());
        let _turn = current::enter(self.cell.pid(), limits, &self.cell.host);
        self.cell.progress.running.store(true, Ordering::Relaxed);
        loop {
            // A process with a pending exit is not polled again. The flag is only a hint; the
            // pending exit is read under the lock.
            if self.cell.progress.attention.load(Ordering::Relaxed)
                && let Some(pending_exit) = self.cell.untyped().take_pending_exit()
            {
                self.end(pending_exit);
                return None;
            }
            match self.as_mut().poll_once() {
                Poll::Ready(reason) => {
                    let Some(own) = self.cell.take_own_exit() else {
                        self.end(reason);
                        return None;
                    };
                    crash::drop_contained(reason);
                    self.end(own);
                    return None;
                }
                Poll::Pending => current::settle_orphans(OrphanCause::Dropped),
            }
            match self.park() {
                Parked::Again(life) => self = life,
                Parked::NextTurn(life) => {
                    let moves = life.cell.progress.has_class() && life.moves(slot);
                    let host = if moves { Some(Arc::clone(&life.cell.host)) } else { None };
                    let ready = match current::flooded() {
                        None => Ready::new(life),
                        Some(receiver) => {
                            let cell = Arc::clone(&life.cell);
                            cell.mute(receiver, slot, Ready::new(life))?
                        }
                    };
                    let Some(host) = host else { return Some(ready) };
                    host.schedule(ready);
                    return None;
                }
                Parked::Done => return None,
            }
        }
    }

    fn put_back(self: Pin<Box<Self>>, reason: &mut dyn FnMut() -> Reason) -> Result<Waker, Ready> {
        let cell = Arc::clone(&self.cell);
        // Made outside the lock, and dropped outside it if another reason came first.
        let mut not_started = matches!(self.stage, Stage::NotStarted { .. }).then(reason);
        let waker = self.cell.to_waker();
        let mut inbox = cell.inbox.lock();
        if not_started.is_some() || inbox.has_pending_exit() {
            let pending_exit = &mut inbox.cold().pending_exit;
            if pending_exit.is_none() {
                *pending_exit = not_started.take();
            }
            cell.progress.attention.store(true, Ordering::Relaxed);
            drop(inbox);
            return Err(Ready::new(self));
        }
        // Idle, in whatever phase it waited. Every event then schedules it, and an unnecessary
        // poll does no harm.
        inbox.park(MailboxPhase::Idle, Ready::new(self));
        drop(inbox);
        Ok(waker)
    }

    fn handles_on_waker(&self) -> usize {
        self.cell.others()
    }

    fn pid(&self) -> Pid {
        self.cell.pid()
    }

    fn is_high(&self) -> bool {
        self.cell.progress.is_high()
    }
}

/// The result of parking after a poll that was not the last.
enum Parked<L> {
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
    /// Whether a process that sets its own class must be queued elsewhere than where it ran.
    /// The slot of a worker belongs to its queue of normal processes.
    #[cold]
    fn moves(&self, slot: &WorkerSlot) -> bool {
        let is_high = self.cell.progress.is_high() && self.cell.host.has_classes();
        is_high || slot.is_detached()
    }

    fn poll_once(self: Pin<&mut Self>) -> Poll<Reason> {
        let mut life = self.project();
        let waker = life.cell.lend();
        let waited = AwaitedProcess::of_word(life.cell.progress.waits_for.load(Ordering::Relaxed));
        current::begin_poll(&waker, waited);
        let mut cx = Context::from_waker(&waker);
        let polled = contained::contain_inline(|| {
            if let StageProjection::NotStarted { seed } = life.stage.as_mut().project()
                && let Some(seed) = seed.take()
            {
                let future = seed();
                life.stage.set(Stage::Running { future });
            }
            match life.stage.as_mut().project() {
                StageProjection::Running { future } => future.poll(&mut cx),
                // Unreachable: a future that has panicked or ended is not polled again.
                StageProjection::NotStarted { .. } | StageProjection::Ended => Poll::Ready(Ok(())),
            }
        });
        match polled {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(Ok(()))) => Poll::Ready(Reason::Normal),
            Ok(Poll::Ready(Err(reason))) | Err(reason) => Poll::Ready(reason),
        }
    }

    /// Runs a turn inside the turn of another process, or inside a span.
    #[cold]
    fn run_apart(self: Pin<Box<Self>>, limits: &TurnLimits, slot: &WorkerSlot) -> Option<Ready> {
        let _outer = current::is_busy().then(current::set_aside);
        let _span = if limits.spans {
            let name = self.cell.locked_relations().name().cloned();
            Some(TurnSpan::enter(self.cell.pid(), name.as_ref(), &self.cell.label()))
        } else {
            None
        };
        self.run(&TurnLimits { spans: false, ..*limits }, slot)
    }

    /// Decides, under the mailbox's lock, where the process goes. Once it is parked, only the
    /// lock keeps other workers out. Nothing of the process is touched after that.
    #[inline]
    fn park(self: Pin<Box<Self>>) -> Parked<Self> {
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

    /// Drops the state and then ends the process (rule D6).
    fn end(mut self: Pin<Box<Self>>, reason: Reason) {
        self.cell.progress.rest();
        let dropped = contained::contain_inline(|| self.as_mut().project().stage.set(Stage::Ended));
        let reason = crash::first_failure(reason, dropped);
        if current::is_traced() {
            let in_order = matches!(reason.kind(), ReasonKind::Normal | ReasonKind::Shutdown);
            current::end_handling(if in_order { None } else { Some(reason.kind().as_str()) });
        }
        ending::end(&self.cell, reason);
        // The last handle on the cell drops its route, which is user code.
        crash::drop_contained(Ready::new(self));
        current::settle_orphans(OrphanCause::Dropped);
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
