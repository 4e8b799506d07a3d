//! The bare process.

use crate::context::Context;
use krarup_gen::Result;
use std::fmt;
use std::marker::PhantomData;

/// Erlang's bare process: an async function over a [`Context`] that can
/// [`receive`](Context::receive).
///
/// [`crate::Actor`], [`crate::Pool`] and the supervisor are behaviours written on it
/// with nothing a user could not have. To whoever awaits its spawn a bare process has
/// started when it first receives, calls [`Context::initialised`], or has ended normally:
/// one that never receives calls that first. The process ends when `run` returns, with
/// [`krarup_gen::Reason::Normal`] for `Ok`. For a plain function see [`behavior_fn`].
pub trait Behavior: Send + 'static {
    /// What comes on the Main lane.
    type Message: Send + 'static;
    /// What comes on the Urgent and System lanes.
    type Command: Send + 'static;

    /// The life of the process.
    fn run(self, ctx: Context<Self::Message, Self::Command>)
    -> impl Future<Output = Result> + Send;

    /// What the process is called in pictures of it; the type's name unless overridden.
    #[must_use]
    fn label() -> &'static str
    where
        Self: Sized,
    {
        std::any::type_name::<Self>()
    }

    /// Whether it makes its Main lane a route ([`Context::route_main`]), as a pool does: then no
    /// message waits with its process. False unless overridden.
    #[must_use]
    fn routes_main() -> bool
    where
        Self: Sized,
    {
        false
    }
}

/// Makes an async function a behaviour.
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
