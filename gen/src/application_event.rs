//! What happens to applications, as values (rules A13, X8).

use crate::{Name, ReasonKind, ReasonRecord, ReportLevel};
use std::fmt;
use std::time::Duration;

/// Something that happened to an application (rule A13).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ApplicationEvent {
    /// The application.
    pub application: Name,
    /// What happened.
    pub step: ApplicationStep,
}

impl ApplicationEvent {
    /// Creates an event. For hosts.
    #[must_use]
    pub const fn new(application: Name, step: ApplicationStep) -> Self {
        ApplicationEvent { application, step }
    }
}

/// A step in the life of an application.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ApplicationStep {
    /// It starts.
    Starts,
    /// A phase of its start begins.
    PhaseBegins(String),
    /// Its start has succeeded.
    Runs,
    /// Its start has failed, with this error.
    DidNotStart(String),
    /// Its top process has ended by itself.
    Ends(ReasonRecord),
    /// It is asked to stop.
    Stops,
    /// Its `on_stop` has failed.
    OnStopFailed(ReasonRecord),
    /// It has not stopped within this time, and is killed.
    Overdue(Duration),
    /// It has ended, but for so many processes that cannot be ended.
    Ended {
        /// Why.
        reason: ReasonRecord,
        /// How many processes of it are left: they block their workers.
        left: usize,
    },
    /// The node stops, because the application has ended.
    StopsNode(ReasonRecord),
}

impl ApplicationStep {
    /// Returns how serious the step is: the level of its log event.
    #[must_use]
    pub fn level(&self) -> ReportLevel {
        match self {
            ApplicationStep::Ends(reason) if reason.kind != ReasonKind::Normal => {
                ReportLevel::Error
            }
            ApplicationStep::Ended { left: 1.., .. }
            | ApplicationStep::DidNotStart(_)
            | ApplicationStep::StopsNode(_) => ReportLevel::Error,
            ApplicationStep::OnStopFailed(_) | ApplicationStep::Overdue(_) => ReportLevel::Warn,
            _ => ReportLevel::Info,
        }
    }
}

impl fmt::Display for ApplicationStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ApplicationStep::Starts => f.write_str("starts"),
            ApplicationStep::PhaseBegins(phase) => write!(f, "begins phase {phase:?}"),
            ApplicationStep::Runs => f.write_str("runs"),
            ApplicationStep::DidNotStart(error) => write!(f, "did not start: {error}"),
            ApplicationStep::Ends(reason) => write!(f, "ends: {reason}"),
            ApplicationStep::Stops => f.write_str("is asked to stop"),
            ApplicationStep::OnStopFailed(reason) => write!(f, "on_stop failed: {reason}"),
            ApplicationStep::Overdue(limit) => write!(f, "has not stopped after {limit:?}"),
            ApplicationStep::Ended { reason, left: 0 } => write!(f, "has ended: {reason}"),
            ApplicationStep::Ended { reason, left } => {
                write!(f, "has ended, but for {left} processes: {reason}")
            }
            ApplicationStep::StopsNode(reason) => write!(f, "stops the node: {reason}"),
        }
    }
}
