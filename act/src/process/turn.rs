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
//! Each poll is contained, once for all that the process does in it. Where a panic has unwound through the future and something
//! has survived that ([`current`]), the turn makes the rest of the process of it, which runs `terminate`, and polls that in place
//! of the future from then on (`Stage::Terminating`).
//!
//! No closure here that knows the future is given to a method of `Option` or `bool`: a debug build would compile all that
//! uses these methods again when a handler is edited (docs/decisions.md). So it says `if` where `then` would do.

mod locked_life;
mod parking;

use self::parking::Parked;
use super::awaited::AwaitedProcess;
use super::cell::Cell;
use super::current::{OrphanCause, Rest, Survivor};
use super::turn_span::TurnSpan;
use super::waker::WakingHandle;
use super::{contained, crash, current, ending};
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
        // What has survived a panic of the future.
        Terminating { rest: Rest },
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
        self.cell.progress.turn.begin();
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

    /// Polls the future. If it has panicked, goes on with what has survived that, in the same turn.
    fn poll_once(mut self: Pin<&mut Self>) -> Poll<Reason> {
        let mut life = self.as_mut().project();
        let waker = life.cell.lend();
        let waited = AwaitedProcess::of_word(life.cell.progress.waits_for.load(Ordering::Relaxed));
        let _poll = current::begin_poll(&waker, &life.cell.shared, waited);
        let mut cx = Context::from_waker(&waker);
        let poll = || {
            if !matches!(*life.stage, Stage::Running { .. })
                && let Some(polled) = life.stage.as_mut().begin(&mut cx)
            {
                return polled;
            }
            match life.stage.as_mut().project() {
                StageProjection::Running { future } => future.poll(&mut cx),
                // Unreachable: it has just begun.
                _ => Poll::Ready(Ok(())),
            }
        };
        match contained::contain_and_take(poll, current::take_survivor) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(Ok(()))) => Poll::Ready(Reason::Normal),
            Ok(Poll::Ready(Err(reason))) | Err((reason, None)) => Poll::Ready(reason),
            Err((panic, Some(survivor))) => self.terminate(panic, survivor),
        }
    }

    #[cold]
    fn terminate(self: Pin<&mut Self>, panic: Reason, survivor: Survivor) -> Poll<Reason> {
        let mut life = self.project();
        let waker = life.cell.lend();
        let mut cx = Context::from_waker(&waker);
        let mut rest = survivor(panic);
        let polled = contained::contain_inline(|| rest.as_mut().poll(&mut cx));
        life.stage.set(Stage::Terminating { rest });
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
            Some(TurnSpan::enter(self.cell.pid(), name.as_ref(), &self.cell.untyped().label()))
        } else {
            None
        };
        self.run(&TurnLimits { spans: false, ..*limits }, slot)
    }

    /// Drops the state and then ends the process (rule D6).
    fn end(mut self: Pin<Box<Self>>, reason: Reason) {
        self.cell.progress.rest();
        let drop_state = || {
            self.as_mut().project().stage.set(Stage::Ended);
            // On a thread that unwinds for another reason, what was just dropped has survived.
            if std::thread::panicking() {
                drop(current::take_survivor());
            }
        };
        let dropped = contained::contain_and_take(drop_state, current::take_survivor);
        let dropped = dropped.map_err(|(reason, survivor)| {
            // A panic in this has been printed and has no further effect: the other one came first.
            survivor.into_iter().for_each(crash::drop_contained);
            reason
        });
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

impl<S: FnOnce() -> F, F> Stage<S, F> {
    /// Makes the future from its seed. If that is over, polls what has survived it.
    #[inline]
    fn begin(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Option<Poll<Result>> {
        if let StageProjection::NotStarted { seed } = self.as_mut().project()
            && let Some(seed) = seed.take()
        {
            let future = seed();
            self.set(Stage::Running { future });
            return None;
        }
        match self.project() {
            StageProjection::Terminating { rest } => Some(rest.as_mut().poll(cx)),
            // Unreachable: a future that has panicked or ended is not polled again.
            _ => Some(Poll::Ready(Ok(()))),
        }
    }
}
