//! The future of a task: it runs in the task's process, or on a side thread.

use crate::calls::pending::wait;
use crate::context::Context;
use crate::lifecycle::block::Block;
use krarup_gen::{CannotWait, Reason};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll};

/// A future on a side thread; `None` before it has begun there.
pub(super) type SideWork<T> = Option<Block<Result<T, CannotWait>>>;

pin_project_lite::pin_project! {
    #[project = WorkProjection]
    pub(super) enum Work<F: Future> {
        Here { #[pin] future: F },
        Aside { future: Option<F>, running: SideWork<F::Output> },
    }
}

impl<F> Work<F>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    pub(super) fn new(future: F, blocking: bool) -> Self {
        if blocking {
            Work::Aside { future: Some(future), running: None }
        } else {
            Work::Here { future }
        }
    }

    /// Polls the future, for the process of the context. An error is the reason with which this
    /// process ends.
    pub(super) fn poll(
        self: Pin<&mut Self>,
        ctx: &Context<(), ()>,
        cx: &mut task::Context<'_>,
    ) -> Poll<Result<F::Output, Reason>> {
        match self.project() {
            WorkProjection::Here { future } => future.poll(cx).map(Ok),
            WorkProjection::Aside { future, running } => {
                if let Some(future) = future.take() {
                    let host = Arc::clone(ctx.host());
                    *running = Some(ctx.block(move || wait(&*host, future)));
                }
                let Some(running) = running else { return Poll::Pending };
                Pin::new(running).poll(cx).map(|ran| Ok(ran??))
            }
        }
    }
}
