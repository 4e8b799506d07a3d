//! The process of a UDP socket.

use crate::callback::{contained, driven};
use crate::datagram::{DatagramChannel, DatagramProtocol, DatagramWire};
use crate::error::BindError;
use crate::options::OptionsError;
use bytes::Bytes;
use krarup_act::{Behavior, Context, Received};
use krarup_gen::{Reason, Result};
use mio::net::UdpSocket;
use std::any::type_name;
use std::fmt;
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::{self, Poll};

/// Datagrams that may wait to be sent unless told otherwise.
const QUEUE: usize = 256;
/// What is handled before others have their turn.
const BUDGET: u32 = 32;
/// Room for any datagram.
const ROOM: usize = 1 << 16;

/// A UDP socket as a process, which runs a [`DatagramProtocol`].
///
/// It binds when it starts: who waits for its spawn goes on when datagrams can come, or has a
/// [`BindError`]. It closes when it is stopped, and sends before what waits.
///
/// ```
/// use bytes::Bytes;
/// use krarup_gen::Result;
/// use krarup_io::{DatagramChannel, DatagramProtocol, Udp};
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
///         // UDP may lose it anyway: whom it cannot be sent to is no reason to end.
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
    /// A socket bound to this address; port 0 is any that is free.
    pub fn new(address: SocketAddr, protocol: P) -> Self {
        Udp { address, protocol, queue: QUEUE }
    }

    /// Datagrams that may wait for the system to take them, at least 1; 256 unless told
    /// otherwise.
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
        ctx.stop_in_order(true);
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
        Server { protocol, channel, wire, room, mail_first: true, spent: 0, flooded: false }
            .serve()
            .await
    }

    fn label() -> &'static str {
        type_name::<P>()
    }
}

/// The socket at work.
struct Server<P: DatagramProtocol> {
    protocol: P,
    channel: DatagramChannel<P::Message>,
    wire: Arc<DatagramWire>,
    room: Box<[u8]>,
    mail_first: bool,
    spent: u32,
    /// The turn before was ended by a flood.
    flooded: bool,
}

/// What is next.
enum Event<M> {
    Datagram(SocketAddr, Bytes),
    Item(Received<M>),
    Drained,
    Failed(io::Error),
}

impl<P: DatagramProtocol> Server<P> {
    /// The whole life of the process.
    async fn serve(mut self) -> Result {
        let reason = contained(self.open()).await.unwrap_or_else(|panic| panic);
        if !reason.is_abnormal() {
            self.channel.flush().await;
        }
        contained(self.protocol.closed(&mut self.channel, &reason)).await?;
        if reason.is_normal() { Ok(()) } else { Err(reason) }
    }

    /// Until it is to be closed.
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
        let Server { protocol, channel, wire, .. } = self;
        driven(flush(wire), protocol.bound(channel)).await
    }

    async fn handle(&mut self, event: Event<P::Message>) -> Result {
        let Server { protocol, channel, wire, .. } = self;
        match event {
            Event::Datagram(from, datagram) => {
                channel.received += 1;
                driven(flush(wire), protocol.received(channel, from, datagram)).await
            }
            Event::Drained => driven(flush(wire), protocol.drained(channel)).await,
            Event::Failed(error) => Err(error.into()),
            Event::Item(Received::Message(message) | Received::Command(message)) => {
                driven(flush(wire), protocol.handle_message(channel, message)).await
            }
            Event::Item(Received::Down(down)) => {
                driven(flush(wire), protocol.handle_down(channel, down)).await
            }
            Event::Item(Received::Exit(exit)) => {
                driven(flush(wire), protocol.handle_exit(channel, exit)).await
            }
            Event::Item(Received::Stop(reason)) => Err(reason),
            Event::Item(Received::Finish) => Err(Reason::Normal),
            Event::Item(Received::Inspect(reply)) => {
                reply.send(channel.describe(protocol.inspect()));
                Ok(())
            }
            Event::Item(Received::State(reply)) => {
                reply.send(None);
                Ok(())
            }
            // It takes no others and sets no idle timeout.
            Event::Item(_) => Ok(()),
        }
    }

    fn poll_next(&mut self, cx: &mut task::Context<'_>) -> Poll<Event<P::Message>> {
        if self.spent >= BUDGET {
            self.spent = 0;
            self.flooded = true;
            let _ = self.wire.poll_flush(cx);
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.spent += 1;
        // In a flood it would never come.
        if std::mem::take(&mut self.flooded)
            && self.wire.poll_flush(cx).is_ready()
            && self.wire.takes_again()
        {
            return Poll::Ready(Event::Drained);
        }
        if self.mail_first
            && let Poll::Ready(item) = pin!(self.channel.ctx.receive()).poll(cx)
        {
            self.mail_first = false;
            return Poll::Ready(Event::Item(item));
        }
        self.mail_first = true;
        if let Poll::Ready(event) = self.poll_datagram(cx) {
            return Poll::Ready(event);
        }
        if self.wire.poll_flush(cx).is_ready() && self.wire.takes_again() {
            return Poll::Ready(Event::Drained);
        }
        if let Poll::Ready(item) = pin!(self.channel.ctx.receive()).poll(cx) {
            return Poll::Ready(Event::Item(item));
        }
        self.spent = 0;
        Poll::Pending
    }

    fn poll_datagram(&mut self, cx: &task::Context<'_>) -> Poll<Event<P::Message>> {
        while !self.channel.paused {
            return match self.wire.poll_receive(&mut self.room, cx) {
                Poll::Pending => Poll::Pending,
                Poll::Ready(Ok((length, from))) => {
                    let datagram = Bytes::copy_from_slice(&self.room[..length]);
                    Poll::Ready(Event::Datagram(from, datagram))
                }
                // Tells of one that was sent before and had no receiver: no matter of this socket.
                Poll::Ready(Err(error)) if is_of_another(&error) => continue,
                Poll::Ready(Err(error)) => Poll::Ready(Event::Failed(error)),
            };
        }
        Poll::Pending
    }
}

fn is_of_another(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset)
}

/// Sends what waits as far as it can be sent now.
fn flush(wire: &DatagramWire) -> impl FnMut(&mut task::Context<'_>) {
    move |cx| {
        let _ = wire.poll_flush(cx);
    }
}
