//! The socket of a connection, as other threads use it.

use crate::messages::ConnectionMessage;
use crate::peer::PeerLink;
use krarup_act::Address;
use krarup_io::Writer;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What appends to the socket, and wakes its process.
pub(super) struct SocketLink {
    pub(super) writer: Writer,
    pub(super) address: Address<ConnectionMessage>,
    /// A wake-up is on its way.
    pub(super) wake: Arc<AtomicBool>,
    /// The process handles a frame.
    pub(super) reads: Arc<AtomicBool>,
}

impl PeerLink for SocketLink {
    fn append(&self, bytes: Vec<u8>) {
        self.writer.append(bytes);
    }

    fn write(&self) -> bool {
        self.writer.write()
    }

    fn waiting(&self) -> usize {
        self.writer.waiting()
    }

    fn wake(&self) {
        if !self.wake.swap(true, Ordering::SeqCst) {
            self.address.notify(ConnectionMessage::Wake);
        }
    }

    fn is_reading(&self) -> bool {
        self.reads.load(Ordering::Relaxed)
    }

    fn close(&self, why: &'static str) {
        self.address.notify(ConnectionMessage::Close(why));
    }
}
