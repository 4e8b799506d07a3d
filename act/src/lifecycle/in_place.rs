//! Restart in place: the state of a process is replaced and the process continues (rule S10).
//!
//! ```text
//!                      a handler returns an abnormal error, or panics
//!   serving ───────────────────────────────────────────────────────────► failed
//!      ▲                                                                 │    │
//!      │ after_restart                               policy: may restart │    │ may not
//!      │                                                                 ▼    ▼
//!      └── init ◄── factory ◄── timers cancelled ◄── before_restart, drop   terminate, end
//!            └─────────────┴──── an error or a panic: failed again ──►
//! ```

use crate::actor::ActorEnd;
use crate::behavior::Behavior;
use crate::context::Context;
use crate::host::host::Host;
use crate::lifecycle::restartable::Restartable;
use crate::observe::recording::{name_of, record_supervision};
use crate::process::contained::Contained;
use crate::process::crash::{contain, drop_contained, first_failure, log_contained, try_drop};
use crate::process::current::{self, OrphanCause};
use crate::process::progress::ContextMark;
use krarup_gen::{
    Name, Pid, ProcessKind, Reason, ReasonRecord, RestartKind, RestartWindow, Result,
    SupervisionAction, SupervisionEvent, Timestamp, one_line,
};
use std::fmt;
use std::future::{pending, poll_fn, ready};
use std::task::Poll;
use std::time::Duration;

/// An actor whose state is replaced when it fails, while its process continues: Akka's
/// restart, and Otavia's (rule S10).
///
/// When a handler returns an abnormal error or panics, the factory makes a fresh state. Pid,
/// address, name, links, monitors and mailbox stay, so no caller has to look the actor up
/// again, and the new state handles the waiting messages. The message at which the old state
/// failed is not handled again. A call that the old state held fails with
/// [`CallError::Terminated`](krarup_gen::CallError::Terminated) and the reason (rule C2). The order
/// is:
///
/// 1. [`Actor::before_restart`](crate::Actor::before_restart) on the old state, after a panic too;
///    then the state is dropped.
/// 2. Its timers and idle times are cancelled, and stashed messages will be handled again, by the
///    new state.
/// 3. The factory, [`Actor::init`](crate::Actor::init) and
///    [`Actor::after_restart`](crate::Actor::after_restart) on the new state. A failure in these is
///    another failure; a state whose `init` failed gets no `before_restart`.
///
/// Settings of the process stay: whether it traps exits or takes others, its overflow, its
/// aliases and subscriptions. Work in flight ([`Context::pipe`]) continues, and a panic in it
/// ends the process.
///
/// What the first `init` has given to the process is still there in the second: its name, its keys in registries, its
/// membership in groups, its cleaners ([`Context::on_end`]). So an `init` that registers a name again has an error, and
/// one that joins a group or adds a cleaner again does it twice: ask first, or do it where the process is spawned
/// (`.name(..)`), or undo it in `before_restart`.
///
/// Links and monitors get no notice of a restart. Everything else that ends an actor also ends
/// this process, with `terminate`: a normal reason, a stop, [`Context::stop`]. A kill or an
/// exit signal ends it as it ends any process.
///
/// A state that calls [`Context::stop`] and then fails is not replaced: the process ends, with the
/// reason of the failure, as a state actor does (rule O6). The policy is not asked. If a hook of a
/// restart calls it, the next state starts and handles nothing.
///
/// By default the process restarts after at most 1 failure in 5 s. [`InPlace::intensity`] sets
/// other numbers, or [`InPlace::policy`] another rule; only one of them can be set. A failure
/// that is not allowed ends the process, with the reason of that failure. The first `init` does
/// not count: if it fails, the spawn fails.
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
/// // A line that is not a number costs the line count, but not the lines behind it.
/// let parser = || InPlace::new(Parser::default).intensity(10, Duration::from_secs(1));
/// # let _ = parser;
/// ```
pub struct InPlace<F, P = DefaultIntensity> {
    factory: F,
    policy: P,
    restarts: u64,
}

/// A process that cannot restart in place as specified.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InPlaceError {
    /// The period of its restart intensity is zero.
    #[error("restart period is 0 s: it must be greater")]
    ZeroPeriod,
}

/// Decides whether a process continues with a fresh state after a failure.
///
/// While the process waits for the decision it handles nothing (rule C4).
pub trait RestartPolicy: Send + 'static {
    /// Checks the settings of the policy when the process starts; the spawn fails with the
    /// error. The default accepts.
    ///
    /// # Errors
    /// The settings have no meaning (rule B1).
    fn check(&self) -> Result {
        Ok(())
    }

    /// Whether the policy itself has the node remember its decisions, as that of a supervisor
    /// does.
    #[doc(hidden)]
    fn records(&self) -> bool {
        false
    }

    /// Returns whether the process continues; otherwise it ends with the reason of the
    /// failure.
    fn may_restart(&mut self, failure: &StateFailure<'_>) -> impl Future<Output = bool> + Send;
}

/// The failure of a state.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct StateFailure<'a> {
    /// The process.
    pub pid: Pid,
    /// The reason of the failure.
    pub reason: &'a Reason,
    /// The time of the failure.
    pub now: Timestamp,
}

/// Allows at most a number of failures within a time; the time must not be zero.
impl RestartPolicy for RestartWindow {
    fn check(&self) -> Result {
        if self.period().is_zero() { Err(InPlaceError::ZeroPeriod.into()) } else { Ok(()) }
    }

    fn may_restart(&mut self, failure: &StateFailure<'_>) -> impl Future<Output = bool> + Send {
        ready(self.record(failure.now))
    }
}

/// The restart policy of an [`InPlace`] for which none was chosen: at most 1 restart in 5 s.
#[derive(Clone, Debug)]
pub struct DefaultIntensity(RestartWindow);

impl RestartPolicy for DefaultIntensity {
    fn may_restart(&mut self, failure: &StateFailure<'_>) -> impl Future<Output = bool> + Send {
        self.0.may_restart(failure)
    }
}

impl<A, F> InPlace<F>
where
    A: Restartable,
    F: Fn() -> A + Send + 'static,
{
    /// Makes an actor that is restarted in place. `factory` makes every state, in the
    /// process's own turns.
    pub fn new(factory: F) -> Self {
        let policy = DefaultIntensity(RestartWindow::new(1, Duration::from_secs(5)));
        InPlace { factory, policy, restarts: 0 }
    }

    /// Sets the most restarts within this time, over a sliding window (as rule S5). One more
    /// failure ends the process. A period of zero fails the spawn with
    /// [`InPlaceError::ZeroPeriod`].
    #[must_use]
    pub fn intensity(self, restarts: u32, period: Duration) -> InPlace<F, RestartWindow> {
        self.policy(RestartWindow::new(restarts, period))
    }

    /// Sets the rule that decides after each failure. A supervisor sets one for its children.
    /// It takes the place of the intensity, so a value that has one of the two has no method
    /// for the other:
    ///
    /// ```compile_fail,E0599
    /// # use krarup_act::{Actor, InPlace};
    /// # use krarup_gen::RestartWindow;
    /// # use std::time::Duration;
    /// fn both<A: Actor + Default>(second: Duration) {
    ///     let _ = InPlace::new(A::default)
    ///         .intensity(3, second)
    ///         .policy(RestartWindow::new(1, second)); // error: no method named `policy`
    /// }
    /// ```
    #[must_use]
    pub fn policy<P: RestartPolicy>(self, policy: P) -> InPlace<F, P> {
        InPlace { factory: self.factory, policy, restarts: self.restarts }
    }
}

impl<F, P> fmt::Debug for InPlace<F, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InPlace").field("restarts", &self.restarts).finish_non_exhaustive()
    }
}

impl<A, F, P> Behavior for InPlace<F, P>
where
    A: Restartable,
    F: Fn() -> A + Send + 'static,
    P: RestartPolicy,
{
    type Message = A::Message;
    type Command = A::Message;

    async fn run(mut self, mut ctx: Context<A::Message>) -> Result {
        self.policy.check()?;
        ctx.stop_in_order();
        let mut state = (self.factory)();
        if let Err(reason) = Contained::new(state.init(&mut ctx)).await.unwrap_or_else(Err) {
            return Err(first_failure(reason, try_drop(state)));
        }
        ctx.initialised();
        loop {
            let end = Contained::new(state.serve(&mut ctx)).await;
            if ctx.cell.has_own_exit() {
                // The turn ends it with that reason, and without a callback (rules D5, L7).
                let _calls = current::take_orphans();
                pending::<()>().await;
            }
            let failure = match end {
                Ok(ActorEnd::Failed(reason)) | Err(reason) => reason,
                Ok(end) => {
                    return Err(last_words(state, &mut ctx, end.reason()).await);
                }
            };
            // Boxed, so that a restart takes no space while the actor serves.
            state = Box::pin(self.replace(&mut ctx, state, failure)).await?;
        }
    }

    /// Returns the label of the actor: a restart policy does not change what it is.
    fn label() -> &'static str {
        A::label()
    }

    fn kind() -> ProcessKind {
        A::kind()
    }

    fn show_message(message: &A::Message) -> Option<String> {
        A::show_message(message)
    }

    fn show_command(command: &A::Message) -> Option<String> {
        A::show_message(command)
    }
}

impl<A, F, P> InPlace<F, P>
where
    A: Restartable,
    F: Fn() -> A + Send + 'static,
    P: RestartPolicy,
{
    /// Makes a state that replaces one that has failed. If there is none, runs `terminate` and
    /// returns the reason with which the process ends.
    async fn replace(
        &mut self,
        ctx: &mut Context<A::Message>,
        failed: A,
        mut failure: Reason,
    ) -> Result<A> {
        let mut failed = Some(failed);
        loop {
            // Callers are notified of the failure when the decision is known: if the process
            // ends, not before its name is free (rule N3).
            let calls = current::take_orphans();
            let event = StateFailure { pid: ctx.pid(), reason: &failure, now: ctx.now() };
            // A state that has stopped itself is the last one, as that of a state actor (rule O6).
            if ctx.stops_itself() || !self.may_go_on(&**ctx.host(), event).await {
                return Err(match failed {
                    Some(state) => last_words(state, ctx, failure).await,
                    None => failure,
                });
            }
            calls.settle(&failure);
            if let Some(mut state) = failed.take() {
                // The first failure is the cause, whatever fails afterwards.
                let _ = Contained::new(state.before_restart(ctx, &failure)).await;
                drop_contained(state);
                // The reply tokens in the state were dropped with it.
                current::settle_orphans(OrphanCause::Ended(&failure));
            }
            ctx.renew();
            // A state that fails in `init` again and again must not keep the worker.
            yield_now().await;
            match self.incarnate(ctx, &failure).await {
                Ok(state) => return Ok(state),
                Err((state, reason)) => (failed, failure) = (state, reason),
            }
        }
    }

    async fn may_go_on(&mut self, host: &dyn Host, failure: StateFailure<'_>) -> bool {
        let StateFailure { pid, reason, .. } = failure;
        if !reason.is_abnormal() || !self.policy.may_restart(&failure).await {
            return false;
        }
        self.restarts += 1;
        host.count_restart(RestartKind::InPlace);
        if !self.policy.records() {
            record_supervision(host, || {
                SupervisionEvent::new(pid, SupervisionAction::InPlace).with(|event| {
                    event.pid = Some(pid);
                    event.reason = Some(ReasonRecord::of(reason));
                    event.count = self.restarts;
                })
            });
        }
        let (behavior, count) = (A::label(), self.restarts);
        // The reason is a user's, and so is its `Display`.
        log_contained(|| {
            tracing::warn!(
                target: "krarup", %pid, name = name_of(host, pid).as_ref().map(Name::as_str), behavior,
                reason = %one_line(reason), count, "process restarts in place"
            );
        });
        true
    }

    /// Makes a fresh state that is ready to serve. Otherwise returns the failure, with the
    /// state if its `init` had returned.
    async fn incarnate(
        &mut self,
        ctx: &mut Context<A::Message>,
        failure: &Reason,
    ) -> Result<A, (Option<A>, Reason)> {
        let mut state = contain(|| (self.factory)()).map_err(|panic| (None, panic))?;
        if let Err(reason) = Contained::new(state.init(ctx)).await.unwrap_or_else(Err) {
            drop_contained(state);
            return Err((None, reason));
        }
        match Contained::new(state.after_restart(ctx, failure)).await.unwrap_or_else(Err) {
            Ok(()) => Ok(state),
            Err(reason) => Err((Some(state), reason)),
        }
    }
}

/// Runs `terminate` and drops the state; returns the reason of the end. The first failure is
/// the cause, whatever fails afterwards.
async fn last_words<A: Restartable>(
    mut state: A,
    ctx: &mut Context<A::Message>,
    reason: Reason,
) -> Reason {
    ctx.cell.progress.note(ContextMark::Ends, true);
    let terminated = Contained::new(state.terminate(ctx, &reason)).await;
    let reason = first_failure(reason, terminated);
    first_failure(reason, try_drop(state))
}

/// Yields to other processes if the turn is over. A kill takes effect here.
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
