//! The [`DatagramProtocol`] trait: the user's callbacks of a UDP socket, and their view of it.

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

/// The behaviour of a UDP socket, run by a [`Udp`](crate::Udp).
///
/// It handles one thing at a time, as a connection does. While a callback awaits, nothing
/// is read. When the system's buffer is full, the system drops arriving datagrams, as
/// usual for UDP.
pub trait DatagramProtocol: Sized + Send + 'static {
    /// Messages that other processes can send to it; [`std::convert::Infallible`] for none.
    type Message: Send + 'static;

    /// Runs when the socket is bound.
    fn bound(
        &mut self,
        channel: &mut DatagramChannel<Self::Message>,
    ) -> impl Future<Output = Result> + Send {
        let _ = channel;
        ready(Ok(()))
    }

    /// Handles a datagram and the address of its sender.
    fn received(
        &mut self,
        channel: &mut DatagramChannel<Self::Message>,
        from: SocketAddr,
        datagram: Bytes,
    ) -> impl Future<Output = Result> + Send;

    /// Handles a message of another process. The default drops it.
    fn handle_message(
        &mut self,
        channel: &mut DatagramChannel<Self::Message>,
        message: Self::Message,
    ) -> impl Future<Output = Result> + Send {
        let _ = channel;
        drop(message);
        ready(Ok(()))
    }

    /// Runs when no datagram waits any more, after a send was refused with
    /// [`DatagramError::Full`].
    fn drained(
        &mut self,
        channel: &mut DatagramChannel<Self::Message>,
    ) -> impl Future<Output = Result> + Send {
        let _ = channel;
        ready(Ok(()))
    }

    /// Handles the end of a process that was monitored with [`DatagramChannel::context`].
    fn handle_down(
        &mut self,
        channel: &mut DatagramChannel<Self::Message>,
        down: Down,
    ) -> impl Future<Output = Result> + Send {
        let _ = (channel, down);
        ready(Ok(()))
    }

    /// Handles an exit signal, if the process traps them. The default ends the process if
    /// the reason is abnormal.
    fn handle_exit(
        &mut self,
        channel: &mut DatagramChannel<Self::Message>,
        exit: Exit,
    ) -> impl Future<Output = Result> + Send {
        let _ = channel;
        ready(if exit.reason.is_abnormal() { Err(exit.reason) } else { Ok(()) })
    }

    /// Describes the protocol. The socket adds its own values.
    fn inspect(&self) -> Inspection {
        Inspection::new()
    }

    /// Runs last, unless the process was killed, like an actor's `terminate`. After an
    /// orderly end, all waiting datagrams have been sent.
    fn closed(
        &mut self,
        channel: &mut DatagramChannel<Self::Message>,
        reason: &Reason,
    ) -> impl Future<Output = ()> + Send {
        let _ = (channel, reason);
        ready(())
    }
}

/// Why a datagram was not sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DatagramError {
    /// The datagram is longer than the protocol allows.
    #[error("a datagram of {length} bytes: at most {} can be sent", LONGEST)]
    TooLong {
        /// The length of the datagram.
        length: usize,
    },
    /// The system takes no more for now, and the limit of waiting datagrams is reached.
    #[error("{limit} datagrams wait to be sent, which is the limit")]
    Full {
        /// The most datagrams that may wait.
        limit: usize,
    },
    /// The system refuses the datagram.
    #[error("cannot send to {to}: {message}")]
    Failed {
        /// The receiver.
        to: SocketAddr,
        /// The kind of failure.
        kind: ErrorKind,
        /// The message of the operating system.
        message: String,
    },
}

/// A protocol's view of its UDP socket.
pub struct DatagramChannel<M> {
    pub(crate) ctx: Context<M>,
    pub(crate) wire: Arc<DatagramWire>,
    pub(crate) limit: usize,
    pub(crate) paused: bool,
    pub(crate) received: u64,
    pub(crate) local: SocketAddr,
}

impl<M: Send + 'static> DatagramChannel<M> {
    /// Sends a datagram, or queues it until the system can take it.
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

    /// Sends a datagram, and waits for room in the queue if there is none.
    ///
    /// # Errors
    /// The errors of [`DatagramChannel::send_to`], except `Full`.
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

    /// Waits until the system has taken all queued datagrams.
    pub async fn flush(&mut self) {
        poll_fn(|cx| self.wire.poll_flush(cx)).await;
    }

    /// Reads nothing until [`DatagramChannel::resume`]. The system drops datagrams for
    /// which it has no room.
    pub fn pause(&mut self) {
        self.paused = true;
    }

    /// Resumes reading.
    pub fn resume(&mut self) {
        self.paused = false;
    }

    /// Returns the address of the socket, with its port.
    #[must_use]
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// The number of datagrams that wait for the system to take them.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.wire.outgoing.lock().queue.len()
    }

    /// Returns the address under which other processes reach this process.
    #[must_use]
    pub fn address(&self) -> Address<M> {
        self.ctx.address()
    }

    /// Returns the process context: for timers, links, monitors, children.
    /// [`Context::stop`] closes the socket.
    pub fn context(&mut self) -> &mut Context<M> {
        &mut self.ctx
    }

    /// Adds the values of the socket.
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

/// A UDP socket and the queue of its datagrams to send.
pub(crate) struct DatagramWire {
    socket: Socket<UdpSocket>,
    outgoing: Mutex<OutgoingDatagrams>,
}

#[derive(Default)]
struct OutgoingDatagrams {
    queue: VecDeque<(Bytes, SocketAddr)>,
    sent: u64,
    /// The number of queued datagrams that could not be sent later.
    lost: u64,
    /// A send was refused, and the protocol is to be notified when no datagram waits.
    refused: bool,
}

/// Why sending stopped early.
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

    /// Queues a datagram as if the system had not taken it. A receiver on the same machine
    /// takes every datagram at once.
    #[cfg(test)]
    pub(crate) fn hold(&self, datagram: &'static [u8], to: SocketAddr) {
        self.outgoing.lock().queue.push_back((Bytes::from_static(datagram), to));
    }

    /// Sends the queued datagrams. Ready when none are left.
    pub(crate) fn poll_flush(&self, cx: &task::Context<'_>) -> Poll<()> {
        loop {
            match self.send_out() {
                Ok(()) => return Poll::Ready(()),
                // The waker and the logging subscriber are both called without the lock.
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

    /// Sends queued datagrams until none are left or an error occurs.
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

    /// Whether a send was refused before. Called when the queue is empty.
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
