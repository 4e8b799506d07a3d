//! A drain: everything that was accepted is done (rules P11, U5).

use crate::calls::pending::Pending;
use krarup_gen::CallError;
use std::fmt;
use std::time::Duration;

/// A drain that has not been requested yet. Use `.await`, or `.wait()` on a plain thread.
///
/// ```
/// # use krarup_act::{Address, PoolCommand};
/// # use krarup_gen::CallError;
/// # use std::time::Duration;
/// async fn finish(pool: Address<u32, PoolCommand>) {
///     match pool.drain().timeout(Duration::from_secs(8)).await {
///         Ok(()) => println!("all jobs are done"),
///         Err(CallError::Timeout { .. }) => println!("some jobs go on"),
///         Err(error) => println!("the pool has ended: {error}"),
///     }
/// }
/// # let _ = finish;
/// ```
#[must_use = "nothing is drained until it is awaited or waited for"]
pub struct Drain {
    request: Box<dyn FnOnce(Option<Duration>) -> Pending<(), CallError> + Send>,
    timeout: Option<Duration>,
}

impl Drain {
    /// Creates a drain from what requests it, with the time limit if there is one. For behaviours that
    /// can be drained.
    pub fn new(
        request: impl FnOnce(Option<Duration>) -> Pending<(), CallError> + Send + 'static,
    ) -> Self {
        Drain { request: Box::new(request), timeout: None }
    }

    /// Sets how long to wait for the end of the drain; by default without limit. Then it fails with
    /// [`CallError::Timeout`]. What was requested goes on: a pool stays drained, and its workers finish
    /// their jobs.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Requests the drain and waits for its end on a plain thread.
    ///
    /// # Errors
    /// Those of awaiting it, and [`CallError::CannotWait`].
    pub fn wait(self) -> Result<(), CallError> {
        self.into_future().wait()
    }
}

impl IntoFuture for Drain {
    type Output = Result<(), CallError>;
    type IntoFuture = Pending<(), CallError>;

    fn into_future(self) -> Pending<(), CallError> {
        (self.request)(self.timeout)
    }
}

impl fmt::Debug for Drain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drain").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}
