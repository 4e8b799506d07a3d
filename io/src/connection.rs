//! The process of a connection.
//!
//! ```text
//!            connected                    close, end, stop, error, timeout
//!   start ──────────────► open ────────────────────────────────────────► closing ──► closed
//!                         │  ▲                                     sent frames are written,
//!                  frame, message, drained, ..                     end is sent and awaited
//! ```
//!
//! It handles one thing at a time: a frame, a message, a change of the socket, a timeout.
//! It reads only after the received frames are handled. Between two frames it looks into
//! the mailbox, so a stop or an inspection waits for one frame and not for a flood of
//! them. After some dozen frames, messages or reads the process ends its turn, so that a
//! flood does not block other processes.

use crate::callback::driven;
use crate::channel::{ChannelRequest, FrameChannel};
use crate::error::{Closed, WriteError};
use crate::incoming::{Arrival, Incoming};
use crate::protocol::{Channel, Frame, Protocol};
use crate::timer::MovingTimer;
use crate::times::Times;
use crate::wire::SocketStream;
use bytes::BytesMut;
use krarup_act::{BehaviorContext, Contained, Received};
use krarup_gen::{Reason, Result};
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// The number of items and reads before other processes have their turn.
const BUDGET: u32 = 32;
/// The number of reads that are discarded at once while the peer's end is awaited.
const DISCARD: usize = 16;

/// A running connection.
pub(crate) struct Connection<P: Protocol> {
    protocol: P,
    channel: Channel<P>,
    wire: Arc<SocketStream>,
    incoming: Incoming,
    timer: MovingTimer,
    is_client: bool,
    mail_first: bool,
    /// The rest of [`BUDGET`] in this turn.
    budget: u32,
    /// The previous turn used up its budget.
    flooded: bool,
    /// The reason of the stop request that was handled.
    stop: Option<Reason>,
}

/// The next event.
enum ConnectionEvent<P: Protocol> {
    Came(Arrival<Frame<P>>),
    Item(Received<P::Message>),
    Drained,
    Over(Closed),
}

impl<P: Protocol> Connection<P> {
    pub(crate) fn new(protocol: P, mut channel: Channel<P>, is_client: bool) -> Self {
        channel.ctx.stop_in_order();
        let now = channel.since;
        channel.wire.outgoing().moved = true;
        Connection {
            protocol,
            wire: Arc::clone(&channel.wire),
            channel,
            incoming: Incoming::new(now),
            timer: MovingTimer::default(),
            is_client,
            mail_first: true,
            budget: BUDGET,
            flooded: false,
            stop: None,
        }
    }

    /// Runs the process from start to end.
    pub(crate) async fn serve(&mut self) -> Result {
        let why = Contained::new(self.open()).await.unwrap_or_else(Closed::Crashed);
        self.timer.clear();
        let why = self.close(why).await;
        let reason = why.reason(self.is_client && !self.channel.options.expects_loss);
        // The connection is closed, whatever the callback requests.
        self.channel.request = ChannelRequest::Abort;
        Contained::new(self.protocol.closed(&mut self.channel, &why)).await?;
        if reason.is_normal() { Ok(()) } else { Err(reason) }
    }

    /// Serves until the connection is to be closed.
    ///
    /// Each event is handled here: in an async function of its own it would lie in the process
    /// twice, as what waits here and as the argument there.
    async fn open(&mut self) -> Closed {
        let connected = self.protocol.connected(&mut self.channel);
        if let Err(reason) = driven(flush(&self.wire), connected).await {
            return self.failed(reason);
        }
        self.channel.ctx.initialised();
        loop {
            if let Some(closed) = self.requested() {
                return closed;
            }
            let event = poll_fn(|cx| self.poll_next(cx)).await;
            let Connection { protocol, channel, wire, incoming, .. } = self;
            channel.sent_now = 0;
            if channel.options.frame.is_some() {
                incoming.pause_reading(|| channel.ctx.now());
            }
            let handled = match event {
                ConnectionEvent::Came(Arrival::Frame(frame)) => {
                    driven(flush(wire), protocol.received(channel, frame)).await
                }
                ConnectionEvent::Came(Arrival::Malformed(error)) => {
                    match driven(flush(wire), protocol.malformed(channel, &error)).await {
                        Ok(()) => return Closed::Malformed(error),
                        Err(reason) => Err(reason),
                    }
                }
                ConnectionEvent::Came(Arrival::End) => {
                    driven(flush(wire), protocol.ended(channel)).await
                }
                ConnectionEvent::Came(Arrival::Failed(error)) => return Closed::failed(&error),
                ConnectionEvent::Drained => driven(flush(wire), protocol.drained(channel)).await,
                ConnectionEvent::Over(closed) => return closed,
                ConnectionEvent::Item(Received::Message(message) | Received::Command(message)) => {
                    driven(flush(wire), protocol.handle_message(channel, message)).await
                }
                ConnectionEvent::Item(Received::Down(down)) => {
                    driven(flush(wire), protocol.handle_down(channel, down)).await
                }
                ConnectionEvent::Item(Received::Exit(exit)) => {
                    driven(flush(wire), protocol.handle_exit(channel, exit)).await
                }
                ConnectionEvent::Item(Received::Stop(reason)) => {
                    self.stop = Some(reason);
                    self.stopping().await
                }
                ConnectionEvent::Item(Received::Finish) => {
                    self.stop = Some(Reason::Normal);
                    driven(flush(wire), protocol.stopping(channel)).await
                }
                ConnectionEvent::Item(Received::Inspect(reply)) => {
                    reply.send(channel.describe(protocol.inspect(), incoming.received));
                    Ok(())
                }
                ConnectionEvent::Item(Received::State(reply)) => {
                    reply.send(None);
                    Ok(())
                }
                // It takes no messages of other types, and its idle timeout belongs to the socket.
                ConnectionEvent::Item(_) => Ok(()),
            };
            if let Err(reason) = handled {
                return self.failed(reason);
            }
        }
    }

    /// Returns how the connection is to be closed, if the protocol has requested that.
    fn requested(&mut self) -> Option<Closed> {
        match self.channel.request {
            ChannelRequest::Open if self.channel.ctx.is_stopping() && self.stop.is_none() => {
                Some(Closed::Local)
            }
            ChannelRequest::Open => None,
            ChannelRequest::Abort => Some(Closed::Aborted),
            ChannelRequest::Close => Some(match self.stop.take() {
                Some(reason) => Closed::Stopped(reason),
                None if self.incoming.has_ended() => Closed::Peer,
                None => Closed::Local,
            }),
        }
    }

    /// Passes a stop request on to the protocol.
    async fn stopping(&mut self) -> Result {
        let Connection { protocol, channel, wire, .. } = self;
        if is_orphan(&mut channel.ctx).await {
            // No process is left that would end it if it did not close.
            channel.close();
            return Ok(());
        }
        driven(flush(wire), protocol.stopping(channel)).await
    }

    /// Converts the failure of a callback. If the callback failed because it could not
    /// send, the failure of the connection is the cause.
    fn failed(&mut self, reason: Reason) -> Closed {
        if reason.downcast_ref() == Some(&WriteError::Closed)
            && let Some(failure) = self.wire.outgoing().failure.take()
        {
            return failure;
        }
        Closed::Crashed(reason)
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<ConnectionEvent<P>> {
        let Some(left) = self.budget.checked_sub(1) else {
            self.budget = BUDGET;
            self.flooded = true;
            let _ = self.wire.poll_flush(cx);
            cx.waker().wake_by_ref();
            return Poll::Pending;
        };
        self.budget = left;
        // What ends a suspension is noticed in the mailbox.
        self.mail_first |= self.channel.ctx.is_suspended();
        if std::mem::take(&mut self.flooded)
            && let Poll::Ready(event) = self.poll_overdue(cx)
        {
            return Poll::Ready(event);
        }
        if self.mail_first
            && let Poll::Ready(item) = self.poll_mailbox(cx)
        {
            self.mail_first = false;
            return Poll::Ready(ConnectionEvent::Item(item));
        }
        if let Poll::Ready(came) = self.poll_incoming(cx) {
            self.mail_first = true;
            return Poll::Ready(ConnectionEvent::Came(came));
        }
        if self.wire.poll_flush(cx).is_ready() {
            let mut outgoing = self.wire.outgoing();
            if let Some(failure) = outgoing.failure.take() {
                return Poll::Ready(ConnectionEvent::Over(failure));
            }
            if !self.channel.ctx.is_suspended() && outgoing.takes_again() {
                return Poll::Ready(ConnectionEvent::Drained);
            }
        }
        // If the mailbox was not polled first, it is polled last, so that its waker is
        // registered. Not twice: each poll is charged to the turn, and a turn of one message
        // would never end in rest.
        if !self.mail_first
            && let Poll::Ready(item) = self.poll_mailbox(cx)
        {
            return Poll::Ready(ConnectionEvent::Item(item));
        }
        if let Poll::Ready(closed) = self.poll_times(cx) {
            return Poll::Ready(ConnectionEvent::Over(closed));
        }
        self.budget = BUDGET;
        Poll::Pending
    }

    /// Checks what ranks behind frames and messages, and would never be reached in a flood
    /// of them. Frames that the peer sent before it closed are still handled first.
    fn poll_overdue(&mut self, cx: &mut Context<'_>) -> Poll<ConnectionEvent<P>> {
        if self.wire.poll_flush(cx).is_ready()
            && !self.channel.ctx.is_suspended()
            && self.wire.outgoing().takes_again()
        {
            return Poll::Ready(ConnectionEvent::Drained);
        }
        self.poll_times(cx).map(ConnectionEvent::Over)
    }

    fn poll_mailbox(&mut self, cx: &mut Context<'_>) -> Poll<Received<P::Message>> {
        pin!(self.channel.ctx.receive()).poll(cx)
    }

    fn poll_incoming(&mut self, cx: &mut Context<'_>) -> Poll<Arrival<Frame<P>>> {
        let FrameChannel { ctx, codec, options, reframed, paused, .. } = &mut self.channel;
        if *paused || ctx.is_suspended() {
            if options.frame.is_some() {
                self.incoming.pause_reading(|| ctx.now());
            }
            self.wire.shake_hands(cx);
            return Poll::Pending;
        }
        if std::mem::take(reframed) {
            self.incoming.decode_again();
        }
        self.incoming.resume_reading(|| ctx.now());
        let budget = &mut self.budget;
        self.incoming.poll_next(codec, &self.wire, options, budget, || ctx.now(), cx)
    }

    /// Whether one of the timeouts has expired.
    fn poll_times(&mut self, cx: &mut Context<'_>) -> Poll<Closed> {
        let FrameChannel { ctx, options, paused, since, .. } = &mut self.channel;
        let (waiting, wrote) = {
            let mut outgoing = self.wire.outgoing();
            (outgoing.buffer.len(), outgoing.still_since(|| ctx.now()))
        };
        let Incoming { last: read, began, .. } = self.incoming;
        let shaking = self.wire.is_shaking_hands().then_some(*since);
        let times =
            Times { read, wrote, waiting, began, paused: *paused || ctx.is_suspended(), shaking };
        match times.first(options) {
            Some((due, closed)) => self.timer.poll(ctx, due, cx).map(|()| closed),
            None => {
                self.timer.clear();
                Poll::Pending
            }
        }
    }

    /// Performs the part of closing that takes time: it writes the sent frames and awaits
    /// the peer's end. Afterwards the socket only needs to be dropped.
    async fn close(&mut self, why: Closed) -> Closed {
        match why {
            Closed::Failed { .. } => return why,
            // Buffered bytes are useless, or must not look like a complete stream.
            Closed::Aborted | Closed::Stalled { .. } | Closed::Crashed(_) => {
                self.wire.reset();
                return why;
            }
            _ => {}
        }
        if self.channel.written_down_to(0, self.channel.options.close).await.is_err() {
            self.wire.reset();
            return self.wire.outgoing().failure.take().unwrap_or(why);
        }
        if self.finish_writing().await.is_ok() && !self.incoming.has_ended() {
            self.await_end().await;
        }
        why
    }

    /// Ends the stream to the peer. Room for what TLS says at the end is awaited as long as room for
    /// bytes is.
    async fn finish_writing(&mut self) -> io::Result<()> {
        let Connection { channel, wire, timer, .. } = self;
        let FrameChannel { ctx, options, .. } = channel;
        let limit = options.close.into_iter().chain(options.stall).min();
        let due = limit.map(|limit| ctx.now() + limit);
        poll_fn(|cx| {
            loop {
                match wire.finish_writing() {
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    done => return Poll::Ready(done),
                }
                if wire.poll_writable(cx).is_pending() {
                    let Some(due) = due else { return Poll::Pending };
                    return timer.poll(ctx, due, cx).map(|()| Err(ErrorKind::WouldBlock.into()));
                }
            }
        })
        .await
    }

    /// Reads to the end of the stream for at most `linger`. Closing a socket while bytes are on
    /// their way to it resets the connection, and the peer loses bytes that it has not read yet.
    async fn await_end(&mut self) {
        let Connection { channel, wire, timer, .. } = self;
        let due = channel.ctx.now() + channel.options.linger;
        let mut rest = BytesMut::new();
        poll_fn(|cx| {
            for _ in 0..DISCARD {
                rest.clear();
                match wire.poll_read(&mut rest, cx) {
                    Poll::Ready(Ok(0) | Err(_)) => return Poll::Ready(()),
                    Poll::Ready(Ok(_)) => {}
                    Poll::Pending => return timer.poll(&mut channel.ctx, due, cx),
                }
            }
            cx.waker().wake_by_ref();
            if channel.ctx.now() >= due { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

/// A process that was killed leaves the bytes that it had no time to write. Its peer gets a reset,
/// because the end of the stream would look as if it were complete.
impl<P: Protocol> Drop for Connection<P> {
    fn drop(&mut self) {
        if !self.wire.outgoing().buffer.is_empty() {
            self.wire.reset();
        }
    }
}

/// Whether the parent of a process has ended.
async fn is_orphan<M: Send + 'static>(ctx: &mut krarup_act::Context<M>) -> bool {
    let Some(parent) = ctx.parent() else { return false };
    let mut end = pin!(ctx.watch(parent));
    poll_fn(|cx| Poll::Ready(end.as_mut().poll(cx).is_ready())).await
}

/// Writes as many buffered bytes as possible without waiting.
fn flush(wire: &SocketStream) -> impl FnMut(&mut Context<'_>) {
    move |cx| {
        let _ = wire.poll_flush(cx);
    }
}
