//! The error of debugging a live process.

use crate::errors::wait::CannotWait;
use crate::{Pid, Reason};
use std::error::Error;
use std::fmt;
use std::time::Duration;

/// The error of debugging a live process (rule X5).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum DebugError {
    /// The process has ended or never existed.
    NoProcess(Pid),
    /// It ended in the meantime.
    Terminated {
        /// The process.
        pid: Pid,
        /// The reason with which it ended.
        reason: Reason,
    },
    /// It has not answered in time, because it is inside a handler.
    Timeout {
        /// The process.
        pid: Pid,
        /// The time that the caller waited.
        limit: Duration,
    },
    /// It does not offer its state.
    NotOffered(Pid),
    /// Its state is of another type.
    WrongType {
        /// The process.
        pid: Pid,
        /// The type that was asked for.
        expected: &'static str,
        /// The type of the state.
        found: &'static str,
    },
    /// A process cannot wait for itself.
    DebugsItself(Pid),
    /// This thread cannot wait for the answer.
    CannotWait(CannotWait),
}

impl From<CannotWait> for DebugError {
    fn from(cause: CannotWait) -> Self {
        DebugError::CannotWait(cause)
    }
}

impl fmt::Display for DebugError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DebugError::NoProcess(pid) => write!(f, "{pid} has ended or never existed"),
            DebugError::Terminated { pid, reason } => write!(f, "{pid} terminated: {reason}"),
            DebugError::Timeout { pid, limit } => {
                write!(f, "{pid} has not answered within {limit:?}")
            }
            DebugError::NotOffered(pid) => write!(f, "{pid} does not offer its state"),
            DebugError::WrongType { pid, expected, found } => {
                write!(f, "the state of {pid} is a {found}, not a {expected}")
            }
            DebugError::DebugsItself(pid) => write!(f, "{pid} cannot debug itself"),
            DebugError::CannotWait(cause) => fmt::Display::fmt(cause, f),
        }
    }
}

impl Error for DebugError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            DebugError::Terminated { reason, .. } => Some(reason.as_error()),
            DebugError::NoProcess(_)
            | DebugError::Timeout { .. }
            | DebugError::NotOffered(_)
            | DebugError::WrongType { .. }
            | DebugError::DebugsItself(_)
            | DebugError::CannotWait(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b1_a_debug_error_names_the_process_and_the_cause() {
        let (pid, limit) = (Pid::local(7, 1), Duration::from_secs(3));
        for (error, said, source) in [
            (DebugError::NoProcess(pid), "<0.7.0> has ended or never existed", None),
            (
                DebugError::Terminated { pid, reason: Reason::Killed },
                "<0.7.0> terminated: killed",
                Some("killed"),
            ),
            (DebugError::Timeout { pid, limit }, "<0.7.0> has not answered within 3s", None),
            (DebugError::NotOffered(pid), "<0.7.0> does not offer its state", None),
            (
                DebugError::WrongType { pid, expected: "Stock", found: "u8" },
                "the state of <0.7.0> is a u8, not a Stock",
                None,
            ),
            (DebugError::DebugsItself(pid), "<0.7.0> cannot debug itself", None),
            (DebugError::from(CannotWait::Stalled), "the simulation ran out of events", None),
        ] {
            assert_eq!(error.to_string(), said);
            assert_eq!(error.source().map(ToString::to_string).as_deref(), source);
        }
    }
}
