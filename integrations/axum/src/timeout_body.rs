//! The body of a request, with a limit of the time without progress (rule Q11).

use crate::progress_timeout::ProgressTimeout;
use axum::BoxError;
use axum::body::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// A body that ends with an error when its reader has waited too long for the next bytes. The time in which
/// nobody has begun to read does not count.
pub(crate) struct TimeoutBody<B = Incoming> {
    /// None after the error. hyper then closes the connection, or resets the stream of HTTP/2, behind the
    /// answer.
    body: Option<B>,
    timeout: ProgressTimeout,
}

impl<B> TimeoutBody<B> {
    pub(crate) fn new(body: B, limit: Duration) -> Self {
        let timeout = ProgressTimeout::new("the client has sent nothing of the body", limit);
        TimeoutBody { body: Some(body), timeout }
    }
}

impl<B> Body for TimeoutBody<B>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Unpin,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        let Some(body) = &mut this.body else { return Poll::Ready(None) };
        let polled = Pin::new(body).poll_frame(cx);
        Poll::Ready(match ready!(this.timeout.watch(cx, polled)) {
            Ok(frame) => frame.map(|frame| frame.map_err(Into::into)),
            Err(error) => {
                this.body = None;
                Some(Err(error.into()))
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;
    use std::future::poll_fn;
    use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
    use tokio::time::{Instant, advance, timeout};

    const LIMIT: Duration = Duration::from_secs(30);
    const MOST: Duration = Duration::from_secs(29);

    /// What a client sends.
    struct Sent(UnboundedReceiver<&'static str>);

    impl Body for Sent {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            self.0.poll_recv(cx).map(|sent| sent.map(|sent| Ok(Frame::data(sent.into()))))
        }
    }

    fn body(limit: Duration) -> (UnboundedSender<&'static str>, TimeoutBody<Sent>) {
        let (client, sent) = unbounded_channel();
        (client, TimeoutBody::new(Sent(sent), limit))
    }

    async fn next(body: &mut TimeoutBody<Sent>) -> Option<Result<Bytes, BoxError>> {
        let frame = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await;
        frame.map(|frame| frame.map(|frame| frame.into_data().unwrap()))
    }

    async fn is_pending(body: &mut TimeoutBody<Sent>) -> bool {
        poll_fn(|cx| Poll::Ready(Pin::new(&mut *body).poll_frame(cx).is_pending())).await
    }

    #[tokio::test(start_paused = true)]
    async fn q11_each_piece_of_a_body_has_its_own_time() {
        let (client, mut body) = body(LIMIT);
        for _ in 0..10 {
            assert!(is_pending(&mut body).await);
            advance(MOST).await;
            assert!(is_pending(&mut body).await);
            client.send("piece").unwrap();
            assert_eq!(next(&mut body).await.unwrap().unwrap(), "piece");
        }
        drop(client);
        assert!(next(&mut body).await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn q11_a_body_of_which_nothing_comes_ends_with_one_error() {
        let (client, mut body) = body(LIMIT);
        client.send("piece").unwrap();
        assert_eq!(next(&mut body).await.unwrap().unwrap(), "piece");
        let begun = Instant::now();
        let ended = timeout(LIMIT * 2, next(&mut body)).await.expect("it has a limit");
        let error = ended.unwrap().unwrap_err();
        assert_eq!(error.to_string(), "the client has sent nothing of the body for 30s");
        let kind = error.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
        assert_eq!(kind, Some(std::io::ErrorKind::TimedOut));
        // The clock of the runtime counts milliseconds.
        let waited = begun.elapsed();
        assert!(waited >= LIMIT && waited < LIMIT + Duration::from_millis(2), "{waited:?}");
        assert!(client.is_closed() && body.is_end_stream());
        assert_eq!(body.size_hint().exact(), Some(0));
        assert!(next(&mut body).await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn q11_a_handler_may_wait_before_it_reads() {
        let (client, mut body) = body(LIMIT);
        advance(LIMIT * 100).await;
        // Nobody has waited for it until now.
        assert!(is_pending(&mut body).await);
        // What has come by the end of a pause counts, however long the pause was.
        client.send("piece").unwrap();
        advance(LIMIT * 100).await;
        assert_eq!(next(&mut body).await.unwrap().unwrap(), "piece");
    }
}
