//! What a user writes for a UDP socket, and what its callbacks get.

use crate::callback::log;
use crate::reactor::Socket;
use crate::readiness::Direction;
use bytes::Bytes;
use krarup_act::{Address, Context};
use krarup_gen::{Down, Exit, Inspection, Reason, Result};
use mio::net::UdpSocket;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, poll_fn, ready};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{self, Poll};

/// The longest datagram that IPv4 carries, in bytes.
pub(crate) const LONGEST: usize = 65_507;

/// What a UDP socket does with what comes: the behaviour of a [`crate::Udp`].
///
/// One at a time, as a connection: while a callback awaits, nothing is read, and when the
/// system's buffer is full it drops what comes, as is UDP's way.
pub trait DatagramProtocol: Sized + Send + 'static {
    /// What other processes can send to it; [`std::convert::Infallible`] for nothing.
    type Message: Send + 'static;

    /// The socket is bound.
    fn bound(
        &mut self,
        channel: &mut DatagramChannel<Self::Message>,
    ) -> impl Future<Output = Result> + Send {
        let _ = channel;
        ready(Ok(()))
    }

    /// A datagram, and who sent it.
    fn received(
        &mut self,
        channel: &mut DatagramChannel<Self::Message>,
        from: SocketAddr,
        datagram: Bytes,
    ) -> impl Future<Output = Result> + Send;

    /// A message of another process. The default drops it.
    fn handle_message(
        &mut self,
        channel: &mut DatagramChannel<Self::Message>,
        message: Self::Message,
    ) -> impl Future<Output = Result> + Send {
        let _ = channel;
        drop(message);
        ready(Ok(()))
    }

    /// A send was refused with [`DatagramError::Full`], and now none waits any more.
    fn drained(
        &mut self,
        channel: &mut DatagramChannel<Self::Message>,
    ) -> impl Future<Output = Result> + Send {
        let _ = channel;
        ready(Ok(()))
    }

    /// A process that was monitored with [`DatagramChannel::context`] has ended.
    fn handle_down(
        &mut self,
        channel: &mut DatagramChannel<Self::Message>,
        down: Down,
    ) -> impl Future<Output = Result> + Send {
        let _ = (channel, down);
        ready(Ok(()))
    }

    /// An exit signal, if the process traps them. The default ends it with an abnormal reason.
    fn handle_exit(
        &mut self,
        channel: &mut DatagramChannel<Self::Message>,
        exit: Exit,
    ) -> impl Future<Output = Result> + Send {
        let _ = channel;
        ready(if exit.reason.is_abnormal() { Err(exit.reason) } else { Ok(()) })
    }

    /// Describes the protocol; what the socket itself knows is added.
    fn inspect(&self) -> Inspection {
        Inspection::new()
    }

    /// The last, unless killed: what was sent is on its way. As an actor's `terminate`.
    fn closed(
        &mut self,
        channel: &mut DatagramChannel<Self::Message>,
        reason: &Reason,
    ) -> impl Future<Output = ()> + Send {
        let _ = (channel, reason);
        ready(())
    }
}

/// A datagram was not sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DatagramError {
    /// No datagram is so long.
    #[error("a datagram of {length} bytes: at most {} can be sent", LONGEST)]
    TooLong {
        /// Its length.
        length: usize,
    },
    /// The system takes no more for now, and as many wait already as may.
    #[error("{limit} datagrams wait to be sent: that is the limit")]
    Full {
        /// The most that may wait.
        limit: usize,
    },
    /// The system refuses it.
    #[error("cannot send to {to}: {message}")]
    Failed {
        /// The receiver.
        to: SocketAddr,
        /// The kind of failure.
        kind: ErrorKind,
        /// What the system says.
        message: String,
    },
}

/// A protocol's own view of its UDP socket.
pub struct DatagramChannel<M> {
    pub(crate) ctx: Context<M>,
    pub(crate) wire: Arc<DatagramWire>,
    pub(crate) limit: usize,
    pub(crate) paused: bool,
    pub(crate) received: u64,
    pub(crate) local: SocketAddr,
}

impl<M: Send + 'static> DatagramChannel<M> {
    /// Sends a datagram, or lets it wait until the system can take it.
    ///
    /// # Errors
    /// [`DatagramError`]; nothing was sent.
    pub fn send_to(&mut self, datagram: &[u8], to: SocketAddr) -> Result<(), DatagramError> {
        let sent = self.wire.send_to(datagram, to, self.limit);
        if matches!(sent, Err(DatagramError::Full { .. })) {
            self.wire.outgoing.lock().refused = true;
        }
        sent
    }

    /// Sends a datagram, and waits for room if there is none.
    ///
    /// # Errors
    /// As [`DatagramChannel::send_to`], but never `Full`.
    pub async fn send_to_or_wait(
        &mut self,
        datagram: &[u8],
        to: SocketAddr,
    ) -> Result<(), DatagramError> {
        loop {
            match self.wire.send_to(datagram, to, self.limit) {
                Err(DatagramError::Full { .. }) => self.flush().await,
                sent => return sent,
            }
        }
    }

    /// Waits until the system has taken all that waits.
    pub async fn flush(&mut self) {
        poll_fn(|cx| self.wire.poll_flush(cx)).await;
    }

    /// Reads nothing until [`DatagramChannel::resume`]; the system drops what it has no room for.
    pub fn pause(&mut self) {
        self.paused = true;
    }

    /// Reads again.
    pub fn resume(&mut self) {
        self.paused = false;
    }

    /// The address of the socket, with its port.
    #[must_use]
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// Datagrams that wait for the system to take them.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.wire.outgoing.lock().queue.len()
    }

    /// What others send to, to reach this process.
    #[must_use]
    pub fn address(&self) -> Address<M> {
        self.ctx.address()
    }

    /// The process: for timers, links, monitors, children. [`Context::stop`] closes the socket.
    pub fn context(&mut self) -> &mut Context<M> {
        &mut self.ctx
    }

    /// What the socket knows of itself.
    pub(crate) fn describe(&self, inspection: Inspection) -> Inspection {
        let outgoing = self.wire.outgoing.lock();
        inspection
            .with("local", self.local.to_string())
            .with("datagrams_in", self.received)
            .with("datagrams_out", outgoing.sent)
            .with("datagrams_lost", outgoing.lost)
            .with("waiting_to_be_sent", outgoing.queue.len())
            .with("paused", self.paused)
    }
}

impl<M: Send + 'static> fmt::Debug for DatagramChannel<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DatagramChannel({} at {})", self.ctx.pid(), self.local)
    }
}

/// A UDP socket, and what waits to be sent.
pub(crate) struct DatagramWire {
    socket: Socket<UdpSocket>,
    outgoing: Mutex<OutgoingDatagrams>,
}

#[derive(Default)]
struct OutgoingDatagrams {
    queue: VecDeque<(Bytes, SocketAddr)>,
    sent: u64,
    /// Datagrams that had waited and could not be sent then.
    lost: u64,
    /// Somebody was refused and wants to know when none waits.
    refused: bool,
}

/// Why not everything was sent.
enum SendStopped {
    Blocked,
    Lost(SocketAddr, io::Error),
}

impl DatagramWire {
    pub(crate) fn new(socket: UdpSocket) -> io::Result<Self> {
        Ok(DatagramWire { socket: Socket::new(socket)?, outgoing: Mutex::default() })
    }

    pub(crate) fn local(&self) -> io::Result<SocketAddr> {
        self.socket.source().local_addr()
    }

    fn send_to(&self, datagram: &[u8], to: SocketAddr, limit: usize) -> Result<(), DatagramError> {
        if datagram.len() > LONGEST {
            return Err(DatagramError::TooLong { length: datagram.len() });
        }
        let mut outgoing = self.outgoing.lock();
        if outgoing.queue.is_empty() {
            match self.socket.source().send_to(datagram, to) {
                Ok(_) => {
                    outgoing.sent += 1;
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => {
                    let (kind, message) = (error.kind(), error.to_string());
                    return Err(DatagramError::Failed { to, kind, message });
                }
            }
        }
        if outgoing.queue.len() >= limit {
            return Err(DatagramError::Full { limit });
        }
        outgoing.queue.push_back((Bytes::copy_from_slice(datagram), to));
        Ok(())
    }

    /// Lets a datagram wait, as if the system had not taken it: to a receiver on this machine it
    /// takes all.
    #[cfg(test)]
    pub(crate) fn hold(&self, datagram: &'static [u8], to: SocketAddr) {
        self.outgoing.lock().queue.push_back((Bytes::from_static(datagram), to));
    }

    /// Sends what waits; ready when none does any more.
    pub(crate) fn poll_flush(&self, cx: &task::Context<'_>) -> Poll<()> {
        loop {
            match self.send_out() {
                Ok(()) => return Poll::Ready(()),
                // Neither the waker nor who hears of the loss is called with the lock held.
                Err(SendStopped::Blocked) => {
                    if self.socket.poll_ready(Direction::Write, cx).is_pending() {
                        return Poll::Pending;
                    }
                }
                Err(SendStopped::Lost(to, error)) => {
                    log(|| tracing::debug!(target: "krarup", %to, %error, "a datagram was lost"));
                }
            }
        }
    }

    /// Sends what waits until there is no more, or something stands in the way.
    fn send_out(&self) -> Result<(), SendStopped> {
        let mut outgoing = self.outgoing.lock();
        while let Some((datagram, to)) = outgoing.queue.front() {
            let to = *to;
            let sent = self.socket.try_io(Direction::Write, |socket| socket.send_to(datagram, to));
            match sent {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Err(SendStopped::Blocked);
                }
                Ok(_) => {
                    outgoing.sent += 1;
                    outgoing.queue.pop_front();
                }
                Err(error) => {
                    outgoing.lost += 1;
                    outgoing.queue.pop_front();
                    return Err(SendStopped::Lost(to, error));
                }
            }
        }
        Ok(())
    }

    /// Whether somebody was refused, and none waits any more.
    pub(crate) fn takes_again(&self) -> bool {
        std::mem::take(&mut self.outgoing.lock().refused)
    }

    pub(crate) fn poll_receive(
        &self,
        room: &mut [u8],
        cx: &task::Context<'_>,
    ) -> Poll<io::Result<(usize, SocketAddr)>> {
        self.socket.poll_io(Direction::Read, cx, |socket| socket.recv_from(room))
    }
}
