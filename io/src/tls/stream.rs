//! The layer: a transport over a transport.
//!
//! ```text
//!   try_write: plain ──► records ──► below        The number of plain bytes is told when all of
//!                                                 their records are below; until then it is
//!                                                 `WouldBlock`, and nothing else is accepted.
//!   poll_read: below ──► records ──► plain        What the handshake has to say is written on the
//!                                                 way, whichever direction is polled.
//! ```
//!
//! So nothing of a frame is ever written that its sender takes for waiting, and the limits of what
//! waits hold for plain bytes, as without TLS. No plain byte is read or written before the
//! handshake is complete. An end is told by `close_notify`, for which room is awaited as for
//! bytes. A stream of the peer that ends without it has ended like any other: TCP peers do that, too,
//! and a frame that is cut short is found by its codec.
//!
//! Writers on other threads share the state with the reading process. Nothing is polled with its
//! lock held.

use super::peer::TlsPeer;
use crate::options::ConnectionOptions;
use crate::transport::Transport;
use bytes::{Buf, BytesMut};
use parking_lot::Mutex;
use rustls::Connection;
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::sync::OnceLock;
use std::task::{Context, Poll};

/// The most plain bytes that are encrypted at a time.
const WRITE: usize = 32 << 10;
/// The most reads from below in one poll. A peer that sends records without plain bytes does not
/// keep a process busy.
const READS: u32 = 16;

/// A stream over TLS.
pub(crate) struct TlsStream {
    below: Box<dyn Transport>,
    is_client: bool,
    peer: OnceLock<SocketAddr>,
    state: Mutex<TlsState>,
}

struct TlsState {
    connection: Connection,
    /// Plain bytes that were received while the handshake was driven.
    plain: BytesMut,
    /// Plain bytes whose records are on their way down.
    on_their_way: usize,
    /// The peer has ended its direction.
    has_ended: bool,
    /// Why nothing can be written any more.
    failure: Option<(ErrorKind, String)>,
}

impl TlsStream {
    pub(crate) fn new(below: Box<dyn Transport>, connection: Connection) -> Self {
        let is_client = matches!(connection, Connection::Client(_));
        let state = TlsState {
            connection,
            plain: BytesMut::new(),
            on_their_way: 0,
            has_ended: false,
            failure: None,
        };
        TlsStream { below, is_client, peer: OnceLock::new(), state: Mutex::new(state) }
    }

    /// Whether the handshake is neither complete nor has failed.
    pub(crate) fn is_shaking_hands(&self) -> bool {
        let state = self.state.lock();
        state.connection.is_handshaking() && state.failure.is_none()
    }

    /// How the peer has proved itself, as soon as it has.
    pub(crate) fn peer(&self) -> Option<TlsPeer> {
        TlsPeer::of(&self.state.lock().connection)
    }

    /// Writes the records that wait, until all are written or there is no room.
    fn poll_sent(&self, cx: &Context<'_>) -> Poll<io::Result<()>> {
        loop {
            match self.state.lock().send(&*self.below) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                sent => return Poll::Ready(sent),
            }
            if self.below.poll_writable(cx).is_pending() {
                return Poll::Pending;
            }
        }
    }

    /// Drives the handshake to its end.
    fn poll_handshake(&self, cx: &Context<'_>) -> Poll<io::Result<()>> {
        for _ in 0..READS {
            if let Poll::Ready(Err(error)) = self.poll_sent(cx) {
                return Poll::Ready(Err(self.fail(error)));
            }
            {
                let state = self.state.lock();
                if let Some(error) = state.failed() {
                    return Poll::Ready(Err(error));
                }
                if !state.connection.is_handshaking() {
                    return Poll::Ready(Ok(()));
                }
            }
            let mut records = BytesMut::new();
            match self.below.poll_read(&mut records, cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(self.fail(error))),
                Poll::Ready(Ok(0)) => {
                    let end = io::Error::new(ErrorKind::UnexpectedEof, "the handshake has ended");
                    return Poll::Ready(Err(self.fail(end)));
                }
                Poll::Ready(Ok(_)) => {}
            }
            let received = self.state.lock().receive(&records);
            if let Err(error) = received {
                return Poll::Ready(Err(self.refuse(error, cx)));
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Tells the peer why its bytes are refused, if that can be told at once.
    fn refuse(&self, error: io::Error, cx: &Context<'_>) -> io::Error {
        let _ = self.poll_sent(cx);
        self.fail(error)
    }

    /// Records that nothing can be written any more.
    fn fail(&self, error: io::Error) -> io::Error {
        let mut state = self.state.lock();
        state.failure.get_or_insert_with(|| (error.kind(), error.to_string()));
        error
    }
}

impl TlsState {
    fn failed(&self) -> Option<io::Error> {
        self.failure.as_ref().map(|(kind, message)| io::Error::new(*kind, message.clone()))
    }

    /// Decrypts records.
    fn receive(&mut self, mut records: &[u8]) -> io::Result<()> {
        while !records.is_empty() && !self.has_ended {
            if self.connection.read_tls(&mut records)? == 0 {
                return Ok(());
            }
            let state = self
                .connection
                .process_new_packets()
                .map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
            let (before, count) = (self.plain.len(), state.plaintext_bytes_to_read());
            self.plain.resize(before + count, 0);
            self.connection.reader().read_exact(&mut self.plain[before..])?;
            self.has_ended |= state.peer_has_closed();
        }
        Ok(())
    }

    /// Writes the records that wait. `WouldBlock` if some are left.
    fn send(&mut self, below: &dyn Transport) -> io::Result<()> {
        while self.connection.wants_write() {
            if self.connection.write_tls(&mut Below(below))? == 0 {
                return Err(ErrorKind::WriteZero.into());
            }
        }
        Ok(())
    }

    fn write(&mut self, below: &dyn Transport, bytes: &[u8]) -> io::Result<usize> {
        if let Some(error) = self.failed() {
            return Err(error);
        }
        self.send(below)?;
        if self.connection.is_handshaking() {
            return Err(ErrorKind::WouldBlock.into());
        }
        if self.on_their_way == 0 {
            let bytes = bytes.get(..WRITE).unwrap_or(bytes);
            self.on_their_way = self.connection.writer().write(bytes)?;
            if self.on_their_way == 0 && !bytes.is_empty() {
                // Who writes would try again for ever.
                return Err(ErrorKind::WriteZero.into());
            }
            self.send(below)?;
        }
        Ok(std::mem::take(&mut self.on_their_way))
    }
}

impl Transport for TlsStream {
    fn local(&self) -> io::Result<SocketAddr> {
        self.below.local()
    }

    fn set_up(&self, options: &ConnectionOptions) -> io::Result<()> {
        self.below.set_up(options)
    }

    /// A client is connected when the server has proved itself. An accepted connection is at once:
    /// its process must be able to end it meanwhile.
    fn poll_connected(&self, cx: &Context<'_>) -> Poll<io::Result<SocketAddr>> {
        let peer = match self.peer.get() {
            Some(peer) => *peer,
            None => match self.below.poll_connected(cx) {
                Poll::Ready(Ok(peer)) => *self.peer.get_or_init(|| peer),
                other => return other,
            },
        };
        if !self.is_client {
            return Poll::Ready(Ok(peer));
        }
        self.poll_handshake(cx).map(|shaken| shaken.map(|()| peer))
    }

    fn poll_read(&self, buffer: &mut BytesMut, cx: &Context<'_>) -> Poll<io::Result<usize>> {
        for _ in 0..READS {
            {
                let mut state = self.state.lock();
                let count = state.plain.len();
                if count > 0 {
                    buffer.extend_from_slice(&state.plain);
                    state.plain.advance(count);
                    state.plain = BytesMut::new();
                    return Poll::Ready(Ok(count));
                }
                if state.has_ended {
                    return Poll::Ready(Ok(0));
                }
            }
            // An answer of TLS itself. If there is no room for it this process is woken.
            if let Poll::Ready(Err(error)) = self.poll_sent(cx) {
                return Poll::Ready(Err(self.fail(error)));
            }
            let mut records = BytesMut::new();
            match self.below.poll_read(&mut records, cx) {
                Poll::Ready(Ok(0)) => {
                    let mut state = self.state.lock();
                    state.has_ended = true;
                    if state.connection.is_handshaking() {
                        let end = (ErrorKind::UnexpectedEof, "the handshake has ended".to_owned());
                        state.failure.get_or_insert(end);
                    }
                    return Poll::Ready(Ok(0));
                }
                Poll::Ready(Ok(_)) => {}
                other => return other,
            }
            let received = self.state.lock().receive(&records);
            if let Err(error) = received {
                return Poll::Ready(Err(self.refuse(error, cx)));
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.state.lock().write(&*self.below, bytes)
    }

    fn poll_writable(&self, cx: &Context<'_>) -> Poll<()> {
        if self.is_shaking_hands() {
            // A failure is told by the next write.
            return self.poll_handshake(cx).map(drop);
        }
        self.below.poll_writable(cx)
    }

    fn poll_broken(&self, cx: &Context<'_>) -> Poll<io::Error> {
        self.below.poll_broken(cx)
    }

    fn finish_writing(&self) -> io::Result<()> {
        {
            let mut state = self.state.lock();
            state.connection.send_close_notify();
            let sent = state.send(&*self.below);
            // A peer that misses it takes the stream for one that was cut short. Room is worth a wait
            // only after a handshake: before it there is nothing that could be cut.
            if let Err(error) = sent
                && error.kind() == ErrorKind::WouldBlock
                && !state.connection.is_handshaking()
            {
                return Err(error);
            }
        }
        self.below.finish_writing()
    }

    fn reset(&self) {
        self.below.reset();
    }
}

/// The transport below, as rustls writes to it.
struct Below<'a>(&'a dyn Transport);

impl Write for Below<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
