//! Turns that a node has recorded, each with its begin and its end.

use crate::{Pid, Timestamp};
use std::sync::Arc;
use std::time::Duration;

/// The limits of a recording of turns (rule X13).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnRecordingLimits {
    /// How many turns are kept; the oldest are dropped for newer ones. At most
    /// [`TurnRecordingLimits::MOST_TURNS`].
    pub turns: usize,
    /// A turn that begins when this time has passed is not recorded.
    pub time: Duration,
}

impl TurnRecordingLimits {
    /// The most turns that a recording keeps.
    pub const MOST_TURNS: usize = 200_000;

    /// Creates limits: the most turns, in this time.
    #[must_use]
    pub const fn lasting(time: Duration) -> Self {
        TurnRecordingLimits { turns: Self::MOST_TURNS, time }
    }
}

/// One turn of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct RecordedTurn {
    /// The name of the dispatcher.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serialized_records::text"))]
    pub dispatcher: Arc<str>,
    /// The number of the worker within the dispatcher; spare workers follow the others. On a
    /// pinned dispatcher, the number of the process.
    pub worker: u64,
    /// The process.
    pub pid: Pid,
    /// When the turn began.
    pub begin: Timestamp,
    /// When the turn was over.
    pub end: Timestamp,
    /// How many messages the process handled in it.
    pub handled: u64,
}

impl RecordedTurn {
    /// Creates a turn that took no time and handled nothing. For nodes.
    #[must_use]
    pub const fn new(dispatcher: Arc<str>, worker: u64, pid: Pid, begin: Timestamp) -> Self {
        RecordedTurn { dispatcher, worker, pid, begin, end: begin, handled: 0 }
    }
}

/// The outcome of a recording: the turns in the order in which they ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct RecordedTurns {
    /// The newest turns.
    pub turns: Vec<RecordedTurn>,
    /// How many older turns were dropped for them.
    pub lost: u64,
}

impl RecordedTurns {
    /// Creates the outcome of a recording. For nodes.
    #[must_use]
    pub const fn new(turns: Vec<RecordedTurn>, lost: u64) -> Self {
        RecordedTurns { turns, lost }
    }
}
