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
//!                  Ready or doomed ──► end: drop the future, close the mailbox,
//!                                      free the name, tell links and monitors, wake waiters
//! ```

use super::cell::Cell;
use super::current::{Fate, Wants};
use super::process::Process;
use super::turn_span::TurnSpan;
use super::{bonds, crash, current, waits};
use crate::host::{Poke, Ready, Turn, TurnLimits};
use crate::mailbox::entry::Control;
use crate::mailbox::inbox::Phase;
use crate::mailbox::remains::{Dropped, LastToHear};
use crate::seat::Seat;
use crate::slot::SlotSender;
use futures_task::waker_ref;
use krarup_gen::{DeadLetterCause, Pid, Reason, Result, SpawnError};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};

pin_project_lite::pin_project! {
    /// A process's future and its cell.
    pub(crate) struct Life<M, C, S, F> {
        cell: Arc<Cell<M, C>>,
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
        Ready::new(Box::pin(Life { cell, stage: Stage::Unborn { seed: Some(seed) } }))
    }
}

impl<M, C, S, F> Turn for Life<M, C, S, F>
where
    M: Send + 'static,
    C: Send + 'static,
    S: FnOnce() -> F + Send + 'static,
    F: Future<Output = Result> + Send + 'static,
{
    fn run(mut self: Pin<Box<Self>>, limits: &TurnLimits, seat: &Seat) -> Option<Ready> {
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
                Poll::Pending => current::settle_orphans(Fate::Dropped),
            }
            match self.park() {
                Parked::Again(life) => self = life,
                Parked::NextTurn(life) => {
                    if life.cell.progress.says_class() {
                        // Where it is queued may have changed in this turn.
                        life.owe(&Seat::unattended());
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
        let unborn = matches!(self.stage, Stage::Unborn { .. });
        let mut inbox = cell.inbox.lock();
        if unborn || inbox.has_doom() {
            inbox.rare().doom.get_or_insert_with(reason);
            cell.progress.attention.store(true, Ordering::Relaxed);
            return Err(Ready::new(self));
        }
        // Idle, wherever it waits: then all that can happen to it has it scheduled, and to be
        // polled without need does no harm.
        inbox.park(Phase::Idle, Ready::new(self));
        drop(inbox);
        Ok(futures_task::waker(cell))
    }

    fn is_called(&self) -> bool {
        self.cell.progress.attention.load(Ordering::Relaxed)
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
        let sits_out = !progress.attention.load(Ordering::Relaxed);
        progress.debt.store(if sits_out { debt - 1 } else { 0 }, Ordering::Relaxed);
        sits_out
    }

    /// Writes down what the turn has taken too much: at the seat, or here, to be sat out.
    fn owe(&self, seat: &Seat) {
        let debt = current::debt();
        let here = match debt {
            Some(debt) if !seat.leave(debt) => u8::try_from(debt.turns).unwrap_or(u8::MAX),
            _ => 0,
        };
        self.cell.progress.debt.store(here, Ordering::Relaxed);
    }

    fn poll_once(self: Pin<&mut Self>) -> Poll<Reason> {
        let mut life = self.project();
        let waker = waker_ref(life.cell);
        current::begin_poll(&waker, life.cell.progress.waits_for.load(Ordering::Relaxed));
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
    fn run_apart(self: Pin<Box<Self>>, limits: &TurnLimits, seat: &Seat) -> Option<Ready> {
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
                inbox.park(Phase::Idle, Ready::new(self));
                return Parked::Done;
            }
        }
        self.park_with_care(&cell)
    }

    /// The same where there may be more to see to than that nothing has come.
    #[inline(never)]
    fn park_with_care(self: Pin<Box<Self>>, cell: &Arc<Cell<M, C>>) -> Parked<Self> {
        if current::wants_poke() && !list_for_poke(cell) {
            return Parked::Again(self);
        }
        let wants = current::wants();
        let keeps_memory = wants == Wants::Message && keeps_memory(cell);
        let callee = if wants == Wants::Other { current::waited_for() } else { 0 };
        cell.progress.waits_for.store(callee, Ordering::Relaxed);
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
            // A future that wakes itself in every poll gives others their turn.
            return if current::spend(|| cell.host.now()) {
                Parked::Again(self)
            } else {
                cell.progress.rest();
                Parked::NextTurn(self)
            };
        }
        let phase = if wants == Wants::Message {
            if inbox.has_mail() {
                return Parked::Again(self);
            }
            inbox.release_memory(keeps_memory);
            Phase::Idle
        } else if wants == Wants::Control {
            if inbox.has_mail_ahead() {
                return Parked::Again(self);
            }
            Phase::Listening
        } else {
            Phase::Waiting
        };
        cell.progress.rest();
        let mail_waits = callee != 0 && cell.has_unhandled(&inbox);
        inbox.park(phase, Ready::new(self));
        if mail_waits {
            drop(inbox);
            waits::rouse_cycle(&*cell.host, cell.pid, Pid::local(callee, cell.pid.creation()));
        }
        Parked::Done
    }

    /// The death of a process, in the order of rule D6. `terminate` has run, if it was
    /// to run at all.
    fn end(mut self: Pin<Box<Self>>, mut reason: Reason) {
        let cell = Arc::clone(&self.cell);
        cell.progress.rest();
        // A destructor that panics says why the process ended, unless that is known: the
        // first failure is the cause.
        let dropped = crash::contain(|| self.as_mut().project().stage.set(Stage::Dead));
        if let Err(panic) = dropped
            && !reason.is_abnormal()
        {
            reason = panic;
        }
        drop(self);
        let pid = cell.pid;
        let host = Arc::clone(&cell.host);
        // The state is gone, the name is not free yet: what a successor will need is let go.
        if cell.progress.has_cleaners.load(Ordering::Relaxed) {
            let cleaners = cell.locked_relations().take_cleaners();
            cleaners.run(pid, &reason);
        }
        // The reason prints itself, and is a user's.
        let _ = crash::contain(|| {
            if reason.is_abnormal() {
                let behavior = cell.label();
                tracing::warn!(target: "krarup", %pid, %behavior, %reason, "process ended");
            } else {
                tracing::trace!(
                    target: "krarup", %pid, behavior = %cell.label(), %reason, "process ended"
                );
            }
        });

        // Close and drain the mailbox: tokens that lie in it fail their callers.
        let (remains, initialised) = {
            let mut inbox = cell.inbox.lock();
            // A bare process that did its work without ever waiting has not failed to start.
            let started = inbox.initialised || (!inbox.orderly && reason.is_normal());
            (inbox.close(), started)
        };
        let LastToHear { starter, waiting } = remains.drop_all(|dropped| {
            match &dropped {
                Dropped::Entry(entry) if entry.is_letter() => {
                    cell.lose_named(entry.type_name(), entry.sender, DeadLetterCause::Unhandled);
                }
                Dropped::Control(Control::Message { sender, .. }) => {
                    cell.lose::<C>(*sender, DeadLetterCause::Unhandled);
                }
                Dropped::Entry(_) | Dropped::Control(_) => {}
            }
            drop_contained(dropped);
        });

        // Free the name, then tell everyone: first those whose tokens went down with the
        // process. The relations are closed after the name is free, so that nobody who
        // comes too late for them can hear of the death before that.
        let (name, aliases, late) = {
            let mut relations = cell.locked_relations();
            (relations.take_name(), relations.take_aliases(), relations.take_cleaners())
        };
        // A context can be moved out of its process, to a thread that is just adding one.
        late.run(pid, &reason);
        for alias in aliases {
            host.remove_alias(alias);
        }
        host.retire(pid, name.as_ref());
        // Whom this wakes may be anybody, with wakers that panic.
        let _ = crash::contain(|| current::settle_orphans(Fate::Ended(&reason)));
        let bonds = bonds::close(&*cell);
        if !initialised
            && starter.as_ref().is_some_and(SlotSender::is_awaited)
            && let Some(parent) = cell.parent()
        {
            bonds::forget_link(&*host, pid, parent);
        }
        let _ = crash::contain(|| host.note_ended(pid, name, &reason));
        if let Some(bonds) = bonds {
            let _ = crash::contain(|| bonds::fire(&*host, pid, *bonds, &reason));
        }
        if let Some(starter) = starter {
            let outcome = if initialised { Ok(()) } else { Err(SpawnError::Init(reason.clone())) };
            let _ = crash::contain(|| starter.send(outcome));
        }
        waiting.iter().for_each(|waiter| waiter.refuse());
        drop_contained(reason);
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

/// Drops what may be a user's and may panic.
fn drop_contained<T>(value: T) {
    let _ = crash::contain(|| drop(value));
}
