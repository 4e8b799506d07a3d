//! A turn that runs now.

use crate::Pid;
use std::time::Duration;

/// A turn that runs now, on a shared or a pinned dispatcher (rule V95).
///
/// The turns on the threads of an executor or of a caller have no watchdog, and a simulation runs one
/// turn at a time: they are not told.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct CurrentTurn {
    /// The process.
    pub pid: Pid,
    /// The dispatcher.
    pub dispatcher: String,
    /// The number of the worker; spare workers have the numbers after the workers. `None`: the
    /// process has a thread of its own.
    pub worker: Option<usize>,
    /// For how long looks, one each 10 ms, have found the turn. It may be up to two looks longer.
    pub held: Duration,
    /// Whether it is longer than the limit of the dispatcher (rule R4).
    pub is_long: bool,
}

impl CurrentTurn {
    /// Creates a turn that has just begun, for hosts to fill in.
    #[must_use]
    pub const fn new(pid: Pid, dispatcher: String) -> Self {
        CurrentTurn { pid, dispatcher, worker: None, held: Duration::ZERO, is_long: false }
    }

    /// Returns the turn after `fill`.
    #[must_use]
    pub fn with(mut self, fill: impl FnOnce(&mut Self)) -> Self {
        fill(&mut self);
        self
    }
}
