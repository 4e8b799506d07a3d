//! The error of a request to change a process.

use crate::errors::wait::CannotWait;
use crate::{Pid, Reason};
use std::error::Error;
use std::fmt;
use std::time::Duration;

/// The error of a [`Management`](crate::Management) request (rule X12).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ManageError {
    /// The process has ended or never existed.
    NoProcess(Pid),
    /// The process belongs to another node, where it is to be managed.
    OtherNode(Pid),
    /// The process does not know this request.
    NotOffered {
        /// The process.
        pid: Pid,
        /// The name of the request.
        request: &'static str,
    },
    /// The process knows the request and cannot do it now.
    Refused {
        /// The process.
        pid: Pid,
        /// The name of the request.
        request: &'static str,
        /// The cause, as the process tells it.
        cause: String,
    },
    /// The process ended before it answered.
    Terminated {
        /// The process.
        pid: Pid,
        /// The reason with which it ended.
        reason: Reason,
    },
    /// The process has not answered in time. It still does what was requested when it comes to
    /// it.
    Timeout {
        /// The process.
        pid: Pid,
        /// The time that the caller waited.
        limit: Duration,
    },
    /// A process cannot wait for itself.
    ManagesItself(Pid),
    /// This thread cannot wait for the answer.
    CannotWait(CannotWait),
}

impl From<CannotWait> for ManageError {
    fn from(cause: CannotWait) -> Self {
        ManageError::CannotWait(cause)
    }
}

impl fmt::Display for ManageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ManageError::NoProcess(pid) => write!(f, "{pid} has ended or never existed"),
            ManageError::OtherNode(pid) => write!(f, "{pid} belongs to another node"),
            ManageError::NotOffered { pid, request } => write!(f, "{pid} does not offer {request}"),
            ManageError::Refused { pid, request, cause } => {
                write!(f, "{pid} refuses {request}: {cause}")
            }
            ManageError::Terminated { pid, reason } => write!(f, "{pid} terminated: {reason}"),
            ManageError::Timeout { pid, limit } => {
                write!(f, "{pid} has not answered within {limit:?}")
            }
            ManageError::ManagesItself(pid) => write!(f, "{pid} cannot manage itself"),
            ManageError::CannotWait(cause) => fmt::Display::fmt(cause, f),
        }
    }
}

impl Error for ManageError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            ManageError::Terminated { reason, .. } => Some(reason.as_error()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b1_a_management_error_names_the_process_the_request_and_the_cause() {
        let (pid, limit) = (Pid::local(7, 1), Duration::from_secs(3));
        for (error, said, source) in [
            (ManageError::NoProcess(pid), "<0.7.0> has ended or never existed", None),
            (ManageError::OtherNode(pid), "<0.7.0> belongs to another node", None),
            (
                ManageError::NotOffered { pid, request: "drain" },
                "<0.7.0> does not offer drain",
                None,
            ),
            (
                ManageError::Refused { pid, request: "drain", cause: "it stops".to_owned() },
                "<0.7.0> refuses drain: it stops",
                None,
            ),
            (
                ManageError::Terminated { pid, reason: Reason::Killed },
                "<0.7.0> terminated: killed",
                Some("killed"),
            ),
            (ManageError::Timeout { pid, limit }, "<0.7.0> has not answered within 3s", None),
            (ManageError::ManagesItself(pid), "<0.7.0> cannot manage itself", None),
            (ManageError::from(CannotWait::Stalled), "the simulation ran out of events", None),
        ] {
            assert_eq!(error.to_string(), said);
            assert_eq!(error.source().map(ToString::to_string).as_deref(), source);
        }
    }
}
