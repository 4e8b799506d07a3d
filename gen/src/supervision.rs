//! Decisions of supervisors and pools, as values (rule S12).

use crate::{Name, Pid, ProcessKind, ReasonRecord};
use std::fmt;
use std::time::Duration;

/// What a supervisor or a pool has seen or decided, or a process that is restarted in place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct SupervisionEvent {
    /// The supervisor or the pool; for a process that restarts itself in place, that process.
    pub by: Pid,
    /// Its name.
    pub by_name: Option<Name>,
    /// Its kind.
    pub by_kind: ProcessKind,
    /// What happened.
    pub what: SupervisionAction,
    /// The id of the child. A pool has none.
    pub child: Option<String>,
    /// The process of the child or the worker: the one that was started, has ended, or is to be
    /// replaced.
    pub pid: Option<Pid>,
    /// The process in whose place `pid` came, if it is a worker of a pool.
    pub replaces: Option<Pid>,
    /// Why.
    pub reason: Option<ReasonRecord>,
    /// How many restarts it has counted.
    pub count: u64,
    /// How long the child waits for its restart.
    pub wait: Option<Duration>,
    /// The strategy of the supervisor, as it prints.
    pub strategy: Option<&'static str>,
    /// The most restarts within a period (rule S5).
    pub intensity: Option<(u32, Duration)>,
    /// The number of the crash report of `pid`, if the node remembers it.
    pub crash: Option<u64>,
}

impl SupervisionEvent {
    /// Creates an event with everything else empty, to be filled in.
    #[must_use]
    pub const fn new(by: Pid, what: SupervisionAction) -> Self {
        SupervisionEvent {
            by,
            by_name: None,
            by_kind: ProcessKind::Process,
            what,
            child: None,
            pid: None,
            replaces: None,
            reason: None,
            count: 0,
            wait: None,
            strategy: None,
            intensity: None,
            crash: None,
        }
    }

    /// Returns the event after `fill`.
    #[must_use]
    pub fn with(mut self, fill: impl FnOnce(&mut Self)) -> Self {
        fill(&mut self);
        self
    }
}

/// What a supervisor or a pool has seen or decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum SupervisionAction {
    /// A child was started.
    Started,
    /// A child has asked to be left out.
    Ignored,
    /// A child has ended.
    Ended,
    /// A child will be started again; of a pool: a worker will be replaced.
    Restarting,
    /// A child continues in its process with a fresh state (rule S10).
    InPlace,
    /// A child waits for its restart.
    Waiting,
    /// A child could not be started.
    Failed,
    /// A child was stopped.
    Stopped,
    /// A child could not be ended, and is left behind.
    Abandoned,
    /// The supervisor gives up (rule S5).
    GaveUp,
    /// The supervisor ends as it was told, or because its significant children have ended.
    EndedInOrder,
}

impl SupervisionAction {
    /// Returns the name of the action: lower case, with underscores.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            SupervisionAction::Started => "started",
            SupervisionAction::Ignored => "ignored",
            SupervisionAction::Ended => "ended",
            SupervisionAction::Restarting => "restarting",
            SupervisionAction::InPlace => "in_place",
            SupervisionAction::Waiting => "waiting",
            SupervisionAction::Failed => "failed",
            SupervisionAction::Stopped => "stopped",
            SupervisionAction::Abandoned => "abandoned",
            SupervisionAction::GaveUp => "gave_up",
            SupervisionAction::EndedInOrder => "ended_in_order",
        }
    }
}

impl fmt::Display for SupervisionAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What followed the end of a process, as far as its node remembers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Aftermath {
    /// The supervisor or the pool that it belonged to, and its kind.
    pub watched_by: Option<(Pid, ProcessKind)>,
    /// The name of that.
    pub watched_by_name: Option<Name>,
    /// What that decided: to restart, to give up, or, if there was nothing to decide, what it
    /// saw.
    pub decision: Option<SupervisionEvent>,
    /// The process that came in its place.
    pub replaced_by: Option<Pid>,
}

impl Aftermath {
    /// Returns the aftermath after `fill`.
    #[must_use]
    pub fn with(mut self, fill: impl FnOnce(&mut Self)) -> Self {
        fill(&mut self);
        self
    }
}
