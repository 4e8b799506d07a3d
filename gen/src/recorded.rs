//! What a node remembers: items with numbers, so that gaps show.

use crate::{CallCycle, Label, Name, Pid, Timestamp};
use std::sync::Arc;
use std::time::Duration;

/// How many items of each kind a node remembers; see `Node::remember`. The default is none.
/// A number above [`Memory::MOST`] counts as that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Memory {
    /// Crash reports.
    pub crashes: usize,
    /// Decisions of supervisors and pools.
    pub restarts: usize,
    /// Dead letters.
    pub dead_letters: usize,
    /// Cycles of calls.
    pub deadlocks: usize,
    /// Turns that were longer than the limit of their dispatcher.
    pub long_turns: usize,
}

impl Memory {
    /// The most items of one kind.
    pub const MOST: usize = 1 << 20;
}

/// A remembered item.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recorded<T> {
    /// Its number among the items of its kind: the first is 1, and each next is one more.
    pub seq: u64,
    /// When it happened, in the node's time.
    pub at: Timestamp,
    /// The item.
    pub item: Arc<T>,
}

impl<T> Recorded<T> {
    /// Creates an item. For hosts.
    #[must_use]
    pub fn new(seq: u64, at: Timestamp, item: impl Into<Arc<T>>) -> Self {
        Recorded { seq, at, item: item.into() }
    }
}

impl<T> Clone for Recorded<T> {
    fn clone(&self) -> Self {
        Recorded { seq: self.seq, at: self.at, item: Arc::clone(&self.item) }
    }
}

/// Some of the items of one kind that a node remembers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct RecordedPage<T> {
    /// The number of the oldest item that is remembered; `next_seq` if there is none.
    pub first_seq: u64,
    /// The number that the next item will have.
    pub next_seq: u64,
    /// How many of the items that were asked for are not remembered any more.
    pub lost: u64,
    /// The items, the oldest first.
    pub items: Vec<Recorded<T>>,
}

impl<T> RecordedPage<T> {
    /// Creates a page. For hosts.
    #[must_use]
    pub const fn new(first_seq: u64, next_seq: u64, lost: u64, items: Vec<Recorded<T>>) -> Self {
        RecordedPage { first_seq, next_seq, lost, items }
    }

    /// The page of a node that remembers nothing.
    #[must_use]
    pub const fn empty() -> Self {
        Self::new(1, 1, 0, Vec::new())
    }
}

/// A cycle of calls that was found (rule C5).
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct DeadlockRecord {
    /// The cycle.
    pub cycle: CallCycle,
    /// The names of its processes, in their order.
    pub names: Vec<Option<Name>>,
}

impl DeadlockRecord {
    /// Creates a record. For hosts.
    #[must_use]
    pub const fn new(cycle: CallCycle, names: Vec<Option<Name>>) -> Self {
        DeadlockRecord { cycle, names }
    }
}

/// A turn that was longer than the limit of its dispatcher (rule R4). A turn is recorded when
/// the limit is exceeded, and may last longer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct LongTurnRecord {
    /// The process. It may have ended since.
    pub pid: Option<Pid>,
    /// Its name.
    pub name: Option<Name>,
    /// The label of its behaviour.
    pub behavior: Option<Label>,
    /// The dispatcher.
    pub dispatcher: String,
    /// The number of the worker.
    pub worker: usize,
    /// For how long the turn had held the worker.
    pub held: Duration,
}

impl LongTurnRecord {
    /// Creates a record without a process, for hosts to fill in.
    #[must_use]
    pub const fn new(dispatcher: String, worker: usize, held: Duration) -> Self {
        LongTurnRecord { pid: None, name: None, behavior: None, dispatcher, worker, held }
    }

    /// Returns the record after `fill`.
    #[must_use]
    pub fn with(mut self, fill: impl FnOnce(&mut Self)) -> Self {
        fill(&mut self);
        self
    }
}
