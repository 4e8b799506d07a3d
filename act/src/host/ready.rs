//! A process that has something to do, and how long one turn of it may last.

use crate::host::worker_slot::WorkerSlot;
use krarup_gen::{Pid, Reason};
use std::fmt;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::task::Waker;
use std::time::Duration;

/// How long a turn may last (rule R1).
#[derive(Clone, Copy, Debug)]
pub struct TurnLimits {
    /// Messages in one turn.
    pub throughput: NonZeroU32,
    /// The turn ends after the message during which this time is over.
    pub deadline: Option<Duration>,
    /// The turn runs in a span of `tracing` that names its process.
    pub spans: bool,
}

/// A process that has something to do, and the only handle that can run it.
///
/// Whoever holds it owns the process: the mailbox while it is idle, a queue while it
/// is scheduled, a worker while it runs. There is one, so at most one worker can be in
/// a process at any moment, and it can be in one queue at most (rule R1).
pub struct Ready(Pin<Box<dyn RunTurn>>);

impl Ready {
    pub(crate) fn new(turn: Pin<Box<dyn RunTurn>>) -> Self {
        Ready(turn)
    }

    /// Runs one turn. Gives the process back if its budget ran out before its work
    /// did: it goes to the tail of the queue.
    #[must_use]
    pub fn run(self, limits: &TurnLimits) -> Option<Ready> {
        self.0.run(limits, &WorkerSlot::unattended())
    }

    /// As [`Ready::run`], at a worker's seat: there is written down which process it is, for
    /// those who watch, and what it owes, if it is given back.
    #[must_use]
    #[inline]
    pub fn run_at(self, limits: &TurnLimits, seat: &WorkerSlot) -> Option<Ready> {
        self.0.run(limits, seat)
    }

    /// How many handles on its waker are out, beside its own.
    pub(crate) fn handles_on_waker(&self) -> usize {
        self.0.handles_on_waker()
    }

    /// Whether there is something that it must see before its next message: a stop, a kill.
    #[must_use]
    pub fn is_called(&self) -> bool {
        self.0.is_called()
    }

    /// Puts the process back into its mailbox as an idle one, because nobody will run it
    /// (rule R7). Nothing of what it has to do is lost: the next message, signal or
    /// wake-up has it scheduled again, and so has the waker that is returned.
    ///
    /// # Errors
    /// The process, if it must end: it was killed, or it has never run, which it then never will,
    /// and ends with `reason`. Somebody must run its last turn.
    pub fn put_back(self, reason: impl FnOnce() -> Reason) -> Result<Waker, Ready> {
        let mut reason = Some(reason);
        self.0.put_back(&mut || reason.take().map_or(Reason::Killed, |reason| reason()))
    }

    /// The process.
    #[must_use]
    pub fn pid(&self) -> Pid {
        self.0.pid()
    }

    /// Whether it is of class Varying and says that it is of high class now (rule R6).
    #[must_use]
    pub fn says_high(&self) -> bool {
        self.0.says_high()
    }
}

impl fmt::Debug for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ready({})", self.pid())
    }
}

/// A process as its own future; see `process/turn.rs`.
pub(crate) trait RunTurn: Send {
    fn run(self: Pin<Box<Self>>, limits: &TurnLimits, seat: &WorkerSlot) -> Option<Ready>;
    fn is_called(&self) -> bool;
    fn put_back(self: Pin<Box<Self>>, reason: &mut dyn FnMut() -> Reason) -> Result<Waker, Ready>;
    fn pid(&self) -> Pid;
    fn says_high(&self) -> bool;
    fn handles_on_waker(&self) -> usize;
}
