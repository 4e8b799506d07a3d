//! Stopping a process in order, from anywhere.

use crate::addressing::address::Address;
use crate::calls::deadline::within;
use crate::calls::pending::Pending;
use crate::host::host::Host;
use crate::observe::watch::watch;
use crate::process::current;
use crate::process::process::Process;
use krarup_gen::{Reason, StopError, Target};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

impl<M: Send + 'static, C: Send + 'static> Address<M, C> {
    /// Stops the process in order (`gen_server:stop`): it finishes the message in progress,
    /// runs `terminate`, and ends, by default with [`Reason::Normal`].
    ///
    /// Two processes that await each other's stop within a handler wait for ever: each has a message in progress.
    /// Cycles of calls are found, and cycles of stops are not (rule C5). Within a handler set a
    /// [`timeout`](Stop::timeout), or await the stop in work beside the messages ([`Context::pipe`](crate::Context::pipe)).
    pub fn stop(&self) -> Stop {
        Stop {
            host: Arc::clone(self.host()),
            process: self.process(),
            reason: Reason::Normal,
            timeout: None,
        }
    }
}

/// A stop that has not been requested yet.
#[must_use = "nothing is stopped until it is awaited or waited for"]
pub struct Stop {
    host: Arc<dyn Host>,
    process: Arc<dyn Process>,
    reason: Reason,
    timeout: Option<Duration>,
}

impl Stop {
    /// Sets the reason of the end.
    pub fn reason(mut self, reason: Reason) -> Self {
        self.reason = reason;
        self
    }

    /// Sets how long to wait for the end; by default without limit. The process is not killed
    /// when the time is over.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Requests the stop and waits for the end on a plain thread.
    ///
    /// # Errors
    /// Those of awaiting it, and [`StopError::CannotWait`].
    pub fn wait(self) -> Result<(), StopError> {
        self.into_future().wait()
    }
}

impl IntoFuture for Stop {
    type Output = Result<(), StopError>;
    type IntoFuture = Pending<(), StopError>;

    fn into_future(self) -> Pending<(), StopError> {
        let host = Arc::clone(&self.host);
        Pending::new(self.host, async move {
            let pid = self.process.pid();
            if current::pid().is_some_and(|myself| myself.is_same_process(pid)) {
                return Err(StopError::StopsItself(pid));
            }
            // Monitored before the request, so that its end cannot be missed.
            let end = watch(Arc::clone(&host), Target::Pid(pid));
            self.process.request_stop(self.reason.clone());
            let down = match self.timeout {
                None => end.await,
                Some(limit) => {
                    let end = within(&host, limit, end).await;
                    end.ok_or(StopError::Timeout { pid, limit })?
                }
            };
            match down.reason {
                reason if reason == self.reason => Ok(()),
                Reason::NoProcess => Err(StopError::NoProcess(pid)),
                reason => Err(StopError::Other { pid, reason }),
            }
        })
    }
}

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stop({}, {})", self.process.pid(), self.reason)
    }
}
