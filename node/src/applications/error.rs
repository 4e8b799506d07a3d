//! The errors of applications.

use krarup_gen::{CannotWait, Name, NameError, Reason};
use std::time::Duration;

/// The reason why the applications of a node are not valid together (rule A1). Nothing has been
/// started.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ApplicationError {
    /// The name of an application, or of one that it needs, is not valid.
    #[error("application {application:?} has an invalid name in its declaration: {error}")]
    InvalidName {
        /// The text.
        application: String,
        /// The fault.
        error: NameError,
    },
    /// Two applications have the same name.
    #[error("application {0} is given twice")]
    Twice(Name),
    /// One is needed that the node does not have.
    #[error("application {application} needs {needs}, which is not given")]
    NeedsUnknown {
        /// The application.
        application: Name,
        /// The one that it needs.
        needs: Name,
    },
    /// A service needs an application that is none, and would end before it.
    #[error("service {application} needs {needs}, which is no service and would end before it")]
    ServiceNeedsNoService {
        /// The service.
        application: Name,
        /// The one that it needs.
        needs: Name,
    },
    /// Applications need each other. The first is named again at the end.
    #[error("applications need each other in a cycle: {}", listed(.0))]
    Cycle(Vec<Name>),
    /// The program has given settings to an application that takes none.
    #[error("application {0} takes no settings: make it with `Application::configured`")]
    NoSettings(String),
    /// The program has given an application settings of another type.
    #[error("application {application} was given settings that are no {takes}")]
    WrongSettings {
        /// The application.
        application: String,
        /// The type that it takes.
        takes: &'static str,
    },
    /// This thread cannot wait until they have started. Start the node on another thread.
    #[error("cannot wait for the start of the applications: {0}")]
    CannotWait(CannotWait),
}

/// The reason why an application did not start (rules A3, A4).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StartApplicationError {
    /// The node has no application of this name.
    #[error("there is no application {0:?}")]
    Unknown(String),
    /// Its top process, or one of its phases, has failed. What the same request had started
    /// has been stopped again.
    #[error("application {application} did not start{}: {reason}", in_phase(.phase.as_ref()))]
    Failed {
        /// The application.
        application: Name,
        /// The phase, if one has failed.
        phase: Option<String>,
        /// The reason.
        reason: Reason,
    },
    /// It has not started within its time.
    #[error("application {application} did not start within {limit:?}{}", in_phase(.phase.as_ref()))]
    TimedOut {
        /// The application.
        application: Name,
        /// The phase that it was in, if its top process had initialised.
        phase: Option<String>,
        /// Its time.
        limit: Duration,
    },
    /// It was asked to stop while it started.
    #[error("application {0} was stopped while it started")]
    Stopped(Name),
    /// One that it needs has ended meanwhile.
    #[error("application {application} needs {needs}, which has ended")]
    NeedEnded {
        /// The application.
        application: Name,
        /// The one that it needs.
        needs: Name,
    },
    /// The node is stopping or has stopped.
    #[error("node is stopping")]
    NodeStopping,
    /// This thread cannot wait.
    #[error(transparent)]
    CannotWait(#[from] CannotWait),
}

/// The reason why an application was not stopped (rule A5).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StopApplicationError {
    /// The node has no application of this name.
    #[error("there is no application {0:?}")]
    Unknown(String),
    /// It does not run.
    #[error("application {0} does not run")]
    NotRunning(Name),
    /// Others that run need it. Stop them first, or with it: `with_dependents`, `anyway`.
    #[error("application {application} is needed by {}", listed(.by))]
    NeededBy {
        /// The application.
        application: Name,
        /// Those that need it, by name.
        by: Vec<Name>,
    },
    /// Processes of it block their workers and cannot be ended. They are left behind.
    #[error(
        "{left} processes of application {application} cannot be ended: they block their workers"
    )]
    LeftBehind {
        /// The application.
        application: Name,
        /// How many.
        left: usize,
    },
    /// The node is stopping or has stopped, which stops all applications.
    #[error("node is stopping")]
    NodeStopping,
    /// This thread cannot wait.
    #[error(transparent)]
    CannotWait(#[from] CannotWait),
}

fn listed(names: &[Name]) -> String {
    names.iter().map(Name::as_str).collect::<Vec<_>>().join(", ")
}

fn in_phase(phase: Option<&String>) -> String {
    phase.map(|phase| format!(" (in phase {phase})")).unwrap_or_default()
}
