//! Waiting for an operation: by `.await`, or on a plain thread.
//!
//! Spawns, calls, stops and inspections are builders: nothing happens until they are awaited,
//! or waited for on a plain thread. Those on the hot path have types of their own; all others
//! are a [`Pending`].

use crate::host::host::{Host, Stalled};
use crate::process::current;
use krarup_gen::{CannotWait, Pid, Reason};
use std::fmt;
use std::future::{poll_fn, ready};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Whether this thread runs a turn of a process. Such a thread must not block.
#[must_use]
pub fn is_in_process() -> bool {
    current::pid().is_some()
}

/// Returns the process whose turn runs on this thread, if there is one. For routes, in which a
/// process must not wait for itself.
#[must_use]
pub fn current_pid() -> Option<Pid> {
    current::pid()
}

/// Waits on a plain thread until the future is ready.
pub(crate) fn wait<F>(host: &dyn Host, future: F) -> Result<F::Output, CannotWait>
where
    F: Future + Send,
    F::Output: Send,
{
    let mut output = None;
    let future = async { output = Some(future.await) };
    wait_for(host, pin!(future))?;
    output.ok_or(CannotWait::Stalled)
}

/// Does the same for a future of any type, and so is compiled once.
fn wait_for(
    host: &dyn Host,
    future: Pin<&mut (dyn Future<Output = ()> + Send)>,
) -> Result<(), CannotWait> {
    if is_in_process() {
        return Err(CannotWait::InProcess);
    }
    if host.is_driving_runtime() {
        return Err(CannotWait::InRuntime);
    }
    if current::is_traced() {
        return wait_in_context(host, future);
    }
    host.wait(future).map_err(|Stalled| CannotWait::Stalled)
}

/// Does the same for a future that is polled in the trace context of this thread. Between its
/// polls the thread may run turns of processes, which have their own.
#[cold]
fn wait_in_context(
    host: &dyn Host,
    mut future: Pin<&mut (dyn Future<Output = ()> + Send)>,
) -> Result<(), CannotWait> {
    let mut context = current::keep();
    let polled = poll_fn(|cx| {
        current::resume(context.take());
        let polled = future.as_mut().poll(cx);
        context = current::keep();
        polled
    });
    let waited = host.wait(pin!(polled)).map_err(|Stalled| CannotWait::Stalled);
    current::resume(context);
    waited
}

/// An operation that has not been started. Use `.await`, or `.wait()` on a plain thread.
#[must_use = "nothing happens until it is awaited or waited for"]
pub struct Pending<T, E = Reason> {
    /// `None` if the outcome is known.
    host: Option<Arc<dyn Host>>,
    future: Pin<Box<dyn Future<Output = Result<T, E>> + Send>>,
}

impl<T: Send, E: Send + From<CannotWait>> Pending<T, E> {
    /// Wraps a future. For hosts.
    pub fn new(
        host: Arc<dyn Host>,
        future: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Self {
        Pending { host: Some(host), future: Box::pin(future) }
    }

    /// Makes an operation whose outcome is known, and needs no host.
    pub(crate) fn known(outcome: Result<T, E>) -> Self
    where
        T: 'static,
        E: 'static,
    {
        Pending { host: None, future: Box::pin(ready(outcome)) }
    }

    /// Runs the operation and waits for it on a plain thread.
    ///
    /// # Errors
    /// Those of awaiting it, and those of a process or a stalled simulation that cannot wait.
    pub fn wait(mut self) -> Result<T, E> {
        let Some(host) = &self.host else {
            let known = self.future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            return if let Poll::Ready(outcome) = known {
                outcome
            } else {
                Err(CannotWait::Stalled.into())
            };
        };
        wait(&**host, self.future)?
    }
}

impl<T, E> Future for Pending<T, E> {
    type Output = Result<T, E>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.future.as_mut().poll(cx)
    }
}

impl<T, E> fmt::Debug for Pending<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pending<{}>", std::any::type_name::<T>())
    }
}
