//! The error of a stop.

use crate::errors::wait::CannotWait;
use crate::{Pid, Reason};
use std::error::Error;
use std::fmt;
use std::time::Duration;

/// The error of a process that did not stop as requested.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum StopError {
    /// The process had ended before the request, or never existed.
    NoProcess(Pid),
    /// It ended with another reason than the requested one.
    Other {
        /// The process.
        pid: Pid,
        /// The reason with which it ended.
        reason: Reason,
    },
    /// A process that waits for its own end would wait for ever. It calls `ctx.stop()`, or
    /// returns.
    StopsItself(Pid),
    /// It has not ended within this time, and was not killed.
    Timeout {
        /// The process.
        pid: Pid,
        /// The time that the caller waited.
        limit: Duration,
    },
    /// This thread cannot wait for the end.
    CannotWait(CannotWait),
}

impl From<CannotWait> for StopError {
    fn from(cause: CannotWait) -> Self {
        StopError::CannotWait(cause)
    }
}

impl fmt::Display for StopError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StopError::NoProcess(pid) => write!(f, "{pid} has ended or never existed"),
            StopError::Other { pid, reason } => {
                write!(f, "{pid} ended with another reason: {reason}")
            }
            StopError::StopsItself(pid) => write!(f, "{pid} cannot wait for its own end"),
            StopError::Timeout { pid, limit } => {
                write!(f, "{pid} has not stopped within {limit:?}")
            }
            StopError::CannotWait(cause) => fmt::Display::fmt(cause, f),
        }
    }
}

impl Error for StopError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            StopError::Other { reason, .. } => Some(reason.as_error()),
            StopError::NoProcess(_)
            | StopError::StopsItself(_)
            | StopError::Timeout { .. }
            | StopError::CannotWait(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b1_a_stop_error_names_the_process_and_the_cause() {
        let (pid, limit) = (Pid::local(7, 1), Duration::from_secs(3));
        for (error, said, source) in [
            (StopError::NoProcess(pid), "<0.7.0> has ended or never existed", None),
            (
                StopError::Other { pid, reason: Reason::Killed },
                "<0.7.0> ended with another reason: killed",
                Some("killed"),
            ),
            (StopError::StopsItself(pid), "<0.7.0> cannot wait for its own end", None),
            (StopError::Timeout { pid, limit }, "<0.7.0> has not stopped within 3s", None),
            (StopError::from(CannotWait::Stalled), "the simulation ran out of events", None),
        ] {
            assert_eq!(error.to_string(), said);
            assert_eq!(error.source().map(ToString::to_string).as_deref(), source);
        }
    }
}
