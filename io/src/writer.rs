//! A handle with which other threads write to a connection.

use crate::wire::SocketStream;
use bytes::{Bytes, BytesMut};
use std::fmt;
use std::sync::{Arc, Weak};

/// Appends bytes to the buffer of a connection from any thread; made by
/// [`FrameChannel::writer`](crate::FrameChannel::writer).
///
/// The bytes are whole frames: nothing encodes them, and no limit applies. If the system does
/// not take all of them at once, the connection must be made to look: a message to it suffices.
/// It then writes the rest, and calls [`Protocol::drained`](crate::Protocol::drained).
///
/// It does not keep the socket open. When the connection has failed or its process has ended,
/// bytes are dropped.
#[derive(Clone)]
pub struct Writer(Weak<SocketStream>);

impl Writer {
    pub(crate) fn new(wire: &Arc<SocketStream>) -> Self {
        Writer(Arc::downgrade(wire))
    }

    /// Appends bytes, without writing them. A vector is not copied if nothing else waits.
    pub fn append(&self, bytes: impl Into<Vec<u8>>) {
        let bytes = bytes.into();
        let Some(wire) = self.0.upgrade() else { return };
        let mut outgoing = wire.outgoing();
        if outgoing.failure.is_some() || bytes.is_empty() {
            return;
        }
        if outgoing.buffer.is_empty() {
            outgoing.moved = true;
            outgoing.buffer = BytesMut::from(Bytes::from(bytes));
        } else {
            outgoing.buffer.extend_from_slice(&bytes);
        }
    }

    /// Writes as many bytes as the system takes. Returns false if some are left.
    #[must_use]
    pub fn write(&self) -> bool {
        let Some(wire) = self.0.upgrade() else { return true };
        let all = wire.write_out();
        if !all {
            wire.outgoing().refused = true;
        }
        all
    }

    /// The number of bytes that the system has not taken yet.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.0.upgrade().map_or(0, |wire| wire.outgoing().buffer.len())
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("waiting", &self.waiting()).finish()
    }
}
