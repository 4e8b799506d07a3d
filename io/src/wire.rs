//! The two directions of a connection, and the write buffer.
//!
//! A callback appends frames to the buffer. They are written when the callback awaits or
//! returns. So the frames of one turn are written together, and an answer is not delayed by
//! a callback that then waits for something else. The buffer has a lock because both the
//! callback and the code that polls it access the buffer, though never at the same time.

use crate::error::Closed;
use crate::options::ConnectionOptions;
use crate::reactor::Socket;
use crate::readiness::Direction;
use crate::transport::Transport;
use bytes::{Buf, BytesMut};
use krarup_gen::Timestamp;
use mio::net::TcpStream;
use parking_lot::{Mutex, MutexGuard};
use socket2::{SockRef, TcpKeepalive};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::task::{Context, Poll};
use std::time::Duration;

/// The most bytes of one read.
const READ: usize = 16 << 10;

/// A connected socket, or what stands in its place.
pub(crate) struct SocketStream {
    carrier: Carrier,
    outgoing: Mutex<OutgoingBytes>,
}

/// What carries the bytes.
enum Carrier {
    Tcp(Socket<TcpStream>),
    Other(Box<dyn Transport>),
}

/// The bytes that wait to be written.
#[derive(Default)]
pub(crate) struct OutgoingBytes {
    pub(crate) buffer: BytesMut,
    /// The number of bytes that the system has taken.
    pub(crate) written: u64,
    /// When progress was last observed: the system took bytes, or bytes began to wait.
    progress: Timestamp,
    /// Whether there was progress since `progress` was set. The writing code has no clock.
    pub(crate) moved: bool,
    /// Why nothing more can be written.
    pub(crate) failure: Option<Closed>,
    /// A send was refused, and the protocol is to be notified when all is written.
    pub(crate) refused: bool,
}

impl OutgoingBytes {
    /// Whether a send was refused before. Called when all is written.
    pub(crate) fn takes_again(&mut self) -> bool {
        self.failure.is_none() && std::mem::take(&mut self.refused)
    }

    /// Returns since when there has been no progress.
    pub(crate) fn still_since(&mut self, now: impl FnOnce() -> Timestamp) -> Timestamp {
        if std::mem::take(&mut self.moved) {
            self.progress = now();
        }
        self.progress
    }
}

impl SocketStream {
    /// Takes over a connected stream.
    pub(crate) fn new(stream: TcpStream) -> io::Result<Self> {
        let carrier = Carrier::Tcp(Socket::new(stream)?);
        Ok(SocketStream { carrier, outgoing: Mutex::default() })
    }

    /// Takes over one end of another stream.
    pub(crate) fn over(transport: Box<dyn Transport>) -> Self {
        SocketStream { carrier: Carrier::Other(transport), outgoing: Mutex::default() }
    }

    /// Sets the socket options. Only a socket has any.
    pub(crate) fn set_up(&self, options: &ConnectionOptions) -> io::Result<()> {
        let Carrier::Tcp(socket) = &self.carrier else { return Ok(()) };
        let stream = socket.source();
        stream.set_nodelay(options.nodelay)?;
        if let Some(bytes) = options.send_buffer {
            SockRef::from(stream).set_send_buffer_size(bytes)?;
        }
        if let Some(time) = options.keepalive {
            SockRef::from(stream).set_tcp_keepalive(&asking_after(time))?;
        }
        Ok(())
    }

    /// Fails if the socket is connected to itself. A system that selects a free port for
    /// this side may select the port of the server where no process listens.
    pub(crate) fn check_peer(&self, peer: SocketAddr) -> io::Result<()> {
        if self.local()? == peer {
            return Err(io::Error::new(ErrorKind::ConnectionRefused, "connected to itself"));
        }
        Ok(())
    }

    pub(crate) fn local(&self) -> io::Result<SocketAddr> {
        match &self.carrier {
            Carrier::Tcp(socket) => socket.source().local_addr(),
            Carrier::Other(transport) => transport.local(),
        }
    }

    pub(crate) fn outgoing(&self) -> MutexGuard<'_, OutgoingBytes> {
        self.outgoing.lock()
    }

    /// Ready when the connection is established.
    pub(crate) fn poll_connected(&self, cx: &Context<'_>) -> Poll<io::Result<SocketAddr>> {
        let socket = match &self.carrier {
            Carrier::Tcp(socket) => socket,
            Carrier::Other(transport) => return transport.poll_connected(cx),
        };
        socket.poll_io(Direction::Write, cx, |stream| {
            if let Some(error) = stream.take_error()? {
                return Err(error);
            }
            match stream.peer_addr() {
                // The connection is still being established.
                Err(error) if error.kind() == ErrorKind::NotConnected => {
                    Err(ErrorKind::WouldBlock.into())
                }
                connected => connected,
            }
        })
    }

    /// Appends received bytes to the buffer; 0 is the end of the stream.
    pub(crate) fn poll_read(
        &self,
        buffer: &mut BytesMut,
        cx: &Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let socket = match &self.carrier {
            Carrier::Tcp(socket) => socket,
            Carrier::Other(transport) => return transport.poll_read(buffer, cx),
        };
        socket.poll_io(Direction::Read, cx, |mut stream| {
            // The space is on the stack of this call, so a waiting connection holds no
            // memory for it.
            let mut room = [0; READ];
            let count = stream.read(&mut room)?;
            buffer.extend_from_slice(&room[..count]);
            Ok(count)
        })
    }

    /// Writes the buffered bytes. Ready when none are left. A failure is stored in
    /// [`OutgoingBytes::failure`].
    pub(crate) fn poll_flush(&self, cx: &Context<'_>) -> Poll<()> {
        while !self.write_out() {
            // No lock is held, because the waker may be a user's.
            if self.poll_writable(cx).is_pending() {
                return Poll::Pending;
            }
        }
        Poll::Ready(())
    }

    fn poll_writable(&self, cx: &Context<'_>) -> Poll<()> {
        match &self.carrier {
            Carrier::Tcp(socket) => socket.poll_ready(Direction::Write, cx),
            Carrier::Other(transport) => transport.poll_writable(cx),
        }
    }

    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match &self.carrier {
            Carrier::Tcp(socket) => {
                socket.try_io(Direction::Write, |mut stream| stream.write(bytes))
            }
            Carrier::Other(transport) => transport.try_write(bytes),
        }
    }

    /// Writes as many bytes as the system takes. Returns true if none are left or nothing
    /// can be written.
    pub(crate) fn write_out(&self) -> bool {
        let mut outgoing = self.outgoing();
        while outgoing.failure.is_none() && !outgoing.buffer.is_empty() {
            match self.try_write(&outgoing.buffer) {
                Ok(count) => {
                    outgoing.buffer.advance(count);
                    outgoing.written += count as u64;
                    outgoing.moved = true;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
                Err(error) => outgoing.failure = Some(Closed::failed(&error)),
            }
        }
        // An idle connection holds no memory.
        outgoing.buffer = BytesMut::new();
        true
    }

    /// Ends the stream to the peer.
    pub(crate) fn finish_writing(&self) -> io::Result<()> {
        match &self.carrier {
            Carrier::Tcp(socket) => socket.source().shutdown(Shutdown::Write),
            Carrier::Other(transport) => transport.finish_writing(),
        }
    }

    /// Makes closing the socket send a reset to the peer.
    pub(crate) fn reset(&self) {
        match &self.carrier {
            // It fails if the connection is already gone; then no reset is needed.
            Carrier::Tcp(socket) => {
                let _ = SockRef::from(socket.source()).set_linger(Some(Duration::ZERO));
            }
            Carrier::Other(transport) => transport.reset(),
        }
    }
}

/// Probes the peer after this time of silence, and again after each further one where the
/// system supports that.
fn asking_after(time: Duration) -> TcpKeepalive {
    let keepalive = TcpKeepalive::new().with_time(time);
    #[cfg(any(target_os = "linux", target_os = "macos", target_os = "freebsd", windows))]
    let keepalive = keepalive.with_interval(time);
    keepalive
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::task::Waker;

    fn any_port() -> SocketAddr {
        ([127, 0, 0, 1], 0).into()
    }

    #[test]
    fn i5_the_socket_options_for_the_system_are_set() {
        let listener = std::net::TcpListener::bind(any_port()).unwrap();
        let stream = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        stream.set_nonblocking(true).unwrap();
        let wire = SocketStream::new(TcpStream::from_std(stream)).unwrap();
        let Carrier::Tcp(tcp) = &wire.carrier else { panic!("it is a socket") };
        let socket = || SockRef::from(tcp.source());
        for (nodelay, keepalive) in [(true, None), (false, Some(Duration::from_secs(7)))] {
            let options = ConnectionOptions::new().nodelay(nodelay).keepalive(keepalive);
            wire.set_up(&options).unwrap();
            assert_eq!(tcp.source().nodelay().unwrap(), nodelay);
            assert_eq!(socket().keepalive().unwrap(), keepalive.is_some());
            if let Some(time) = keepalive {
                assert_eq!(socket().tcp_keepalive_time().unwrap(), time);
                assert_eq!(socket().tcp_keepalive_interval().unwrap(), time);
            }
        }
    }

    /// A socket that is connected to itself.
    pub(crate) fn to_itself() -> SocketStream {
        // A simultaneous open of both ends connects a socket to itself.
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None);
        let socket = socket.unwrap();
        socket.bind(&any_port().into()).unwrap();
        let address = socket.local_addr().unwrap();
        socket.connect(&address).unwrap();
        socket.set_nonblocking(true).unwrap();
        SocketStream::new(TcpStream::from_std(socket.into())).unwrap()
    }

    #[test]
    fn i1_a_connection_to_itself_is_refused() {
        let wire = to_itself();
        let Poll::Ready(Ok(peer)) = wire.poll_connected(&Context::from_waker(Waker::noop())) else {
            panic!("not connected")
        };
        let refused = wire.check_peer(peer).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        assert!(wire.check_peer(([127, 0, 0, 1], 1).into()).is_ok());
    }

    #[test]
    fn i2_a_refused_send_is_followed_by_one_drained_and_none_after_a_failure() {
        let mut outgoing = OutgoingBytes {
            refused: true,
            failure: Some(Closed::Local),
            ..OutgoingBytes::default()
        };
        assert!(!outgoing.takes_again());
        outgoing.failure = None;
        assert!(outgoing.takes_again());
        assert!(!outgoing.takes_again());
    }

    #[test]
    fn i5_the_stall_time_runs_from_the_last_observed_progress() {
        let at = |seconds| Timestamp::ZERO + Duration::from_secs(seconds);
        let mut outgoing = OutgoingBytes { moved: true, ..OutgoingBytes::default() };
        assert_eq!(outgoing.still_since(|| at(3)), at(3));
        assert_eq!(outgoing.still_since(|| at(5)), at(3));
        outgoing.moved = true;
        assert_eq!(outgoing.still_since(|| at(7)), at(7));
    }
}
