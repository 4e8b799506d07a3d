//! The bytes of a connection, watched: heads must be strict HTTP, and a client must take what it
//! is sent.
//!
//! hyper accepts a line that ends in a bare LF, and a head with both a length and chunks. Two
//! servers in a row can disagree about where such a request ends, so the guard refuses it. This
//! reader only raises a flag; what hyper reads is what the client sent.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// The most that is read of a connection that is closing.
const LINGER: usize = 48 << 10;

/// A connection whose heads are checked and whose writes have a time limit.
pub(crate) struct Strict<S> {
    stream: S,
    scan: Scan,
    flaw: Arc<AtomicBool>,
    write: Duration,
    /// Runs while the client takes nothing.
    stalled: Option<Pin<Box<Sleep>>>,
    linger: Duration,
    closing: Option<Lingering>,
}

struct Lingering {
    until: Pin<Box<Sleep>>,
    left: usize,
}

impl<S> Strict<S> {
    /// Watches a stream. A client that takes nothing for `write` is cut off; a closed connection
    /// is read for up to `linger`, so that the last answer is not lost to a reset.
    pub(crate) fn new(stream: S, write: Duration, linger: Duration) -> Self {
        Strict {
            stream,
            scan: Scan::default(),
            flaw: Arc::new(AtomicBool::new(false)),
            write,
            stalled: None,
            linger,
            closing: None,
        }
    }

    /// Raised when a head was not strict HTTP.
    pub(crate) fn flaw(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.flaw)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Strict<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.stream).poll_read(cx, buffer))?;
        if this.scan.take(&buffer.filled()[before..]) {
            this.flaw.store(true, Ordering::Relaxed);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + AsyncRead + Unpin> Strict<S> {
    fn watch(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let limit = self.write;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(limit)));
        match stalled.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncWrite + AsyncRead + Unpin> AsyncWrite for Strict<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write(cx, bytes);
        this.watch(cx, written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write_vectored(cx, bytes);
        this.watch(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let linger = this.linger;
        if this.closing.is_none() {
            ready!(Pin::new(&mut this.stream).poll_shutdown(cx))?;
        }
        let closing = this.closing.get_or_insert_with(|| Lingering {
            until: Box::pin(tokio::time::sleep_until(Instant::now() + linger)),
            left: LINGER,
        });
        let mut space = [0; 4096];
        loop {
            let mut buffer = ReadBuf::new(&mut space);
            match Pin::new(&mut this.stream).poll_read(cx, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                    closing.left = closing.left.saturating_sub(buffer.filled().len());
                    if closing.left == 0 {
                        return Poll::Ready(Ok(()));
                    }
                }
                Poll::Ready(_) => return Poll::Ready(Ok(())),
                Poll::Pending => return closing.until.as_mut().poll(cx).map(Ok),
            }
        }
    }
}

/// Where in the requests of a connection the scan is.
#[derive(Default)]
struct Scan {
    place: ScanPlace,
    /// The line of a head that is being read, cut to what is looked at.
    line: Vec<u8>,
    /// Whether this is not the first line of the head.
    below: bool,
    lengths: usize,
    length: u64,
    chunked: bool,
}

#[derive(Default)]
enum ScanPlace {
    #[default]
    Head,
    Body(u64),
    /// After chunks the end is not looked for: the connection is closed after the answer.
    Rest,
}

/// The bytes of a line that are kept.
const KEPT: usize = 64;

impl Scan {
    /// Takes the next bytes. Returns whether they are no strict HTTP.
    fn take(&mut self, mut bytes: &[u8]) -> bool {
        let mut flawed = false;
        while !bytes.is_empty() {
            match &mut self.place {
                ScanPlace::Rest => return flawed,
                ScanPlace::Body(left) => {
                    let skipped = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                    *left -= skipped as u64;
                    bytes = &bytes[skipped..];
                    if *left == 0 {
                        self.place = ScanPlace::Head;
                    }
                }
                ScanPlace::Head => {
                    let end = bytes.iter().position(|byte| *byte == b'\n');
                    let part = &bytes[..end.unwrap_or(bytes.len())];
                    // A line that ends in CR is told by its last byte, so that is kept, too.
                    let carriage = part.last().map(|last| *last == b'\r');
                    let free = KEPT.saturating_sub(self.line.len());
                    self.line.extend_from_slice(&part[..free.min(part.len())]);
                    if let (Some(carriage), true) = (carriage, self.line.len() >= KEPT) {
                        self.line.truncate(KEPT);
                        self.line[KEPT - 1] = if carriage { b'\r' } else { b'.' };
                    }
                    let Some(end) = end else { return flawed };
                    bytes = &bytes[end + 1..];
                    flawed |= self.line_ends();
                }
            }
        }
        flawed
    }

    fn line_ends(&mut self) -> bool {
        let line = std::mem::take(&mut self.line);
        let Some(line) = line.strip_suffix(b"\r") else { return true };
        if line.is_empty() {
            // An empty line before the first one is allowed, and is no head.
            return self.below && self.head_ends();
        }
        let below = std::mem::replace(&mut self.below, true);
        if !below {
            return false;
        }
        if line.starts_with(b" ") || line.starts_with(b"\t") {
            return true;
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (name, value) = (&line[..colon], line.get(colon + 1..).unwrap_or_default());
        if name.eq_ignore_ascii_case(b"content-length") {
            self.lengths += 1;
            let text = std::str::from_utf8(value.trim_ascii()).unwrap_or_default();
            match text.parse() {
                Ok(length) if text.bytes().all(|byte| byte.is_ascii_digit()) => {
                    self.length = length;
                }
                _ => return true,
            }
        }
        if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.chunked = true;
        }
        false
    }

    fn head_ends(&mut self) -> bool {
        let flawed = self.lengths > 1 || (self.lengths == 1 && self.chunked);
        let place = match (self.chunked, self.length) {
            (true, _) => ScanPlace::Rest,
            (false, 0) => ScanPlace::Head,
            (false, length) => ScanPlace::Body(length),
        };
        *self = Scan { place, ..Scan::default() };
        flawed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a text is flawed, whatever pieces it comes in.
    fn flawed(text: &str) -> bool {
        let whole = Scan::default().take(text.as_bytes());
        for size in 1..8 {
            let mut scan = Scan::default();
            let pieces =
                text.as_bytes().chunks(size).fold(false, |found, piece| scan.take(piece) | found);
            assert_eq!(pieces, whole, "{text:?} in pieces of {size}");
        }
        whole
    }

    #[test]
    fn v45_heads_that_two_servers_can_read_differently_are_found() {
        let long = format!("GET / HTTP/1.1\r\nHost: x\r\nA: {}\r\n\r\n", "x".repeat(300));
        for good in [
            "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\na\nbGET / HTTP/1.1\r\nHost: x\r\n\r\n",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\n\na\n",
            "\r\nGET / HTTP/1.1\r\n\r\n",
            &long,
        ] {
            assert!(!flawed(good), "{good:?}");
        }
        let bare = long.replace("xx\r\n\r\n", "xx\n\r\n");
        for bad in [
            "GET / HTTP/1.1\nHost: x\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\n\n",
            "GET / HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\n\tfolded\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 3, 4\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: +3\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nabGET / HTTP/1.1\nHost: x\r\n\r\n",
            &bare,
        ] {
            assert!(flawed(bad), "{bad:?}");
        }
    }
}
