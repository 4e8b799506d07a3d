//! The bytes of a connection, with a limit of the time in which the client takes nothing (rule Q11).

use crate::progress_timeout::ProgressTimeout;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A stream whose writes end with [`io::ErrorKind::TimedOut`] when one was pending for the limit. Reads are
/// passed on, and have no limit here. A stream that nobody writes to is not limited.
pub(crate) struct TimeoutStream<S> {
    stream: S,
    timeout: ProgressTimeout,
}

impl<S> TimeoutStream<S> {
    pub(crate) fn new(stream: S, limit: Duration) -> Self {
        let timeout = ProgressTimeout::new("the client has taken nothing of the answer", limit);
        TimeoutStream { stream, timeout }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimeoutStream<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimeoutStream<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write(cx, bytes);
        this.timeout.watch(cx, written).map(|written| written?)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write_vectored(cx, bytes);
        this.timeout.watch(cx, written).map(|written| written?)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::io::IoSlice;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
    use tokio::time::{Instant, advance, timeout};

    const LIMIT: Duration = Duration::from_secs(30);
    const MOST: Duration = Duration::from_secs(29);

    #[tokio::test(start_paused = true)]
    async fn q11_each_piece_that_is_taken_starts_the_time_anew() {
        let (mut client, server) = duplex(1);
        let mut server = TimeoutStream::new(server, LIMIT);
        server.write_all(b"x").await.unwrap();
        for _ in 0..10 {
            let mut writing = std::pin::pin!(server.write(b"x"));
            assert!(poll_fn(|cx| Poll::Ready(writing.as_mut().poll(cx).is_pending())).await);
            advance(MOST).await;
            assert!(poll_fn(|cx| Poll::Ready(writing.as_mut().poll(cx).is_pending())).await);
            client.read_u8().await.unwrap();
            assert_eq!(writing.await.unwrap(), 1);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn q11_a_stream_of_which_nothing_is_taken_ends_with_an_error() {
        let (mut client, server) = duplex(1);
        let mut server = TimeoutStream::new(server, LIMIT);
        server.write_all(b"x").await.unwrap();
        // There is nothing to write: no time runs.
        advance(LIMIT * 100).await;
        for vectored in [false, true] {
            let begun = Instant::now();
            let written = timeout(LIMIT * 2, async {
                if vectored {
                    server.write_vectored(&[IoSlice::new(b"x")]).await
                } else {
                    server.write(b"x").await
                }
            });
            let error = written.await.expect("it has a limit").unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
            assert_eq!(error.to_string(), "the client has taken nothing of the answer for 30s");
            // The clock of the runtime counts milliseconds.
            let waited = begun.elapsed();
            assert!(waited >= LIMIT && waited < LIMIT + Duration::from_millis(2), "{waited:?}");
            client.read_u8().await.unwrap();
            server.write_all(b"x").await.unwrap();
        }
    }
}
