//! A state actor as a behaviour: its lifecycle around the engine.
//!
//! ```text
//!   cleaner ─► after_mount ─► serving ──stop or finish──► terminate ─► ended ─► cleaner runs
//!                               ▲  │ fails
//!                               │  ▼
//!                               │ restarts left? ──no──► terminate
//!                               │  │ yes: handlers and promises are abandoned
//!                               │  ▼
//!                     after_restart ◄── restart ◄── before_restart
//! ```

use crate::contained_drop::ContainedDrop;
use crate::state_actor::engine::{Engine, StateActorEnd};
use crate::state_actor::kinds::StateContext;
use crate::state_actor::scope::StateOwner;
use crate::state_actor::state_actor::StateActor;
use crate::state_actor::stateful_error::StatefulError;
use krarup_act::{
    Behavior, BehaviorContext, Contained, DroppedCalls, InPlaceError, contain, first_failure,
    yield_now,
};
use krarup_gen::{ProcessKind, Reason, RestartWindow, Result, one_line};
use std::fmt;
use std::future::{pending, poll_fn};
use std::sync::Arc;
use std::time::Duration;

/// A [`StateActor`] as a behaviour that can be spawned.
///
/// ```
/// # use krarup_node::Simulation;
/// # use krarup_act::Reply;
/// # use krarup_gen::Result;
/// # use krarup_state::{StateCalls, Scope, StateActor, Stateful};
/// #[derive(Default)]
/// struct Account {
///     cents: i64,
/// }
///
/// impl StateActor for Account {
///     type Notice = i64;
///     type Ask = Reply<i64>;
///     type Reply = ();
///     type Event = ();
///
///     async fn handle_notice(scope: &mut Scope<Self>, cents: i64) -> Result {
///         scope.with(|account| account.cents += cents);
///         Ok(())
///     }
///
///     async fn handle_ask(scope: &mut Scope<Self>, balance: Reply<i64>) -> Result {
///         balance.send(scope.with(|account| account.cents));
///         Ok(())
///     }
/// }
///
/// let sim = Simulation::new(7);
/// let account = sim.spawn(|| Stateful::new(Account::default())).wait().unwrap();
/// account.notice(500).unwrap();
/// sim.run_until_idle(); // An ask overtakes the notices that wait.
/// assert_eq!(account.ask(|reply| reply).wait(), Ok(500));
/// ```
pub struct Stateful<A: StateActor> {
    actor: A,
    first: Option<A::Notice>,
    window: Option<RestartWindow>,
    most_in_flight: usize,
}

/// The default limit of asks and notices in flight.
const IN_FLIGHT: usize = 1024;

impl<A: StateActor> Stateful<A> {
    /// Creates a state actor that ends when it fails.
    pub fn new(actor: A) -> Self {
        Stateful { actor, first: None, window: None, most_in_flight: IN_FLIGHT }
    }

    /// Sets a notice that the actor sends to itself and handles before all others, such as
    /// the arguments of a program's main actor (Otavia's `MainActor`).
    #[must_use]
    pub fn first(mut self, notice: A::Notice) -> Self {
        self.first = Some(notice);
        self
    }

    /// Makes the actor restart when it fails with an abnormal reason or a panic, at most
    /// `most` times within `period`. One failure more ends it (rules O6, S5). The actor
    /// needs its own [`StateActor::restart`]: with the default one it ends at the first
    /// failure. A period of zero fails the spawn with [`InPlaceError::ZeroPeriod`].
    #[must_use]
    pub fn restarts(mut self, most: u32, period: Duration) -> Self {
        self.window = Some(RestartWindow::new(most, period));
        self
    }
}

impl<A: StateActor> Stateful<A> {
    /// Sets how many handlers of asks and notices may be in flight at the same time (rule
    /// O1). The default is 1024; `usize::MAX` means any number. A batch counts as one. At the
    /// limit no ask and no notice begins, as behind a barrier. They wait and count towards
    /// the bound of the mailbox. Replies, exceptions and events are still handled. With a
    /// limit of 1 the actor handles one ask or notice after the other, as an
    /// [`Actor`](krarup_act::Actor) does. Zero fails the spawn with
    /// [`StatefulError::ZeroInFlight`].
    ///
    /// A handler must not wait for something that only another ask or notice can bring,
    /// unless the limit is sure to leave room for that one.
    #[must_use]
    pub fn most_in_flight(mut self, messages: usize) -> Self {
        self.most_in_flight = messages;
        self
    }
}

impl<A: StateActor> fmt::Debug for Stateful<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stateful")
            .field("window", &self.window)
            .field("most_in_flight", &self.most_in_flight)
            .finish_non_exhaustive()
    }
}

impl<A: StateActor> Behavior for Stateful<A> {
    type Message = crate::StateMessage<A::Notice, A::Ask>;
    type Command = A::Event;

    async fn run(self, mut ctx: StateContext<A>) -> Result {
        let Stateful { actor, first, mut window, most_in_flight } = self;
        let (mut actor, first) = (ContainedDrop::new(actor), first.map(ContainedDrop::new));
        if window.as_ref().is_some_and(|window| window.period().is_zero()) {
            return Err(InPlaceError::ZeroPeriod.into());
        }
        if most_in_flight == 0 {
            return Err(Reason::error(StatefulError::ZeroInFlight));
        }
        ctx.stop_in_order();
        if let Some(cleaner) = actor.cleaner() {
            ctx.on_end(cleaner);
        }
        if let Err(reason) = actor.after_mount(&mut ctx).await {
            return Err(first_failure(reason, contain(|| drop((actor, first)))));
        }
        ctx.initialised();
        let mut engine = Engine::new(actor.into_inner(), ctx, most_in_flight);
        if let Some(notice) = first {
            engine.put_first(notice.into_inner());
        }
        let shared = Arc::clone(&engine.shared);
        loop {
            let end = poll_fn(|cx| engine.poll(&shared, cx)).await;
            if engine.has_own_exit() {
                // The turn ends it with that reason, and without a callback (rules D5, L7).
                let _calls = DroppedCalls::take();
                pending::<()>().await;
            }
            let reason = match end {
                StateActorEnd::Told(reason) => reason,
                // An actor that is to end does not restart.
                StateActorEnd::Failed(reason) if engine.is_to_end() => reason,
                StateActorEnd::Failed(reason) => {
                    match restart(&mut engine, &mut window, reason).await {
                        Ok(()) => continue,
                        Err(reason) => reason,
                    }
                }
            };
            // Calls whose reply tokens were dropped fail with the reason of the end (rule C2).
            // `terminate` may wait, so they are kept until the process has ended.
            let _calls = DroppedCalls::take();
            let StateOwner { actor, ctx } = engine.take_out();
            ctx.ends();
            // The first failure is the cause, whatever fails during termination.
            let terminated = Contained::new(actor.terminate(ctx, &reason)).await;
            let reason = first_failure(reason, terminated);
            return Err(first_failure(reason, engine.close()));
        }
    }

    fn label() -> &'static str {
        std::any::type_name::<A>()
    }

    fn kind() -> ProcessKind {
        ProcessKind::Stateful
    }
}

/// Restarts the state, or returns the reason for which the actor ends.
async fn restart<A: StateActor>(
    engine: &mut Engine<A>,
    window: &mut Option<RestartWindow>,
    mut failure: Reason,
) -> Result {
    let mut first = true;
    loop {
        let Some(window) = window.as_mut().filter(|_| failure.is_abnormal()) else {
            return Err(failure);
        };
        let now = engine.now();
        if !window.record(now) {
            return Err(failure);
        }
        // Drop the handlers in flight together with the state that they worked on.
        engine.abandon();
        DroppedCalls::take().fail(&failure);
        let StateOwner { actor, ctx } = engine.take_out();
        let pid = ctx.pid();
        let _ = contain(|| {
            tracing::warn!(target: "krarup", %pid, reason = %one_line(&failure), "a state actor restarts");
        });
        if std::mem::take(&mut first) {
            // The first failure is the cause, whatever fails during the restart.
            let _ = Contained::new(actor.before_restart(ctx, &failure)).await;
        }
        // An actor that fails again and again must not occupy the worker or escape a kill.
        yield_now().await;
        let restarted = async {
            actor.restart(ctx, &failure).await?;
            actor.after_restart(ctx, &failure).await
        };
        match Contained::new(restarted).await.unwrap_or_else(Err) {
            Ok(()) => {
                engine.put_back();
                return Ok(());
            }
            Err(again) => failure = again,
        }
    }
}
