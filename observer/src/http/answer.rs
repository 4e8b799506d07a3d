//! Answers: a status, a type, a body, and the headers that every answer has.

use crate::http::refusal::{Code, Refusal};
use crate::limits;
use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER,
    WWW_AUTHENTICATE,
};
use hyper::{Response, StatusCode};
use serde::Serialize;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc;

pub(crate) const JSON: &str = "application/json";
pub(crate) const TEXT: &str = "text/plain; charset=utf-8";

const ALWAYS: [(&str, &str); 3] = [
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
];

/// The body of an answer: all of it, or a stream of pieces.
pub(crate) enum Content {
    /// `None`: it was taken.
    Whole(Option<Bytes>),
    /// Ends when all senders are gone.
    Stream(mpsc::Receiver<Bytes>),
}

impl Body for Content {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Content::Whole(whole) => {
                let whole = whole.take().filter(|whole| !whole.is_empty());
                Poll::Ready(whole.map(|whole| Ok(Frame::data(whole))))
            }
            Content::Stream(pieces) => {
                pieces.poll_recv(cx).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Content::Whole(whole) => whole.as_ref().is_none_or(Bytes::is_empty),
            Content::Stream(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Content::Whole(whole) => {
                SizeHint::with_exact(whole.as_ref().map_or(0, Bytes::len) as u64)
            }
            Content::Stream(_) => SizeHint::new(),
        }
    }
}

/// An answer.
pub(crate) type HttpAnswer = Response<Content>;

/// An answer of this type.
pub(crate) fn answer(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> HttpAnswer {
    with_headers(status, kind, Content::Whole(Some(body.into())))
}

/// A stream of events.
pub(crate) fn stream(pieces: mpsc::Receiver<Bytes>) -> HttpAnswer {
    let mut answer = with_headers(StatusCode::OK, "text/event-stream", Content::Stream(pieces));
    set(&mut answer, "x-accel-buffering", "no");
    answer
}

/// An answer in JSON. One that is larger than an answer may be is not sent.
pub(crate) fn json<T: Serialize>(status: StatusCode, value: &T) -> HttpAnswer {
    match serde_json::to_vec(value) {
        Ok(body) if body.len() <= limits::ANSWER => answer(status, JSON, body),
        Ok(body) => {
            let message =
                format!("the answer has {} bytes, more than {}", body.len(), limits::ANSWER);
            refused(&Refusal::new(Code::TooLarge, message))
        }
        // The types of answers have text keys and no errors of their own.
        Err(error) => answer(StatusCode::INTERNAL_SERVER_ERROR, TEXT, error.to_string()),
    }
}

/// The answer to a refused request.
pub(crate) fn refused(refusal: &Refusal) -> HttpAnswer {
    let mut answer = answer(refusal.code.status(), JSON, refusal.body());
    if let Some(allow) = refusal.allow {
        answer.headers_mut().insert(ALLOW, HeaderValue::from_static(allow));
    }
    match refusal.code {
        Code::Busy => drop(answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"))),
        Code::TokenMissing | Code::TokenWrong => {
            let bearer = HeaderValue::from_static("Bearer");
            answer.headers_mut().insert(WWW_AUTHENTICATE, bearer);
        }
        _ => {}
    }
    if refusal.code.closes() {
        close(&mut answer);
    }
    answer
}

/// Closes the connection after the answer.
pub(crate) fn close(answer: &mut HttpAnswer) {
    answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
}

/// Sets a header.
pub(crate) fn set(answer: &mut HttpAnswer, name: &'static str, value: &'static str) {
    let name = HeaderName::from_static(name);
    answer.headers_mut().insert(name, HeaderValue::from_static(value));
}

fn with_headers(status: StatusCode, kind: &'static str, content: Content) -> HttpAnswer {
    let mut answer = Response::new(content);
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    for (name, value) in ALWAYS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    answer
}
