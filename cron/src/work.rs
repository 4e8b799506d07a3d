//! What a job does when it runs.

use crate::job::{Begun, CronContext, Job, JobWork};
use krarup_act::{Address, Behavior, Context, Recipient, behavior_fn};
use krarup_gen::{Reason, Result, SendError, WorkOutcome};
use std::sync::Arc;

impl Job {
    fn works(mut self, work: impl JobWork) -> Self {
        self.work = Some(Box::new(work));
        self
    }

    /// Has each run send a message to a process or a pool. If it is refused, the run has failed.
    ///
    /// The address is that of one process: when a supervisor has restarted it, use
    /// [`Job::send_to_name`].
    #[must_use]
    pub fn send_to<M, C, F>(self, to: &Address<M, C>, message: F) -> Self
    where
        M: Send + 'static,
        C: Send + 'static,
        F: FnMut() -> M + Send + 'static,
    {
        let to = to.clone();
        self.works(SendTo { send: move |message| to.send(message), message })
    }

    /// As [`Job::send_to`], to a recipient.
    #[must_use]
    pub fn send_to_recipient<T, F>(self, to: &Recipient<T>, message: F) -> Self
    where
        T: Send + 'static,
        F: FnMut() -> T + Send + 'static,
    {
        let to = to.clone();
        self.works(SendTo { send: move |message| to.send(message), message })
    }

    /// As [`Job::send_to`], to the process that has this name when the job runs. A name that no process can
    /// have is an error when the job is added (rule T13).
    #[must_use]
    pub fn send_to_name<T, F>(self, name: impl Into<String>, message: F) -> Self
    where
        T: Send + 'static,
        F: FnMut() -> T + Send + 'static,
    {
        self.works(SendByName { to: name.into(), message })
    }

    /// Has each run spawn a process, a child of the cron. The run ends with the process, and has
    /// failed if that ends abnormally.
    #[must_use]
    pub fn spawn<B, F>(self, factory: F) -> Self
    where
        B: Behavior,
        F: Fn() -> B + Send + Sync + 'static,
    {
        self.works(SpawnWork(Arc::new(factory)))
    }

    /// Has each run await a future in a process of its own, a child of the cron. The run has
    /// failed if the future returns an error or panics.
    #[must_use]
    pub fn task<F, R>(self, future: F) -> Self
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Future<Output: WorkOutcome> + Send + 'static,
    {
        self.works(TaskWork(Arc::new(future)))
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
    fn receiver(&self) -> Option<&str> {
        Some(&self.to)
    }

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
    R: Future<Output: WorkOutcome> + Send + 'static,
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
