//! A process that is ready to run, and the limits of a turn.

use crate::host::worker_slot::WorkerSlot;
use krarup_gen::{Pid, Reason};
use std::fmt;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::task::Waker;
use std::time::Duration;

/// The limits of a turn (rule R1).
#[derive(Clone, Copy, Debug)]
pub struct TurnLimits {
    /// The number of messages in one turn.
    pub throughput: NonZeroU32,
    /// The turn ends after the message during which this time is over.
    pub deadline: Option<Duration>,
    /// Whether the turn runs in a span of `tracing` that names its process.
    pub spans: bool,
}

/// A process that has something to do, and the only handle that can run it.
///
/// Its holder owns the process: the mailbox while the process is idle, a queue while it is
/// scheduled, a worker while it runs. There is one handle, so at most one worker runs a
/// process at any time, and the process is in at most one queue (rule R1).
pub struct Ready(Pin<Box<dyn RunTurn>>);

impl Ready {
    pub(crate) fn new(turn: Pin<Box<dyn RunTurn>>) -> Self {
        Ready(turn)
    }

    /// Runs one turn. Returns the process if its budget was used up before its work was done;
    /// the caller puts it at the tail of the queue.
    #[must_use]
    pub fn run(self, limits: &TurnLimits) -> Option<Ready> {
        self.0.run(limits, &WorkerSlot::detached())
    }

    /// As [`Ready::run`], with a worker slot. The turn records its process there, for
    /// observers.
    #[must_use]
    #[inline]
    pub fn run_at(self, limits: &TurnLimits, slot: &WorkerSlot) -> Option<Ready> {
        self.0.run(limits, slot)
    }

    /// Returns the number of handles on the waker, besides the process's own.
    pub(crate) fn handles_on_waker(&self) -> usize {
        self.0.handles_on_waker()
    }

    /// Parks the process in its mailbox as idle, because no worker will run it (rule R7). No
    /// work is lost: the next message, signal or wake-up schedules the process again, and so
    /// does the returned waker.
    ///
    /// # Errors
    /// The process, if it must end: it was killed, or it has never run, and ends with
    /// `reason`. The caller must then have its last turn run.
    pub fn put_back(self, reason: impl FnOnce() -> Reason) -> Result<Waker, Ready> {
        let mut reason = Some(reason);
        self.0.put_back(&mut || reason.take().map_or(Reason::Killed, |reason| reason()))
    }

    /// Returns the pid of the process.
    #[must_use]
    pub fn pid(&self) -> Pid {
        self.0.pid()
    }

    /// Whether the process has class Varying and has chosen high class (rule R6).
    #[must_use]
    pub fn is_high(&self) -> bool {
        self.0.is_high()
    }
}

impl fmt::Debug for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ready({})", self.pid())
    }
}

/// A process as a pinned future; see `process/turn.rs`.
pub(crate) trait RunTurn: Send {
    fn run(self: Pin<Box<Self>>, limits: &TurnLimits, slot: &WorkerSlot) -> Option<Ready>;
    fn put_back(self: Pin<Box<Self>>, reason: &mut dyn FnMut() -> Reason) -> Result<Waker, Ready>;
    fn pid(&self) -> Pid;
    fn is_high(&self) -> bool;
    fn handles_on_waker(&self) -> usize;
}
