//! The process of a UDP socket.

use crate::callback::driven;
use crate::datagram::{DatagramChannel, DatagramProtocol, DatagramWire};
use crate::error::BindError;
use crate::options::OptionsError;
use bytes::Bytes;
use krarup_act::{Behavior, BehaviorContext, Contained, Context, Received};
use krarup_gen::{ProcessKind, Reason, Result};
use mio::net::UdpSocket;
use std::any::type_name;
use std::fmt;
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::{self, Poll};

/// The default limit of queued datagrams.
const QUEUE: usize = 256;
/// The number of items before other processes have their turn.
const BUDGET: u32 = 32;
/// The size of the receive buffer, enough for any datagram.
const ROOM: usize = 1 << 16;

/// A UDP socket as a process that runs a [`DatagramProtocol`].
///
/// It binds when it starts: its spawn completes when datagrams can arrive, or fails with a
/// [`BindError`]. When it is stopped, it sends the queued datagrams and then closes.
///
/// ```
/// use bytes::Bytes;
/// # mod krarup { pub use {krarup_gen::*, krarup_io as io}; }
/// use krarup::Result;
/// use krarup::io::{DatagramChannel, DatagramProtocol, Udp};
/// use std::convert::Infallible;
/// use std::net::SocketAddr;
///
/// struct Echo;
///
/// impl DatagramProtocol for Echo {
///     type Message = Infallible;
///     async fn received(
///         &mut self,
///         channel: &mut DatagramChannel<Infallible>,
///         from: SocketAddr,
///         datagram: Bytes,
///     ) -> Result {
///         // UDP may lose it anyway, so a failed send is no reason to end.
///         let _ = channel.send_to(&datagram, from);
///         Ok(())
///     }
/// }
///
/// let any_port = ([127, 0, 0, 1], 0).into();
/// let echo = move || Udp::new(any_port, Echo);
/// # let _ = echo;
/// ```
pub struct Udp<P> {
    address: SocketAddr,
    protocol: P,
    queue: usize,
}

impl<P: DatagramProtocol> Udp<P> {
    /// Creates a socket bound to this address; port 0 selects any free port.
    pub fn new(address: SocketAddr, protocol: P) -> Self {
        Udp { address, protocol, queue: QUEUE }
    }

    /// Sets how many datagrams may wait for the system to take them, at least 1. The
    /// default is 256.
    #[must_use]
    pub fn queue(mut self, datagrams: usize) -> Self {
        self.queue = datagrams;
        self
    }
}

impl<P> fmt::Debug for Udp<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Udp").field("address", &self.address).finish_non_exhaustive()
    }
}

impl<P: DatagramProtocol> Behavior for Udp<P> {
    type Message = P::Message;
    type Command = P::Message;

    async fn run(self, mut ctx: Context<P::Message>) -> Result {
        let Udp { address, protocol, queue } = self;
        if queue == 0 {
            return Err(OptionsError::Zero("queue").into());
        }
        ctx.stop_in_order();
        let bound = UdpSocket::bind(address).and_then(DatagramWire::new).and_then(|wire| {
            let local = wire.local()?;
            Ok((Arc::new(wire), local))
        });
        let (wire, local) = bound.map_err(|source| BindError { address, source })?;
        let channel = DatagramChannel {
            ctx,
            wire: Arc::clone(&wire),
            limit: queue,
            paused: false,
            received: 0,
            local,
        };
        let room = vec![0; ROOM].into_boxed_slice();
        UdpServer { protocol, channel, wire, room, mail_first: true, spent: 0, flooded: false }
            .serve()
            .await
    }

    fn label() -> &'static str {
        type_name::<P>()
    }

    fn kind() -> ProcessKind {
        ProcessKind::Connection
    }
}

/// A running socket.
struct UdpServer<P: DatagramProtocol> {
    protocol: P,
    channel: DatagramChannel<P::Message>,
    wire: Arc<DatagramWire>,
    room: Box<[u8]>,
    mail_first: bool,
    spent: u32,
    /// The previous turn used up its budget.
    flooded: bool,
}

/// The next event.
enum UdpEvent<M> {
    Datagram(SocketAddr, Bytes),
    Item(Received<M>),
    Drained,
    Failed(io::Error),
}

impl<P: DatagramProtocol> UdpServer<P> {
    /// Runs the process from start to end.
    async fn serve(&mut self) -> Result {
        let reason = Contained::new(self.open()).await.unwrap_or_else(|panic| panic);
        if !reason.is_abnormal() {
            self.channel.flush().await;
        }
        Contained::new(self.protocol.closed(&mut self.channel, &reason)).await?;
        if reason.is_normal() { Ok(()) } else { Err(reason) }
    }

    /// Serves until the socket is to be closed.
    async fn open(&mut self) -> Reason {
        if let Err(reason) = self.start().await {
            return reason;
        }
        self.channel.ctx.initialised();
        while !self.channel.ctx.is_stopping() {
            let event = poll_fn(|cx| self.poll_next(cx)).await;
            if let Err(reason) = self.handle(event).await {
                return reason;
            }
        }
        Reason::Normal
    }

    async fn start(&mut self) -> Result {
        let UdpServer { protocol, channel, wire, .. } = self;
        driven(flush(wire), protocol.bound(channel)).await
    }

    async fn handle(&mut self, event: UdpEvent<P::Message>) -> Result {
        let UdpServer { protocol, channel, wire, .. } = self;
        match event {
            UdpEvent::Datagram(from, datagram) => {
                channel.received += 1;
                driven(flush(wire), protocol.received(channel, from, datagram)).await
            }
            UdpEvent::Drained => driven(flush(wire), protocol.drained(channel)).await,
            UdpEvent::Failed(error) => Err(error.into()),
            UdpEvent::Item(Received::Message(message) | Received::Command(message)) => {
                driven(flush(wire), protocol.handle_message(channel, message)).await
            }
            UdpEvent::Item(Received::Down(down)) => {
                driven(flush(wire), protocol.handle_down(channel, down)).await
            }
            UdpEvent::Item(Received::Exit(exit)) => {
                driven(flush(wire), protocol.handle_exit(channel, exit)).await
            }
            UdpEvent::Item(Received::Stop(reason)) => Err(reason),
            UdpEvent::Item(Received::Finish) => Err(Reason::Normal),
            UdpEvent::Item(Received::Inspect(reply)) => {
                reply.send(channel.describe(protocol.inspect()));
                Ok(())
            }
            UdpEvent::Item(Received::State(reply)) => {
                reply.send(None);
                Ok(())
            }
            // It takes no messages of other types and sets no idle timeout.
            UdpEvent::Item(_) => Ok(()),
        }
    }

    fn poll_next(&mut self, cx: &mut task::Context<'_>) -> Poll<UdpEvent<P::Message>> {
        if self.spent >= BUDGET {
            self.spent = 0;
            self.flooded = true;
            let _ = self.wire.poll_flush(cx);
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.spent += 1;
        // What ends a suspension is noticed in the mailbox.
        self.mail_first |= self.channel.ctx.is_suspended();
        // In a flood this event would never be reached.
        if std::mem::take(&mut self.flooded)
            && self.wire.poll_flush(cx).is_ready()
            && self.takes_again()
        {
            return Poll::Ready(UdpEvent::Drained);
        }
        if self.mail_first
            && let Poll::Ready(item) = pin!(self.channel.ctx.receive()).poll(cx)
        {
            self.mail_first = false;
            return Poll::Ready(UdpEvent::Item(item));
        }
        self.mail_first = true;
        if let Poll::Ready(event) = self.poll_datagram(cx) {
            return Poll::Ready(event);
        }
        if self.wire.poll_flush(cx).is_ready() && self.takes_again() {
            return Poll::Ready(UdpEvent::Drained);
        }
        if let Poll::Ready(item) = pin!(self.channel.ctx.receive()).poll(cx) {
            return Poll::Ready(UdpEvent::Item(item));
        }
        self.spent = 0;
        Poll::Pending
    }

    /// Whether the protocol is to be told that there is room again.
    fn takes_again(&self) -> bool {
        !self.channel.ctx.is_suspended() && self.wire.takes_again()
    }

    fn poll_datagram(&mut self, cx: &task::Context<'_>) -> Poll<UdpEvent<P::Message>> {
        while !self.channel.paused && !self.channel.ctx.is_suspended() {
            return match self.wire.poll_receive(&mut self.room, cx) {
                Poll::Pending => Poll::Pending,
                Poll::Ready(Ok((length, from))) => {
                    let datagram = Bytes::copy_from_slice(&self.room[..length]);
                    Poll::Ready(UdpEvent::Datagram(from, datagram))
                }
                // Reports an earlier datagram without a receiver, which does not concern
                // this socket.
                Poll::Ready(Err(error)) if is_of_another(&error) => continue,
                Poll::Ready(Err(error)) => Poll::Ready(UdpEvent::Failed(error)),
            };
        }
        Poll::Pending
    }
}

fn is_of_another(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset)
}

/// Sends as many queued datagrams as possible without waiting.
fn flush(wire: &DatagramWire) -> impl FnMut(&mut task::Context<'_>) {
    move |cx| {
        let _ = wire.poll_flush(cx);
    }
}

#[cfg(test)]
mod tests;
