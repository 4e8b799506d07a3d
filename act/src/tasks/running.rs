//! What runs in the process of a task.

use super::outcome::TaskOutcome;
use super::work::Work;
use crate::behavior::Behavior;
use crate::context::Context;
use crate::lifecycle::owned_tasks::TASK_LABEL;
use krarup_gen::Result;
use std::pin::Pin;
use std::task::{self, Poll};

/// The behaviour of a task's process.
pub(super) struct TaskProcess<F: Future>
where
    F::Output: Send + 'static,
{
    pub(super) outcome: TaskOutcome<F::Output>,
    pub(super) work: Work<F>,
}

impl<F> Behavior for TaskProcess<F>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    type Message = ();
    type Command = ();

    fn run(self, ctx: Context<(), ()>) -> impl Future<Output = Result> + Send {
        RunTask { outcome: self.outcome, ctx, work: self.work }
    }

    fn label() -> &'static str {
        TASK_LABEL
    }
}

pin_project_lite::pin_project! {
    /// The life of a task. A type of its own, and no `async` block, so that the future is stored
    /// once.
    struct RunTask<F: Future>
    where
        F::Output: Send,
        F::Output: 'static,
    {
        outcome: TaskOutcome<F::Output>,
        ctx: Context<(), ()>,
        #[pin]
        work: Work<F>,
    }
}

impl<F> Future for RunTask<F>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    type Output = Result;

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Result> {
        let this = self.project();
        if !this.ctx.is_started() {
            this.ctx.initialised();
            this.outcome.begin();
        }
        let outcome = this.work.poll(this.ctx, cx);
        if outcome.is_pending() {
            this.ctx.cell.untyped().may_be_awaited();
        }
        outcome.map(|outcome| {
            this.outcome.give(outcome?);
            Ok(())
        })
    }
}
