//! States that a process can replace when they fail.

use crate::actor::{Actor, ActorEnd};
use crate::context::Context;
use crate::serving::serve;
use krarup_gen::{ProcessKind, Reason, Result};

/// A state with which a process serves its messages, and which [`InPlace`](crate::InPlace) can
/// replace when it has failed: every [`Actor`], and states of behaviours that are not actors and
/// implement this.
///
/// The methods are those parts of a process's life that have to do with its state. They are
/// called in the order `init`, [`after_restart`](Self::after_restart) if the state has replaced
/// another, `serve`, and then either `before_restart` or `terminate`.
pub trait Restartable: Sized + Send + 'static {
    /// The type of messages on all lanes.
    type Message: Send + 'static;

    /// Prepares the state. The spawn completes when it has returned (rule D2).
    fn init(&mut self, ctx: &mut Context<Self::Message>) -> impl Future<Output = Result> + Send;

    /// Handles items until the state is to end, or has failed.
    fn serve(&mut self, ctx: &mut Context<Self::Message>) -> impl Future<Output = ActorEnd> + Send;

    /// Runs last on a state that has failed and will be replaced.
    fn before_restart(
        &mut self,
        ctx: &mut Context<Self::Message>,
        reason: &Reason,
    ) -> impl Future<Output = ()> + Send;

    /// Runs on a state that has replaced one that failed, after its `init`.
    fn after_restart(
        &mut self,
        ctx: &mut Context<Self::Message>,
        reason: &Reason,
    ) -> impl Future<Output = Result> + Send;

    /// Runs last on a state that ends with its process.
    fn terminate(
        &mut self,
        ctx: &mut Context<Self::Message>,
        reason: &Reason,
    ) -> impl Future<Output = ()> + Send;

    /// The label of the process; see [`Behavior::label`](crate::Behavior::label).
    #[must_use]
    fn label() -> &'static str {
        std::any::type_name::<Self>()
    }

    /// Returns a message as text, if messages are shown; see
    /// [`Behavior::show_message`](crate::Behavior::show_message).
    #[must_use]
    fn show_message(message: &Self::Message) -> Option<String> {
        let _ = message;
        None
    }

    /// The kind of the process; see [`Behavior::kind`](crate::Behavior::kind).
    #[must_use]
    fn kind() -> ProcessKind {
        ProcessKind::Process
    }
}

impl<A: Actor> Restartable for A {
    type Message = A::Message;

    fn init(&mut self, ctx: &mut Context<A::Message>) -> impl Future<Output = Result> + Send {
        Actor::init(self, ctx)
    }

    fn serve(&mut self, ctx: &mut Context<A::Message>) -> impl Future<Output = ActorEnd> + Send {
        serve((self, ctx))
    }

    fn before_restart(
        &mut self,
        ctx: &mut Context<A::Message>,
        reason: &Reason,
    ) -> impl Future<Output = ()> + Send {
        Actor::before_restart(self, ctx, reason)
    }

    fn after_restart(
        &mut self,
        ctx: &mut Context<A::Message>,
        reason: &Reason,
    ) -> impl Future<Output = Result> + Send {
        Actor::after_restart(self, ctx, reason)
    }

    fn terminate(
        &mut self,
        ctx: &mut Context<A::Message>,
        reason: &Reason,
    ) -> impl Future<Output = ()> + Send {
        Actor::terminate(self, ctx, reason)
    }

    fn show_message(message: &A::Message) -> Option<String> {
        <A as Actor>::show_message(message)
    }

    fn kind() -> ProcessKind {
        ProcessKind::Actor
    }
}
