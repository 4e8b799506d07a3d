//! Tests of connections that end before all is said, and of ends that have to wait: rules I4 and I7.

use crate::support::{Act, ConnectionEvent, Puppet, Served};
use krarup_io::bytes::BytesMut;
use krarup_io::{Closed, ConnectionOptions, Transport, TransportConnection};
use krarup_node::Simulation;
use parking_lot::Mutex;
use socket2::SockRef;
use std::io::{self, ErrorKind};
use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

#[test]
fn i4_a_connection_that_is_killed_with_unsent_bytes_is_reset() {
    const MEBIBYTES: usize = 12;
    let options = ConnectionOptions::new().write_limit(64 << 20);
    let served = Served::with(options, |acceptor| acceptor);
    let (mut peer, connection) = served.connect();
    let (sender, sent) = channel();
    let pours = Act(Box::new(move |channel| {
        // More than both systems buffer.
        for _ in 0..MEBIBYTES {
            channel.send(&"x".repeat((1 << 20) - 1))?;
        }
        let _ = sender.send(());
        Ok(())
    }));
    connection.send(pours).unwrap_or_else(|_| panic!("not sent"));
    sent.recv().unwrap();
    served.node.kill(connection.pid());
    served.expect(&ConnectionEvent::Dropped);
    // A clean end would say that these bytes are all.
    let mut received = Vec::new();
    let end = io::Read::read_to_end(&mut peer.0, &mut received);
    assert_eq!(end.unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert!(received.len() < MEBIBYTES << 20);
    served.stop();
}

#[test]
fn i4_a_reset_behind_the_end_of_a_peer_is_noticed_without_a_write() {
    let served = Served::half_open();
    let (peer, _connection) = served.connect();
    peer.stream().shutdown(Shutdown::Write).unwrap();
    served.expect(&ConnectionEvent::Ended);
    SockRef::from(peer.stream()).set_linger(Some(Duration::ZERO)).unwrap();
    drop(peer);
    let Closed::Failed { kind, .. } = served.closed() else { panic!("not failed") };
    assert!(matches!(kind, ErrorKind::BrokenPipe | ErrorKind::ConnectionReset), "{kind}");
    served.stop();
}

#[test]
fn i7_a_writer_does_not_keep_the_socket_of_an_ended_process_open() {
    let served = Served::new();
    let (mut peer, connection) = served.connect();
    let (sender, writers) = channel();
    let makes = Act(Box::new(move |channel| {
        let _ = sender.send(channel.writer());
        Ok(())
    }));
    connection.send(makes).unwrap_or_else(|_| panic!("not sent"));
    let writer = writers.recv().unwrap();
    writer.append("from another thread\n");
    assert!(writer.write());
    assert_eq!(peer.hear().as_deref(), Some("from another thread"));
    served.node.kill(connection.pid());
    assert!(peer.is_over());
    // Nobody is there to whom they could be sent.
    writer.append("too late\n");
    assert!(writer.write());
    assert_eq!(writer.waiting(), 0);
    served.stop();
}

/// What a transport without room for the end of its stream has seen.
#[derive(Default)]
struct Ending {
    has_room: bool,
    is_over: bool,
    dropped: bool,
    waker: Option<Waker>,
}

/// A transport that has no room for the end of its stream until it is told so.
struct FullTransport(Arc<Mutex<Ending>>);

impl Drop for FullTransport {
    fn drop(&mut self) {
        self.0.lock().dropped = true;
    }
}

impl Transport for FullTransport {
    fn local(&self) -> io::Result<SocketAddr> {
        Ok(([127, 0, 0, 1], 1).into())
    }

    fn poll_connected(&self, _: &Context<'_>) -> Poll<io::Result<SocketAddr>> {
        Poll::Ready(Ok(([127, 0, 0, 1], 2).into()))
    }

    fn poll_read(&self, _: &mut BytesMut, _: &Context<'_>) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(0))
    }

    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn poll_writable(&self, cx: &Context<'_>) -> Poll<()> {
        let mut ending = self.0.lock();
        if ending.has_room {
            return Poll::Ready(());
        }
        ending.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    fn finish_writing(&self) -> io::Result<()> {
        let mut ending = self.0.lock();
        if !ending.has_room {
            return Err(ErrorKind::WouldBlock.into());
        }
        ending.is_over = true;
        Ok(())
    }

    fn reset(&self) {}
}

#[test]
fn i4_an_end_without_room_waits_for_it_and_no_longer_than_bytes_would() {
    let (stall, close) = (Duration::from_secs(20), Duration::from_secs(10));
    for (stall, close, limit) in [
        (Some(stall), Some(close), Some(close)),
        (Some(close), Some(stall), Some(close)),
        (Some(stall), None, Some(stall)),
        (None, None, None),
    ] {
        let sim = Simulation::new(1);
        let ending = Arc::new(Mutex::new(Ending::default()));
        let transport = Box::new(FullTransport(Arc::clone(&ending)));
        let puppet = Puppet { seen: channel().0, keeps_half: false, stubborn: false };
        let options = ConnectionOptions::new().stall_timeout(stall).close_timeout(close);
        let connection =
            sim.spawn(move || TransportConnection::accepted(transport, puppet).options(options));
        connection.start().unwrap();
        let limit = limit.unwrap_or(1000 * close.unwrap_or(Duration::from_secs(100)));
        sim.advance(limit.saturating_sub(Duration::from_millis(1)));
        assert!(!ending.lock().dropped, "it waits for room");
        if stall.is_some() {
            sim.advance(Duration::from_millis(1));
            assert!(!ending.lock().is_over && ending.lock().dropped);
        } else {
            ending.lock().has_room = true;
            let waker = ending.lock().waker.take();
            waker.expect("it waits").wake();
            sim.run_until_idle();
            assert!(ending.lock().is_over && ending.lock().dropped);
        }
    }
}
