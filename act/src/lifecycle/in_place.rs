//! Restart in place: the state of a process is replaced, the process lives on (rule S10).
//!
//! ```text
//!                      a handler returns an abnormal error, or panics
//!   serving ───────────────────────────────────────────────────────────► failed
//!      ▲                                                                 │    │
//!      │ after_restart                              the judge says: go on│    │no
//!      │                                                                 ▼    ▼
//!      └── init ◄── factory ◄── timers cancelled ◄── before_restart, drop   terminate, end
//!            └─────────────┴──── an error or a panic: failed again ──►
//! ```

use crate::actor::{Actor, ActorEnd, serve};
use crate::behavior::Behavior;
use crate::context::Context;
use crate::process::crash::{Contained, contain, first_failure, tell};
use crate::process::current::{self, OrphanCause};
use krarup_gen::{Pid, Reason, RestartWindow, Result, Timestamp};
use std::fmt;
use std::future::{poll_fn, ready};
use std::task::Poll;
use std::time::Duration;

/// An actor whose state is replaced when it fails, while its process lives on: Akka's
/// restart, Otavia's too (rule S10).
///
/// When a handler returns an abnormal error or panics, the factory makes a fresh state. Pid,
/// address, name, links, monitors and mailbox stay, so nobody has to look the actor up
/// anew, and whoever waits in its queue is served by the new state. The message at which
/// the old one failed is not handled again, and a call it held fails with
/// [`krarup_gen::CallError::Terminated`] and the reason (rule C2). The order is:
///
/// 1. [`Actor::before_restart`] on the old state, after a panic too; then it is dropped.
/// 2. Its timers and idle times are cancelled, a [`Context::stop`] it had asked for is void, and
///    what it had stashed will be handled again, by the new state.
/// 3. The factory, [`Actor::init`] and [`Actor::after_restart`] on the new one. A failure in
///    these is another one; a state whose `init` failed has no `before_restart`.
///
/// What belongs to the process stays as it was set: whether it traps exits or takes others, its
/// overflow, its aliases and subscriptions.
///
/// What it had set aside comes back to the new state; work in flight ([`Context::pipe`]) goes on,
/// and a panic in that ends the process.
///
/// Nobody is told: to links and monitors nothing has happened. Everything else that ends an
/// actor ends this process too, with `terminate`: a normal reason, a stop, [`Context::stop`].
/// Kill and exit signals end it as they end any process.
///
/// By itself it goes on after at most 1 failure in 5 s ([`InPlace::intensity`]) and then ends
/// with the reason of the one that was too many. The first `init` is not part of this: if it
/// fails, the spawn does.
///
/// ```
/// # use krarup_act::{Actor, Context, InPlace};
/// # use krarup_gen::Result;
/// # use std::time::Duration;
/// #[derive(Default)]
/// struct Parser {
///     lines: u64,
/// }
///
/// impl Actor for Parser {
///     type Message = String;
///     async fn handle_message(&mut self, _: &mut Context<String>, line: String) -> Result {
///         let _: i64 = line.parse()?;
///         self.lines += 1;
///         Ok(())
///     }
/// }
///
/// // A line that is no number costs the count of lines, not the lines behind it.
/// let parser = || InPlace::new(Parser::default).intensity(10, Duration::from_secs(1));
/// # let _ = parser;
/// ```
pub struct InPlace<F, J = RestartWindow> {
    factory: F,
    judge: J,
    error: Option<InPlaceError>,
    restarts: u64,
}

/// A process that cannot restart in place as specified.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InPlaceError {
    /// The period of its restart intensity is zero.
    #[error("a restart period of 0 s would never count a restart")]
    ZeroPeriod,
}

/// Decides whether a process goes on with a fresh state after a failure.
///
/// While the process waits for the verdict it handles nothing (rule C4).
pub trait Judge: Send + 'static {
    /// Whether it goes on; else it ends with the reason of the failure.
    fn may_restart(&mut self, failure: &StateFailure<'_>) -> impl Future<Output = bool> + Send;
}

/// A state has failed.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct StateFailure<'a> {
    /// The process.
    pub pid: Pid,
    /// Why.
    pub reason: &'a Reason,
    /// When.
    pub now: Timestamp,
}

/// At most so many failures within so much time.
impl Judge for RestartWindow {
    fn may_restart(&mut self, failure: &StateFailure<'_>) -> impl Future<Output = bool> + Send {
        ready(self.record(failure.now))
    }
}

impl<A, F> InPlace<F>
where
    A: Actor,
    F: Fn() -> A + Send + 'static,
{
    /// An actor that is restarted in place. `factory` makes every state, in the process's
    /// own turns.
    pub fn new(factory: F) -> Self {
        let judge = RestartWindow::new(1, Duration::from_secs(5));
        InPlace { factory, judge, error: None, restarts: 0 }
    }

    /// At most this many restarts within this time, over a sliding window (as rule S5);
    /// one more failure ends the process. A period of zero fails the spawn with
    /// [`InPlaceError::ZeroPeriod`].
    #[must_use]
    pub fn intensity(mut self, restarts: u32, period: Duration) -> Self {
        self.error = period.is_zero().then_some(InPlaceError::ZeroPeriod);
        self.judge = RestartWindow::new(restarts, period);
        self
    }

    /// Has somebody else decide, instead of the intensity: what a supervisor does for its
    /// children.
    #[must_use]
    pub fn judged_by<J: Judge>(self, judge: J) -> InPlace<F, J> {
        InPlace { factory: self.factory, judge, error: None, restarts: self.restarts }
    }
}

impl<F, J> fmt::Debug for InPlace<F, J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InPlace").field("restarts", &self.restarts).finish_non_exhaustive()
    }
}

impl<A, F, J> Behavior for InPlace<F, J>
where
    A: Actor,
    F: Fn() -> A + Send + 'static,
    J: Judge,
{
    type Message = A::Message;
    type Command = A::Message;

    async fn run(mut self, mut ctx: Context<A::Message>) -> Result {
        if let Some(error) = self.error {
            return Err(error.into());
        }
        ctx.stop_in_order(true);
        let mut state = (self.factory)();
        if let Err(reason) = Contained::new(state.init(&mut ctx)).await.flatten() {
            return Err(first_failure(reason, contain(|| drop(state))));
        }
        ctx.initialised();
        loop {
            let failure = match Contained::new(serve(&mut state, &mut ctx)).await {
                Ok(ActorEnd::Failed(reason)) | Err(reason) => reason,
                Ok(end) => {
                    return Err(last_words(state, &mut ctx, end.reason()).await);
                }
            };
            // Boxed, so that what is rare needs no room while it serves.
            state = Box::pin(self.replace(&mut ctx, state, failure)).await?;
        }
    }

    /// The label of the actor: how it is restarted does not change what it is.
    fn label() -> &'static str {
        A::label()
    }
}

impl<A, F, J> InPlace<F, J>
where
    A: Actor,
    F: Fn() -> A + Send + 'static,
    J: Judge,
{
    /// A state in the place of one that has failed; or the reason for which the process
    /// ends, `terminate` having run.
    async fn replace(
        &mut self,
        ctx: &mut Context<A::Message>,
        failed: A,
        mut failure: Reason,
    ) -> Result<A> {
        let mut failed = Some(failed);
        loop {
            // Callers hear of the failure when it is known what comes of it: if the process
            // ends, not before its name is free (rule N3).
            let calls = current::take_orphans();
            let event = StateFailure { pid: ctx.pid(), reason: &failure, now: ctx.now() };
            if !self.may_go_on(event).await {
                return Err(match failed {
                    Some(state) => last_words(state, ctx, failure).await,
                    None => failure,
                });
            }
            calls.settle(&failure);
            if let Some(mut state) = failed.take() {
                // The first failure is the cause, whatever else goes wrong on the way out.
                let _ = Contained::new(state.before_restart(ctx, &failure)).await;
                let _ = contain(|| drop(state));
                // The tokens it had kept went with it.
                current::settle_orphans(OrphanCause::Ended(&failure));
            }
            ctx.renew();
            // A state that fails in its `init`, again and again, must not keep the worker.
            yield_now().await;
            match self.incarnate(ctx, &failure).await {
                Ok(state) => return Ok(state),
                Err((state, reason)) => (failed, failure) = (state, reason),
            }
        }
    }

    async fn may_go_on(&mut self, failure: StateFailure<'_>) -> bool {
        let StateFailure { pid, reason, .. } = failure;
        if !reason.is_abnormal() || !self.judge.may_restart(&failure).await {
            return false;
        }
        self.restarts += 1;
        let (behavior, count) = (A::label(), self.restarts);
        // The reason prints itself, and is a user's.
        tell(|| {
            tracing::warn!(
                target: "krarup", %pid, behavior, %reason, count, "process restarts in place"
            );
        });
        true
    }

    /// A fresh state that serves; or why there is none, with the state if its `init` had
    /// returned.
    async fn incarnate(
        &mut self,
        ctx: &mut Context<A::Message>,
        failure: &Reason,
    ) -> Result<A, (Option<A>, Reason)> {
        let mut state = contain(|| (self.factory)()).map_err(|panic| (None, panic))?;
        if let Err(reason) = Contained::new(state.init(ctx)).await.flatten() {
            let _ = contain(|| drop(state));
            return Err((None, reason));
        }
        match Contained::new(state.after_restart(ctx, failure)).await.flatten() {
            Ok(()) => Ok(state),
            Err(reason) => Err((Some(state), reason)),
        }
    }
}

/// `terminate`, and the end of the state; why the process has ended after that. The first failure
/// is the cause, whatever goes wrong on the way out.
async fn last_words<A: Actor>(
    mut state: A,
    ctx: &mut Context<A::Message>,
    reason: Reason,
) -> Reason {
    let terminated = Contained::new(state.terminate(ctx, &reason)).await;
    let reason = first_failure(reason, terminated);
    first_failure(reason, contain(|| drop(state)))
}

/// Lets others run, if the turn is over; kills take effect here.
pub async fn yield_now() {
    let mut yielded = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
