//! The errors of waiting for a name, and of calls to whichever process has a name (rules H1 to H8).

use crate::errors::lookup::LookupError;
use crate::errors::wait::CannotWait;
use crate::{Name, NameError};
use std::time::Duration;

/// The error of a wait until a process has a name (rule H1).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AwaitNameError {
    /// The text is no name.
    #[error(transparent)]
    InvalidName(#[from] NameError),
    /// No process had the name in time.
    #[error("no process had the name {:?} within {limit:?}", name.as_str())]
    Timeout {
        /// The name.
        name: Name,
        /// The time that was waited.
        limit: Duration,
    },
    /// The node stops, or has stopped, so that no process takes the name any more (rule X2).
    #[error("no process has the name {:?}, and the node stops", name.as_str())]
    NodeStopped {
        /// The name.
        name: Name,
    },
    /// The process that waits is asked to stop, or the server whose request waits. Who asks may be the supervisor that
    /// would start the next process with the name, so nothing is waited for (rule H10).
    #[error("no process has the name {:?}, and who waits for it is asked to stop", name.as_str())]
    Stopping {
        /// The name.
        name: Name,
    },
    /// A process has the name, and it takes other messages.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// This thread cannot wait.
    #[error(transparent)]
    CannotWait(#[from] CannotWait),
}

/// An invalid policy of attempts; found when the call is made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RetryError {
    /// A call with no attempt.
    #[error("a call with 0 attempts is not made")]
    NoAttempts,
    /// The first wait is zero, and so would be all others.
    #[error("waits between attempts that begin with 0 s never grow")]
    ZeroWait,
    /// The longest wait is shorter than the first.
    #[error("waits that begin with {first:?} cannot end at {longest:?}")]
    LongestUnderFirst {
        /// The first wait.
        first: Duration,
        /// The longest wait.
        longest: Duration,
    },
    /// The jitter is not between 0 and 1.
    #[error("a jitter of {0} is not within 0 and 1")]
    Jitter(f64),
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error;

    const TIME: Duration = Duration::from_secs(3);

    fn name() -> Name {
        Name::new("stock").expect("a name")
    }

    #[test]
    fn h1_the_error_of_a_wait_for_a_name_names_it() {
        let cause = CannotWait::InProcess;
        for (error, said) in [
            (NameError::Empty.into(), NameError::Empty.to_string()),
            (
                AwaitNameError::Timeout { name: name(), limit: TIME },
                "no process had the name \"stock\" within 3s".to_owned(),
            ),
            (
                AwaitNameError::NodeStopped { name: name() },
                "no process has the name \"stock\", and the node stops".to_owned(),
            ),
            (
                AwaitNameError::Stopping { name: name() },
                "no process has the name \"stock\", and who waits for it is asked to stop"
                    .to_owned(),
            ),
            (
                LookupError::NoName("stock".into()).into(),
                "no process has the name \"stock\"".to_owned(),
            ),
            (cause.into(), cause.to_string()),
        ] {
            assert_eq!(error.to_string(), said);
            assert!(error.source().is_none(), "{error:?}");
        }
    }

    #[test]
    fn h6_an_invalid_policy_is_named() {
        let longest = Duration::from_secs(1);
        for (error, said) in [
            (RetryError::ZeroWait, "waits between attempts that begin with 0 s never grow"),
            (
                RetryError::LongestUnderFirst { first: TIME, longest },
                "waits that begin with 3s cannot end at 1s",
            ),
            (RetryError::Jitter(1.5), "a jitter of 1.5 is not within 0 and 1"),
        ] {
            assert_eq!(error.to_string(), said);
        }
    }
}
