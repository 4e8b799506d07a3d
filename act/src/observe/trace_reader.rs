//! Reading the trace of a process (rules V21, X5).

use crate::host::host::{Alarm, Host};
use crate::observe::trace_ring::TraceRing;
use crate::process::process::Process;
use krarup_gen::{Pid, TraceEnd, TraceError, TraceLimits, TracePage};
use std::fmt;
use std::sync::Arc;

/// Reads the items that a process takes, from the start of the trace on, until the trace ends by
/// one of its limits, or because the process ends. Dropping the reader ends the trace.
///
/// The process does not wait for the reader. A trace whose reader is too slow ends:
/// [`TraceEnd::Overload`].
pub struct TraceReader {
    pid: Pid,
    ring: Arc<TraceRing>,
}

impl TraceReader {
    /// Returns the process.
    #[must_use]
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Returns the oldest of the items with numbers above `after`, at most `limit`, and whether
    /// the trace has ended. The first item has the number 1. Items up to `after` count as read,
    /// and are dropped when newer ones need their room.
    #[must_use]
    pub fn page(&self, after: u64, limit: usize) -> TracePage {
        self.ring.page(after, limit)
    }

    /// Returns why the trace has ended; `None` while it runs.
    #[must_use]
    pub fn end(&self) -> Option<TraceEnd> {
        self.ring.page(0, 0).end
    }

    /// Ends the trace. What it has shown can still be read. Returns whether it was running.
    pub fn untrace(&self) -> bool {
        self.ring.finish(TraceEnd::Untraced)
    }
}

impl Drop for TraceReader {
    fn drop(&mut self) {
        self.untrace();
        self.ring.clear();
    }
}

impl fmt::Debug for TraceReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TraceReader({})", self.pid)
    }
}

/// Starts a trace. `process` is the process with this pid, if it is known.
///
/// # Errors
/// [`TraceError`]; nothing is traced.
pub fn trace_process(
    host: &Arc<dyn Host>,
    pid: Pid,
    process: Option<Arc<dyn Process>>,
    limits: TraceLimits,
) -> Result<TraceReader, TraceError> {
    TraceError::check(limits)?;
    let process = process.ok_or(TraceError::NoProcess(pid))?;
    let due = host.now() + limits.time;
    let ring = Arc::new(TraceRing::new(limits.items, due));
    if !process.set_trace(Arc::clone(&ring)) {
        return Err(TraceError::NoProcess(pid));
    }
    // The timer ends the trace of a process that takes nothing more.
    let weak = Arc::downgrade(&ring);
    let alarm = Alarm::Run(Box::new(move || {
        if let Some(ring) = weak.upgrade() {
            ring.finish(TraceEnd::Time);
        }
    }));
    let (timer, host) = (host.set_timer(due, alarm), Arc::downgrade(host));
    ring.keep_timer(Box::new(move || {
        if let Some(host) = host.upgrade() {
            host.cancel_timer(timer);
        }
    }));
    Ok(TraceReader { pid, ring })
}
