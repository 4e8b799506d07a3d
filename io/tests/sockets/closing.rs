//! Tests of the ends of a connection, in every order: rule I4.

use crate::support::{Act, ConnectionEvent, Peer, Puppet, Served, any_port};
use krarup_gen::Reason;
use krarup_io::{
    Acceptor, AcceptorRequest, Channel, Closed, CodecError, ConnectionOptions, Lines, Protocol,
    WriteError,
};
use krarup_node::Node;
use socket2::SockRef;
use std::convert::Infallible;
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

fn act(
    connection: &krarup_act::Address<Act>,
    act: impl FnOnce(&mut Channel<Puppet>) -> krarup_gen::Result + Send + 'static,
) {
    connection.send(Act(Box::new(act))).unwrap_or_else(|_| panic!("not sent"));
}

#[test]
fn i4_the_peer_closes_first() {
    let served = Served::new();
    let (mut peer, connection) = served.connect();
    let end = connection.watch();
    peer.say("say last words");
    peer.stream().shutdown(Shutdown::Write).unwrap();
    assert_eq!(peer.rest(), b"last words\n");
    assert_eq!(served.closed(), Closed::Peer);
    assert_eq!(end.wait().unwrap().reason, Reason::Normal);
    served.stop();
}

#[test]
fn i4_everything_sent_before_a_local_close_arrives() {
    let served = Served::new();
    let (mut peer, connection) = served.connect();
    let end = connection.watch();
    act(&connection, |channel| {
        for number in 0..10_000 {
            channel.send(&number.to_string())?;
        }
        channel.close();
        assert!(channel.send("too late").is_err());
        Ok(())
    });
    for number in 0..10_000 {
        assert_eq!(peer.hear(), Some(number.to_string()));
    }
    assert_eq!(peer.hear(), None);
    drop(peer);
    assert_eq!(served.closed(), Closed::Local);
    assert_eq!(end.wait().unwrap().reason, Reason::Normal);
    served.stop();
}

#[test]
fn i4_the_last_bytes_arrive_even_if_bytes_of_the_peer_are_unread() {
    let served = Served::new();
    let (mut peer, connection) = served.connect();
    act(&connection, |channel| {
        channel.pause();
        Ok(channel.send("paused")?)
    });
    assert_eq!(peer.hear().as_deref(), Some("paused"));
    // The line stays unread in the system. A socket that is closed with unread bytes
    // resets the connection.
    peer.say(&"x".repeat(10_000));
    act(&connection, |channel| {
        channel.send(&"y".repeat(100_000))?;
        channel.close();
        Ok(())
    });
    peer.stream().shutdown(Shutdown::Write).unwrap();
    assert_eq!(served.closed(), Closed::Local);
    served.expect(&ConnectionEvent::Dropped);
    assert_eq!(peer.rest().len(), 100_001, "all of it, and an end instead of a reset");
    served.stop();
}

#[test]
fn i4_a_half_closed_peer_is_served_to_the_end() {
    let served = Served::half_open();
    let (mut peer, connection) = served.connect();
    peer.say("nothing");
    peer.stream().shutdown(Shutdown::Write).unwrap();
    served.expect(&ConnectionEvent::Line("nothing".to_owned()));
    served.expect(&ConnectionEvent::Ended);
    for word in ["one", "two"] {
        act(&connection, move |channel| Ok(channel.send(word)?));
        assert_eq!(peer.hear().as_deref(), Some(word));
    }
    act(&connection, |channel| {
        channel.close();
        Ok(())
    });
    assert_eq!(peer.hear(), None);
    assert_eq!(served.closed(), Closed::Peer);
    served.stop();
}

#[test]
fn i4_a_reset_is_not_a_crash() {
    let served = Served::new();
    let (peer, connection) = served.connect();
    let end = connection.watch();
    SockRef::from(peer.stream()).set_linger(Some(Duration::ZERO)).unwrap();
    drop(peer);
    let Closed::Failed { kind, .. } = served.closed() else { panic!("not failed") };
    assert_eq!(kind, ErrorKind::ConnectionReset);
    let reason = end.wait().unwrap().reason;
    assert!(!reason.is_abnormal(), "{reason}");
    assert!(reason.downcast_ref::<Closed>().is_some());
    served.stop();
}

#[test]
fn i4_an_aborted_connection_is_reset() {
    let served = Served::new();
    let (mut peer, connection) = served.connect();
    let end = connection.watch();
    peer.say("abort");
    assert!(peer.is_reset());
    assert_eq!(served.closed(), Closed::Aborted);
    assert_eq!(end.wait().unwrap().reason, Reason::Normal);
    served.stop();
}

#[test]
fn i4_a_killed_connection_is_closed() {
    let served = Served::new();
    let (mut peer, connection) = served.connect();
    served.node.kill(connection.pid());
    assert!(peer.is_over());
    // The callback is not called, and the state is dropped.
    served.expect(&ConnectionEvent::Dropped);
    served.stop();
}

#[test]
fn i4_a_connection_is_stopped_like_any_process() {
    let served = Served::new();
    let (mut peer, connection) = served.connect();
    let stop = connection.stop().reason(Reason::shutdown("enough"));
    let waits = std::thread::spawn(move || stop.wait());
    assert_eq!(peer.hear().as_deref(), Some("bye"));
    assert_eq!(peer.hear(), None);
    drop(peer);
    served.expect(&ConnectionEvent::Stopping);
    assert_eq!(served.closed(), Closed::Stopped(Reason::shutdown("enough")));
    waits.join().unwrap().unwrap();
    served.stop();
}

#[test]
fn i4_a_stop_after_the_end_of_the_peer_is_the_reason_of_the_close() {
    let served = Served::half_open();
    let (mut peer, connection) = served.connect();
    peer.stream().shutdown(Shutdown::Write).unwrap();
    served.expect(&ConnectionEvent::Ended);
    connection.process().request_stop(Reason::shutdown("enough"));
    assert_eq!(peer.rest(), b"bye\n");
    served.expect(&ConnectionEvent::Stopping);
    served.expect(&ConnectionEvent::Closed(Closed::Stopped(Reason::shutdown("enough"))));
    served.stop();
}

/// Uses all default callbacks, and reports why it is closed.
struct Plain(Sender<Closed>);

impl Protocol for Plain {
    type Message = Infallible;
    type Codec = Lines;
    fn codec(&self) -> Lines {
        Lines::new(9)
    }
    async fn received(&mut self, _: &mut Channel<Self>, _: String) -> krarup_gen::Result {
        Ok(())
    }
    async fn closed(&mut self, _: &mut Channel<Self>, why: &Closed) {
        let _ = self.0.send(why.clone());
    }
}

#[test]
fn i4_by_default_a_protocol_closes_with_its_peer_and_on_a_stop() {
    let node = Node::start("plain@localhost").unwrap();
    let (sender, closed) = channel();
    let plain = move || Plain(sender.clone());
    // An hour for connections that do not close.
    let server = move || Acceptor::new(any_port(), plain).drain(Duration::from_secs(3600));
    let server = node.spawn(server).wait().unwrap();
    let address = server.call(AcceptorRequest::Address).wait().unwrap();
    let next = || closed.recv_timeout(Duration::from_secs(30)).expect("it is open");
    let mut peer = Peer::connect(address);
    peer.stream().shutdown(Shutdown::Write).unwrap();
    assert_eq!(peer.rest(), b"");
    assert_eq!(next(), Closed::Peer);
    let has_one = || !server.call(AcceptorRequest::Connections).wait().unwrap().is_empty();
    // The one that has told its end may be in the list yet, and a connection that waits to be accepted is reset by a stop.
    while has_one() {}
    let mut peer = Peer::connect(address);
    while !has_one() {}
    server.process().request_stop(Reason::Shutdown);
    assert_eq!(peer.rest(), b"");
    drop(peer);
    assert_eq!(next(), Closed::Stopped(Reason::Shutdown));
    node.stop().wait().unwrap();
}

#[test]
fn i4_an_unfinished_line_is_not_delivered() {
    let served = Served::new();
    let (peer, _) = served.connect();
    peer.stream().try_clone().unwrap().write_all(b"one\ndelete 12").unwrap();
    drop(peer);
    served.expect(&ConnectionEvent::Line("one".to_owned()));
    let error = CodecError::Unfinished { bytes: 9 };
    served.expect(&ConnectionEvent::Malformed(error.clone()));
    assert_eq!(served.closed(), Closed::Malformed(error));
    served.stop();
}

#[test]
fn i4_waiting_for_the_peer_to_close_is_limited_by_the_linger_time() {
    let options = ConnectionOptions::new().linger(Duration::ZERO);
    let served = Served::with(options, |acceptor| acceptor);
    let (mut peer, _) = served.connect();
    peer.say("close");
    // The peer keeps its side open, and the connection ends nevertheless.
    assert_eq!(served.closed(), Closed::Local);
    assert_eq!(peer.hear(), None);
    served.stop();
}

#[test]
fn i4_flushing_to_a_peer_that_does_not_read_is_limited_by_the_close_timeout() {
    const SOON: Duration = Duration::from_millis(40);
    // More than both systems buffer.
    let options = ConnectionOptions::new().write_limit(64 << 20).stall_timeout(None);
    let served = Served::with(options.close_timeout(SOON), |acceptor| acceptor);
    let (mut peer, connection) = served.connect();
    let end = connection.watch();
    act(&connection, |channel| {
        for _ in 0..24 {
            channel.send(&"x".repeat(1 << 20))?;
        }
        channel.close();
        Ok(())
    });
    let Closed::Unsent { waiting, limit } = served.closed() else { panic!("it was all taken") };
    assert_eq!(limit, SOON);
    assert!(waiting > 0);
    let reason = end.wait().unwrap().reason;
    assert_eq!(reason.downcast_ref(), Some(&Closed::Unsent { waiting, limit }));
    // The peer must not mistake what it has for the whole stream.
    assert_eq!(peer.0.read_to_end(&mut Vec::new()).unwrap_err().kind(), ErrorKind::ConnectionReset);
    served.stop();
}

#[test]
fn i4_closing_twice_is_harmless_and_a_send_after_close_is_refused() {
    let served = Served::new();
    let (mut peer, connection) = served.connect();
    let (sender, refused) = std::sync::mpsc::channel();
    act(&connection, move |channel| {
        channel.send("the last")?;
        channel.close();
        channel.close();
        let _ = sender.send(channel.send("too late"));
        Ok(())
    });
    assert_eq!(refused.recv().unwrap(), Err(WriteError::Closed));
    assert_eq!(peer.rest(), b"the last\n");
    drop(peer);
    assert_eq!(served.closed(), Closed::Local);
    served.expect(&ConnectionEvent::Dropped);
    // An abort prevails, because it is meant to drop the waiting bytes.
    let (mut peer, connection) = served.connect();
    act(&connection, |channel| {
        channel.close();
        channel.abort();
        channel.close();
        Ok(())
    });
    assert!(peer.is_reset());
    assert_eq!(served.closed(), Closed::Aborted);
    served.stop();
}

#[test]
fn i4_each_of_many_connections_reports_its_end_exactly_once() {
    let options = ConnectionOptions::new().linger(Duration::ZERO);
    let served = Served::with(options, |acceptor| acceptor);
    let mut expected = 0;
    for round in 0..40 {
        let (mut peer, connection) = served.connect();
        expected += 1;
        match round % 5 {
            0 => drop(peer),
            1 => peer.say("close"),
            2 => peer.say("abort"),
            3 => peer.say("fail on purpose"),
            _ => drop(connection.stop().wait()),
        }
        let mut closed = 0;
        loop {
            match served.next() {
                ConnectionEvent::Closed(_) => closed += 1,
                ConnectionEvent::Dropped => break,
                _ => {}
            }
        }
        assert_eq!(closed, 1, "round {round}");
    }
    let shown = served.acceptor.inspect().wait().unwrap();
    assert_eq!(shown.number("accepted"), Some(expected));
    let _ = Peer::connect(served.address);
    served.stop();
}

#[test]
fn i4_a_protocol_that_stops_its_process_closes_in_order() {
    let served = Served::new();
    let (mut peer, connection) = served.connect();
    let end = connection.watch();
    act(&connection, |channel| {
        channel.send("the last")?;
        channel.context().stop();
        Ok(())
    });
    assert_eq!(peer.rest(), b"the last\n");
    drop(peer);
    // No other process has asked it to stop.
    served.expect(&ConnectionEvent::Closed(Closed::Local));
    assert_eq!(end.wait().unwrap().reason, Reason::Normal);
    served.stop();
}

#[test]
fn i4_a_finish_handles_earlier_messages_and_then_asks_the_protocol_to_close() {
    let served = Served::new();
    let (mut peer, connection) = served.connect();
    let end = connection.watch();
    for word in ["one", "two"] {
        act(&connection, move |channel| Ok(channel.send(word)?));
    }
    connection.finish();
    assert_eq!(peer.rest(), b"one\ntwo\nbye\n");
    drop(peer);
    served.expect(&ConnectionEvent::Stopping);
    served.expect(&ConnectionEvent::Closed(Closed::Stopped(Reason::Normal)));
    assert_eq!(end.wait().unwrap().reason, Reason::Normal);
    served.stop();
}

#[test]
fn i4_a_failure_while_sending_is_the_reason_of_the_close() {
    let served = Served::new();
    for why in ["", "something else"] {
        let (mut peer, connection) = served.connect();
        let end = connection.watch();
        peer.say(&format!("pour {why}"));
        assert_eq!(peer.hear(), Some("x".repeat(100_000)));
        SockRef::from(peer.stream()).set_linger(Some(Duration::ZERO)).unwrap();
        drop(peer);
        let closed = served.closed();
        let reason = end.wait().unwrap().reason;
        if why.is_empty() {
            assert!(matches!(closed, Closed::Failed { .. }), "{closed}");
            assert_eq!(reason.downcast_ref(), Some(&closed));
        } else {
            // A callback that fails for a reason of its own has crashed.
            assert_eq!(closed, Closed::Crashed(Reason::error(why)));
            assert_eq!(reason, Reason::error(why));
        }
        served.expect(&ConnectionEvent::Dropped);
    }
    served.stop();
}

#[test]
fn i4_a_connection_that_does_not_read_notices_a_failure_when_it_writes() {
    let served = Served::new();
    let (mut peer, connection) = served.connect();
    act(&connection, |channel| {
        channel.pause();
        Ok(channel.send("paused")?)
    });
    assert_eq!(peer.hear().as_deref(), Some("paused"));
    SockRef::from(peer.stream()).set_linger(Some(Duration::ZERO)).unwrap();
    drop(peer);
    act(&connection, |channel| Ok(channel.send("to nobody")?));
    assert!(matches!(served.closed(), Closed::Failed { .. }));
    served.stop();
}

#[test]
fn i4_a_write_failure_during_closing_is_the_reason_of_the_close() {
    let options = ConnectionOptions::new().write_limit(64 << 20).stall_timeout(None);
    let served = Served::with(options, |acceptor| acceptor);
    let (peer, connection) = served.connect();
    let (sender, closes) = std::sync::mpsc::channel();
    act(&connection, move |channel| {
        // More than both systems buffer.
        for _ in 0..12 {
            channel.send(&"x".repeat(1 << 20))?;
        }
        channel.close();
        let _ = sender.send(());
        Ok(())
    });
    closes.recv().unwrap();
    SockRef::from(peer.stream()).set_linger(Some(Duration::ZERO)).unwrap();
    drop(peer);
    assert!(matches!(served.closed(), Closed::Failed { .. }));
    served.stop();
}

/// Fails or panics in notification callbacks.
struct Rude;

impl Protocol for Rude {
    type Message = Infallible;
    type Codec = Lines;
    fn codec(&self) -> Lines {
        Lines::new(9)
    }
    async fn received(&mut self, channel: &mut Channel<Self>, _: String) -> krarup_gen::Result {
        channel.close();
        Ok(())
    }
    async fn malformed(&mut self, _: &mut Channel<Self>, _: &CodecError) -> krarup_gen::Result {
        Err(Reason::error("no patience"))
    }
    async fn closed(&mut self, _: &mut Channel<Self>, why: &Closed) {
        assert!(matches!(why, Closed::Crashed(_)), "rude on purpose");
    }
}

#[test]
fn i4_a_protocol_that_fails_at_the_end_is_closed_and_ends_with_that_reason() {
    let served = Served::new();
    let server = served.node.spawn(|| Acceptor::new(any_port(), || Rude)).wait().unwrap();
    let address = server.call(AcceptorRequest::Address).wait().unwrap();
    for (line, says) in [("close", "rude on purpose"), ("more than nine", "no patience")] {
        let mut peer = Peer::connect(address);
        let open = loop {
            if let Some(open) = server.call(AcceptorRequest::Connections).wait().unwrap().pop() {
                break open.connection;
            }
        };
        let end = open.watch();
        peer.say(line);
        assert!(peer.is_over());
        drop(peer);
        let reason = end.wait().unwrap().reason;
        assert!(reason.to_string().contains(says), "{reason}");
        assert_eq!(matches!(reason, Reason::Panic(_)), line == "close");
        // Its slot is free, as after any other end.
        while !server.call(AcceptorRequest::Connections).wait().unwrap().is_empty() {}
    }
    served.stop();
}

#[test]
fn i4_waiting_for_a_peer_that_never_ends_is_limited() {
    let options = ConnectionOptions::new().linger(Duration::from_millis(40));
    let served = Served::with(options, |acceptor| acceptor);
    let (peer, connection) = served.connect();
    let mut stream = peer.stream().try_clone().unwrap();
    let flood = std::thread::spawn(move || {
        let lines = "nothing\n".repeat(1 << 17);
        while stream.write_all(lines.as_bytes()).is_ok() {}
    });
    act(&connection, |channel| {
        channel.close();
        Ok(())
    });
    assert_eq!(served.closed(), Closed::Local);
    flood.join().unwrap();
    served.stop();
}
