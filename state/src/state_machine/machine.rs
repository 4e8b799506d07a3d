//! A state machine as a behaviour: the loop around the engine.
//!
//! ```text
//!   init ─► enter ─┬─► what the engine says: alarms, enter calls, dead letters
//!                  │        ▼
//!                  │   an event of its own, behind requests to stop or to be inspected
//!                  │        ▼ none
//!                  │   the mailbox
//!                  │        ▼
//!                  └── handle_event ──── an error, a panic, a stop ──► terminate, with the state
//! ```

use crate::state_machine::driven_engine::DrivenEngine;
use crate::state_machine::engine::{Instruction, ProcessLimits};
use crate::state_machine::event::{Event, ITSELF, SentEvent};
use crate::state_machine::next::Actions;
use crate::state_machine::state_machine::StateMachine;
use krarup_act::{
    ActorEnd, Behavior, BehaviorContext, Contained, Context, Delivery, DroppedCalls,
    InspectRequest, OwnProcess, Received, Restartable, contain, first_failure,
};
use krarup_gen::{DeadLetterCause, Pid, Reason, Result, Value};
use std::fmt;
use std::future::{pending, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;

/// A [`StateMachine`] as a behaviour that can be spawned: see there.
///
/// It is a process like any: it can be supervised, named, linked, monitored, inspected,
/// suspended, and restarted in place with [`InPlace`](krarup_act::InPlace). A restart begins with
/// [`StateMachine::init`]: the new machine has nothing postponed and no time-out; what the failed
/// one had postponed is lost with it (rule F17).
///
/// An inspection shows `state`, `postponed` (how many events are), `queued` (how many wait that
/// are neither postponed nor in the mailbox), `timers` (a list of records with `kind`, `name` and
/// the time `left`), and what the machine says itself (rule F14).
pub struct Machine<S: StateMachine> {
    callbacks: S,
    driven: DrivenEngine<S>,
}

impl<S: StateMachine> Machine<S> {
    /// Creates the behaviour of this machine.
    pub const fn new(machine: S) -> Self {
        Machine { callbacks: machine, driven: DrivenEngine::new() }
    }

    /// Polls for the next event of the machine's own, behind requests to stop or to be inspected.
    fn poll_own(
        &mut self,
        ctx: &mut Context<S::Message>,
    ) -> Poll<Result<Option<Event<S>>, ActorEnd>> {
        let Poll::Ready(request) = ctx.poll_request() else {
            self.driven.arm();
            return Poll::Pending;
        };
        Poll::Ready(match request {
            Some(request) => self.received(ctx, request),
            None => {
                Ok(self.driven.engine.next_event().map(|SentEvent { sender, trace, event }| {
                    ctx.set_sender(pid_of(ctx.pid(), sender));
                    // What the machine has inserted belongs to the trace of the event in progress.
                    if sender != ITSELF {
                        ctx.resume_trace(trace, event.message_type());
                    }
                    event
                }))
            }
        })
    }

    /// Handles an item. Returns its event, if it is one.
    #[cold]
    fn received(
        &mut self,
        ctx: &Context<S::Message>,
        item: Received<S::Message>,
    ) -> Result<Option<Event<S>>, ActorEnd> {
        Ok(match item {
            Received::Message(message) | Received::Command(message) => {
                Some(Event::Message(message))
            }
            Received::Exit(exit) => Some(Event::Exit(Box::new(exit))),
            Received::Down(down) => Some(Event::Down(Box::new(down))),
            Received::Other(other) => Some(Event::Other(Box::new(other))),
            Received::Alarm(alarm) => self.driven.engine.fired(alarm),
            Received::Inspect(request) => {
                self.inspect(ctx, request);
                None
            }
            Received::State(reply) => {
                reply
                    .send(self.driven.engine.state().and_then(|state| self.callbacks.debug(state)));
                None
            }
            Received::Stop(reason) => return Err(ActorEnd::Told(reason)),
            Received::Finish => return Err(ActorEnd::Finished),
            // An idle timeout is no event of a machine, and neither is what may be added to
            // `Received`.
            _ => None,
        })
    }

    /// Does what the engine says, until the last event is done whole or a state is to be entered.
    fn follow<'a>(&'a mut self, ctx: &'a mut Context<S::Message>) -> Option<Entering<'a>> {
        while let Some(instruction) = self.driven.engine.instruction() {
            match instruction {
                Instruction::Enter { from, to } => {
                    return Some(Box::pin(self.enter(ctx, from, to)));
                }
                Instruction::Refuse(event) => self.refuse(event),
                Instruction::Hibernate => ctx.hibernate(),
                Instruction::Show => self.show(ctx),
            }
        }
        None
    }

    async fn enter(
        &mut self,
        ctx: &mut Context<S::Message>,
        from: S::State,
        to: S::State,
    ) -> Result<(), ActorEnd> {
        let entered = {
            let Machine { callbacks, driven } = &mut *self;
            arming(callbacks.enter(ctx, from, to), driven).await
        };
        match entered {
            Ok(entered) if !ctx.is_stopping() => {
                let limits = ProcessLimits {
                    now: &|| ctx.now(),
                    bound: &|| ctx.mailbox_bound(),
                    trace: &|| ctx.keep_trace(),
                };
                self.driven.engine.entered(entered, limits);
                Ok(())
            }
            entered => {
                self.driven.engine.enter_failed();
                Err(entered.map_or_else(ActorEnd::Failed, |_| stopped(ctx)))
            }
        }
    }

    /// Loses a message that cannot be postponed (rule F13).
    fn refuse(&self, mut event: SentEvent<S>) {
        let Some(own) = &self.driven.own else { return };
        event.fail_trace(DeadLetterCause::Overflow);
        let sender = pid_of(own.pid(), event.sender);
        match event.event {
            Event::Message(message) => own.refuse(message, sender),
            Event::Other(message) => own.refuse_other(*message, sender),
            _ => {}
        }
    }

    /// Makes the state the label of the process (rule F14).
    fn show(&self, ctx: &Context<S::Message>) {
        if let Some(state) = self.driven.engine.state() {
            ctx.show_state(state);
        }
    }

    fn inspect(&self, ctx: &Context<S::Message>, request: InspectRequest) {
        let mut inspection = self.callbacks.handle_inspect(&request);
        if let Some(state) = self.driven.engine.state() {
            inspection.set("state", format!("{state:?}"));
        }
        inspection.set("postponed", self.driven.engine.postponed());
        inspection.set("queued", self.driven.engine.queued());
        inspection.set("timers", Value::List(self.driven.engine.timers(ctx.now())));
        request.send(inspection);
    }

    /// Loses what the machine wanted to postpone or insert as it stopped (rule F16).
    fn lose(&self, actions: Actions<S>, sender: u64) {
        if let Some(own) = &self.driven.own {
            actions.into_events(sender).for_each(|event| lose(own, event));
        }
    }
}

/// An enter call, boxed because it is rare.
type Entering<'a> = Pin<Box<dyn Future<Output = Result<(), ActorEnd>> + Send + 'a>>;

/// Awaits a callback, and sets the alarms whenever it waits.
async fn arming<S: StateMachine, F: Future>(
    callback: F,
    driven: &mut DrivenEngine<S>,
) -> F::Output {
    let mut callback = pin!(callback);
    poll_fn(move |cx| {
        let outcome = callback.as_mut().poll(cx);
        if outcome.is_pending() {
            driven.arm();
        }
        outcome
    })
    .await
}

/// The process with this number, in [`SentEvent`].
fn pid_of(myself: Pid, sender: u64) -> Option<Pid> {
    match sender {
        0 => None,
        ITSELF => Some(myself),
        id => Some(Pid::local(id, myself.creation())),
    }
}

/// How a machine ends that has stopped itself.
fn stopped<M: Send + 'static>(ctx: &mut Context<M>) -> ActorEnd {
    ctx.take_stop().map_or(ActorEnd::Finished, ActorEnd::Told)
}

/// Counts a waiting message as a dead letter, and drops what waits. Contained: the destructors
/// are a user's.
fn lose<S: StateMachine>(own: &OwnProcess<S::Message>, mut waiting: SentEvent<S>) {
    waiting.fail_trace(DeadLetterCause::Unhandled);
    let sender = pid_of(own.pid(), waiting.sender);
    match waiting.event {
        Event::Message(message) => own.lose(message, sender),
        Event::Other(message) => own.lose_other(*message, sender),
        event => drop(contain(|| drop(event))),
    }
}

impl<S: StateMachine> Restartable for Machine<S> {
    type Message = S::Message;

    async fn init(&mut self, ctx: &mut Context<S::Message>) -> Result {
        self.driven.own = Some(ctx.own_process());
        let first = self.callbacks.init(ctx).await?;
        self.driven.engine.started(first);
        self.show(ctx);
        Ok(())
    }

    #[allow(
        clippy::manual_async_fn,
        reason = "an `async fn` stores its arguments twice in every process"
    )]
    fn serve(&mut self, ctx: &mut Context<S::Message>) -> impl Future<Output = ActorEnd> + Send {
        async move {
            if ctx.is_stopping() {
                return stopped(ctx);
            }
            loop {
                while let Some(enter) = self.follow(ctx) {
                    if let Err(end) = enter.await {
                        return end;
                    }
                }
                // What follows is done for most messages: nothing else is to be done for them.
                let (next, sender) = loop {
                    let event = if self.driven.engine.has_event() {
                        match poll_fn(|_| self.poll_own(ctx)).await {
                            Ok(Some(event)) => event,
                            Ok(None) => continue,
                            Err(end) => return end,
                        }
                    } else {
                        match poll_fn(|cx| {
                            let delivery = Pin::new(&mut ctx.next_message()).poll(cx);
                            if delivery.is_pending() {
                                self.driven.arm();
                            }
                            delivery
                        })
                        .await
                        {
                            Delivery::Message(message) => Event::Message(message),
                            Delivery::Other(item) => match self.received(ctx, *item) {
                                Ok(Some(event)) => event,
                                Ok(None) => continue,
                                Err(end) => return end,
                            },
                        }
                    };
                    let sender = ctx.sender_number();
                    let Some(state) = self.driven.engine.state().cloned() else {
                        return ActorEnd::Finished;
                    };
                    let next = {
                        let Machine { callbacks, driven } = &mut *self;
                        let mut handling = pin!(callbacks.handle_event(ctx, state, event));
                        // Two references, which every process has room for: one on what it polls, and one to arm.
                        poll_fn(move |cx| {
                            let next = handling.as_mut().poll(cx);
                            if next.is_pending() {
                                driven.arm();
                            }
                            next
                        })
                        .await
                    };
                    match next {
                        Err(reason) => return ActorEnd::Failed(reason),
                        Ok(next) if ctx.is_stopping() => {
                            self.lose(next.actions, sender);
                            return stopped(ctx);
                        }
                        Ok(next) if self.driven.engine.is_done_with(&next) => {}
                        Ok(next) => break (next, sender),
                    }
                };
                let limits = ProcessLimits {
                    now: &|| ctx.now(),
                    bound: &|| ctx.mailbox_bound(),
                    trace: &|| ctx.keep_trace(),
                };
                self.driven.engine.handled(next, sender, limits);
            }
        }
    }

    async fn before_restart(&mut self, ctx: &mut Context<S::Message>, reason: &Reason) {
        self.callbacks.before_restart(ctx, reason).await;
    }

    async fn after_restart(&mut self, ctx: &mut Context<S::Message>, reason: &Reason) -> Result {
        self.callbacks.after_restart(ctx, reason).await
    }

    async fn terminate(&mut self, ctx: &mut Context<S::Message>, reason: &Reason) {
        if let Some(state) = self.driven.engine.state().cloned() {
            self.callbacks.terminate(ctx, state, reason).await;
        }
    }

    fn label() -> &'static str {
        std::any::type_name::<S>()
    }
}

impl<S: StateMachine> Behavior for Machine<S> {
    type Message = S::Message;
    type Command = S::Message;

    #[allow(clippy::manual_async_fn, reason = "as at `serve`")]
    fn run(mut self, mut ctx: Context<S::Message>) -> impl Future<Output = Result> + Send {
        async move {
            ctx.stop_in_order();
            if let Err(reason) = Contained::new(self.init(&mut ctx)).await.unwrap_or_else(Err) {
                return Err(first_failure(reason, contain(|| drop(self))));
            }
            ctx.initialised();
            let reason = match Contained::new(self.serve(&mut ctx)).await {
                Ok(end) => end.reason(),
                Err(panic) => panic,
            };
            if ctx.has_own_exit() {
                // The turn ends it with that reason, and without `terminate` (rules D5, L7).
                let _ = contain(|| drop(reason));
                let _calls = DroppedCalls::take();
                return pending().await;
            }
            // Calls whose reply tokens were dropped fail with the reason of the end (rule C2).
            // `terminate` may wait, so they are kept until the process has ended.
            let _calls = DroppedCalls::take();
            ctx.ends();
            // The first failure is the cause, whatever fails afterwards.
            let terminated = Contained::new(self.terminate(&mut ctx, &reason)).await;
            let reason = first_failure(reason, terminated);
            Err(first_failure(reason, contain(|| drop(self))))
        }
    }

    fn label() -> &'static str {
        <Self as Restartable>::label()
    }
}

/// What waits is lost with the machine: its messages are dead letters, and their calls fail with
/// the reason of its end (rule F11). Its alarms are cancelled.
impl<S: StateMachine> Drop for Machine<S> {
    fn drop(&mut self) {
        let Some(own) = &self.driven.own else { return };
        let (events, alarms) = self.driven.engine.close();
        events.for_each(|event| lose(own, event));
        alarms.for_each(|key| own.cancel_alarm(key));
    }
}

impl<S: StateMachine> fmt::Debug for Machine<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Machine")
            .field("state", &self.driven.engine.state())
            .finish_non_exhaustive()
    }
}
