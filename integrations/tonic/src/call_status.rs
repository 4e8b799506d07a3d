//! The error of a call as a status of gRPC (rule Q9).

use http::StatusCode;
use krarup::calls::UndeliveredCause;
use krarup::{AwaitNameError, CallError, LookupError, NamedCallError, SendError};
use krarup_axum::CallRejection;
use std::sync::Arc;
use std::time::Duration;
use tonic::{Code, Status};

/// The header by which a server of gRPC tells a client when to try again, in milliseconds.
const PUSHBACK: &str = "grpc-retry-pushback-ms";

/// The status of a request whose process has given no reply. Errors of calls, sends and look-ups are
/// converted into it, and it is converted into a [`Status`] by `?` (rule Q9).
///
/// | error | code | `grpc-retry-pushback-ms` |
/// |---|---|---|
/// | the pool is at its rate limit | `RESOURCE_EXHAUSTED` | when it takes the next job |
/// | full | `RESOURCE_EXHAUSTED` | 1 s |
/// | no workers, drained, no process, ended before the request was handled | `UNAVAILABLE` | 1 s |
/// | the node of the process has stopped, perhaps while it handled the request | `UNAVAILABLE` | |
/// | timed out, or waited longer than its time to live | `DEADLINE_EXCEEDED` | |
/// | ended while it handled the request, dropped it, a cycle of calls, a type or policy that is wrong | `INTERNAL` | |
///
/// It is the [`CallRejection`] of the error, in the words of gRPC: a service behind both says the same by
/// either. So a client is told when to come back only with requests that were certainly not begun. The
/// message is the description of the code. The text of the error may say more than a client should know,
/// so it is not in the message: it is the source of the [`Status`], which a layer finds as an extension of
/// the response, to log it.
///
/// ```
/// use krarup::{Address, Reply};
/// use krarup_tonic::CallStatus;
/// use tonic::{Response, Status};
///
/// async fn total(till: &Address<Reply<u64>>) -> Result<Response<u64>, Status> {
///     Ok(Response::new(till.call(|reply| reply).await.map_err(CallStatus::from)?))
/// }
/// # let _ = total;
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{rejection}")]
pub struct CallStatus {
    code: Code,
    rejection: CallRejection,
}

impl CallStatus {
    fn new(rejection: CallRejection, is_full: bool) -> Self {
        let code = match rejection.status() {
            // HTTP has one status for what is full and for what is not there.
            StatusCode::SERVICE_UNAVAILABLE if is_full => Code::ResourceExhausted,
            StatusCode::SERVICE_UNAVAILABLE => Code::Unavailable,
            StatusCode::TOO_MANY_REQUESTS => Code::ResourceExhausted,
            StatusCode::GATEWAY_TIMEOUT => Code::DeadlineExceeded,
            _ => Code::Internal,
        };
        CallStatus { code, rejection }
    }

    /// The code of the status.
    #[must_use]
    pub fn code(&self) -> Code {
        self.code
    }

    /// When the client may come back, if its request was not begun.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.rejection.retry_after()
    }
}

impl From<CallError> for CallStatus {
    fn from(error: CallError) -> Self {
        let is_full = matches!(
            error,
            CallError::Full { .. } | CallError::Undelivered { cause: UndeliveredCause::Full, .. }
        );
        Self::new(error.into(), is_full)
    }
}

impl From<NamedCallError> for CallStatus {
    fn from(error: NamedCallError) -> Self {
        match error {
            NamedCallError::Call { error, .. } => error.into(),
            error => Self::new(error.into(), false),
        }
    }
}

impl From<LookupError> for CallStatus {
    fn from(error: LookupError) -> Self {
        Self::new(error.into(), false)
    }
}

impl From<AwaitNameError> for CallStatus {
    fn from(error: AwaitNameError) -> Self {
        Self::new(error.into(), false)
    }
}

/// The message is dropped.
impl<M> From<SendError<M>> for CallStatus {
    fn from(error: SendError<M>) -> Self {
        let is_full = matches!(error, SendError::Full { .. });
        Self::new(error.into(), is_full)
    }
}

impl From<CallStatus> for Status {
    fn from(status: CallStatus) -> Self {
        let mut answer = Status::new(status.code, status.code.description());
        if let Some(after) = status.retry_after() {
            // Rounded up, so that the client does not come back too early; clients read 32 bits.
            let millis = after.as_nanos().div_ceil(1_000_000);
            let millis = i32::try_from(millis).unwrap_or(i32::MAX);
            answer.metadata_mut().insert(PUSHBACK, millis.into());
        }
        answer.set_source(Arc::new(status));
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use krarup::{Name, Pid, Reason, RetryError};

    fn answer(status: impl Into<CallStatus>) -> (Code, Option<String>) {
        let status = Status::from(status.into());
        assert_eq!(status.message(), status.code().description());
        let after = status.metadata().get(PUSHBACK);
        (status.code(), after.map(|value| value.to_str().unwrap().to_owned()))
    }

    #[test]
    fn q9_each_error_has_its_code_and_says_when_to_come_back() {
        let to = Pid::local(7, 1);
        let second = Duration::from_secs(1);
        let soon = |millis: u64| Some(millis.to_string());
        let limited = |after| answer(CallError::RateLimited { to, retry_after: after });
        let exhausted = Code::ResourceExhausted;
        assert_eq!(limited(Duration::ZERO), (exhausted, soon(0)));
        assert_eq!(limited(Duration::from_micros(2001)), (exhausted, soon(3)));
        assert_eq!(limited(Duration::MAX), (exhausted, soon(i32::MAX as u64)));
        let named = |error| NamedCallError::Call { error, attempts: 1 };
        let full = CallError::Full { to };
        assert_eq!(answer(full.clone()), (exhausted, soon(1000)));
        assert_eq!(answer(named(full)), (exhausted, soon(1000)));
        let there = || Box::new(to.into());
        let full = CallError::Undelivered { to: there(), cause: UndeliveredCause::Full };
        assert_eq!(answer(full), (exhausted, soon(1000)));
        for error in [
            CallError::NoWorkers { to },
            CallError::Draining { to },
            CallError::NoProcess { to },
            CallError::NotBegun { to, reason: Reason::Killed },
            CallError::Undelivered { to: there(), cause: UndeliveredCause::NoConnection },
        ] {
            assert_eq!(answer(error.clone()), (Code::Unavailable, soon(1000)), "{error}");
            assert!(!error.was_begun(), "{error}");
            assert_eq!(answer(named(error)), (Code::Unavailable, soon(1000)));
        }
        for error in
            [CallError::Timeout { to, limit: second }, CallError::Expired { to, waited: second }]
        {
            assert_eq!(answer(error.clone()), (Code::DeadlineExceeded, None), "{error}");
        }
        for error in [
            CallError::Terminated { to, reason: Reason::Killed },
            CallError::NoReply { to },
            CallError::CallsItself(to),
        ] {
            assert_eq!(answer(error.clone()), (Code::Internal, None), "{error}");
        }
        let stopped = CallError::NodeStopped { to };
        assert_eq!(answer(stopped.clone()), (Code::Unavailable, None));
        assert_eq!(answer(named(stopped)), (Code::Unavailable, None));
        let unavailable = (Code::Unavailable, soon(1000));
        let name = Name::new("till").unwrap();
        let missing = NamedCallError::NoName { name: name.clone(), waited: second };
        assert_eq!(answer(missing), unavailable);
        assert_eq!(answer(NamedCallError::NodeStopped { name: name.clone() }), unavailable);
        assert_eq!(answer(NamedCallError::from(RetryError::NoAttempts)), (Code::Internal, None));
        assert_eq!(answer(AwaitNameError::Timeout { name, limit: second }), unavailable);
        assert_eq!(answer(LookupError::NoName("till".into())), unavailable);
        assert_eq!(answer(SendError::Full { message: 3, to }), (exhausted, soon(1000)));
        assert_eq!(answer(SendError::NoProcess { message: 3, to }), unavailable);
    }

    #[test]
    fn q9_the_text_of_an_error_is_for_the_log_and_not_for_the_client() {
        let to = Pid::local(7, 1);
        let error = CallError::Terminated { to, reason: Reason::error("the password is 1234") };
        let response = Status::from(CallStatus::from(error)).into_http::<()>();
        assert!(!format!("{:?}", response.headers()).contains("1234"), "{response:?}");
        let logged = response.extensions().get::<Status>().unwrap();
        let source = std::error::Error::source(logged).unwrap();
        assert_eq!(source.to_string(), "<0.7.0> terminated: the password is 1234");
        assert_eq!(source.downcast_ref::<CallStatus>().unwrap().code(), Code::Internal);
    }
}
