//! Tests of times and numbers: rules I5, I6 and I9.

use crate::support::{Act, ConnectionEvent, Peer, Puppet, Served, any_port};
use krarup_gen::{Result, SendError, SpawnError, Value};
use krarup_io::{Acceptor, AtLimit, Client, Closed, ConnectionOptions, OptionsError, Udp};
use krarup_node::Node;
use std::io::{ErrorKind, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// Short, and long enough not to expire by accident.
const SOON: Duration = Duration::from_millis(40);

#[test]
fn i5_a_silent_client_is_closed() {
    let options = ConnectionOptions::new().idle_timeout(SOON).linger(Duration::ZERO);
    let served = Served::with(options, |acceptor| acceptor);
    let (mut peer, _) = served.connect();
    assert_eq!(peer.hear(), None);
    assert_eq!(served.closed(), Closed::Idle(SOON));
    served.stop();
}

#[test]
fn i5_a_client_that_never_reads_is_aborted() {
    let options = ConnectionOptions::new().stall_timeout(SOON);
    let served = Served::with(options, |acceptor| acceptor);
    let (peer, _) = served.connect();
    let line = format!("say {}", "x".repeat(100_000));
    let mut stream = peer.stream().try_clone().unwrap();
    let writer = std::thread::spawn(move || {
        // More than both systems buffer.
        while stream.write_all(format!("{line}\n").as_bytes()).is_ok() {}
    });
    let Closed::Stalled { waiting, limit } = served.closed() else { panic!("not stalled") };
    assert_eq!(limit, SOON);
    assert!(waiting > 0);
    writer.join().unwrap();
    drop(peer);
    served.stop();
}

#[test]
fn i5_a_frame_that_takes_too_long_ends_the_connection() {
    let options = ConnectionOptions::new().frame_timeout(SOON).linger(Duration::ZERO);
    let served = Served::with(options, |acceptor| acceptor);
    let (mut peer, _) = served.connect();
    peer.say("whole");
    peer.stream().try_clone().unwrap().write_all(b"not who").unwrap();
    served.expect(&ConnectionEvent::Line("whole".to_owned()));
    assert_eq!(served.closed(), Closed::SlowFrame(SOON));
    assert_eq!(peer.hear(), None);
    served.stop();
}

#[test]
fn i6_one_connection_more_than_the_limit_waits_until_another_is_closed() {
    let served = Served::with(ConnectionOptions::new(), |acceptor| acceptor.limit(2));
    let (first, _) = served.connect();
    let (mut second, _) = served.connect();
    // The system reports it as connected, but it is not accepted.
    let mut third = Peer::connect(served.address);
    third.say("say third");
    for _ in 0..20 {
        second.say("say second");
        assert_eq!(second.hear().as_deref(), Some("second"));
        served.expect(&ConnectionEvent::Line("say second".to_owned()));
        let shown = served.acceptor.inspect().wait().unwrap();
        assert_eq!(shown.number("connections"), Some(2));
        assert_eq!(shown.number("accepted"), Some(2));
    }
    drop(first);
    assert_eq!(third.hear().as_deref(), Some("third"));
    served.stop();
}

#[test]
fn i6_one_connection_more_than_the_limit_is_refused() {
    let refuse =
        |acceptor: crate::support::PuppetAcceptor| acceptor.limit(2).at_limit(AtLimit::Refuse);
    let served = Served::with(ConnectionOptions::new(), refuse);
    let (first, connection) = served.connect();
    let _second = served.connect();
    for _ in 0..10 {
        // The reset may come before the client has seen its connection.
        let refused = Peer::try_connect(served.address);
        assert!(refused.map_or_else(
            |error| error.kind() == ErrorKind::ConnectionReset,
            |mut peer| peer.is_reset()
        ));
    }
    let shown = served.acceptor.inspect().wait().unwrap();
    assert_eq!(shown.number("refused"), Some(10));
    assert_eq!(shown.number("accepted"), Some(2));
    let end = connection.watch();
    drop(first);
    end.wait().unwrap();
    while served.next() != ConnectionEvent::Dropped {}
    // Its slot is free when its process has ended.
    let mut fourth = Peer::connect(served.address);
    fourth.say("say fourth");
    assert_eq!(fourth.hear().as_deref(), Some("fourth"));
    served.stop();
}

#[test]
fn i9_an_invalid_option_is_an_error_that_names_it() {
    let node = Node::start("options@localhost").unwrap();
    let puppet = || Puppet { seen: channel().0, keeps_half: false, stubborn: false };
    let options = ConnectionOptions::new;
    let zero = Duration::ZERO;
    let cases = [
        (options().write_limit(0), OptionsError::Zero("write_limit")),
        (options().read_limit(0), OptionsError::Zero("read_limit")),
        (options().mailbox(0), OptionsError::Zero("mailbox")),
        (options().send_buffer(0), OptionsError::Zero("send_buffer")),
        (options().idle_timeout(zero), OptionsError::NoTime("idle_timeout")),
        (options().stall_timeout(zero), OptionsError::NoTime("stall_timeout")),
        (options().frame_timeout(zero), OptionsError::NoTime("frame_timeout")),
        (options().connect_timeout(zero), OptionsError::NoTime("connect_timeout")),
        (options().close_timeout(zero), OptionsError::NoTime("close_timeout")),
        (options().keepalive(Duration::from_millis(500)), no_keepalive(500)),
        (options().keepalive(Duration::from_secs(40_000)), no_keepalive(40_000_000)),
        (options().keepalive(zero), no_keepalive(0)),
        (options().attempt_delay(Duration::from_millis(9)), no_attempt_delay(9)),
        (options().attempt_delay(Duration::from_millis(2_001)), no_attempt_delay(2_001)),
    ];
    for (options, error) in cases {
        let for_client = options.clone();
        let acceptor = node.spawn(move || Acceptor::new(any_port(), puppet).options(options));
        let client = node.spawn(move || Client::new(any_port(), puppet()).options(for_client));
        for reason in [failed(acceptor.wait()), failed(client.wait())] {
            assert_eq!(reason.downcast_ref::<OptionsError>(), Some(&error));
        }
    }
    for (acceptor, error) in [
        (Acceptor::new(any_port(), puppet).workers(0), OptionsError::Zero("workers")),
        (Acceptor::new(any_port(), puppet).workers(usize::MAX), too_many_workers()),
        (Acceptor::new(any_port(), puppet).limit(0), OptionsError::Zero("limit")),
        (Acceptor::new(any_port(), puppet).backlog(0), OptionsError::Zero("backlog")),
    ] {
        let reason = failed(node.spawn(move || acceptor).wait());
        assert_eq!(reason.downcast_ref::<OptionsError>(), Some(&error));
    }
    let udp = node.spawn(|| Udp::new(any_port(), Quiet).queue(0)).wait();
    let reason = failed(udp);
    assert_eq!(reason.downcast_ref::<OptionsError>(), Some(&OptionsError::Zero("queue")));
    assert!(node.processes().is_empty());
    node.stop().wait().unwrap();
}

#[test]
fn i9_the_greatest_values_are_limits_that_are_never_reached() {
    let options = ConnectionOptions::new()
        .write_limit(usize::MAX)
        .read_limit(usize::MAX)
        .mailbox(usize::MAX)
        .stall_timeout(Duration::MAX)
        .idle_timeout(Duration::MAX)
        .frame_timeout(Duration::MAX)
        .close_timeout(Duration::MAX)
        .connect_timeout(Duration::MAX)
        .linger(Duration::MAX)
        .keepalive(Duration::from_secs(32_767));
    let served = Served::with(options.clone(), |acceptor| {
        acceptor.limit(usize::MAX).backlog(u32::MAX).drain(Duration::MAX)
    });
    let (mut peer, connection) = served.connect();
    peer.say("say here");
    assert_eq!(peer.hear().as_deref(), Some("here"));
    assert_eq!(connection.info().mailbox, Some(4_294_967_294));
    let address = served.address;
    let seen = channel().0;
    let puppet = Puppet { seen, keeps_half: false, stubborn: false };
    let client = served.node.spawn(move || Client::new(address, puppet).options(options)).wait();
    client.unwrap().stop().wait().unwrap();
    drop(peer);
    served.acceptor.stop().wait().unwrap();
    let udp = served.node.spawn(|| Udp::new(any_port(), Quiet).queue(usize::MAX)).wait();
    udp.unwrap().stop().wait().unwrap();
    served.stop();
}

#[test]
fn i9_the_smallest_values_and_the_ends_of_ranges_are_valid() {
    let least = ConnectionOptions::new().mailbox(1).keepalive(Duration::from_secs(1));
    let served = Served::with(least, |acceptor| acceptor.workers(1).limit(1).backlog(1));
    let (mut peer, connection) = served.connect();
    peer.say("say here");
    assert_eq!(peer.hear().as_deref(), Some("here"));
    served.expect(&ConnectionEvent::Line("say here".to_owned()));
    assert_eq!(served.acceptor.inspect().wait().unwrap().number("limit"), Some(1));
    // One message may wait while the connection is busy.
    peer.say("hang");
    served.expect(&ConnectionEvent::Line("hang".to_owned()));
    let nothing = || Act(Box::new(|_| Ok(())));
    assert!(connection.send(nothing()).is_ok());
    assert!(matches!(
        connection.send(nothing()),
        Err(SendError::Full { to, .. }) if to == connection.pid()
    ));
    served.node.kill(connection.pid());
    served.stop();
}

#[test]
fn i6_an_acceptor_shows_its_first_connections_and_counts_all() {
    let served = Served::new();
    let peers: Vec<_> = (0..40).map(|_| served.connect()).collect();
    let shown = served.acceptor.inspect().wait().unwrap();
    assert_eq!(shown.number("connections"), Some(40));
    let address = |peer: &Peer| peer.stream().local_addr().unwrap().to_string().into();
    let first = peers[..32].iter().map(|(peer, _)| address(peer)).collect();
    assert_eq!(shown.value("peers"), Some(&Value::List(first)));
    served.stop();
}

/// Waits until the system reports this timer for a connection.
#[cfg(target_os = "linux")]
fn await_timer(local: SocketAddr, peer: SocketAddr, timer: &str) {
    let began = Instant::now();
    while timer_of(local, peer) != timer {
        assert!(began.elapsed() < Duration::from_secs(30), "it is {}", timer_of(local, peer));
        std::thread::yield_now();
    }
}

/// Returns the timer that the system reports for a connection of this program: `02` is a
/// keep-alive.
#[cfg(target_os = "linux")]
fn timer_of(local: SocketAddr, peer: SocketAddr) -> String {
    let hexadecimal = |address: SocketAddr| format!("0100007F:{:04X}", address.port());
    let (local, peer) = (hexadecimal(local), hexadecimal(peer));
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let row = table.lines().map(|row| row.split_whitespace().collect::<Vec<_>>());
    let row = row.into_iter().find(|row| row[1] == local && row[2] == peer);
    row.expect("it is open")[5][..2].to_owned()
}

#[test]
#[cfg(target_os = "linux")]
fn i5_keepalive_probes_a_silent_peer_if_it_is_enabled() {
    for (keepalive, timer) in [(Some(Duration::from_secs(3600)), "02"), (None, "00")] {
        let options = ConnectionOptions::new().keepalive(Duration::from_secs(9));
        let options = options.keepalive(keepalive);
        let served = Served::with(options.clone(), |acceptor| acceptor);
        let (peer, _) = served.connect();
        let theirs = peer.stream().local_addr().unwrap();
        await_timer(served.address, theirs, timer);
        let listener = TcpListener::bind(any_port()).unwrap();
        let address = listener.local_addr().unwrap();
        let puppet = Puppet { seen: channel().0, keeps_half: false, stubborn: false };
        let client = served.node.spawn(move || Client::new(address, puppet).options(options));
        let _client = client.wait().unwrap();
        let (_stream, theirs) = listener.accept().unwrap();
        await_timer(theirs, address, timer);
        served.stop();
    }
}

#[test]
#[cfg(target_os = "linux")]
fn i6_the_backlog_bounds_the_connections_that_wait_to_be_accepted() {
    const CLIENTS: usize = 64;
    for (backlog, all) in [(Some(1), false), (None, true), (Some(u32::MAX), true)] {
        let served = Served::with(ConnectionOptions::new(), move |acceptor| match backlog {
            Some(backlog) => acceptor.limit(1).backlog(backlog),
            None => acceptor.limit(1),
        });
        // While this connection is open, no other is accepted.
        let only = served.connect();
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| {
                let kind = socket2::Type::STREAM;
                let socket = socket2::Socket::new(socket2::Domain::IPV4, kind, None).unwrap();
                socket.set_nonblocking(true).unwrap();
                let _ = socket.connect(&served.address.into());
                socket
            })
            .collect();
        let connected = || clients.iter().filter(|client| client.peer_addr().is_ok()).count();
        if all {
            let began = Instant::now();
            while connected() < CLIENTS {
                assert!(began.elapsed() < Duration::from_secs(30), "{} wait", connected());
                std::thread::yield_now();
            }
        } else {
            assert!(connected() < CLIENTS / 2, "{} wait", connected());
        }
        drop((clients, only));
        served.stop();
    }
}

fn too_many_workers() -> OptionsError {
    OptionsError::TooMany { option: "workers", count: usize::MAX, most: 1 << 16 }
}

fn no_keepalive(millis: u64) -> OptionsError {
    no_such_time("keepalive", millis, (1_000, 32_767_000))
}

fn no_attempt_delay(millis: u64) -> OptionsError {
    no_such_time("attempt_delay", millis, (10, 2_000))
}

fn no_such_time(option: &'static str, millis: u64, (least, most): (u64, u64)) -> OptionsError {
    let [time, least, most] = [millis, least, most].map(Duration::from_millis);
    OptionsError::NoSuchTime { option, time, least, most }
}

fn failed<T>(spawned: Result<T, SpawnError>) -> krarup_gen::Reason {
    match spawned {
        Err(SpawnError::Init(reason)) => reason,
        _ => panic!("spawned"),
    }
}

struct Quiet;

impl krarup_io::DatagramProtocol for Quiet {
    type Message = Act;
    async fn received(
        &mut self,
        _: &mut krarup_io::DatagramChannel<Act>,
        _: SocketAddr,
        _: krarup_io::bytes::Bytes,
    ) -> Result {
        Ok(())
    }
}
