//! A connection without sockets: two directions of bytes in memory.
//!
//! ```text
//!   client (the test) ── to_server ──► WireEnd: the transport of a connection's process
//!                     ◄── to_client ──
//! ```
//!
//! Each direction holds a bounded number of bytes, as the systems of both ends do. So an answer to
//! a client that does not read waits, and the server reads nothing meanwhile.

use krarup::io::Transport;
use krarup::io::bytes::BytesMut;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// The most bytes in one direction. Small, so that tests fill it.
const WINDOW: usize = 2048;

/// One direction.
#[derive(Default)]
struct Direction {
    bytes: BytesMut,
    /// Its writer has finished or is gone.
    is_finished: bool,
    /// Its reader is gone.
    is_unread: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

#[derive(Default)]
struct Wire {
    to_server: Direction,
    to_client: Direction,
}

/// The end of the server.
#[derive(Clone)]
pub(crate) struct WireEnd(Arc<WireOwner>);

/// The end of the client, which the test holds.
pub(crate) struct ClientEnd(Arc<Mutex<Wire>>);

/// Closes the connection when its process has dropped it.
struct WireOwner(Arc<Mutex<Wire>>);

/// Makes a connection.
pub(crate) fn wire() -> (ClientEnd, WireEnd) {
    let wire = Arc::new(Mutex::new(Wire::default()));
    (ClientEnd(Arc::clone(&wire)), WireEnd(Arc::new(WireOwner(wire))))
}

/// Changes the wire, and wakes those whom the change concerns when the lock is free again.
fn change<R>(wire: &Mutex<Wire>, action: impl FnOnce(&mut Wire, &mut Vec<Waker>) -> R) -> R {
    let mut wake = Vec::new();
    let result = action(&mut lock(wire), &mut wake);
    wake.into_iter().for_each(Waker::wake);
    result
}

fn lock(wire: &Mutex<Wire>) -> MutexGuard<'_, Wire> {
    wire.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ClientEnd {
    /// Sends some of these bytes, and returns how many; `None` if nobody reads them any more.
    pub(crate) fn write(&self, bytes: &[u8]) -> Option<usize> {
        change(&self.0, |wire, wake| {
            if wire.to_server.is_unread {
                return None;
            }
            let count = bytes.len().min(WINDOW - wire.to_server.bytes.len());
            wire.to_server.bytes.extend_from_slice(&bytes[..count]);
            wake.extend(wire.to_server.reader.take());
            Some(count)
        })
    }

    /// Returns what has arrived, and whether more can come.
    pub(crate) fn read(&self) -> (Vec<u8>, bool) {
        change(&self.0, |wire, wake| {
            let bytes = wire.to_client.bytes.split().to_vec();
            wake.extend(wire.to_client.writer.take());
            (bytes, !wire.to_client.is_finished)
        })
    }

    /// Whether a read would return anything.
    pub(crate) fn is_readable(&self) -> bool {
        let wire = lock(&self.0);
        !wire.to_client.bytes.is_empty() || wire.to_client.is_finished
    }

    /// Whether a write would take anything, or fail.
    pub(crate) fn is_writable(&self) -> bool {
        let wire = lock(&self.0);
        wire.to_server.bytes.len() < WINDOW || wire.to_server.is_unread
    }

    /// Sends nothing more.
    pub(crate) fn finish(&self) {
        change(&self.0, |wire, wake| {
            wire.to_server.is_finished = true;
            wake.extend(wire.to_server.reader.take());
        });
    }
}

impl Drop for ClientEnd {
    fn drop(&mut self) {
        self.finish();
        change(&self.0, |wire, wake| {
            wire.to_client.is_unread = true;
            wake.extend(wire.to_client.writer.take());
        });
    }
}

impl Drop for WireOwner {
    fn drop(&mut self) {
        let mut wire = lock(&self.0);
        wire.to_client.is_finished = true;
        wire.to_server.is_unread = true;
    }
}

impl Transport for WireEnd {
    fn local(&self) -> io::Result<SocketAddr> {
        Ok(([127, 0, 0, 1], 1).into())
    }

    fn poll_connected(&self, _: &Context<'_>) -> Poll<io::Result<SocketAddr>> {
        Poll::Ready(Ok(([127, 0, 0, 1], 2).into()))
    }

    fn poll_read(&self, buffer: &mut BytesMut, cx: &Context<'_>) -> Poll<io::Result<usize>> {
        let waker = cx.waker().clone();
        let mut wire = lock(&self.0.0);
        let Direction { bytes, is_finished, reader, .. } = &mut wire.to_server;
        if bytes.is_empty() && !*is_finished {
            let before = reader.replace(waker);
            drop(wire);
            drop(before);
            return Poll::Pending;
        }
        let count = bytes.len();
        buffer.extend_from_slice(&bytes.split());
        Poll::Ready(Ok(count))
    }

    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut wire = lock(&self.0.0);
        if wire.to_client.is_unread || wire.to_client.is_finished {
            return Err(ErrorKind::BrokenPipe.into());
        }
        let count = bytes.len().min(WINDOW - wire.to_client.bytes.len());
        if count == 0 && !bytes.is_empty() {
            return Err(ErrorKind::WouldBlock.into());
        }
        wire.to_client.bytes.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn poll_writable(&self, cx: &Context<'_>) -> Poll<()> {
        let waker = cx.waker().clone();
        let mut wire = lock(&self.0.0);
        let Direction { bytes, is_unread, writer, .. } = &mut wire.to_client;
        if bytes.len() < WINDOW || *is_unread {
            return Poll::Ready(());
        }
        let before = writer.replace(waker);
        drop(wire);
        drop(before);
        Poll::Pending
    }

    fn finish_writing(&self) -> io::Result<()> {
        lock(&self.0.0).to_client.is_finished = true;
        Ok(())
    }

    fn reset(&self) {
        let mut wire = lock(&self.0.0);
        wire.to_client.bytes.clear();
        wire.to_client.is_finished = true;
    }
}
