//! Waiting for an operation: by `.await`, or on a plain thread.
//!
//! Spawns, calls, stops and inspections are builders: nothing happens until they are awaited,
//! or waited for on a plain thread. Those on the hot path have types of their own; all others
//! are a [`Pending`].

use crate::host::host::{Host, Stalled};
use crate::process::current;
use krarup_gen::{CallError, Pid, Reason, SpawnError, StopError};
use std::fmt;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

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

/// Why a thread cannot wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CannotWait {
    /// The caller is a process and would hold its worker.
    #[error("a process cannot use `.wait()`, which would block its worker: use `.await`")]
    InProcess,
    /// The caller is the thread that drives an async runtime, which would stop.
    #[error("this thread drives an async runtime, which `.wait()` would block: use `.await`")]
    InRuntime,
    /// The simulation has no events left.
    #[error("the simulation ran out of events")]
    Stalled,
}

impl From<CannotWait> for CallError {
    fn from(why: CannotWait) -> Self {
        match why {
            CannotWait::InProcess => CallError::WaitInProcess,
            CannotWait::InRuntime => CallError::WaitInRuntime,
            CannotWait::Stalled => CallError::Stalled,
        }
    }
}

impl From<CannotWait> for SpawnError {
    fn from(why: CannotWait) -> Self {
        match why {
            CannotWait::InProcess => SpawnError::WaitInProcess,
            CannotWait::InRuntime => SpawnError::WaitInRuntime,
            CannotWait::Stalled => SpawnError::Stalled,
        }
    }
}

impl From<CannotWait> for StopError {
    fn from(why: CannotWait) -> Self {
        match why {
            CannotWait::InProcess => StopError::WaitInProcess,
            CannotWait::InRuntime => StopError::WaitInRuntime,
            CannotWait::Stalled => StopError::Stalled,
        }
    }
}

/// Waits on a plain thread until the future is ready.
pub(crate) fn wait<F>(host: &dyn Host, future: F) -> Result<F::Output, CannotWait>
where
    F: Future + Send,
    F::Output: Send,
{
    if is_in_process() {
        return Err(CannotWait::InProcess);
    }
    if host.is_driving_runtime() {
        return Err(CannotWait::InRuntime);
    }
    let mut output = None;
    let future = async { output = Some(future.await) };
    host.wait(pin!(future)).map_err(|Stalled| CannotWait::Stalled)?;
    output.ok_or(CannotWait::Stalled)
}

/// An operation that has not been started. Use `.await`, or `.wait()` on a plain thread.
#[must_use = "nothing happens until it is awaited or waited for"]
pub struct Pending<T, E = Reason> {
    host: Arc<dyn Host>,
    future: Pin<Box<dyn Future<Output = Result<T, E>> + Send>>,
}

impl<T: Send, E: Send + From<CannotWait>> Pending<T, E> {
    /// Wraps a future. For hosts.
    pub fn new(
        host: Arc<dyn Host>,
        future: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Self {
        Pending { host, future: Box::pin(future) }
    }

    /// Runs the operation and waits for it on a plain thread.
    ///
    /// # Errors
    /// Those of awaiting it, and those of a process or a stalled simulation that cannot wait.
    pub fn wait(self) -> Result<T, E> {
        wait(&*self.host, self.future)?
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use krarup_gen::DebugError;

    #[test]
    fn c8_every_error_gives_the_same_cause_why_a_thread_cannot_wait() {
        use CannotWait::{InProcess, InRuntime, Stalled};
        let all = [InProcess, InRuntime, Stalled];
        let [process, runtime, stalled] = [
            (CallError::WaitInProcess, SpawnError::WaitInProcess, StopError::WaitInProcess),
            (CallError::WaitInRuntime, SpawnError::WaitInRuntime, StopError::WaitInRuntime),
            (CallError::Stalled, SpawnError::Stalled, StopError::Stalled),
        ];
        let errors = all.map(|why| (why.into(), why.into(), why.into()));
        assert_eq!(errors, [process, runtime, stalled]);
        let debug = [DebugError::WaitInProcess, DebugError::WaitInRuntime, DebugError::Stalled];
        assert_eq!(all.map(DebugError::from), debug);
        // All error types use the same text.
        for (why, error) in all.iter().zip(&debug).take(2) {
            assert_eq!(why.to_string(), error.to_string());
        }
    }
}
