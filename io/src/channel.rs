//! A protocol's own view of its connection.

use crate::codecs::codec::Codec;
use crate::error::{Closed, WriteError};
use crate::options::ConnectionOptions;
use crate::timer::MovingTimer;
use crate::wire::SocketStream;
use krarup_act::{Address, Context};
use krarup_gen::Inspection;
use std::fmt;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

/// A protocol's own view of its connection, as a [`Channel`](crate::Channel): messages of type
/// `M`, frames of codec `C`. Each of its callbacks gets it.
///
/// What is sent waits here until the callback is done or awaits something, and then goes out, as
/// fast as the peer takes it; never more than
/// [`write_limit`](ConnectionOptions::write_limit) bytes wait.
pub struct FrameChannel<M, C> {
    pub(crate) ctx: Context<M>,
    pub(crate) wire: Arc<SocketStream>,
    pub(crate) codec: C,
    pub(crate) options: ConnectionOptions,
    pub(crate) wish: ChannelRequest,
    pub(crate) paused: bool,
    peer: SocketAddr,
    local: SocketAddr,
}

/// What a protocol wants of its connection.
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
        options: ConnectionOptions,
        peer: SocketAddr,
        local: SocketAddr,
    ) -> Self {
        let wish = ChannelRequest::Open;
        FrameChannel { ctx, wire, codec, options, wish, paused: false, peer, local }
    }

    /// Sends a frame, without waiting.
    ///
    /// # Errors
    /// [`WriteError::Full`] if too much waits already; [`drained`](crate::Protocol::drained) says when nothing
    /// does. [`WriteError::TooLarge`], [`WriteError::Codec`], [`WriteError::Closed`]. Nothing
    /// was written then.
    pub fn send(&mut self, item: &C::Item) -> Result<(), WriteError> {
        let sent = self.put(item);
        if sent.as_ref().is_err_and(WriteError::is_full) {
            self.wire.outgoing().refused = true;
        }
        sent
    }

    /// Sends a frame, and waits for room if there is none: as long as the peer takes some of what
    /// waits within each [`stall_timeout`](ConnectionOptions::stall_timeout).
    ///
    /// # Errors
    /// As [`FrameChannel::send`], but never `Full`.
    pub async fn send_or_wait(&mut self, item: &C::Item) -> Result<(), WriteError> {
        loop {
            match self.put(item) {
                Err(WriteError::Full { frame, limit, .. }) => {
                    self.written_down_to(limit - frame, None).await?;
                }
                sent => return sent,
            }
        }
    }

    /// Waits until the system has taken all that was sent. Whether the peer got it, only its
    /// answer can tell.
    ///
    /// # Errors
    /// [`WriteError::Closed`].
    pub async fn flush(&mut self) -> Result<(), WriteError> {
        self.written_down_to(0, None).await
    }

    /// Closes the connection when the callback is done: nothing more is read, what was sent is
    /// written, and the peer is told that it was all.
    pub fn close(&mut self) {
        if self.wish == ChannelRequest::Open {
            self.wish = ChannelRequest::Close;
        }
    }

    /// Breaks the connection off when the callback is done: what waits is dropped, and the peer
    /// gets a reset.
    pub fn abort(&mut self) {
        self.wish = ChannelRequest::Abort;
    }

    /// Reads nothing until [`FrameChannel::resume`]: the peer is slowed down, and what it has sent
    /// waits in the system. Messages are handled as before.
    pub fn pause(&mut self) {
        self.paused = true;
    }

    /// Reads again.
    pub fn resume(&mut self) {
        self.paused = false;
    }

    /// The address of the peer.
    #[must_use]
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// The address of this side.
    #[must_use]
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// Bytes that wait for the peer to take them.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.wire.outgoing().buffer.len()
    }

    /// What others send to, to reach this connection.
    #[must_use]
    pub fn address(&self) -> Address<M> {
        self.ctx.address()
    }

    /// The process: for timers, links, monitors, children and all else that is not the socket's.
    pub fn context(&mut self) -> &mut Context<M> {
        &mut self.ctx
    }

    /// Puts a frame behind what waits, or nothing of it.
    ///
    /// The codec writes into room of its own, which is put behind what waits when all of it is
    /// there: so nothing is left of a frame that fails or panics, what waits is not in its hands,
    /// and it runs under no lock.
    fn put(&mut self, item: &C::Item) -> Result<(), WriteError> {
        if self.wish != ChannelRequest::Open {
            return Err(WriteError::Closed);
        }
        let mut frame = {
            let mut outgoing = self.wire.outgoing();
            if outgoing.failure.is_some() {
                return Err(WriteError::Closed);
            }
            // The room behind what waits: no copy is made when it comes back.
            match outgoing.buffer.len() {
                0 => std::mem::take(&mut outgoing.buffer),
                waiting => outgoing.buffer.split_off(waiting),
            }
        };
        self.codec.encode(item, &mut frame)?;
        let mut outgoing = self.wire.outgoing();
        let (waiting, length) = (outgoing.buffer.len(), frame.len());
        let limit = self.options.write_limit;
        if length > limit {
            return Err(WriteError::TooLarge { frame: length, limit });
        }
        if length > limit - waiting.min(limit) {
            return Err(WriteError::Full { waiting, frame: length, limit });
        }
        outgoing.buffer.unsplit(frame);
        outgoing.moved |= waiting == 0;
        Ok(())
    }

    /// Waits until no more than so many bytes wait, and no longer than so long, if that is set.
    pub(crate) async fn written_down_to(
        &mut self,
        most: usize,
        within: Option<Duration>,
    ) -> Result<(), WriteError> {
        let FrameChannel { ctx, wire, options, .. } = self;
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
            let first = [stalled, unsent].into_iter().flatten().min_by_key(|(due, _)| *due);
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

    /// What the connection knows of itself.
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
