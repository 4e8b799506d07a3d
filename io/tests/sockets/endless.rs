//! A peer that sends for ever, as a transport: what it sends never ends, and never has to be awaited.

use krarup_gen::Result;
use krarup_io::bytes::{Bytes, BytesMut};
use krarup_io::{Channel, ConnectionOptions, Protocol, Raw, Transport, TransportConnection};
use krarup_node::Simulation;
use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll};
use std::time::Duration;

/// Steps in which a connection that closes ends, if it ends at all.
const STEPS: usize = 1000;

struct EndlessPeer;

fn its_address() -> SocketAddr {
    ([127, 0, 0, 1], 1).into()
}

impl Transport for EndlessPeer {
    fn local(&self) -> io::Result<SocketAddr> {
        Ok(([127, 0, 0, 1], 2).into())
    }
    fn poll_connected(&self, _: &Context<'_>) -> Poll<io::Result<SocketAddr>> {
        Poll::Ready(Ok(its_address()))
    }
    fn poll_read(&self, buffer: &mut BytesMut, _: &Context<'_>) -> Poll<io::Result<usize>> {
        buffer.extend_from_slice(b"more");
        Poll::Ready(Ok(4))
    }
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }
    fn poll_writable(&self, _: &Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }
    fn finish_writing(&self) -> io::Result<()> {
        Ok(())
    }
    fn reset(&self) {}
}

/// Closes at once.
struct Closing;

impl Protocol for Closing {
    type Message = ();
    type Codec = Raw;
    fn codec(&self) -> Raw {
        Raw
    }
    async fn received(&mut self, _: &mut Channel<Self>, _: Bytes) -> Result {
        Ok(())
    }
    async fn connected(&mut self, channel: &mut Channel<Self>) -> Result {
        channel.close();
        Ok(())
    }
}

/// Whether the connection has ended after some steps, in which no time passes.
fn ends(linger: Duration) -> bool {
    let sim = Simulation::new(1);
    let options = ConnectionOptions::new().linger(linger);
    let connection = move || {
        TransportConnection::accepted(Box::new(EndlessPeer), Closing).options(options.clone())
    };
    let address = sim.spawn(connection).start().unwrap();
    (0..STEPS).any(|_| sim.step().is_none()) && !address.is_alive()
}

#[test]
fn i4_a_peer_that_sends_for_ever_is_read_for_the_linger_time_and_no_longer() {
    assert!(ends(Duration::ZERO));
    assert!(!ends(Duration::from_nanos(1)));
}
