//! A protocol's view of its connection.

use crate::codecs::codec::Codec;
use crate::error::{Closed, WriteError};
use crate::options::ConnectionOptions;
use crate::timer::MovingTimer;
use crate::wire::SocketStream;
use crate::writer::Writer;
use krarup_act::{Address, Context};
use krarup_gen::{Inspection, Timestamp};
use std::fmt;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

/// A protocol's view of its connection, usually named [`Channel`](crate::Channel):
/// messages of type `M`, frames of codec `C`. Each callback gets it.
///
/// Sent frames are buffered until the callback returns or awaits. Then they are written as
/// fast as the peer reads them. At most [`write_limit`](ConnectionOptions::write_limit)
/// bytes are buffered.
pub struct FrameChannel<M, C> {
    pub(crate) ctx: Context<M>,
    pub(crate) wire: Arc<SocketStream>,
    pub(crate) codec: C,
    pub(crate) options: Arc<ConnectionOptions>,
    pub(crate) request: ChannelRequest,
    pub(crate) paused: bool,
    /// The codec may cut the bytes that wait in another way than before.
    pub(crate) reframed: bool,
    /// The number of bytes that this callback has sent. Further ones that wait may have room in the
    /// system by now.
    pub(crate) sent_now: usize,
    /// When it was established.
    pub(crate) since: Timestamp,
    peer: SocketAddr,
    local: SocketAddr,
}

/// The state that a protocol requests for its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChannelRequest {
    Open,
    Close,
    Abort,
}

impl<M: Send + 'static, C: Codec> FrameChannel<M, C> {
    pub(crate) fn new(
        ctx: Context<M>,
        wire: Arc<SocketStream>,
        codec: C,
        options: Arc<ConnectionOptions>,
        peer: SocketAddr,
        local: SocketAddr,
    ) -> Self {
        let request = ChannelRequest::Open;
        let since = ctx.now();
        FrameChannel {
            ctx,
            wire,
            codec,
            options,
            request,
            paused: false,
            reframed: false,
            sent_now: 0,
            since,
            peer,
            local,
        }
    }

    /// Sends a frame without waiting.
    ///
    /// # Errors
    /// [`WriteError::Full`] if too many bytes are buffered already. The connection calls
    /// [`drained`](crate::Protocol::drained) when all of them are written.
    /// [`WriteError::TooLarge`], [`WriteError::Codec`] and [`WriteError::Closed`] are the
    /// other errors. After an error, nothing of the frame is written.
    pub fn send(&mut self, item: &C::Item) -> Result<(), WriteError> {
        let sent = self.put(item);
        if sent.as_ref().is_err_and(WriteError::is_full) {
            self.wire.outgoing().refused = true;
        }
        sent
    }

    /// Sends a frame, and waits for room if there is none. The wait continues as long as
    /// the peer reads some of the buffered bytes within each
    /// [`stall_timeout`](ConnectionOptions::stall_timeout).
    ///
    /// # Errors
    /// The errors of [`FrameChannel::send`], except `Full`.
    pub async fn send_or_wait(&mut self, item: &C::Item) -> Result<(), WriteError> {
        loop {
            match self.put(item) {
                Err(WriteError::Full { frame, limit, .. }) => {
                    // Seldom, and then it takes long. Boxed, so that the callbacks that may wait have no room
                    // for it in each connection.
                    Box::pin(self.written_down_to(limit - frame, None)).await?;
                }
                sent => return sent,
            }
        }
    }

    /// Waits until the system has taken all sent bytes. Only an answer of the peer can
    /// prove that they have arrived.
    ///
    /// # Errors
    /// [`WriteError::Closed`].
    pub async fn flush(&mut self) -> Result<(), WriteError> {
        self.written_down_to(0, None).await
    }

    /// Closes the connection when the callback returns. Nothing more is read, all sent
    /// frames are written, and this direction of the stream is ended.
    pub fn close(&mut self) {
        if self.request == ChannelRequest::Open {
            self.request = ChannelRequest::Close;
        }
    }

    /// Aborts the connection when the callback returns. Buffered bytes are dropped, and
    /// the peer gets a reset.
    pub fn abort(&mut self) {
        self.request = ChannelRequest::Abort;
    }

    /// Reads nothing until [`FrameChannel::resume`]. The peer is slowed down, and its
    /// bytes wait in the system. Messages are handled as before. That the peer has ended or failed is
    /// not noticed meanwhile, except by a write; the idle timeout holds.
    pub fn pause(&mut self) {
        self.paused = true;
    }

    /// Resumes reading.
    pub fn resume(&mut self) {
        self.paused = false;
    }

    /// Returns a handle with which other threads write to this connection.
    #[must_use]
    pub fn writer(&self) -> Writer {
        Writer::new(&self.wire)
    }

    /// Returns the codec, whose framing a protocol may change between two frames. Bytes that have
    /// arrived and are not handled yet are cut anew, whichever callback changes it.
    pub fn codec(&mut self) -> &mut C {
        self.reframed = true;
        &mut self.codec
    }

    /// Returns the address of the peer.
    #[must_use]
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Returns the address of this side.
    #[must_use]
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// Returns how the peer has proved itself; `None` without TLS, and until the handshake is
    /// complete: at a client always, else when a frame has arrived (feature `io-tls`; rule Zsec10).
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn tls_peer(&self) -> Option<crate::TlsPeer> {
        self.wire.tls_peer()
    }

    /// The number of buffered bytes, which the system has not taken yet.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.wire.outgoing().buffer.len()
    }

    /// Returns the address under which other processes reach this connection.
    #[must_use]
    pub fn address(&self) -> Address<M> {
        self.ctx.address()
    }

    /// Returns the process context: for timers, links, monitors, children, and all else
    /// that does not concern the socket.
    pub fn context(&mut self) -> &mut Context<M> {
        &mut self.ctx
    }

    /// Appends a whole frame to the buffer, or nothing.
    ///
    /// The codec writes into a buffer of its own, which is appended when the frame is
    /// complete. So a frame that fails or panics leaves nothing behind, the codec cannot
    /// touch the buffered bytes, and it runs without the lock.
    fn put(&mut self, item: &C::Item) -> Result<(), WriteError> {
        if self.request != ChannelRequest::Open {
            return Err(WriteError::Closed);
        }
        let mut frame = {
            let mut outgoing = self.wire.outgoing();
            if outgoing.failure.is_some() {
                return Err(WriteError::Closed);
            }
            // The capacity behind the buffered bytes is split off, so joining them again
            // copies nothing.
            match outgoing.buffer.len() {
                0 => std::mem::take(&mut outgoing.buffer),
                waiting => outgoing.buffer.split_off(waiting),
            }
        };
        self.codec.encode(item, &mut frame)?;
        let (limit, length) = (self.options.write_limit, frame.len());
        if length > limit {
            return Err(WriteError::TooLarge { frame: length, limit });
        }
        let mut outgoing = self.wire.outgoing();
        if length > limit - outgoing.buffer.len().min(limit)
            && outgoing.buffer.len() > self.sent_now
        {
            // Frames of callbacks before this one wait only to be written together with it.
            drop(outgoing);
            self.wire.write_out();
            outgoing = self.wire.outgoing();
            if outgoing.failure.is_some() {
                return Err(WriteError::Closed);
            }
        }
        let waiting = outgoing.buffer.len();
        if length > limit - waiting.min(limit) {
            return Err(WriteError::Full { waiting, frame: length, limit });
        }
        self.sent_now += length;
        outgoing.buffer.unsplit(frame);
        outgoing.moved |= waiting == 0 && length > 0;
        Ok(())
    }

    /// Waits until at most `most` bytes are buffered, for at most `within` if that is set.
    pub(crate) async fn written_down_to(
        &mut self,
        most: usize,
        within: Option<Duration>,
    ) -> Result<(), WriteError> {
        let FrameChannel { ctx, wire, options, since: established, .. } = self;
        let unsent = within.map(|limit| (ctx.now() + limit, limit));
        let mut timer = MovingTimer::default();
        poll_fn(|cx| {
            let _ = wire.poll_flush(cx);
            let (waiting, since) = {
                let mut outgoing = wire.outgoing();
                if outgoing.failure.is_some() {
                    return Poll::Ready(Err(WriteError::Closed));
                }
                (outgoing.buffer.len(), outgoing.still_since(|| ctx.now()))
            };
            if waiting <= most {
                return Poll::Ready(Ok(()));
            }
            let stalled =
                options.stall.map(|limit| (since + limit, Closed::Stalled { waiting, limit }));
            let unsent = unsent.map(|(due, limit)| (due, Closed::Unsent { waiting, limit }));
            let limit = options.connect;
            let shaking = wire
                .is_shaking_hands()
                .then(|| (*established + limit, Closed::SlowHandshake(limit)));
            let first =
                [stalled, unsent, shaking].into_iter().flatten().min_by_key(|(due, _)| *due);
            if let Some((due, failure)) = first
                && timer.poll(ctx, due, cx).is_ready()
            {
                wire.outgoing().failure = Some(failure);
                return Poll::Ready(Err(WriteError::Closed));
            }
            Poll::Pending
        })
        .await
    }

    /// Adds the values of the connection.
    pub(crate) fn describe(&self, inspection: Inspection, received: u64) -> Inspection {
        let outgoing = self.wire.outgoing();
        inspection
            .with("peer", self.peer.to_string())
            .with("local", self.local.to_string())
            .with("bytes_in", received)
            .with("bytes_out", outgoing.written)
            .with("waiting_to_be_sent", outgoing.buffer.len())
            .with("paused", self.paused)
    }
}

impl<M: Send + 'static, C> fmt::Debug for FrameChannel<M, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Channel({} to {})", self.ctx.pid(), self.peer)
    }
}
