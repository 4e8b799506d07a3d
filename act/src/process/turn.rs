//! How a process runs, and how it ends.
//!
//! A process is one future, a turn is one or more polls of it by one worker. The
//! [`Life`] that holds the future moves as a [`Ready`]: mailbox, queue, worker, mailbox.
//!
//! ```text
//!              run                       Pending
//!   queue ───────────►  poll  ─────────────────────────────┐
//!     ▲                  │ ▲                               ▼
//!     │                  │ │ mail came, or       wants a message, none there ──► Idle
//!     │                  │ │ a waker fired       wants something else ─────────► Waiting
//!     └──────────────────┼─┴──────────────────── wants another turn
//!                        ▼
//!                  Ready or doomed ──► end: drop the future, then see `ending.rs`
//! ```

use super::awaited::AwaitedProcess;
use super::cell::Cell;
use super::current::{OrphanCause, Wants};
use super::progress::AT_SEAT;
use super::turn_span::TurnSpan;
use super::waker::ProcessWaker;
use super::{crash, current, ending, wait_graph};
use crate::host::host::Poke;
use crate::host::ready::{Ready, RunTurn, TurnLimits};
use crate::host::worker_slot::{Debt, WorkerSlot};
use crate::mailbox::inbox::MailboxPhase;
use futures_task::waker_ref;
use krarup_gen::{Pid, Reason, Result};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};

pin_project_lite::pin_project! {
    /// A process's future and its cell.
    pub(crate) struct Life<M, C, S, F> {
        cell: Arc<Cell<M, C>>,
        waker: Arc<ProcessWaker<M, C>>,
        #[pin]
        stage: Stage<S, F>,
    }
}

pin_project_lite::pin_project! {
    /// The future is made where it will live, from what it is made of: an async block
    /// around both would keep room for either beside the other.
    #[project = StageProjection]
    enum Stage<S, F> {
        Unborn { seed: Option<S> },
        Alive { #[pin] future: F },
        Dead,
    }
}

impl<M, C, S, F> Life<M, C, S, F>
where
    M: Send + 'static,
    C: Send + 'static,
    S: FnOnce() -> F + Send + 'static,
    F: Future<Output = Result> + Send + 'static,
{
    /// A process that has not run: `seed` makes its future in its first turn (rule D1).
    pub(crate) fn ready(cell: Arc<Cell<M, C>>, seed: S) -> Ready {
        let waker = ProcessWaker::new(&cell);
        Ready::new(Box::pin(Life { cell, waker, stage: Stage::Unborn { seed: Some(seed) } }))
    }
}

impl<M, C, S, F> RunTurn for Life<M, C, S, F>
where
    M: Send + 'static,
    C: Send + 'static,
    S: FnOnce() -> F + Send + 'static,
    F: Future<Output = Result> + Send + 'static,
{
    fn run(mut self: Pin<Box<Self>>, limits: &TurnLimits, seat: &WorkerSlot) -> Option<Ready> {
        if current::is_busy() | limits.spans {
            return self.run_apart(limits, seat);
        }
        if self.sits_out() {
            return Some(Ready::new(self));
        }
        seat.begin(self.cell.pid);
        let _turn = current::enter(self.cell.pid, limits, || self.cell.host.now());
        self.cell.progress.running.store(true, Ordering::Relaxed);
        loop {
            // A doomed process is not polled again. The flag is only a hint; the doom
            // itself is looked for under the lock.
            if self.cell.progress.attention.load(Ordering::Relaxed)
                && let Some(doom) = self.cell.take_doom()
            {
                self.end(doom);
                return None;
            }
            match self.as_mut().poll_once() {
                Poll::Ready(reason) => {
                    self.end(reason);
                    return None;
                }
                Poll::Pending => current::settle_orphans(OrphanCause::Dropped),
            }
            match self.park() {
                Parked::Again(life) => self = life,
                Parked::NextTurn(life) => {
                    if life.cell.progress.says_class() && life.moves(seat) {
                        life.owe(&WorkerSlot::unattended());
                        let host = Arc::clone(&life.cell.host);
                        host.schedule(Ready::new(life));
                        return None;
                    }
                    life.owe(seat);
                    return Some(Ready::new(life));
                }
                Parked::Done => return None,
            }
        }
    }

    fn put_back(self: Pin<Box<Self>>, reason: &mut dyn FnMut() -> Reason) -> Result<Waker, Ready> {
        let cell = Arc::clone(&self.cell);
        // Made outside the lock, and dropped there if another came first.
        let mut unborn = matches!(self.stage, Stage::Unborn { .. }).then(reason);
        let waker = Arc::clone(&self.waker);
        let mut inbox = cell.inbox.lock();
        if unborn.is_some() || inbox.has_doom() {
            let doom = &mut inbox.rare().doom;
            if doom.is_none() {
                *doom = unborn.take();
            }
            cell.progress.attention.store(true, Ordering::Relaxed);
            drop(inbox);
            return Err(Ready::new(self));
        }
        // Idle, wherever it waits: then all that can happen to it has it scheduled, and to be
        // polled without need does no harm.
        inbox.park(MailboxPhase::Idle, Ready::new(self));
        drop(inbox);
        Ok(futures_task::waker(waker))
    }

    fn handles_on_waker(&self) -> usize {
        self.waker.handles()
    }

    fn is_called(&self) -> bool {
        self.cell.progress.attention.load(Ordering::Relaxed)
            && self.cell.inbox.lock().wants_attention()
    }

    fn pid(&self) -> Pid {
        self.cell.pid
    }

    fn says_high(&self) -> bool {
        self.cell.progress.says_high()
    }
}

/// Where a process went after a poll that was not its last.
enum Parked<L> {
    /// There is more to do in this turn.
    Again(Pin<Box<L>>),
    /// There is more to do, but its budget is used up.
    NextTurn(Pin<Box<L>>),
    /// It lies in its mailbox, or was taken from there by somebody already.
    Done,
}

impl<M, C, S, F> Life<M, C, S, F>
where
    M: Send + 'static,
    C: Send + 'static,
    S: FnOnce() -> F + Send + 'static,
    F: Future<Output = Result> + Send + 'static,
{
    /// Whether the process sits this turn out. One that has filled others' mailboxes faster
    /// than they can empty them, and has more to do already, lets them have its turns until
    /// they have had as many as it has given them work for: so queues stay short and in the
    /// caches. Whoever goes idle owes nothing, and nobody waits to be stopped or killed.
    #[inline]
    fn sits_out(&self) -> bool {
        let progress = &self.cell.progress;
        let debt = progress.debt.load(Ordering::Relaxed);
        if debt == 0 {
            return false;
        }
        let sits_out = debt != AT_SEAT && !progress.attention.load(Ordering::Relaxed);
        progress.debt.store(if sits_out { debt - 1 } else { 0 }, Ordering::Relaxed);
        sits_out
    }

    /// Whether a process that says its own class is queued elsewhere than where it was run: the
    /// seat of a worker is beside its queue of normal ones.
    #[cold]
    fn moves(&self, seat: &WorkerSlot) -> bool {
        let is_high = self.cell.progress.says_high() && self.cell.host.has_classes();
        is_high || seat.is_unattended()
    }

    /// Records what the turn has taken too much: at the seat, or here, to be sat out.
    fn owe(&self, seat: &WorkerSlot) {
        match current::debt() {
            None => self.cell.progress.debt.store(0, Ordering::Relaxed),
            Some(debt) => self.leave_debt(debt, seat),
        }
    }

    /// A process that is called owes nothing (rules M4, X3). Decided under the mailbox's lock:
    /// a call that comes later sees there that the process has to be fetched.
    #[inline(never)]
    fn leave_debt(&self, debt: Debt, seat: &WorkerSlot) {
        let inbox = self.cell.inbox.lock();
        let owed = if inbox.wants_attention() {
            0
        } else if seat.leave(debt) {
            AT_SEAT
        } else {
            u8::try_from(debt.turns).unwrap_or(u8::MAX).min(AT_SEAT - 1)
        };
        self.cell.progress.debt.store(owed, Ordering::Relaxed);
    }

    fn poll_once(self: Pin<&mut Self>) -> Poll<Reason> {
        let mut life = self.project();
        let waker = waker_ref(life.waker);
        let waited = AwaitedProcess::of_word(life.cell.progress.waits_for.load(Ordering::Relaxed));
        current::begin_poll(&waker, waited);
        let mut cx = Context::from_waker(&waker);
        let polled = crash::contain(|| {
            if let StageProjection::Unborn { seed } = life.stage.as_mut().project()
                && let Some(seed) = seed.take()
            {
                let future = seed();
                life.stage.set(Stage::Alive { future });
            }
            match life.stage.as_mut().project() {
                StageProjection::Alive { future } => future.poll(&mut cx),
                // Not reached: what has panicked or ended is not polled again.
                StageProjection::Unborn { .. } | StageProjection::Dead => Poll::Ready(Ok(())),
            }
        });
        match polled {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(Ok(()))) => Poll::Ready(Reason::Normal),
            Ok(Poll::Ready(Err(reason))) | Err(reason) => Poll::Ready(reason),
        }
    }

    /// Runs a turn within one of another process, or within a span.
    #[cold]
    fn run_apart(self: Pin<Box<Self>>, limits: &TurnLimits, seat: &WorkerSlot) -> Option<Ready> {
        let _outer = current::is_busy().then(current::set_aside);
        let _span = limits.spans.then(|| {
            let name = self.cell.locked_relations().name().cloned();
            TurnSpan::enter(self.cell.pid, name.as_ref(), &self.cell.label())
        });
        self.run(&TurnLimits { spans: false, ..*limits }, seat)
    }

    /// Decides, under the mailbox's lock, where the process goes. Once it is parked the
    /// lock is the only thing that keeps another worker out: nothing of the process is
    /// touched after that.
    #[inline]
    fn park(self: Pin<Box<Self>>) -> Parked<Self> {
        let cell = Arc::clone(&self.cell);
        if current::wants_a_message_only() {
            let mut inbox = cell.inbox.lock();
            if inbox.is_still() {
                cell.progress.waits_for.store(0, Ordering::Relaxed);
                cell.progress.rest();
                inbox.park(MailboxPhase::Idle, Ready::new(self));
                return Parked::Done;
            }
        }
        self.park_with_care(&cell)
    }

    /// The same where there may be more to see to than that nothing has come.
    #[inline(never)]
    fn park_with_care(self: Pin<Box<Self>>, cell: &Arc<Cell<M, C>>) -> Parked<Self> {
        let wants = current::wants();
        let wait = if wants == Wants::Other { current::wait() } else { AwaitedProcess::NONE };
        cell.progress.waits_for.store(wait.word(), Ordering::Relaxed);
        if current::is_special() {
            if !self.waits_on(wait, wants) {
                return self.again();
            }
        } else if current::wants_poke() {
            // Of several things that are waited for one may keep the process busy for long.
            if wait.is_none() || self.waker.handles() != wait.handles() {
                current::date_calls();
                return Parked::Again(self);
            }
            if !list_for_poke(cell) {
                return self.again();
            }
        }
        let keeps_memory = wants == Wants::Message && keeps_memory(cell);
        let mut inbox = cell.inbox.lock();
        if inbox.has_rare() && inbox.has_waiters() {
            // The process has taken all it will for now, so there may be room.
            drop(inbox);
            cell.grant_room();
            inbox = cell.inbox.lock();
        }
        if inbox.has_rare() && (inbox.has_doom() || inbox.doom_by_early_stop()) {
            cell.progress.attention.store(true, Ordering::Relaxed);
            return Parked::Again(self);
        }
        if wants == Wants::Turn {
            inbox.notified = false;
            cell.progress.rest();
            return Parked::NextTurn(self);
        }
        if inbox.notified {
            inbox.notified = false;
            drop(inbox);
            return self.again();
        }
        let phase = if wants == Wants::Message {
            if inbox.has_mail() {
                return Parked::Again(self);
            }
            inbox.release_memory(keeps_memory);
            MailboxPhase::Idle
        } else if wants == Wants::Control {
            if inbox.has_mail_ahead() {
                return Parked::Again(self);
            }
            MailboxPhase::Listening
        } else {
            MailboxPhase::Waiting
        };
        cell.progress.rest();
        let mail_waits = !wait.is_none() && cell.has_unhandled(&inbox);
        inbox.park(phase, Ready::new(self));
        if mail_waits {
            drop(inbox);
            wait_graph::rouse_cycle(&*cell.host, &**cell);
        }
        Parked::Done
    }

    /// A future that wakes itself in every poll gives others their turn.
    fn again(self: Pin<Box<Self>>) -> Parked<Self> {
        if current::spend(|| self.cell.host.now()) {
            return Parked::Again(self);
        }
        self.cell.progress.rest();
        Parked::NextTurn(self)
    }

    /// The poll was one for a call to know more; whether the process waits on.
    #[cold]
    fn waits_on(&self, wait: AwaitedProcess, wants: Wants) -> bool {
        let dated = current::has_dated_calls();
        if current::suspects() {
            self.suspect(wait);
            return false;
        }
        let wants_poke = current::wants_poke() || current::has_dated();
        if wants != Wants::Other {
            // Who waits for mail is left alone by a poke: then the timers are set now. And nothing
            // was received in a poll without a budget.
            return !(wants_poke || dated && wants == Wants::Turn);
        }
        !wants_poke || list_for_poke(&self.cell)
    }

    /// A call wants to know whether it is waited for alone: it is if nobody else has a handle on the
    /// waker, nor had one and woke the process with it.
    #[cold]
    fn suspect(&self, wait: AwaitedProcess) {
        let inbox = self.cell.inbox.lock();
        if !wait.is_none() && !inbox.notified && self.waker.handles() == wait.handles() {
            self.cell.progress.waits_for.store(wait.alone().word(), Ordering::Relaxed);
        }
    }

    /// Drops the state, and has the process end (rule D6).
    fn end(mut self: Pin<Box<Self>>, reason: Reason) {
        self.cell.progress.rest();
        let dropped = crash::contain(|| self.as_mut().project().stage.set(Stage::Dead));
        let reason = crash::first_failure(reason, dropped);
        let cell = Arc::clone(&self.cell);
        drop(self);
        ending::end(cell, reason);
    }
}

/// Sees to it that the process will be poked; if it will not, it is polled again instead. A
/// poke that comes between this look and the lock leaves word there, as any waker does.
fn list_for_poke<M, C>(cell: &Arc<Cell<M, C>>) -> bool
where
    M: Send + 'static,
    C: Send + 'static,
{
    if cell.progress.listed.load(Ordering::Relaxed) {
        return true;
    }
    cell.progress.listed.store(true, Ordering::Relaxed);
    let listed = cell.host.poke_later(&|| Arc::clone(cell) as Arc<dyn Poke>);
    if !listed {
        cell.progress.listed.store(false, Ordering::Relaxed);
    }
    listed
}

/// Whether a process that goes idle keeps the memory of its queue: until it is poked.
#[inline]
fn keeps_memory<M, C>(cell: &Arc<Cell<M, C>>) -> bool
where
    M: Send + 'static,
    C: Send + 'static,
{
    cell.progress.listed.load(Ordering::Relaxed) || (current::keeps_memory() && list_for_poke(cell))
}
