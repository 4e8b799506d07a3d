//! The two directions of a connection, and the write buffer.
//!
//! A callback appends frames to the buffer. They are written when the callback awaits or
//! returns. So the frames of one turn are written together, and an answer is not delayed by
//! a callback that then waits for something else. The buffer has a lock because both the
//! callback and the code that polls it access the buffer, though never at the same time.

use crate::error::Closed;
use crate::options::ConnectionOptions;
use crate::tcp_socket::TcpSocket;
#[cfg(feature = "tls")]
use crate::tls::peer::TlsPeer;
#[cfg(feature = "tls")]
use crate::tls::stream::TlsStream;
use crate::transport::Transport;
use bytes::{Buf, BytesMut};
use krarup_gen::Timestamp;
use mio::net::TcpStream;
use parking_lot::{Mutex, MutexGuard};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::task::{Context, Poll};

/// A connected socket, or what stands in its place.
pub(crate) struct SocketStream {
    carrier: Carrier,
    outgoing: Mutex<OutgoingBytes>,
}

/// What carries the bytes.
enum Carrier {
    Tcp(TcpSocket),
    Other(Box<dyn Transport>),
    /// TLS, over one of the others.
    #[cfg(feature = "tls")]
    Tls(Box<TlsStream>),
}

impl Carrier {
    fn transport(&self) -> &dyn Transport {
        match self {
            Carrier::Tcp(socket) => socket,
            Carrier::Other(transport) => &**transport,
            #[cfg(feature = "tls")]
            Carrier::Tls(stream) => &**stream,
        }
    }
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
        let carrier = Carrier::Tcp(TcpSocket::new(stream)?);
        Ok(SocketStream { carrier, outgoing: Mutex::default() })
    }

    /// Takes over one end of another stream.
    pub(crate) fn over(transport: Box<dyn Transport>) -> Self {
        SocketStream { carrier: Carrier::Other(transport), outgoing: Mutex::default() }
    }

    /// Puts TLS between the bytes of this stream and those of its users.
    #[cfg(feature = "tls")]
    pub(crate) fn secured(self, connection: rustls::Connection) -> Self {
        let below: Box<dyn Transport> = match self.carrier {
            Carrier::Tcp(socket) => Box::new(socket),
            Carrier::Other(transport) => transport,
            Carrier::Tls(stream) => stream,
        };
        let carrier = Carrier::Tls(Box::new(TlsStream::new(below, connection)));
        SocketStream { carrier, outgoing: self.outgoing }
    }

    /// Whether the handshake of TLS is under way.
    pub(crate) fn is_shaking_hands(&self) -> bool {
        match &self.carrier {
            #[cfg(feature = "tls")]
            Carrier::Tls(stream) => stream.is_shaking_hands(),
            _ => false,
        }
    }

    /// Continues the handshake of TLS, if one is under way, although nothing is read and nothing
    /// waits to be written.
    pub(crate) fn shake_hands(&self, cx: &Context<'_>) {
        if self.is_shaking_hands() {
            let _ = self.poll_writable(cx);
        }
    }

    /// How the peer has proved itself.
    #[cfg(feature = "tls")]
    pub(crate) fn tls_peer(&self) -> Option<TlsPeer> {
        match &self.carrier {
            Carrier::Tls(stream) => stream.peer(),
            _ => None,
        }
    }

    /// Sets the socket options. Only a socket has any.
    pub(crate) fn set_up(&self, options: &ConnectionOptions) -> io::Result<()> {
        self.carrier.transport().set_up(options)
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
        self.carrier.transport().local()
    }

    pub(crate) fn outgoing(&self) -> MutexGuard<'_, OutgoingBytes> {
        self.outgoing.lock()
    }

    /// Ready when the connection is established.
    pub(crate) fn poll_connected(&self, cx: &Context<'_>) -> Poll<io::Result<SocketAddr>> {
        self.carrier.transport().poll_connected(cx)
    }

    /// Appends received bytes to the buffer; 0 is the end of the stream.
    pub(crate) fn poll_read(
        &self,
        buffer: &mut BytesMut,
        cx: &Context<'_>,
    ) -> Poll<io::Result<usize>> {
        self.carrier.transport().poll_read(buffer, cx)
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

    /// Ready when there is room for bytes, or the connection is broken.
    pub(crate) fn poll_writable(&self, cx: &Context<'_>) -> Poll<()> {
        self.carrier.transport().poll_writable(cx)
    }

    /// Writes as many bytes as the system takes. Returns true if none are left or nothing
    /// can be written.
    pub(crate) fn write_out(&self) -> bool {
        let mut outgoing = self.outgoing();
        while outgoing.failure.is_none() && !outgoing.buffer.is_empty() {
            match self.carrier.transport().try_write(&outgoing.buffer) {
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

    /// Ready when the connection is broken, as far as that is seen without reading or writing.
    pub(crate) fn poll_broken(&self, cx: &Context<'_>) -> Poll<io::Error> {
        self.carrier.transport().poll_broken(cx)
    }

    /// Ends the stream to the peer. `WouldBlock` if there is no room for what belongs to its end.
    pub(crate) fn finish_writing(&self) -> io::Result<()> {
        self.carrier.transport().finish_writing()
    }

    /// Makes closing the socket send a reset to the peer.
    pub(crate) fn reset(&self) {
        self.carrier.transport().reset();
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use socket2::SockRef;
    use std::task::Waker;
    use std::time::Duration;

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
            // Windows does not tell the times.
            #[cfg(unix)]
            if let Some(time) = keepalive {
                assert_eq!(socket().tcp_keepalive_time().unwrap(), time);
                assert_eq!(socket().tcp_keepalive_interval().unwrap(), time);
            }
        }
    }

    #[test]
    fn i9_the_greatest_send_buffers_are_the_greatest_of_the_system() {
        let listener = std::net::TcpListener::bind(any_port()).unwrap();
        let size_for = |bytes| {
            let stream = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let wire = SocketStream::new(TcpStream::from_std(stream)).unwrap();
            let Carrier::Tcp(tcp) = &wire.carrier else { panic!("it is a socket") };
            wire.set_up(&ConnectionOptions::new().send_buffer(bytes)).unwrap();
            SockRef::from(tcp.source()).send_buffer_size().unwrap()
        };
        let most = size_for(i32::MAX as usize);
        assert!(most > size_for(1));
        for more in
            [i32::MAX as usize + 1, u32::MAX as usize, (u32::MAX as usize).saturating_add(1)]
        {
            assert_eq!(size_for(more), most, "{more}");
        }
        assert_eq!(size_for(usize::MAX), most);
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
