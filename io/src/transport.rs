//! What carries the bytes of a connection: a TCP socket, or what stands in its place.
//!
//! Everything above, from the first byte on, is the same for every transport: buffers, codecs,
//! callbacks, times, the closing of the connection.

use crate::options::ConnectionOptions;
use bytes::BytesMut;
use std::io;
use std::net::SocketAddr;
use std::task::{self, Poll};

/// One end of a stream of bytes in both directions, which arrive whole and in order or not at
/// all. It behaves as a non-blocking TCP socket; dropping it closes it.
///
/// No method may be called with a lock that a waker could need, and none blocks.
pub trait Transport: Send + Sync + 'static {
    /// Returns the address of this end, which is not that of the other one.
    ///
    /// # Errors
    /// The stream has none.
    fn local(&self) -> io::Result<SocketAddr>;

    /// Sets what the options ask of the operating system. Only sockets have such options.
    ///
    /// # Errors
    /// The system does not set them.
    fn set_up(&self, options: &ConnectionOptions) -> io::Result<()> {
        let _ = options;
        Ok(())
    }

    /// Ready with the address of the other end when the connection is established.
    ///
    /// # Errors
    /// It could not be established.
    fn poll_connected(&self, cx: &task::Context<'_>) -> Poll<io::Result<SocketAddr>>;

    /// Appends received bytes to the buffer; 0 is the end of the stream.
    ///
    /// # Errors
    /// The stream is broken.
    fn poll_read(&self, buffer: &mut BytesMut, cx: &task::Context<'_>) -> Poll<io::Result<usize>>;

    /// Takes some of these bytes, at least one if there are any. Returns how many. After
    /// `WouldBlock` the next call begins with the same bytes.
    ///
    /// # Errors
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is no room; any other error if the
    /// stream is broken.
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize>;

    /// Ready when there is room for bytes, or the stream is broken.
    fn poll_writable(&self, cx: &task::Context<'_>) -> Poll<()>;

    /// Ready when the stream is broken, with the error. It is polled when the other end has ended its
    /// direction and nothing waits to be written, so that no other call would find it out. By
    /// default that is found out by the next write.
    fn poll_broken(&self, cx: &task::Context<'_>) -> Poll<io::Error> {
        let _ = cx;
        Poll::Pending
    }

    /// Ends the direction to the other end.
    ///
    /// # Errors
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if something that belongs to the end has no room yet: it
    /// is called again when there is; any other error if the stream is broken.
    fn finish_writing(&self) -> io::Result<()>;

    /// Makes dropping this end a reset.
    fn reset(&self);
}
