//! Reads a text from a request: bounded in length and in time.

use crate::answer::Failure;
use axum::body::Body;
use axum::http::{HeaderMap, header};
use http_body_util::BodyExt;
use std::time::Duration;

/// The longest body that is accepted: 1 MiB.
const LIMIT: usize = 1 << 20;
/// How long a body may take to arrive.
const PATIENCE: Duration = Duration::from_secs(10);
/// How much of a body that is too long is read and discarded. A client that is still
/// sending when the connection is closed may never see the error; up to this length it may
/// finish sending.
const DISCARDED: usize = 16 << 20;

/// Reads the body as a text.
pub(crate) async fn text(headers: &HeaderMap, body: Body) -> Result<String, Failure> {
    text_within(PATIENCE, headers, body).await
}

async fn text_within(limit: Duration, headers: &HeaderMap, body: Body) -> Result<String, Failure> {
    let read = tokio::time::timeout(limit, bytes(headers, body)).await;
    let bytes = read.map_err(|_| Failure::TooSlow(limit))??;
    String::from_utf8(bytes).map_err(|error| Failure::NotUtf8(error.utf8_error().valid_up_to()))
}

async fn bytes(headers: &HeaderMap, mut body: Body) -> Result<Vec<u8>, Failure> {
    let declared = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    let too_long = declared.is_some_and(|length| length > LIMIT as u64);
    if too_long && headers.contains_key(header::EXPECT) {
        // The client asked before sending.
        return Err(Failure::TooLong(LIMIT));
    }
    let mut bytes = Vec::new();
    let mut seen = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Failure::Broken(error.to_string()))?;
        let Ok(data) = frame.into_data() else { continue };
        seen += data.len();
        if seen > DISCARDED {
            break;
        }
        if seen > LIMIT || too_long {
            bytes = Vec::new();
        } else {
            bytes.extend_from_slice(&data);
        }
    }
    if seen > LIMIT || too_long { Err(Failure::TooLong(LIMIT)) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;
    use hyper::body::{Body as HttpBody, Bytes, Frame};
    use std::collections::VecDeque;
    use std::io;
    use std::pin::Pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Poll};

    const MEGABYTE: usize = 1 << 20;

    /// A body that arrives in pieces, and how it ends.
    struct Pieces {
        left: VecDeque<Frame<Bytes>>,
        end: End,
        /// How many pieces were read.
        read: Arc<AtomicUsize>,
    }

    #[derive(Clone, Copy)]
    enum End {
        Whole,
        Never,
        Broken,
    }

    impl HttpBody for Pieces {
        type Data = Bytes;
        type Error = io::Error;
        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
            match (self.left.pop_front(), self.end) {
                (Some(piece), _) => {
                    self.read.fetch_add(1, Ordering::Relaxed);
                    Poll::Ready(Some(Ok(piece)))
                }
                (None, End::Whole) => Poll::Ready(None),
                (None, End::Never) => Poll::Pending,
                (None, End::Broken) => Poll::Ready(Some(Err(io::Error::other("cut off")))),
            }
        }
    }

    /// Returns the outcome of reading a body, and how many of its pieces were read.
    async fn read(
        headers: &HeaderMap,
        pieces: impl IntoIterator<Item = Frame<Bytes>>,
        end: End,
    ) -> (Result<String, Failure>, usize) {
        let count = Arc::new(AtomicUsize::new(0));
        let left = pieces.into_iter().collect();
        let body = Body::new(Pieces { left, end, read: Arc::clone(&count) });
        (text(headers, body).await, count.load(Ordering::Relaxed))
    }

    fn piece(length: usize) -> Frame<Bytes> {
        Frame::data(vec![b'x'; length].into())
    }

    fn declared(length: usize) -> HeaderMap {
        HeaderMap::from_iter([(header::CONTENT_LENGTH, HeaderValue::from(length))])
    }

    #[tokio::test]
    async fn a_body_is_accepted_up_to_the_limit() {
        let none = HeaderMap::new();
        let said = [b"ca", b"t!"].map(|bytes| Frame::data(Bytes::from_static(bytes)));
        let trailers = Frame::trailers(declared(9));
        let (text, _) = read(&none, said.into_iter().chain([trailers]), End::Whole).await;
        assert_eq!(text.ok().as_deref(), Some("cat!"));
        let (text, _) =
            read(&declared(MEGABYTE), [piece(1), piece(MEGABYTE - 1)], End::Whole).await;
        assert_eq!(text.ok().map(|text| text.len()), Some(MEGABYTE));
        // Whatever length was declared.
        for headers in [none, declared(2)] {
            let (text, read) = read(&headers, [1, MEGABYTE, 1].map(piece), End::Whole).await;
            assert!(matches!(text, Err(Failure::TooLong(MEGABYTE))), "{text:?}");
            assert_eq!(read, 3, "it is read to its end, so that the client reads the answer");
        }
    }

    #[tokio::test]
    async fn the_read_of_a_body_that_is_too_long_is_bounded() {
        let mut headers = declared(MEGABYTE + 1);
        // The declared length alone is too long; the body that arrives may even be short.
        let (text, pieces) = read(&headers, [piece(1), piece(1)], End::Whole).await;
        assert!(matches!(text, Err(Failure::TooLong(MEGABYTE))), "{text:?}");
        assert_eq!(pieces, 2);
        let (text, pieces) = read(&headers, (0..20).map(|_| piece(MEGABYTE)), End::Whole).await;
        assert!(matches!(text, Err(Failure::TooLong(MEGABYTE))), "{text:?}");
        assert_eq!(pieces, 17, "16 MiB, and what says that there is more");
        headers.insert(header::EXPECT, HeaderValue::from_static("100-continue"));
        let (text, pieces) = read(&headers, [piece(1)], End::Never).await;
        assert!(matches!(text, Err(Failure::TooLong(MEGABYTE))), "{text:?}");
        assert_eq!(pieces, 0, "nothing was sent yet");
        // A client that asks first and declares a body that is short enough is read.
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(1));
        assert_eq!(read(&headers, [piece(1)], End::Whole).await.0.ok().as_deref(), Some("x"));
    }

    #[tokio::test]
    async fn an_aborted_or_slow_body_is_reported_as_an_error() {
        let none = HeaderMap::new();
        let (text, _) = read(&none, [piece(1)], End::Broken).await;
        assert!(matches!(&text, Err(Failure::Broken(why)) if why.contains("cut off")), "{text:?}");
        let (left, read) = (VecDeque::from([piece(1)]), Arc::default());
        let body = Body::new(Pieces { left, end: End::Never, read });
        let limit = Duration::from_millis(1);
        let text = text_within(limit, &none, body).await;
        assert!(matches!(text, Err(Failure::TooSlow(same)) if same == limit), "{text:?}");
    }
}
