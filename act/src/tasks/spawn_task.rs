//! A task that has not been started, and its options.

use super::outcome::{TaskOutcome, TaskResult, WhyEnded};
use super::running::TaskProcess;
use super::task::Task;
use super::work::Work;
use crate::calls::pending::wait;
use crate::calls::reply::Reply;
use crate::context::Context;
use crate::host::delegate::UnusedPid;
use crate::host::host::Host;
use crate::host::shared_host::SharedHost;
use crate::lifecycle::spawn::{Inside, Outside, Spawn};
use crate::process::asked_to_end::ask_to_end;
use crate::process::current;
use crate::process::process::Process;
use crate::process::progress::ProcessMark;
use krarup_gen::{CannotWait, Class, Pid, SpawnError, TaskError};
use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll};
use std::time::Duration;

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// Runs a future in a process of its own, for this process: Elixir's `Task`. Await the
    /// returned builder for the value, or [`SpawnTask::start`] it and await the handle later.
    ///
    /// Calls and sends in the future come from the task's process. A panic in it ends nobody
    /// else (rule J1). The task ends with this process, however that ends (rule J2). For work
    /// beside a process that continues to serve, see [`Context::pipe`].
    ///
    /// ```
    /// # use krarup_act::{Address, Context, Reply};
    /// # use krarup_gen::Result;
    /// # use std::time::Duration;
    /// # enum Bank { Rates(Reply<Vec<u32>>) }
    /// # struct Order;
    /// # async fn write_audit(_: Order) {}
    /// async fn quote(ctx: &mut Context<Order>, bank: Address<Bank>, order: Order) -> Result {
    ///     let audit = ctx.task(write_audit(order)).start()?;
    ///     let rates = ctx
    ///         .task(async move { bank.call(Bank::Rates).await })
    ///         .timeout(Duration::from_secs(1))
    ///         .await??;
    ///     audit.await?;
    ///     # drop(rates);
    ///     Ok(())
    /// }
    /// # let _ = quote;
    /// ```
    pub fn task<F>(&self, future: F) -> SpawnTask<F>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        SpawnTask { future, plan: self.task_plan(), kind: PhantomData }
    }

    pub(super) fn task_plan(&self) -> TaskPlan {
        // A hint: see `Progress`.
        self.cell.progress.set(ProcessMark::HasCleaners, true);
        TaskPlan::new(Arc::clone(&self.cell.shared), Some(self.process()))
    }
}

/// A task that has not been started; made by [`Context::task`] and `Node::task`.
///
/// Set options, then `.await` it for its value (or `.wait()` for it on a plain thread), or
/// [`SpawnTask::start`] it.
#[must_use = "a task does not run until it is awaited, waited for or started"]
pub struct SpawnTask<F, P = Inside> {
    future: F,
    plan: TaskPlan,
    kind: PhantomData<fn() -> P>,
}

impl<F> SpawnTask<F, Outside>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    /// Makes a task whose owner is the node. For hosts; users have `Node::task`.
    pub fn outside(host: Arc<dyn Host>, future: F) -> Self {
        SpawnTask { future, plan: TaskPlan::new(SharedHost::of(host), None), kind: PhantomData }
    }
}

impl<F> SpawnTask<F, Inside> {
    /// Links the task to its owner: a panic in it, or a kill, is the owner's failure too
    /// (Elixir's `async`; rule J4). A timeout is not, nor is a handle that is dropped.
    pub fn linked(mut self) -> Self {
        self.plan.linked = true;
        self
    }
}

macro_rules! task_options {
    () => {
        /// Ends a task that is not done within this time of its first turn, with
        /// [`TaskError::Timeout`]. By default there is no limit.
        pub fn timeout(mut self, timeout: Duration) -> Self {
            self.plan.timeout = Some(timeout);
            self
        }

        /// Runs the process of the task on the dispatcher of this name; by default on that of its
        /// owner.
        pub fn dispatcher(mut self, name: impl Into<String>) -> Self {
            self.plan.dispatcher = Some(name.into());
            self
        }

        /// Schedules the process of the task in this class; by default in that of its owner.
        pub fn class(mut self, class: Class) -> Self {
            self.plan.class = Some(class);
            self
        }

        /// Runs the future on a side thread, which it may block (see [`Context::block`]). Its
        /// calls and sends come from outside any process then. A future that blocks cannot be
        /// ended: if its task ends, it continues on the side thread, and its value is dropped.
        pub fn blocking(mut self) -> Self {
            self.plan.blocking = true;
            self
        }
    };
}
pub(super) use task_options;

impl<F, P> SpawnTask<F, P> {
    task_options!();
}

impl<F, P> SpawnTask<F, P>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    /// Starts the task, and returns a handle on it.
    ///
    /// # Errors
    /// Those of [`SpawnError`] that are known at once: its dispatcher, or the node is stopping.
    pub fn start(self) -> Result<Task<F::Output>, SpawnError> {
        let (reply, answer) = Reply::new(None);
        let host = Arc::clone(&self.plan.shared.host);
        let owner = self.plan.owner();
        let (pid, why) = self.plan.launch(UnusedPid::new(&*host), self.future, reply)?;
        Ok(Task::new(host, pid, owner, why, answer))
    }

    /// Runs the task, and waits for it on a plain thread.
    ///
    /// # Errors
    /// Those of awaiting it, and [`TaskError::CannotWait`].
    pub fn wait(self) -> Result<F::Output, TaskError>
    where
        P: 'static,
    {
        if current::pid().is_some() {
            return Err(CannotWait::InProcess.into());
        }
        let host = Arc::clone(&self.plan.shared.host);
        wait(&*host, self.into_future())?
    }
}

impl<F, P> IntoFuture for SpawnTask<F, P>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    type Output = Result<F::Output, TaskError>;
    type IntoFuture = TaskFuture<F, P>;

    fn into_future(self) -> TaskFuture<F, P> {
        TaskFuture { new: Some(self), task: None }
    }
}

/// A task that is awaited as it is started.
#[must_use = "futures do nothing unless polled"]
pub struct TaskFuture<F: Future, P = Inside>
where
    F::Output: Send + 'static,
{
    /// Taken in the first poll.
    new: Option<SpawnTask<F, P>>,
    task: Option<Task<F::Output>>,
}

// Nothing in it is pinned: the future is a plain value until its task is started.
impl<F: Future, P> Unpin for TaskFuture<F, P> where F::Output: Send + 'static {}

impl<F, P> Future for TaskFuture<F, P>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    type Output = Result<F::Output, TaskError>;

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if let Some(new) = this.new.take() {
            this.task = Some(new.start()?);
        }
        match &mut this.task {
            Some(task) => Pin::new(task).poll(cx),
            // The result has been taken.
            None => Poll::Pending,
        }
    }
}

/// How a task is to be started, without its future.
#[derive(Clone)]
pub(super) struct TaskPlan {
    pub(super) shared: Arc<SharedHost>,
    owner: Option<Arc<dyn Process>>,
    pub(super) timeout: Option<Duration>,
    pub(super) dispatcher: Option<String>,
    pub(super) class: Option<Class>,
    pub(super) linked: bool,
    pub(super) blocking: bool,
}

impl TaskPlan {
    pub(super) fn new(shared: Arc<SharedHost>, owner: Option<Arc<dyn Process>>) -> Self {
        TaskPlan {
            shared,
            owner,
            timeout: None,
            dispatcher: None,
            class: None,
            linked: false,
            blocking: false,
        }
    }

    /// Returns the owner, unless it is the node.
    pub(super) fn owner(&self) -> Option<Pid> {
        self.owner.as_ref().map(|owner| owner.pid())
    }

    /// Starts a task of this pid that answers with `reply`.
    pub(super) fn launch<F>(
        self,
        unused: UnusedPid,
        future: F,
        reply: Reply<TaskResult<F::Output>>,
    ) -> Result<(Pid, Option<Arc<WhyEnded>>), SpawnError>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let TaskPlan { shared, owner, timeout, dispatcher, class, linked, blocking } = self;
        let pid = unused.pid();
        let owned = owner.as_ref().and_then(|owner| owner.relations().tasks());
        // A context can outlive its process.
        let too_late = owner.is_some() && !owned.as_ref().is_some_and(|owned| owned.add(pid));
        let why = (linked || timeout.is_some()).then(Arc::<WhyEnded>::default);
        let outcome = TaskOutcome {
            host: Arc::clone(&shared.host),
            pid,
            linked_to: owner.as_ref().filter(|_| linked).map(|owner| owner.pid()),
            owned,
            why: why.clone(),
            timeout,
            timer: None,
            reply: Some(reply),
        };
        let factory = move || TaskProcess { outcome, work: Work::new(future, blocking) };
        let node = Arc::clone(&shared);
        let mut spawn =
            Spawn::<_, _, Inside>::new(shared, factory, owner.map(|owner| owner.pid())).pid(unused);
        if linked {
            spawn = spawn.link();
        }
        if let Some(dispatcher) = dispatcher {
            spawn = spawn.dispatcher(dispatcher);
        }
        if let Some(class) = class {
            spawn = spawn.class(class);
        }
        spawn.start()?;
        if too_late {
            ask_to_end(&*node.host, node.host.node_pid(), pid);
        }
        Ok((pid, why))
    }
}

impl<F, P> fmt::Debug for SpawnTask<F, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.plan, f)
    }
}

impl fmt::Debug for TaskPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpawnTask")
            .field("owner", &self.owner())
            .field("timeout", &self.timeout)
            .field("dispatcher", &self.dispatcher)
            .field("linked", &self.linked)
            .field("blocking", &self.blocking)
            .finish_non_exhaustive()
    }
}

impl<F: Future, P> fmt::Debug for TaskFuture<F, P>
where
    F::Output: Send + 'static,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.new, &self.task) {
            (Some(new), _) => fmt::Debug::fmt(new, f),
            (None, Some(task)) => fmt::Debug::fmt(task, f),
            (None, None) => f.write_str("TaskFuture(done)"),
        }
    }
}
