//! The error of a task.

use crate::Reason;
use crate::errors::spawn::SpawnError;
use crate::errors::wait::CannotWait;
use std::error::Error;
use std::fmt;
use std::time::Duration;

/// Why a task gives no value (rule J1). Nothing of the task runs any more, except for an error
/// that says that the task was not started.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum TaskError {
    /// The future has panicked; the reason has the place. Of
    /// `all_or_first_error` also: a future has returned this error.
    Failed(Reason),
    /// The task was not done within this time, and was ended.
    Timeout(Duration),
    /// The task was ended from outside: it was killed, its handle was dropped, or its owner has
    /// ended.
    Ended(Reason),
    /// The node is stopping or has stopped.
    NodeStopping,
    /// The process of the task could not be spawned.
    NotStarted(SpawnError),
    /// This thread cannot wait for the task.
    CannotWait(CannotWait),
}

impl From<SpawnError> for TaskError {
    fn from(error: SpawnError) -> Self {
        match error {
            SpawnError::NodeStopping => TaskError::NodeStopping,
            SpawnError::CannotWait(cause) => TaskError::CannotWait(cause),
            error => TaskError::NotStarted(error),
        }
    }
}

impl From<CannotWait> for TaskError {
    fn from(cause: CannotWait) -> Self {
        TaskError::CannotWait(cause)
    }
}

impl fmt::Display for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TaskError::Failed(reason) => write!(f, "task failed: {reason}"),
            TaskError::Timeout(limit) => write!(f, "task was not done within {limit:?}"),
            TaskError::Ended(reason) => write!(f, "task was ended: {reason}"),
            TaskError::NodeStopping => f.write_str("node is stopping"),
            TaskError::NotStarted(error) => write!(f, "cannot start a task: {error}"),
            TaskError::CannotWait(cause) => fmt::Display::fmt(cause, f),
        }
    }
}

impl Error for TaskError {
    /// Errors that are printed as they are have no source.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            TaskError::Failed(reason) | TaskError::Ended(reason) => Some(reason.as_error()),
            TaskError::NotStarted(error) => Some(error),
            TaskError::Timeout(_) | TaskError::NodeStopping | TaskError::CannotWait(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn j1_a_task_error_names_the_cause_and_the_value() {
        let unknown = SpawnError::UnknownDispatcher("disk".into());
        for (error, said, source) in [
            (TaskError::Failed(Reason::error("boom")), "task failed: boom", Some("boom")),
            (TaskError::Timeout(Duration::from_secs(3)), "task was not done within 3s", None),
            (TaskError::Ended(Reason::Killed), "task was ended: killed", Some("killed")),
            (TaskError::from(SpawnError::NodeStopping), "node is stopping", None),
            (
                TaskError::from(unknown),
                "cannot start a task: unknown dispatcher \"disk\"",
                Some("unknown dispatcher \"disk\""),
            ),
            (TaskError::from(CannotWait::Stalled), "the simulation ran out of events", None),
        ] {
            assert_eq!(error.to_string(), said);
            assert_eq!(error.source().map(ToString::to_string).as_deref(), source, "{said}");
        }
    }
}
