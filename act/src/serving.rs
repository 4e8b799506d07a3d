//! How an actor serves: its start, its loop, its end.
//!
//! ```text
//!   begin ──► loop ──────────────► end: terminate, drop the actor
//!     init      │ a handler panics      ▲
//!               ▼                       │
//!      unwinds: SurvivingActor is dropped, and leaves actor and context to the turn
//!               (process/current/survivors.rs)
//! ```
//!
//! The loop is not contained where the turn polls it itself, because the turn contains each poll. A second containment
//! would be a future of its own around the loop, which takes a reference and a state in every process (docs/decisions.md).
//! A behaviour that runs an actor within its own `run` has no such turn around the actor alone, so there the loop is
//! contained ([`run_contained`]).

use crate::actor::{Actor, ActorEnd};
use crate::behavior::Behavior;
use crate::context::Context;
use crate::process::contained::Contained;
use crate::process::crash::{drop_contained, first_failure, try_drop};
use crate::process::current::{self, OrphanedReplies, Rest};
use crate::process::progress::ContextMark;
use crate::received::{Delivery, Received};
use krarup_gen::{ProcessKind, Reason, Result};
use std::future::{pending, ready};
use std::pin::Pin;

impl<A: Actor> Behavior for A {
    type Message = A::Message;
    type Command = A::Message;

    fn run(self, ctx: Context<A::Message>) -> impl Future<Output = Result> + Send {
        run_contained(self, ctx)
    }

    fn run_in_turn(self, ctx: Context<A::Message>) -> impl Future<Output = Result> + Send {
        run_in_turn(self, ctx)
    }

    fn kind() -> ProcessKind {
        ProcessKind::Actor
    }

    fn show_message(message: &A::Message) -> Option<String> {
        <A as Actor>::show_message(message)
    }

    fn show_command(command: &A::Message) -> Option<String> {
        <A as Actor>::show_message(command)
    }
}

/// The life of an actor for the turn that polls it, which runs what survives a panic.
fn run_in_turn<A: Actor>(
    actor: A,
    ctx: Context<A::Message>,
) -> impl Future<Output = Result> + Send {
    serve(SurvivingActor(ServingActor(Some((actor, ctx)))))
}

/// The life of an actor within another future. Its panics are reasons.
fn run_contained<A: Actor>(
    actor: A,
    ctx: Context<A::Message>,
) -> impl Future<Output = Result> + Send {
    let mut served = ServingActor(Some((actor, ctx)));
    async move {
        match Contained::new(serve(&mut served)).await {
            Ok(ended) => ended,
            Err(panic) if served.serves() => served.end(panic).await,
            Err(panic) => served.ended(panic, OrphanedReplies::NONE),
        }
    }
}

/// What [`serve`] works on: an actor and its context.
pub(crate) trait ServingParts<A: Actor>: Send {
    /// What is known at the end.
    type Ended: Send;

    /// Whether the actor begins and ends here. Otherwise `init` has run elsewhere, and `terminate` will.
    const IS_WHOLE: bool;

    fn parts(&mut self) -> (&mut A, &mut Context<A::Message>);

    /// The loop is over.
    fn served(end: ActorEnd) -> Self::Ended;

    /// Nothing more is done with the actor here. `calls` were held back for its end.
    fn ended(&mut self, reason: Reason, calls: OrphanedReplies) -> Self::Ended;
}

impl<A: Actor> ServingParts<A> for (&mut A, &mut Context<A::Message>) {
    type Ended = ActorEnd;
    const IS_WHOLE: bool = false;

    #[inline]
    fn parts(&mut self) -> (&mut A, &mut Context<A::Message>) {
        (self.0, self.1)
    }

    fn served(end: ActorEnd) -> ActorEnd {
        end
    }

    fn ended(&mut self, reason: Reason, _: OrphanedReplies) -> ActorEnd {
        ActorEnd::Failed(reason)
    }
}

/// An actor with the context of its process, until it is dropped at its end.
struct ServingActor<A: Actor>(Option<(A, Context<A::Message>)>);

impl<A: Actor> ServingActor<A> {
    #[inline]
    fn parts(&mut self) -> (&mut A, &mut Context<A::Message>) {
        match &mut self.0 {
            Some((actor, ctx)) => (actor, ctx),
            None => unreachable!("an actor that has ended is not asked"),
        }
    }

    /// Drops the actor, gives the calls back to the turn, and drops the context. The first failure is the cause of
    /// the end.
    #[allow(
        clippy::inline_always,
        reason = "one call for each end of an actor: 1 per cent of a spawn"
    )]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn ended(&mut self, reason: Reason, calls: OrphanedReplies) -> Result {
        let Some((actor, ctx)) = self.0.take() else { return Err(reason) };
        let reason = first_failure(reason, try_drop(actor));
        drop(calls);
        drop(ctx);
        Err(reason)
    }

    /// Whether the actor is still there, and its handlers run.
    fn serves(&self) -> bool {
        match &self.0 {
            Some((_, ctx)) => ctx.cell.progress.notes(ContextMark::Serves),
            None => false,
        }
    }

    /// Ends an actor that has panicked, as [`serve`] ends one that has not.
    #[allow(clippy::manual_async_fn, reason = "as at `serve`")]
    fn end(&mut self, panic: Reason) -> impl Future<Output = Result> + Send {
        async move {
            let (actor, ctx) = self.parts();
            ctx.cell.progress.note(ContextMark::Serves, false);
            ctx.cell.progress.note(ContextMark::Ends, true);
            if ctx.cell.has_own_exit() {
                drop_contained(panic);
                let _calls = current::take_orphans();
                return pending().await;
            }
            let calls = current::take_orphans();
            let terminated = Contained::new(actor.terminate(ctx, &panic)).await;
            self.ended(first_failure(panic, terminated), calls)
        }
    }
}

impl<A: Actor> ServingParts<A> for &mut ServingActor<A> {
    type Ended = Result;
    const IS_WHOLE: bool = true;

    #[inline]
    fn parts(&mut self) -> (&mut A, &mut Context<A::Message>) {
        ServingActor::parts(self)
    }

    fn served(end: ActorEnd) -> Result {
        Err(end.reason())
    }

    fn ended(&mut self, reason: Reason, calls: OrphanedReplies) -> Result {
        ServingActor::ended(self, reason, calls)
    }
}

/// An actor that survives a panic of its handler, for its `terminate` (rule D5).
struct SurvivingActor<A: Actor>(ServingActor<A>);

impl<A: Actor> ServingParts<A> for SurvivingActor<A> {
    type Ended = Result;
    const IS_WHOLE: bool = true;

    #[inline]
    fn parts(&mut self) -> (&mut A, &mut Context<A::Message>) {
        self.0.parts()
    }

    fn served(end: ActorEnd) -> Result {
        Err(end.reason())
    }

    #[allow(
        clippy::inline_always,
        reason = "one call for each end of an actor: 1 per cent of a spawn"
    )]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn ended(&mut self, reason: Reason, calls: OrphanedReplies) -> Result {
        self.0.ended(reason, calls)
    }
}

impl<A: Actor> Drop for SurvivingActor<A> {
    fn drop(&mut self) {
        if self.0.0.is_some() && std::thread::panicking() {
            self.survive();
        }
    }
}

impl<A: Actor> SurvivingActor<A> {
    /// Leaves an actor that serves to the turn, if this is dropped in a turn of its own process.
    #[cold]
    fn survive(&mut self) {
        let Some((_, ctx)) = &self.0.0 else { return };
        let owner = ctx.pid();
        if self.0.serves() && current::pid() == Some(owner) {
            let mut served = ServingActor(self.0.0.take());
            let rest = move |panic| -> Rest { Box::pin(async move { served.end(panic).await }) };
            current::survive(owner, Box::new(rest));
        }
    }
}

/// Prepares an actor, handles items until it is to end or has failed, and ends it.
#[allow(
    clippy::manual_async_fn,
    reason = "an `async fn` stores its arguments twice in every process"
)]
pub(crate) fn serve<A: Actor, P: ServingParts<A>>(
    mut served: P,
) -> impl Future<Output = P::Ended> + Send {
    async move {
        if P::IS_WHOLE {
            let (actor, ctx) = served.parts();
            ctx.stop_in_order();
            let prepared = Contained::new(actor.init(ctx)).await.unwrap_or_else(Err);
            if let Err(reason) = prepared {
                return served.ended(reason, OrphanedReplies::NONE);
            }
            let (_, ctx) = served.parts();
            ctx.initialised();
            ctx.cell.progress.note(ContextMark::Serves, true);
        }
        let end = loop {
            // Asked for once for each message. The references have a scope of their own: they are kept while the actor
            // waits for a message, when there is room for them, and not while it handles one.
            let next;
            let (actor, ctx) = {
                let (actor, ctx) = served.parts();
                if ctx.is_stopping() {
                    break ctx.take_stop().map_or(ActorEnd::Finished, ActorEnd::Told);
                }
                next = ctx.next_message().await;
                (actor, ctx)
            };
            let message = {
                // Moved as a whole: of a value that is taken apart here, the rest would be kept across the awaits.
                let mut other = None;
                let Some(message) = message_of(next, &mut other) else {
                    if let Err(end) = handle_apart(actor, ctx, &mut other).await {
                        break end;
                    }
                    continue;
                };
                message
            };
            if let Err(reason) = actor.handle_message(ctx, message).await {
                break ActorEnd::Failed(reason);
            }
        };
        if !P::IS_WHOLE {
            return P::served(end);
        }
        let reason = end.reason();
        let (actor, ctx) = served.parts();
        ctx.cell.progress.note(ContextMark::Serves, false);
        ctx.cell.progress.note(ContextMark::Ends, true);
        if ctx.cell.has_own_exit() {
            // The turn ends it with that reason, and without `terminate` (rules D5, L7). Nothing is kept here
            // that is kept below too: that would have a place of its own in every process.
            drop_contained(reason);
            let _calls = current::take_orphans();
            return pending().await;
        }
        // Hold back the calls whose reply tokens were dropped in this turn: `terminate`
        // may wait, and they would then fail with `NoReply`. When this is dropped at the
        // end they fail with the reason of the end (rule C2).
        let calls = current::take_orphans();
        let terminated = Contained::new(actor.terminate(ctx, &reason)).await;
        // The first failure is the cause, whatever fails afterwards.
        let reason = first_failure(reason, terminated);
        served.ended(reason, calls)
    }
}

/// The message that was delivered; anything else is put aside.
#[allow(clippy::inline_always, reason = "see `in_transit`")]
#[cfg_attr(not(debug_assertions), inline(always))]
fn message_of<M>(next: Delivery<M>, other: &mut Option<Box<Received<M>>>) -> Option<M> {
    match next {
        Delivery::Message(message) => Some(message),
        Delivery::Other(item) => {
            *other = Some(item);
            None
        }
    }
}

/// The future of an item that is not a message on its fast path. Boxed, so that it takes no space in every process.
#[cold]
fn handle_apart<'a, A: Actor>(
    actor: &'a mut A,
    ctx: &'a mut Context<A::Message>,
    item: &mut Option<Box<Received<A::Message>>>,
) -> Pin<Box<dyn Future<Output = Result<(), ActorEnd>> + Send + 'a>> {
    match item.take() {
        Some(item) => Box::pin(handle(actor, ctx, *item)),
        None => Box::pin(ready(Ok(()))),
    }
}

/// Handles an item that is not a message on its fast path.
async fn handle<A: Actor>(
    actor: &mut A,
    ctx: &mut Context<A::Message>,
    item: Received<A::Message>,
) -> Result<(), ActorEnd> {
    match item {
        Received::Exit(exit) => actor.handle_exit(ctx, exit).await.map_err(ActorEnd::Failed),
        Received::Down(down) => actor.handle_down(ctx, down).await.map_err(ActorEnd::Failed),
        Received::Timeout => actor.handle_timeout(ctx).await.map_err(ActorEnd::Failed),
        Received::Other(message) => {
            actor.handle_other(ctx, message).await.map_err(ActorEnd::Failed)
        }
        Received::State(reply) => {
            reply.send(actor.state());
            Ok(())
        }
        Received::Inspect(request) => {
            let inspection = actor.handle_inspect(&request);
            request.send(inspection);
            Ok(())
        }
        // A request to manage the process is dropped: actors do not offer any.
        Received::Alarm(_) | Received::Manage(_) => Ok(()),
        Received::Stop(reason) => Err(ActorEnd::Told(reason)),
        Received::Finish => Err(ActorEnd::Finished),
        Received::Message(message) | Received::Command(message) => {
            actor.handle_message(ctx, message).await.map_err(ActorEnd::Failed)
        }
    }
}
