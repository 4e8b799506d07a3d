//! What goes wrong, as HTTP: a status and a JSON object whose `error` says it.

use axum::Json;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use krarup::prelude::*;
use serde_json::json;
use std::time::Duration;

/// Seconds after which a client that was turned away may come back.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("1");

/// Why a request has no better answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The body is no text: the first byte that is not UTF-8.
    NotUtf8(usize),
    /// The body is longer than this many bytes.
    TooLong(usize),
    /// The body did not come within this time.
    TooSlow(Duration),
    /// The body broke off, or was framed wrong.
    Broken(String),
    /// A value of the query is not what it must be.
    Query(String),
    /// There is nothing at this path.
    NotFound(String),
    /// The path is there, and not for this method.
    Method(Method, String),
    /// All workers have as many jobs waiting as they may have.
    Saturated,
    /// No result came within this time.
    TimedOut(Duration),
    /// The process that had the request ended.
    Crashed(Reason),
    /// A process was not there when it was wanted.
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
            Failure::TimedOut(_) => StatusCode::GATEWAY_TIMEOUT,
            Failure::Crashed(_) => StatusCode::INTERNAL_SERVER_ERROR,
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
        if status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, RETRY_AFTER);
        }
        response
    }
}
