//! The errors of waiting for a name, and of calls to whichever process has a name (rules H1 to H8).

use crate::errors::call::CallError;
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
    /// A process has the name, and it takes other messages.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// This thread cannot wait.
    #[error(transparent)]
    CannotWait(#[from] CannotWait),
}

/// The error of a call to whichever process has a name (rules H3 to H6).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NamedCallError {
    /// No process had the name, as long as the call waited for one. The request was not made.
    #[error("no process had the name {:?} within {waited:?}", name.as_str())]
    NoName {
        /// The name.
        name: Name,
        /// The time that was waited since the call was made.
        waited: Duration,
    },
    /// No process has the name, and the node stops. The request was not made.
    #[error("no process has the name {:?}, and the node stops", name.as_str())]
    NodeStopped {
        /// The name.
        name: Name,
    },
    /// A process has the name, and it takes other messages.
    #[error(transparent)]
    Lookup(LookupError),
    /// The last attempt has failed, and there is no further one: the policy has none for this
    /// error, or no time is left.
    #[error("{error} (attempt {attempts})")]
    Call {
        /// The error of the last attempt.
        #[source]
        error: CallError,
        /// How many attempts were made.
        attempts: u32,
    },
    /// The policy is not valid. Nothing was done.
    #[error(transparent)]
    Retry(#[from] RetryError),
    /// This thread cannot wait for the reply. Nothing was done.
    #[error(transparent)]
    CannotWait(#[from] CannotWait),
}

impl NamedCallError {
    /// Returns whether a process may have begun to handle the request of the last attempt; see
    /// [`CallError::was_begun`].
    #[must_use]
    pub const fn was_begun(&self) -> bool {
        matches!(self, NamedCallError::Call { error, .. } if error.was_begun())
            || matches!(self, NamedCallError::CannotWait(CannotWait::Stalled))
    }

    /// Returns the error of the last attempt, if there was one.
    #[must_use]
    pub const fn call(&self) -> Option<&CallError> {
        match self {
            NamedCallError::Call { error, .. } => Some(error),
            _ => None,
        }
    }
}

/// For a process that answers a call by a call by name: `reply.fail(error.into())` passes the error on
/// (rule H9). Of an attempt it is the error of that attempt, without their number, so that the
/// caller matches [`CallError::Timeout`] as if it had called that process itself.
impl From<NamedCallError> for CallError {
    fn from(error: NamedCallError) -> Self {
        match error {
            NamedCallError::Call { error, .. } => error,
            NamedCallError::CannotWait(cause) => CallError::CannotWait(cause),
            error => CallError::Named(Box::new(error)),
        }
    }
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
    use crate::{Pid, Reason};
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
    fn h3_the_error_of_a_call_to_a_name_states_the_cause_and_whether_it_was_begun() {
        let to = Pid::local(7, 1);
        let call = |error| NamedCallError::Call { error, attempts: 2 };
        let ended = call(CallError::Terminated { to, reason: Reason::Killed });
        for (error, said, was_begun) in [
            (
                NamedCallError::NoName { name: name(), waited: TIME },
                "no process had the name \"stock\" within 3s",
                false,
            ),
            (
                NamedCallError::NodeStopped { name: name() },
                "no process has the name \"stock\", and the node stops",
                false,
            ),
            (
                NamedCallError::Lookup(LookupError::NoName("stock".into())),
                "no process has the name \"stock\"",
                false,
            ),
            (ended.clone(), "<0.7.0> terminated: killed (attempt 2)", true),
            (call(CallError::Full { to }), "the mailbox of <0.7.0> is full (attempt 2)", false),
            (RetryError::NoAttempts.into(), "a call with 0 attempts is not made", false),
            (CannotWait::Stalled.into(), "the simulation ran out of events", true),
            (
                CannotWait::InRuntime.into(),
                "this thread drives an async runtime, which `.wait()` would block: use `.await`",
                false,
            ),
        ] {
            assert_eq!(error.to_string(), said);
            assert_eq!(error.was_begun(), was_begun, "{error}");
        }
        assert!(ended.call().is_some() && ended.source().is_some());
        assert_eq!(NamedCallError::NodeStopped { name: name() }.call(), None);
    }

    #[test]
    fn h9_the_error_of_a_call_by_name_is_passed_on_as_that_of_its_last_attempt() {
        let timeout = CallError::Timeout { to: Pid::local(7, 1), limit: TIME };
        let error = NamedCallError::Call { error: timeout.clone(), attempts: 2 };
        assert_eq!(CallError::from(error), timeout);
        let cause = CannotWait::InProcess;
        assert_eq!(CallError::from(NamedCallError::from(cause)), CallError::CannotWait(cause));
        for error in [
            NamedCallError::NoName { name: name(), waited: TIME },
            NamedCallError::NodeStopped { name: name() },
            NamedCallError::Lookup(LookupError::NoName("stock".into())),
            RetryError::NoAttempts.into(),
        ] {
            let passed_on = CallError::from(error.clone());
            assert_eq!(passed_on.to_string(), error.to_string());
            assert!(!passed_on.was_begun() && passed_on.source().is_none());
            assert_eq!(passed_on, CallError::Named(Box::new(error)));
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
