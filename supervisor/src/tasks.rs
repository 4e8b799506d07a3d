//! Tasks below a process of their own: Elixir's `Task.Supervisor` (rule J9).
//!
//! ```text
//!   TasksAddress::run(future) ── request ──► Tasks ── ctx.task ──► task, task, ..
//!          ◄── its pid, or the future back ──┘          └── monitored, never restarted
//! ```

use krarup_act::{Actor, Address, BehaviorContext, Call, Context, KILL_GRACE, Reply, Sleep, Watch};
use krarup_gen::{CallError, Down, Inspection, Name, Pid, Reason, Result, SpawnError, Target};
use std::collections::BTreeSet;
use std::error::Error;
use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

/// How long a stop waits for the tasks that run, unless [`Tasks::shutdown`] says otherwise.
const SHUTDOWN: Duration = Duration::from_secs(5);

/// A process that runs futures as tasks of its own, each in a process. For work that should
/// outlive the handler that has begun it.
///
/// A task is never restarted. A task that fails ends nobody else; its end is logged, as that of
/// every process. The tasks end with this process: a stop waits for them first.
///
/// ```
/// # mod krarup { pub use {krarup_gen::*, krarup_node as testing, krarup_supervisor as supervisor}; }
/// use krarup::Result;
/// use krarup::supervisor::{Tasks, TasksAddress, TasksCalls};
/// use krarup::testing::Simulation;
///
/// # async fn send_mail(_: &str) {}
/// # fn main() -> Result {
/// let node = Simulation::new(1);
/// let tasks: TasksAddress = node.spawn(|| Tasks::new().at_most(1_000)).name("tasks").wait()?;
/// let sent = node.task(async move { tasks.run(send_mail("order")).await });
/// sent.wait()??;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Tasks {
    at_most: usize,
    shutdown: Duration,
    running: BTreeSet<Pid>,
}

impl Default for Tasks {
    fn default() -> Self {
        Self::new()
    }
}

impl Tasks {
    /// Makes a process without tasks and without a limit.
    #[must_use]
    pub fn new() -> Self {
        Tasks { at_most: usize::MAX, shutdown: SHUTDOWN, running: BTreeSet::new() }
    }

    /// Sets how many tasks run at most. One more is refused ([`RunError::Full`]).
    #[must_use]
    pub fn at_most(mut self, tasks: usize) -> Self {
        self.at_most = tasks;
        self
    }

    /// Sets how long a stop waits for the tasks that run before it ends them; by default 5 s. A
    /// supervisor must give its child at least as long ([`Shutdown`](crate::Shutdown)).
    #[must_use]
    pub fn shutdown(mut self, time: Duration) -> Self {
        self.shutdown = time;
        self
    }
}

impl Actor for Tasks {
    type Message = TasksMessage;

    async fn handle_message(
        &mut self,
        ctx: &mut Context<TasksMessage>,
        request: TasksMessage,
    ) -> Result {
        if self.running.len() >= self.at_most {
            request.0.refuse(self.at_most);
        } else if let Some(pid) = request.0.start(ctx) {
            self.running.insert(pid);
            // Urgent, so that its place is free before requests that wait.
            ctx.monitor_urgent(pid);
        }
        Ok(())
    }

    async fn handle_down(&mut self, _: &mut Context<TasksMessage>, down: Down) -> Result {
        if let Target::Pid(pid) = down.target {
            self.running.remove(&pid);
        }
        Ok(())
    }

    fn inspect(&self) -> Inspection {
        let inspection = Inspection::new().with("running", self.running.len());
        if self.at_most == usize::MAX {
            inspection
        } else {
            inspection.with("at_most", self.at_most)
        }
    }

    async fn terminate(&mut self, ctx: &mut Context<TasksMessage>, _: &Reason) {
        self.wait_for_all(ctx, self.shutdown).await;
        let (own, log) = (ctx.pid(), ctx.supervision_log());
        for task in &self.running {
            tracing::warn!(
                target: "krarup", tasks = %own,
                tasks_name = log.name_of(own).as_ref().map(Name::as_str), pid = %task,
                "task ended by shutdown"
            );
            log.report_task_shutdown(own, *task, self.shutdown);
            ctx.exit(*task, Reason::Shutdown);
        }
        // Only one that blocks its thread takes longer; it is left behind.
        self.wait_for_all(ctx, KILL_GRACE).await;
    }
}

impl Tasks {
    /// Waits until the tasks that run have ended, but no longer than this.
    async fn wait_for_all(&mut self, ctx: &mut Context<TasksMessage>, limit: Duration) {
        let due = ctx.now() + limit;
        while let Some(task) = self.running.first() {
            let (end, left) = (ctx.watch(*task), due.since(ctx.now()));
            if !ended_before(end, ctx.sleep(left)).await {
                return;
            }
            self.running.pop_first();
        }
    }
}

/// Whether the process has ended before the time was over.
async fn ended_before(end: Watch, sleep: Sleep) -> bool {
    let (mut end, mut sleep) = (pin!(end), pin!(sleep));
    poll_fn(|cx| match end.as_mut().poll(cx) {
        Poll::Ready(_) => Poll::Ready(true),
        Poll::Pending => sleep.as_mut().poll(cx).map(|()| false),
    })
    .await
}

/// The address of [`Tasks`].
pub type TasksAddress = Address<TasksMessage>;

/// A request to run a future: the message of [`Tasks`]; made by [`TasksCalls::run`].
pub struct TasksMessage(Box<dyn StartTask>);

impl fmt::Debug for TasksMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TasksMessage")
    }
}

/// A future of some type, and the token of the request.
trait StartTask: Send {
    /// Starts the task and answers. Returns its pid, unless it could not be started.
    fn start(self: Box<Self>, ctx: &Context<TasksMessage>) -> Option<Pid>;

    /// Gives the future back.
    fn refuse(self: Box<Self>, limit: usize);
}

struct TaskRequest<F: Send + 'static> {
    future: F,
    reply: Reply<Result<Pid, NotRun<F>>>,
}

/// Why a task does not run, as `Tasks` answers it.
enum NotRun<F> {
    Full { future: F, limit: usize },
    Spawn(SpawnError),
}

impl<F> StartTask for TaskRequest<F>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    fn start(self: Box<Self>, ctx: &Context<TasksMessage>) -> Option<Pid> {
        let TaskRequest { future, reply } = *self;
        match ctx.task(future).start() {
            Ok(task) => {
                let pid = task.pid();
                // A caller that has given up was told that nothing runs.
                reply.try_send(Ok(pid)).ok()?;
                task.detach();
                Some(pid)
            }
            Err(error) => {
                reply.send(Err(NotRun::Spawn(error)));
                None
            }
        }
    }

    fn refuse(self: Box<Self>, limit: usize) {
        let TaskRequest { future, reply } = *self;
        reply.send(Err(NotRun::Full { future, limit }));
    }
}

/// What one does with the address of [`Tasks`].
pub trait TasksCalls {
    /// Runs the future as a task, without waiting for its value, which is dropped. Returns the
    /// pid of the task's process when the task was accepted.
    ///
    /// # Errors
    /// [`RunError::Full`] with the future, if as many tasks run as may. [`RunError::NotStarted`]
    /// if the process cannot be spawned, and [`RunError::Call`] if there was no answer; the
    /// future is dropped then.
    fn run<F>(&self, future: F) -> impl Future<Output = Result<Pid, RunError<F>>> + Send
    where
        F: Future<Output: Send + 'static> + Send + 'static;
}

impl TasksCalls for TasksAddress {
    async fn run<F>(&self, future: F) -> Result<Pid, RunError<F>>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let request = |reply| TasksMessage(Box::new(TaskRequest { future, reply }));
        let call: Call<'_, _, _, Result<Pid, NotRun<F>>, _> = self.call(request);
        match call.await {
            Ok(Ok(pid)) => Ok(pid),
            Ok(Err(NotRun::Full { future, limit })) => Err(RunError::Full { future, limit }),
            Ok(Err(NotRun::Spawn(error))) => Err(RunError::NotStarted(error)),
            Err(error) => Err(RunError::Call(error)),
        }
    }
}

/// Why a future does not run as a task of [`Tasks`].
#[non_exhaustive]
pub enum RunError<F> {
    /// As many tasks run as may.
    Full {
        /// The future.
        future: F,
        /// How many tasks run at most.
        limit: usize,
    },
    /// The process of the task could not be spawned.
    NotStarted(SpawnError),
    /// The process of the tasks did not answer.
    Call(CallError),
}

impl<F> fmt::Debug for RunError<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Full { limit, .. } => {
                f.debug_struct("Full").field("limit", limit).finish_non_exhaustive()
            }
            RunError::NotStarted(error) => f.debug_tuple("NotStarted").field(error).finish(),
            RunError::Call(error) => f.debug_tuple("Call").field(error).finish(),
        }
    }
}

impl<F> fmt::Display for RunError<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Full { limit, .. } => write!(f, "{limit} tasks run, and no more may"),
            RunError::NotStarted(error) => write!(f, "cannot start a task: {error}"),
            RunError::Call(error) => fmt::Display::fmt(error, f),
        }
    }
}

impl<F> Error for RunError<F> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            RunError::NotStarted(error) => Some(error),
            // Printed as it is.
            RunError::Call(error) => error.source(),
            RunError::Full { .. } => None,
        }
    }
}
