//! A TCP socket as a transport.

use crate::options::ConnectionOptions;
use crate::reactor::Socket;
use crate::readiness::Direction;
use crate::transport::Transport;
use bytes::BytesMut;
use mio::net::TcpStream;
use socket2::{SockRef, TcpKeepalive};
use std::cell::Cell;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::task::{Context, Poll};
use std::time::Duration;

/// The most bytes of one read.
const READ: usize = 16 << 10;

thread_local! {
    /// The room for a read. It belongs to the thread, so a connection that waits holds none, and it is
    /// not cleared for each read.
    static ROOM: Cell<Option<Box<[u8]>>> = const { Cell::new(None) };
}

/// Reads with the room of this thread, or with new room where it has none (yet, or any more).
fn with_room<T>(read: impl FnOnce(&mut [u8]) -> T) -> T {
    let room = ROOM.try_with(Cell::take).ok().flatten();
    let mut room = room.unwrap_or_else(|| vec![0; READ].into());
    let done = read(&mut room);
    let _ = ROOM.try_with(|place| place.set(Some(room)));
    done
}

/// A socket that is connected, or being connected.
pub(crate) struct TcpSocket(Socket<TcpStream>);

impl TcpSocket {
    pub(crate) fn new(stream: TcpStream) -> io::Result<Self> {
        Ok(TcpSocket(Socket::new(stream)?))
    }

    #[cfg(test)]
    pub(crate) fn source(&self) -> &TcpStream {
        self.0.source()
    }
}

impl Transport for TcpSocket {
    fn local(&self) -> io::Result<SocketAddr> {
        self.0.source().local_addr()
    }

    fn set_up(&self, options: &ConnectionOptions) -> io::Result<()> {
        let stream = self.0.source();
        stream.set_nodelay(options.nodelay)?;
        if let Some(bytes) = options.send_buffer {
            // The system's number has fewer bits: a greater one would be cut to any other.
            SockRef::from(stream).set_send_buffer_size(bytes.min(i32::MAX as usize))?;
        }
        if let Some(time) = options.keepalive {
            SockRef::from(stream).set_tcp_keepalive(&asking_after(time))?;
        }
        Ok(())
    }

    fn poll_connected(&self, cx: &Context<'_>) -> Poll<io::Result<SocketAddr>> {
        self.0.poll_io(Direction::Write, cx, |stream| {
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

    fn poll_read(&self, buffer: &mut BytesMut, cx: &Context<'_>) -> Poll<io::Result<usize>> {
        self.0.poll_stream(READ, cx, |mut stream| {
            with_room(|room| {
                let count = stream.read(room)?;
                buffer.extend_from_slice(&room[..count]);
                Ok(count)
            })
        })
    }

    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_io(Direction::Write, |mut stream| stream.write(bytes))
    }

    fn poll_writable(&self, cx: &Context<'_>) -> Poll<()> {
        self.0.poll_ready(Direction::Write, cx)
    }

    fn poll_broken(&self, cx: &Context<'_>) -> Poll<io::Error> {
        match self.0.poll_ended(Direction::Write, cx) {
            Poll::Ready(Ok(())) => match self.0.source().take_error() {
                Ok(Some(error)) | Err(error) => Poll::Ready(error),
                // A write has found it out, and tells.
                Ok(None) => Poll::Pending,
            },
            Poll::Ready(Err(error)) => Poll::Ready(error),
            Poll::Pending => Poll::Pending,
        }
    }

    fn finish_writing(&self) -> io::Result<()> {
        self.0.source().shutdown(Shutdown::Write)
    }

    fn reset(&self) {
        // It fails if the connection is already gone; then no reset is needed.
        let _ = SockRef::from(self.0.source()).set_linger(Some(Duration::ZERO));
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
