//! The handle on a task that runs.

use super::outcome::{TaskResult, WhyEnded};
use crate::calls::deadline::within;
use crate::calls::pending::wait;
use crate::calls::pending_reply::PendingReply;
use crate::calls::reply::Answer;
use crate::calls::slot::SlotReceiver;
use crate::host::host::Host;
use crate::process::asked_to_end::ask_to_end;
use krarup_gen::{CallError, Pid, Reason, TaskError};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// A task that runs (Elixir's `Task`); made by [`SpawnTask::start`](crate::SpawnTask::start).
///
/// Await it for its value. The value comes when the task's process has ended, so nothing of the
/// task runs any more then. A handle that is dropped ends its task at its next await (rule J3);
/// see also [`Task::end`] and [`Task::detach`].
///
/// Awaiting a task is a wait as that of a call. A task that calls its owner meanwhile fails in
/// that call at once, with [`CallError::Deadlock`] (rule J8).
#[must_use = "a task whose handle is dropped is ended"]
pub struct Task<T: Send + 'static> {
    host: Arc<dyn Host>,
    pid: Pid,
    owner: Pid,
    why: Option<Arc<WhyEnded>>,
    answer: PendingReply<TaskResult<T>>,
    /// Whether the result was taken, or the task may go on without this handle.
    done: bool,
}

impl<T: Send + 'static> Task<T> {
    pub(super) fn new(
        host: Arc<dyn Host>,
        pid: Pid,
        owner: Option<Pid>,
        why: Option<Arc<WhyEnded>>,
        answer: SlotReceiver<Answer<TaskResult<T>>>,
    ) -> Self {
        let owner = owner.unwrap_or_else(|| host.node_pid());
        let answer = PendingReply::new(answer, pid, None);
        Task { host, pid, owner, why, answer, done: false }
    }

    /// Returns the pid of the task's process.
    #[must_use]
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Waits for the task, but no longer than this (Elixir's `Task.yield`). `None` if it is not
    /// done by then; it continues to run, and can be awaited again (rule J5).
    pub async fn within(&mut self, limit: Duration) -> Option<Result<T, TaskError>> {
        let host = Arc::clone(&self.host);
        within(&host, limit, self).await
    }

    /// Ends the task and waits for its end (Elixir's `Task.shutdown`). Returns its result if it
    /// was done by then, else `None` (rule J5).
    ///
    /// The task ends at its next await. So this waits as long as the task blocks its thread.
    pub async fn end(mut self) -> Option<Result<T, TaskError>> {
        self.ask_to_end();
        match (&mut self).await {
            Err(TaskError::Ended(Reason::Shutdown)) => None,
            result => Some(result),
        }
    }

    /// Lets the task run without this handle, until it is done or its owner ends (rule J3). Its
    /// value is dropped.
    pub fn detach(mut self) {
        self.done = true;
    }

    /// Waits for the task on a plain thread.
    ///
    /// # Errors
    /// Those of awaiting it, and [`TaskError::CannotWait`].
    pub fn wait(self) -> Result<T, TaskError> {
        let host = Arc::clone(&self.host);
        wait(&*host, self)?
    }

    fn ask_to_end(&self) {
        if let Some(why) = &self.why {
            why.by_owner();
        }
        ask_to_end(&*self.host, self.owner, self.pid);
    }
}

impl<T: Send + 'static> Future for Task<T> {
    type Output = Result<T, TaskError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let task = self.get_mut();
        if task.done {
            // The result has been taken.
            return Poll::Pending;
        }
        // In a cycle it is a call that fails, not the wait for a task.
        let answered = task.answer.poll(&task.host, cx, |_| false);
        answered.map(|answer| {
            task.done = true;
            task.answer.abandon(&task.host);
            match answer {
                Ok(result) => result,
                Err(error) => Err(task_error(error)),
            }
        })
    }
}

/// Why a task has ended without a value.
pub(super) fn task_error(error: CallError) -> TaskError {
    match error {
        CallError::Terminated { reason, .. } | CallError::NotBegun { reason, .. } => match reason {
            Reason::Panic(_) => TaskError::Failed(reason),
            reason => TaskError::Ended(reason),
        },
        // The process was dropped with its node.
        _ => TaskError::NodeStopping,
    }
}

impl<T: Send + 'static> Drop for Task<T> {
    fn drop(&mut self) {
        if !self.done {
            self.ask_to_end();
        }
    }
}

impl<T: Send + 'static> fmt::Debug for Task<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Task({})", self.pid)
    }
}
