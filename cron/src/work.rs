//! What a job does when it runs.

use crate::calls::CronContext;
use krarup_act::{Behavior, Context, behavior_fn};
use krarup_gen::{Pid, Reason, Result, SendError};
use std::sync::Arc;

/// The work of a job. It is a user's code, so its callers contain it.
pub(crate) trait JobWork: Send + 'static {
    /// Begins a run.
    ///
    /// # Errors
    /// The run has failed already.
    fn begin(&mut self, ctx: &mut CronContext, job: &str) -> Result<Begun>;
}

/// A run that has begun.
pub(crate) enum Begun {
    /// It has ended, too.
    Done,
    /// It ends with this process.
    Runs(Pid),
}

/// What a future of a job returns: nothing, or a result whose error is the failure of the run.
pub trait JobOutcome: Send + 'static {
    /// Returns the result of the run.
    ///
    /// # Errors
    /// The failure of the run.
    fn outcome(self) -> Result;
}

impl JobOutcome for () {
    fn outcome(self) -> Result {
        Ok(())
    }
}

impl<T, E> JobOutcome for Result<T, E>
where
    T: Send + 'static,
    E: Into<Reason> + Send + 'static,
{
    fn outcome(self) -> Result {
        self.map(drop).map_err(Into::into)
    }
}

/// Sends a message.
pub(crate) struct SendTo<S, F> {
    pub(crate) send: S,
    pub(crate) message: F,
}

impl<T, S, F> JobWork for SendTo<S, F>
where
    T: Send + 'static,
    S: Fn(T) -> Result<(), SendError<T>> + Send + 'static,
    F: FnMut() -> T + Send + 'static,
{
    fn begin(&mut self, _: &mut CronContext, _: &str) -> Result<Begun> {
        let sent = (self.send)((self.message)());
        sent.map(|()| Begun::Done).map_err(|error| Reason::error(error.without_message()))
    }
}

/// Sends a message to whoever has a name.
pub(crate) struct SendByName<F> {
    pub(crate) to: String,
    pub(crate) message: F,
}

impl<T, F> JobWork for SendByName<F>
where
    T: Send + 'static,
    F: FnMut() -> T + Send + 'static,
{
    fn begin(&mut self, ctx: &mut CronContext, _: &str) -> Result<Begun> {
        let sent = ctx.send(self.to.as_str(), (self.message)());
        sent.map(|()| Begun::Done).map_err(|error| Reason::error(error.without_message()))
    }
}

/// Spawns a process.
pub(crate) struct SpawnWork<F>(pub(crate) Arc<F>);

impl<B, F> JobWork for SpawnWork<F>
where
    B: Behavior,
    F: Fn() -> B + Send + Sync + 'static,
{
    fn begin(&mut self, ctx: &mut CronContext, _: &str) -> Result<Begun> {
        let factory = Arc::clone(&self.0);
        let monitor = ctx.make_ref();
        Ok(Begun::Runs(ctx.spawn(move || factory()).link().monitor(monitor).start()?.pid()))
    }
}

/// Awaits a future in a process.
pub(crate) struct TaskWork<F>(pub(crate) Arc<F>);

impl<F, R> JobWork for TaskWork<F>
where
    F: Fn() -> R + Send + Sync + 'static,
    R: Future<Output: JobOutcome> + Send + 'static,
{
    fn begin(&mut self, ctx: &mut CronContext, job: &str) -> Result<Begun> {
        let future = Arc::clone(&self.0);
        let monitor = ctx.make_ref();
        // A task whose future returns an error is to end with it, which is logged and seen.
        let task = move || {
            behavior_fn(move |mut ctx: Context<()>| async move {
                ctx.initialised();
                future().await.outcome()
            })
        };
        Ok(Begun::Runs(ctx.spawn(task).label(job).link().monitor(monitor).start()?.pid()))
    }
}
