//! Tests of the ends of an acceptor with open connections: rule I7.

use crate::support::{Act, ConnectionEvent, Peer, Puppet, Served, any_port};
use krarup_act::{Address, Context, behavior_fn};
use krarup_gen::Reason;
use krarup_io::{Acceptor, AcceptorRequest, Closed, ConnectionOptions};
use krarup_node::Node;
use std::io::BufReader;
use std::net::TcpStream;
use std::sync::mpsc::channel;
use std::time::Duration;

#[test]
fn i7_a_stopping_acceptor_closes_its_socket_and_lets_its_connections_close() {
    let served = Served::new();
    let mut peers: Vec<_> = (0..10).map(|_| served.connect().0).collect();
    let stop = served.acceptor.stop();
    let waits = std::thread::spawn(move || stop.wait());
    for peer in &mut peers {
        assert_eq!(peer.hear().as_deref(), Some("bye"));
        assert_eq!(peer.hear(), None);
    }
    drop(peers);
    let mut closed = 0;
    while closed < 10 {
        if let ConnectionEvent::Closed(why) = served.next() {
            assert_eq!(why, Closed::Stopped(Reason::Shutdown));
            closed += 1;
        }
    }
    waits.join().unwrap().unwrap();
    assert!(TcpStream::connect(served.address).is_err());
    assert!(served.node.processes().is_empty());
    served.stop();
}

#[test]
fn i7_connections_that_do_not_close_are_killed_at_the_timeout() {
    let served = Served::stubborn(Duration::from_millis(30));
    let (mut peer, _) = served.connect();
    served.acceptor.stop().wait().unwrap();
    assert!(peer.is_over());
    served.expect(&ConnectionEvent::Stopping);
    served.expect(&ConnectionEvent::Dropped);
    assert!(served.node.processes().is_empty());
    served.stop();
}

#[test]
fn i7_a_connection_that_hangs_in_a_callback_and_traps_exits_is_killed_too() {
    let served = Served::stubborn(Duration::from_millis(30));
    let (mut peer, _) = served.connect();
    peer.say("hang");
    served.expect(&ConnectionEvent::Line("hang".to_owned()));
    served.acceptor.stop().wait().unwrap();
    assert!(served.node.processes().is_empty());
    assert!(peer.is_over());
    served.expect(&ConnectionEvent::Dropped);
    served.stop();
}

#[test]
fn i7_a_node_stops_in_time_even_if_its_connections_do_not() {
    // Their acceptor would give them an hour.
    let served = Served::stubborn(Duration::from_secs(3600));
    let mut peers: Vec<_> = (0..10).map(|_| served.connect().0).collect();
    for peer in &mut peers[..5] {
        peer.say("hang");
        served.expect(&ConnectionEvent::Line("hang".to_owned()));
    }
    served.node.stop().timeout(Duration::from_millis(100)).wait().unwrap();
    assert!(served.node.processes().is_empty());
    for peer in &mut peers {
        assert!(peer.is_over());
    }
    assert!(TcpStream::connect(served.address).is_err());
}

#[test]
fn i7_a_connection_that_traps_exits_ends_with_its_worker() {
    let served = Served::stubborn(Duration::from_secs(30));
    let (mut peer, connection) = served.connect();
    served.node.kill(connection.info().parent.unwrap());
    assert_eq!(peer.hear(), None);
    drop(peer);
    assert_eq!(served.closed(), Closed::Stopped(Reason::Killed));
    served.stop();
}

#[test]
fn i7_a_stopping_connection_may_complete_its_work_before_it_closes() {
    let served = Served::stubborn(Duration::from_secs(30));
    let (mut peer, connection) = served.connect();
    let stop = served.acceptor.stop();
    let waits = std::thread::spawn(move || stop.wait());
    served.expect(&ConnectionEvent::Stopping);
    peer.say("say the last");
    assert_eq!(peer.hear().as_deref(), Some("the last"));
    // The acceptor answers meanwhile, and reports that it no longer listens.
    let shown = served.acceptor.inspect().wait().unwrap();
    assert_eq!(shown.value("listening").unwrap().to_string(), "false");
    connection
        .send(Act(Box::new(|channel| {
            channel.close();
            Ok(())
        })))
        .unwrap_or_else(|_| panic!("not sent"));
    assert_eq!(peer.hear(), None);
    drop(peer);
    waits.join().unwrap().unwrap();
    assert_eq!(served.closed(), Closed::Stopped(Reason::Shutdown));
    served.stop();
}

#[test]
fn i7_a_killed_acceptor_ends_its_workers_and_connections() {
    let served = Served::new();
    let mut peers: Vec<_> = (0..10).map(|_| served.connect()).collect();
    let ends: Vec<_> = peers.iter().map(|(_, connection)| connection.watch()).collect();
    served.node.kill(served.acceptor.pid());
    for end in ends {
        end.wait().unwrap();
    }
    for (peer, _) in &mut peers {
        assert!(peer.is_over());
    }
    assert!(TcpStream::connect(served.address).is_err());
    served.stop();
}

#[test]
fn i7_a_node_stops_with_its_sockets_under_load() {
    let options = ConnectionOptions::new().linger(Duration::ZERO);
    let served = Served::with(options, |acceptor| acceptor.limit(64));
    let address = served.address;
    let (begun, begins) = std::sync::mpsc::channel();
    let clients: Vec<_> = (0..8)
        .map(|_| {
            let begun = begun.clone();
            std::thread::spawn(move || {
                let mut count = 0_u32;
                // Until the node stops, which may make any of these fail.
                while let Ok(stream) = TcpStream::connect(address) {
                    if !Peer(BufReader::new(stream)).asks("say x") {
                        continue;
                    }
                    count += 1;
                    let _ = begun.send(());
                }
                count
            })
        })
        .collect();
    for _ in 0..500 {
        begins.recv().unwrap();
    }
    served.node.stop().wait().unwrap();
    let served: u32 = clients.into_iter().map(|client| client.join().unwrap()).sum();
    assert!(served >= 500);
}

/// Sends the acceptor an exit signal of a linked process with this reason.
fn linked(served: &Served, reason: Reason) {
    let acceptor = served.acceptor.pid();
    let process = behavior_fn(move |mut ctx: Context<()>| async move {
        ctx.link(acceptor);
        match ctx.receive().await {
            _ if reason.is_normal() => Ok(()),
            _ => Err(reason),
        }
    });
    let process = served.node.spawn(move || process).wait().unwrap();
    let end = process.watch();
    process.send(()).unwrap();
    end.wait().unwrap();
}

#[test]
fn i7_an_acceptor_stops_in_order_when_a_process_that_it_is_linked_to_fails() {
    let served = Served::new();
    let (mut peer, _) = served.connect();
    let end = served.acceptor.watch();
    // A normal exit signal is not a failure.
    linked(&served, Reason::Normal);
    peer.say("say still here");
    assert_eq!(peer.hear().as_deref(), Some("still here"));
    assert!(served.acceptor.inspect().wait().is_ok());
    linked(&served, Reason::error("broken elsewhere"));
    assert_eq!(peer.rest(), b"bye\n");
    drop(peer);
    assert_eq!(served.closed(), Closed::Stopped(Reason::Shutdown));
    assert_eq!(end.wait().unwrap().reason, Reason::error("broken elsewhere"));
    served.stop();
}

#[test]
fn i7_an_acceptor_ends_with_the_reason_of_its_pool() {
    let served = Served::new();
    let (mut peer, connection) = served.connect();
    let worker = connection.info().parent.unwrap();
    let pool = served.node.process_info(worker).unwrap().parent.unwrap();
    let end = served.acceptor.watch();
    served.node.kill(pool);
    // The acceptor asks the connection to close, the end of its worker ends it: whichever is first.
    let last = peer.last_bytes();
    assert!(last.is_empty() || last == b"bye\n", "{last:?}");
    assert_eq!(end.wait().unwrap().reason, Reason::Killed);
    assert!(TcpStream::connect(served.address).is_err());
    served.stop();
}

#[test]
fn i7_an_acceptor_stops_in_order_when_its_parent_ends() {
    let (told, tells) = channel();
    let (seen, sees) = channel();
    let node = Node::start("orphans@localhost").unwrap();
    let parent = behavior_fn(move |mut ctx: Context<()>| async move {
        let puppet = move || Puppet { seen: seen.clone(), keeps_half: false, stubborn: false };
        let acceptor = ctx.spawn(move || Acceptor::new(any_port(), puppet)).link().await?;
        let address = acceptor.call(AcceptorRequest::Address).await?;
        let _ = told.send((acceptor, address));
        ctx.receive().await;
        Ok(())
    });
    let parent = node.spawn(move || parent).wait().unwrap();
    let (acceptor, address) = tells.recv().unwrap();
    let end = acceptor.watch();
    let mut peer = Peer::connect(address);
    assert!(matches!(sees.recv().unwrap(), ConnectionEvent::Connected(_)));
    // The parent ends normally. From any other process, that would be no reason to stop.
    parent.send(()).unwrap();
    assert_eq!(peer.rest(), b"bye\n");
    drop(peer);
    assert_eq!(end.wait().unwrap().reason, Reason::Normal);
    assert!(node.processes().is_empty());
    node.stop().wait().unwrap();
}

#[test]
fn i7_a_finished_acceptor_stops_in_order_and_a_stopped_one_reports_the_reason() {
    for finishes in [true, false] {
        let served = Served::new();
        let (mut peer, _) = served.connect();
        let end = served.acceptor.watch();
        if finishes {
            served.acceptor.finish();
        } else {
            served.acceptor.process().request_stop(Reason::shutdown("enough"));
        }
        assert_eq!(peer.rest(), b"bye\n");
        drop(peer);
        let reason = if finishes { Reason::Normal } else { Reason::shutdown("enough") };
        assert_eq!(end.wait().unwrap().reason, reason);
        assert_eq!(served.closed(), Closed::Stopped(Reason::Shutdown));
        served.stop();
    }
}

#[test]
fn i7_a_stop_waits_for_the_last_connection_to_close() {
    let served = Served::stubborn(Duration::from_secs(3600));
    let (mut first, closes) = served.connect();
    let (mut second, stays) = served.connect();
    let stop = served.acceptor.stop();
    let waits = std::thread::spawn(move || stop.wait());
    served.expect(&ConnectionEvent::Stopping);
    served.expect(&ConnectionEvent::Stopping);
    let close = |connection: &Address<Act>| {
        let close = Act(Box::new(|channel| {
            channel.close();
            Ok(())
        }));
        connection.send(close).unwrap_or_else(|_| panic!("not sent"));
    };
    close(&closes);
    assert_eq!(first.hear(), None);
    drop(first);
    assert_eq!(served.closed(), Closed::Stopped(Reason::Shutdown));
    served.expect(&ConnectionEvent::Dropped);
    // A second stop has no effect, and requests are still answered.
    served.acceptor.process().request_stop(Reason::Killed);
    while served.acceptor.call(AcceptorRequest::Connections).wait().unwrap().len() > 1 {}
    second.say("say still here");
    assert_eq!(second.hear().as_deref(), Some("still here"));
    close(&stays);
    assert_eq!(second.hear(), None);
    drop(second);
    waits.join().unwrap().unwrap();
    served.stop();
}

#[test]
fn i7_a_restarted_acceptor_gets_its_port_back() {
    let served = Served::new();
    let (mut peer, _) = served.connect();
    // This side closes first, so the system keeps the port reserved for stray packets.
    peer.say("close");
    assert_eq!(peer.hear(), None);
    drop(peer);
    assert_eq!(served.closed(), Closed::Local);
    served.acceptor.stop().wait().unwrap();
    let (address, seen) = (served.address, channel().0);
    let puppet = move || Puppet { seen: seen.clone(), keeps_half: false, stubborn: false };
    served.node.spawn(move || Acceptor::new(address, puppet)).wait().unwrap();
    let mut peer = Peer::connect(address);
    peer.say("say again");
    assert_eq!(peer.hear().as_deref(), Some("again"));
    served.stop();
}
