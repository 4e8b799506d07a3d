//! Errors as HTTP answers: a status and a JSON object whose `error` describes the failure.

use axum::Json;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use krarup::prelude::*;
use serde_json::json;
use std::time::Duration;

/// How long a client that met a full pool is told to wait before it tries again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Why a request failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The body is not text: the index of the first byte that is not UTF-8.
    NotUtf8(usize),
    /// The body is longer than this many bytes.
    TooLong(usize),
    /// The body did not come within this time.
    TooSlow(Duration),
    /// The connection broke while the body was read, or the body was framed wrongly.
    Broken(String),
    /// A value in the query is not valid.
    Query(String),
    /// There is nothing at this path.
    NotFound(String),
    /// The path exists, but not for this method.
    Method(Method, String),
    /// All workers have as many jobs waiting as they may have.
    Saturated,
    /// More jobs arrive than the pool's rate allows; the duration until it takes the next one.
    TooMany(Duration),
    /// No result came within this time.
    TimedOut(Duration),
    /// The process that was handling the request ended.
    Crashed(Reason),
    /// A process that the request needs was not running.
    Unavailable(String),
}

impl Failure {
    fn status(&self) -> StatusCode {
        match self {
            Failure::NotUtf8(_) | Failure::Broken(_) | Failure::Query(_) => StatusCode::BAD_REQUEST,
            Failure::TooLong(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Failure::TooSlow(_) => StatusCode::REQUEST_TIMEOUT,
            Failure::NotFound(_) => StatusCode::NOT_FOUND,
            Failure::Method(..) => StatusCode::METHOD_NOT_ALLOWED,
            Failure::Saturated | Failure::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
            Failure::TooMany(_) => StatusCode::TOO_MANY_REQUESTS,
            Failure::TimedOut(_) => StatusCode::GATEWAY_TIMEOUT,
            Failure::Crashed(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// When the client may try again, if it was turned away.
    fn retry_after(&self) -> Option<Duration> {
        match self {
            Failure::TooMany(after) => Some(*after),
            Failure::Saturated | Failure::Unavailable(_) => Some(RETRY_AFTER),
            _ => None,
        }
    }

    fn text(&self) -> String {
        match self {
            Failure::NotUtf8(at) => format!("the body is not UTF-8: byte {at}"),
            Failure::TooLong(limit) => format!("the body is longer than {limit} bytes"),
            Failure::TooSlow(limit) => format!("the body did not come within {limit:?}"),
            Failure::Broken(why) => format!("the body cannot be read: {why}"),
            Failure::NotFound(path) => format!("there is nothing at {path}"),
            Failure::Method(method, path) => format!("{path} does not take {method}"),
            Failure::Saturated => "all workers are busy and their mailboxes full".into(),
            Failure::TooMany(after) => format!("too many jobs in a second; the next in {after:?}"),
            Failure::TimedOut(limit) => format!("no result within {limit:?}"),
            Failure::Crashed(reason) => format!("the process that had the request ended: {reason}"),
            Failure::Query(why) | Failure::Unavailable(why) => why.clone(),
        }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let status = self.status();
        let mut response = (status, Json(json!({ "error": self.text() }))).into_response();
        if let Some(after) = self.retry_after() {
            // Rounded up to whole seconds, so that the client does not come back too early.
            let seconds = after.as_secs() + u64::from(after.subsec_nanos() > 0);
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds.max(1)));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(failure: Failure) -> (u16, Option<String>) {
        let response = failure.into_response();
        let retry_after = response.headers().get(header::RETRY_AFTER);
        let retry_after = retry_after.map(|value| value.to_str().expect("digits").to_owned());
        (response.status().as_u16(), retry_after)
    }

    #[test]
    fn a_client_that_is_turned_away_gets_a_retry_after() {
        let after = |seconds: &str| Some(seconds.to_owned());
        assert_eq!(answer(Failure::Saturated), (503, after("1")));
        let too_many = |millis| answer(Failure::TooMany(Duration::from_millis(millis)));
        assert_eq!(too_many(0), (429, after("1")));
        assert_eq!(too_many(3), (429, after("1")));
        assert_eq!(too_many(2_000), (429, after("2")));
        assert_eq!(too_many(2_001), (429, after("3")));
        assert_eq!(answer(Failure::TimedOut(Duration::ZERO)), (504, None));
    }
}
