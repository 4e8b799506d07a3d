//! The bare process: an async function that receives.

use crate::context::Context;
use krarup_gen::{ProcessKind, Result};
use std::fmt;
use std::marker::PhantomData;

/// Erlang's bare process: an async function over a [`Context`] that can
/// [`receive`](Context::receive).
///
/// [`Actor`](crate::Actor), [`Pool`](crate::Pool) and the supervisor are behaviours that use
/// nothing but the public interface. The spawn of a bare process completes when the process first
/// receives, calls [`Context::initialised`], drops its context or ends normally; a process that
/// never receives should call [`Context::initialised`]. The process ends when `run` returns, with
/// [`Reason::Normal`](krarup_gen::Reason::Normal) for `Ok`. For a plain function see
/// [`behavior_fn`].
///
/// A behaviour that runs callbacks of others, receives only a part of what arrives, or has work
/// besides its mailbox imports [`BehaviorContext`](crate::BehaviorContext): it has the operations
/// of a context that only behaviours call.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a behaviour",
    label = "not a behaviour",
    note = "implement `Actor` for it; `StateMachine`, `StateActor` and `StepProcess` are spawned by their wrappers `Machine`, `Stateful` and `Stepped`; a function of a `Context` by `behavior_fn`; in `Pool<W, R, P>` the second type is the routing, the third the behaviour of the pool"
)]
pub trait Behavior: Send + 'static {
    /// The type of messages on the Main lane.
    type Message: Send + 'static;
    /// The type of messages on the Urgent and System lanes.
    type Command: Send + 'static;

    /// Whether all turns of the process must be on one thread (rule R8), as those of
    /// [`local_behavior_fn`](crate::local_behavior_fn). A behaviour that runs another one in its
    /// process has the value of that one.
    const ONE_THREAD: bool = false;

    /// Runs the process from its start to its end.
    fn run(self, ctx: Context<Self::Message, Self::Command>)
    -> impl Future<Output = Result> + Send;

    /// Does the same as [`Behavior::run`] for the turn of the process alone, which polls nothing but this future. A
    /// panic may leave it then, and the turn runs what it has left: an [`Actor`](crate::Actor) needs less
    /// room so.
    #[doc(hidden)]
    fn run_in_turn(
        self,
        ctx: Context<Self::Message, Self::Command>,
    ) -> impl Future<Output = Result> + Send
    where
        Self: Sized,
    {
        self.run(ctx)
    }

    /// The label of the process in displays of the process tree; the type's name unless
    /// overridden.
    #[must_use]
    fn label() -> &'static str
    where
        Self: Sized,
    {
        std::any::type_name::<Self>()
    }

    /// The kind of the behaviour, for those that look at the node;
    /// [`ProcessKind::Process`] unless overridden.
    #[must_use]
    fn kind() -> ProcessKind
    where
        Self: Sized,
    {
        ProcessKind::Process
    }

    /// Returns a message of the Main lane as text, for flight recorders and traces. By default
    /// messages are private: `None`. The text is cut at 4096 bytes (rule V50).
    #[must_use]
    fn show_message(message: &Self::Message) -> Option<String>
    where
        Self: Sized,
    {
        let _ = message;
        None
    }

    /// Returns a message of the Urgent or the System lane as text, as
    /// [`Behavior::show_message`] does.
    #[must_use]
    fn show_command(command: &Self::Command) -> Option<String>
    where
        Self: Sized,
    {
        let _ = command;
        None
    }

    /// Whether the behaviour makes its Main lane a route
    /// ([`BehaviorContext::route_main`](crate::BehaviorContext::route_main)), as a pool does. No
    /// message then waits in the mailbox of its process. False unless overridden.
    #[must_use]
    fn routes_main() -> bool
    where
        Self: Sized,
    {
        false
    }
}

/// Makes a behaviour from an async function.
///
/// ```
/// # use krarup_act::{behavior_fn, Context, Received};
/// let echo = behavior_fn(|mut ctx: Context<String>| async move {
///     while let Received::Message(text) = ctx.receive().await {
///         println!("{text}");
///     }
///     Ok(())
/// });
/// # let _ = echo;
/// ```
pub fn behavior_fn<M, C, F, R>(run: F) -> BehaviorFn<M, C, F>
where
    M: Send + 'static,
    C: Send + 'static,
    F: FnOnce(Context<M, C>) -> R + Send + 'static,
    R: Future<Output = Result> + Send,
{
    BehaviorFn { run, types: PhantomData }
}

/// A function as a [`Behavior`]; made by [`behavior_fn`].
pub struct BehaviorFn<M, C, F> {
    run: F,
    types: PhantomData<fn(M, C)>,
}

impl<M, C, F> fmt::Debug for BehaviorFn<M, C, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BehaviorFn")
    }
}

impl<M, C, F, R> Behavior for BehaviorFn<M, C, F>
where
    M: Send + 'static,
    C: Send + 'static,
    F: FnOnce(Context<M, C>) -> R + Send + 'static,
    R: Future<Output = Result> + Send,
{
    type Message = M;
    type Command = C;

    fn run(self, ctx: Context<M, C>) -> impl Future<Output = Result> + Send {
        (self.run)(ctx)
    }

    fn label() -> &'static str {
        std::any::type_name::<F>()
    }
}
