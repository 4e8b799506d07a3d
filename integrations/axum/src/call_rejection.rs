//! The error of a call as a response (rule Q4).

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use krarup::calls::UndeliveredCause;
use krarup::groups::{KeyCallError, KeySendError};
use krarup::supervisor::{RunError, StartChildError};
use krarup::{AwaitNameError, CallError, LookupError, NamedCallError, SendError};
use std::fmt;
use std::time::Duration;

/// When a client may come back that was turned away, if the error does not say it.
const LATER: Duration = Duration::from_secs(1);

/// The response to a request whose process has given none. Errors of calls, sends and look-ups, of the
/// start of a child and of a task, are converted by `?` (rule Q4).
///
/// | error | status | `Retry-After` |
/// |---|---|---|
/// | the pool is at its rate limit | 429 | when it takes the next job |
/// | full, no workers, drained, no process, no process with the key, ended before the request was handled | 503 | 1 s |
/// | a supervisor has as many children as it may, or stops; as many tasks run as may | 503 | 1 s |
/// | the node of the process has stopped, perhaps while it handled the request | 503 | |
/// | timed out, or waited longer than its time to live | 504 | |
/// | ended while it handled the request, dropped it, a cycle of calls, a type or policy that is wrong, a child that did not start | 500 | |
///
/// `Retry-After` is in whole seconds, rounded up, and only with requests that were certainly not
/// begun. A key without a process may be one that never had any: where a client should be told 404, match
/// [`KeyCallError::NoProcess`] before the `?`. The body is the name of the status. The text of the error may say more than a client should
/// know, so it is not in the body: a layer finds it as an extension of the response, to log it.
///
/// ```
/// use axum::extract::State;
/// use krarup::{Address, Reply};
/// use krarup_axum::CallRejection;
///
/// async fn total(State(till): State<Address<Reply<u64>>>) -> Result<String, CallRejection> {
///     Ok(till.call(|reply| reply).await?.to_string())
/// }
/// # let _ = total;
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct CallRejection {
    status: StatusCode,
    retry_after: Option<Duration>,
    text: String,
}

impl CallRejection {
    /// Makes the rejection of a program's own error, for a handler whose other errors are those of calls.
    /// `retry_after` is when the client may come back. The text of the error is for the log: the body is the
    /// name of the status, as that of the others.
    ///
    /// ```
    /// use axum::http::StatusCode;
    /// use krarup_axum::CallRejection;
    ///
    /// let rejection = CallRejection::new(StatusCode::CONFLICT, None, &"the order is paid");
    /// assert_eq!(rejection.to_string(), "the order is paid");
    /// ```
    #[must_use]
    pub fn new(
        status: StatusCode,
        retry_after: Option<Duration>,
        error: &dyn fmt::Display,
    ) -> Self {
        CallRejection { status, retry_after, text: error.to_string() }
    }

    fn unavailable(error: &dyn fmt::Display) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, Some(LATER), error)
    }

    fn internal(error: &dyn fmt::Display) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, None, error)
    }

    /// The status of the response.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// When the client may come back, if its request was not begun.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }
}

impl From<CallError> for CallRejection {
    fn from(error: CallError) -> Self {
        match &error {
            CallError::RateLimited { retry_after, .. } => {
                Self::new(StatusCode::TOO_MANY_REQUESTS, Some(*retry_after), &error)
            }
            CallError::Timeout { .. } | CallError::Expired { .. } => {
                Self::new(StatusCode::GATEWAY_TIMEOUT, None, &error)
            }
            CallError::Full { .. }
            | CallError::NoWorkers { .. }
            | CallError::Draining { .. }
            | CallError::NoProcess { .. }
            | CallError::NotBegun { .. }
            | CallError::Undelivered {
                cause: UndeliveredCause::Full | UndeliveredCause::NoConnection,
                ..
            } => Self::unavailable(&error),
            // It may have been begun (`CallError::was_begun`).
            CallError::NodeStopped { .. } => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, None, &error)
            }
            CallError::Named(error) => (**error).clone().into(),
            _ => Self::internal(&error),
        }
    }
}

impl From<NamedCallError> for CallRejection {
    fn from(error: NamedCallError) -> Self {
        match error {
            NamedCallError::Call { error, .. } => error.into(),
            NamedCallError::NoName { .. }
            | NamedCallError::NodeStopped { .. }
            | NamedCallError::Stopping { .. } => Self::unavailable(&error),
            NamedCallError::Lookup(error) => error.into(),
            _ => Self::internal(&error),
        }
    }
}

impl From<LookupError> for CallRejection {
    fn from(error: LookupError) -> Self {
        match error {
            LookupError::NoName(_) | LookupError::NoProcess(_) => Self::unavailable(&error),
            _ => Self::internal(&error),
        }
    }
}

impl From<AwaitNameError> for CallRejection {
    fn from(error: AwaitNameError) -> Self {
        match error {
            AwaitNameError::Timeout { .. }
            | AwaitNameError::NodeStopped { .. }
            | AwaitNameError::Stopping { .. } => Self::unavailable(&error),
            AwaitNameError::Lookup(error) => error.into(),
            _ => Self::internal(&error),
        }
    }
}

/// The message is dropped.
impl<M> From<SendError<M>> for CallRejection {
    fn from(error: SendError<M>) -> Self {
        let error = error.without_message();
        match &error {
            SendError::RateLimited { retry_after, .. } => {
                Self::new(StatusCode::TOO_MANY_REQUESTS, Some(*retry_after), &error)
            }
            SendError::Timeout { .. } => Self::new(StatusCode::GATEWAY_TIMEOUT, None, &error),
            SendError::Full { .. }
            | SendError::NoWorkers { .. }
            | SendError::Draining { .. }
            | SendError::NoProcess { .. }
            | SendError::NoName { .. } => Self::unavailable(&error),
            _ => Self::internal(&error),
        }
    }
}

impl From<KeyCallError> for CallRejection {
    fn from(error: KeyCallError) -> Self {
        match error {
            KeyCallError::NoProcess => Self::unavailable(&error),
            KeyCallError::Call(error) => error.into(),
            _ => Self::internal(&error),
        }
    }
}

/// The message is dropped.
impl<M> From<KeySendError<M>> for CallRejection {
    fn from(error: KeySendError<M>) -> Self {
        match error.without_message() {
            KeySendError::Refused(error) => error.into(),
            error => Self::unavailable(&error),
        }
    }
}

impl From<StartChildError> for CallRejection {
    fn from(error: StartChildError) -> Self {
        match error {
            StartChildError::Full { .. } | StartChildError::Stopping => Self::unavailable(&error),
            StartChildError::Call(error) => error.into(),
            _ => Self::internal(&error),
        }
    }
}

/// The future is dropped.
impl<F> From<RunError<F>> for CallRejection {
    fn from(error: RunError<F>) -> Self {
        match error {
            RunError::Full { .. } => Self::unavailable(&error),
            RunError::Call(error) => error.into(),
            _ => Self::internal(&error),
        }
    }
}

impl IntoResponse for CallRejection {
    fn into_response(self) -> Response {
        let text = self.status.canonical_reason().unwrap_or_default();
        let mut response = (self.status, text).into_response();
        if let Some(after) = self.retry_after {
            // Rounded up to whole seconds, so that the client does not come back too early.
            let seconds = after.as_secs().saturating_add(u64::from(after.subsec_nanos() > 0));
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds.max(1)));
        }
        response.extensions_mut().insert(self);
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use krarup::{Name, Pid, Reason, RetryError};

    fn answer(rejection: impl Into<CallRejection>) -> (u16, Option<String>) {
        let response = rejection.into().into_response();
        let after = response.headers().get(header::RETRY_AFTER);
        let after = after.map(|value| value.to_str().unwrap().to_owned());
        assert!(response.extensions().get::<CallRejection>().is_some());
        (response.status().as_u16(), after)
    }

    #[test]
    fn q4_each_error_has_its_status_and_says_when_to_come_back() {
        let to = Pid::local(7, 1);
        let there = || Box::new(to.into());
        let second = Duration::from_secs(1);
        let soon = |seconds: u64| Some(seconds.to_string());
        let limited = |millis| {
            answer(CallError::RateLimited { to, retry_after: Duration::from_millis(millis) })
        };
        assert_eq!(limited(0), (429, soon(1)));
        assert_eq!(limited(2000), (429, soon(2)));
        assert_eq!(limited(2001), (429, soon(3)));
        for error in [
            CallError::Full { to },
            CallError::NoWorkers { to },
            CallError::Draining { to },
            CallError::NoProcess { to },
            CallError::NotBegun { to, reason: Reason::Killed },
            CallError::Undelivered { to: there(), cause: UndeliveredCause::Full },
            CallError::Undelivered { to: there(), cause: UndeliveredCause::NoConnection },
        ] {
            assert_eq!(answer(error.clone()), (503, soon(1)), "{error}");
            assert!(!error.was_begun(), "{error}");
            let named = NamedCallError::Call { error, attempts: 1 };
            assert_eq!(answer(named), (503, soon(1)));
        }
        for error in
            [CallError::Timeout { to, limit: second }, CallError::Expired { to, waited: second }]
        {
            assert_eq!(answer(error.clone()), (504, None), "{error}");
        }
        for error in [
            CallError::Terminated { to, reason: Reason::Killed },
            CallError::NoReply { to },
            CallError::Undelivered {
                to: there(),
                cause: UndeliveredCause::Unserializable("NaN".into()),
            },
            CallError::CallsItself(to),
        ] {
            assert_eq!(answer(error.clone()), (500, None), "{error}");
        }
        let stopped = CallError::NodeStopped { to };
        assert!(stopped.was_begun());
        assert_eq!(answer(stopped.clone()), (503, None));
        assert_eq!(answer(NamedCallError::Call { error: stopped, attempts: 1 }), (503, None));
        let name = Name::new("till").unwrap();
        let missing = NamedCallError::NoName { name: name.clone(), waited: second };
        assert_eq!(answer(missing.clone()), (503, soon(1)));
        assert_eq!(answer(CallError::from(missing)), (503, soon(1)));
        assert_eq!(answer(NamedCallError::NodeStopped { name: name.clone() }), (503, soon(1)));
        assert_eq!(answer(NamedCallError::Stopping { name: name.clone() }), (503, soon(1)));
        assert_eq!(answer(AwaitNameError::Stopping { name: name.clone() }), (503, soon(1)));
        assert_eq!(answer(NamedCallError::from(RetryError::NoAttempts)), (500, None));
        assert_eq!(answer(AwaitNameError::Timeout { name, limit: second }), (503, soon(1)));
        assert_eq!(answer(LookupError::NoName("till".into())), (503, soon(1)));
        assert_eq!(answer(SendError::Full { message: 3, to }), (503, soon(1)));
        let retry_after = Duration::from_secs(9);
        assert_eq!(answer(SendError::RateLimited { message: 3, to, retry_after }), (429, soon(9)));
    }

    #[test]
    fn q4_errors_of_keys_children_and_tasks_have_the_status_of_the_error_in_them() {
        let to = Pid::local(7, 1);
        let later = (503, Some("1".to_owned()));
        let late = || CallError::Timeout { to, limit: Duration::from_secs(1) };
        let full = SendError::Full { message: 3, to };
        assert_eq!(answer(KeyCallError::NoProcess), later);
        assert_eq!(answer(KeyCallError::Call(late())), (504, None));
        assert_eq!(answer(KeySendError::NoProcess { message: 3 }), later);
        assert_eq!(answer(KeySendError::Refused(full)), later);
        assert_eq!(answer(StartChildError::Full { limit: 2 }), later);
        assert_eq!(answer(StartChildError::Stopping), later);
        assert_eq!(answer(StartChildError::Call(late())), (504, None));
        let reason = Reason::error("no disk");
        assert_eq!(answer(StartChildError::Failed { id: "till".into(), reason }), (500, None));
        assert_eq!(answer(RunError::Full { future: 3, limit: 2 }), later);
        assert_eq!(answer(RunError::<()>::Call(late())), (504, None));
    }

    #[test]
    fn q4_the_text_of_an_error_is_for_the_log_and_not_for_the_client() {
        let to = Pid::local(7, 1);
        let error = CallError::Terminated { to, reason: Reason::error("the password is 1234") };
        let response = CallRejection::from(error).into_response();
        let logged = response.extensions().get::<CallRejection>().unwrap();
        assert_eq!(logged.to_string(), "<0.7.0> terminated: the password is 1234");
        assert_eq!(logged.status(), StatusCode::INTERNAL_SERVER_ERROR);
        let length = response.headers().get(header::CONTENT_LENGTH);
        assert!(length.is_none_or(|length| length == "21"), "{length:?}");
    }
}
