//! The end of a simulated connection, as `io` uses it.

use super::wires::{DIALLED, DialState, SimulatedWire, WireEnd};
use bytes::BytesMut;
use krarup_io::Transport;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::task::{Context, Poll, Waker};

/// The most bytes of one read, as over TCP.
const READ: usize = 16 << 10;

impl WireEnd {
    /// Uses the connection. `None` if it is gone.
    fn with<R>(&self, action: impl FnOnce(&mut SimulatedWire, usize) -> R) -> Option<R> {
        self.wires.state.lock().wires.get_mut(&self.id).map(|wire| action(wire, self.side))
    }
}

fn gone() -> io::Error {
    ErrorKind::ConnectionReset.into()
}

impl Transport for WireEnd {
    fn local(&self) -> io::Result<SocketAddr> {
        self.with(|wire, side| wire.addresses[side]).ok_or_else(gone)
    }

    fn poll_connected(&self, cx: &Context<'_>) -> Poll<io::Result<SocketAddr>> {
        let mut waker = Some(cx.waker().clone());
        let connected = self.with(|wire, side| {
            let peer = wire.addresses[1 - side];
            match wire.dial {
                _ if side != DIALLED => Poll::Ready(Ok(peer)),
                DialState::Up => Poll::Ready(Ok(peer)),
                DialState::Failed(kind) => Poll::Ready(Err(kind.into())),
                DialState::Calling => {
                    std::mem::swap(&mut wire.caller, &mut waker);
                    Poll::Pending
                }
            }
        });
        // The waker that is not needed is dropped without the lock.
        drop(waker);
        connected.unwrap_or_else(|| Poll::Ready(Err(gone())))
    }

    fn poll_read(&self, buffer: &mut BytesMut, cx: &Context<'_>) -> Poll<io::Result<usize>> {
        let mut waker = Some(cx.waker().clone());
        let read = self.with(|wire, side| {
            let pipe = &mut wire.pipes[side];
            match pipe.read(READ, buffer) {
                Some(read) => (Some(read), pipe.writer.take()),
                None => {
                    std::mem::swap(&mut pipe.reader, &mut waker);
                    (None, None)
                }
            }
        });
        drop(waker);
        let Some((read, writer)) = read else { return Poll::Ready(Err(gone())) };
        if let Some(writer) = writer {
            writer.wake();
        }
        read.map_or(Poll::Pending, Poll::Ready)
    }

    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.wires.state.lock();
        let wire = state.wires.get_mut(&self.id).ok_or_else(gone)?;
        let other = 1 - self.side;
        let count = wire.pipes[other].write(bytes)?;
        self.wires.move_on(&mut state, self.id, other);
        Ok(count)
    }

    fn poll_writable(&self, cx: &Context<'_>) -> Poll<()> {
        let mut waker: Option<Waker> = Some(cx.waker().clone());
        let is_ready = self.with(|wire, side| {
            let pipe = &mut wire.pipes[1 - side];
            let is_ready = pipe.takes_or_fails();
            if !is_ready {
                std::mem::swap(&mut pipe.writer, &mut waker);
            }
            is_ready
        });
        drop(waker);
        if is_ready.unwrap_or(true) { Poll::Ready(()) } else { Poll::Pending }
    }

    fn finish_writing(&self) -> io::Result<()> {
        let mut state = self.wires.state.lock();
        let wire = state.wires.get_mut(&self.id).ok_or_else(gone)?;
        let other = 1 - self.side;
        wire.pipes[other].finish();
        self.wires.move_on(&mut state, self.id, other);
        Ok(())
    }

    fn reset(&self) {
        self.with(|wire, side| wire.resets[side] = true);
    }
}
