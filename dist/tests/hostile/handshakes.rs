//! Strangers and what they send instead of a handshake: each is closed, nobody else notices, and
//! nothing is left.

use crate::support::raw::{RawPeer, closed, dialling, stranger, until};
use crate::support::served::{only_the_other_is_left, served, table, works};
use krarup_dist::{ClusterCalls, HasCluster};
use krarup_wire::etf::Atom;
use krarup_wire::{ControlMessage, DistributionFlags, Monitored};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

const ALL: u64 = DistributionFlags::OFFERED.bits();

#[test]
fn zhs2_another_protocol_and_malformed_handshakes_are_closed_and_nothing_is_left() {
    let (a, b) = served("strangers");
    let processes = a.node.processes().len();
    let (_, hello) = dialling("x@127.0.0.1", "secret", ALL, &a.name);
    let mut no_mandatory = hello.clone();
    no_mandatory[3..11].fill(0);
    let mut old = hello.clone();
    old[2] = b'n';
    let (_, name_me) = dialling("x@127.0.0.1", "secret", ALL | 1 << 33, &a.name);
    let (_, own_name) = dialling(&a.name, "secret", ALL, &a.name);
    let (_, nameless) = dialling("nameless", "secret", ALL, &a.name);
    let (_, control) = dialling("x\n@127.0.0.1", "secret", ALL, &a.name);
    let mut not_utf8 = hello.clone();
    not_utf8[17] = 0xff;
    let mut short = hello.clone();
    short.truncate(10);
    short[..2].copy_from_slice(&[0, 8]);
    let cases: [(&str, &[u8]); 17] = [
        ("HTTP", b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
        ("TLS", &[22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]),
        ("SSH", b"SSH-2.0-OpenSSH_9.6\r\n"),
        ("noise", &[255; 4096]),
        ("zeros", &[0; 64]),
        ("an empty message", &[0, 0]),
        ("a status", b"\x00\x03sok"),
        ("an unknown message", b"\x00\x04Xabc"),
        ("1025 bytes", &[&[4, 1, b'N'][..], &[0; 1024]].concat()),
        ("no mandatory flags", &no_mandatory),
        ("version 5", &old),
        ("no name", &name_me),
        ("our own name", &own_name),
        ("a name without a host", &nameless),
        ("a name that is not UTF-8", &not_utf8),
        ("a short name message", &short),
        ("two names at once", &[&hello[..], &hello].concat()),
    ];
    for (what, bytes) in cases {
        let mut socket = stranger(&a);
        let _ = socket.write_all(bytes);
        let answer = closed(&socket);
        assert!(answer.len() < 200, "{what}: {answer:?}");
        assert!(works(&a, &b), "{what}");
    }
    // A name with a control character is a name, and needs a cookie as every name does.
    let mut socket = stranger(&a);
    socket.write_all(&control).unwrap();
    socket.shutdown(Shutdown::Write).unwrap();
    closed(&socket);
    only_the_other_is_left(&a, processes);
}

#[test]
fn zhs4_a_wrong_cookie_is_closed_and_a_connected_node_of_that_name_stays_connected() {
    let (a, b) = served("cookies");
    let processes = a.node.processes().len();
    for name in ["x@127.0.0.1", &*b.name] {
        assert!(RawPeer::connect(name, "wrong", ALL, &a).is_none());
    }
    // A right digest to a challenge of another connection proves nothing.
    let (mut handshake, room) = dialling("x@127.0.0.1", "secret", ALL, &a.name);
    let mut first = stranger(&a);
    first.write_all(&room).unwrap();
    let (mut received, mut answer) = (Vec::new(), Vec::new());
    while answer.is_empty() {
        let mut bytes = [0; 512];
        let count = first.read(&mut bytes).unwrap();
        received.extend(&bytes[..count]);
        while let Ok(krarup_wire::handshake::ReadStep::Read { used }) =
            handshake.read(&received, &mut answer)
        {
            received.drain(..used);
        }
    }
    let mut second = stranger(&a);
    second.write_all(&[&room[..], &answer].concat()).unwrap();
    let told = closed(&second);
    assert!(!told.is_empty());
    drop(first);
    assert!(works(&a, &b));
    only_the_other_is_left(&a, processes);
    assert!(b.cluster.nodes().unwrap().iter().any(|node| node.as_str() == a.name));
}

#[test]
fn zhs2_a_handshake_one_byte_at_a_time_and_one_with_frames_behind_it_succeed() {
    let (a, _b) = served("slowly");
    let one_by_one = |stream: &mut TcpStream, bytes: &[u8]| {
        bytes.iter().all(|byte| stream.write_all(&[*byte]).is_ok())
    };
    let peer = RawPeer::shake(stranger(&a), "slow@127.0.0.1", "secret", ALL, &a, one_by_one);
    let mut peer = peer.unwrap();
    assert!(peer.stands());
    // The reply to the challenge, and behind it ticks, in one write.
    let mut count = 0;
    let with_more = |stream: &mut TcpStream, bytes: &[u8]| {
        count += 1;
        let ticks: &[u8] = if count == 2 { &[0; 40] } else { &[] };
        stream.write_all(&[bytes, ticks].concat()).is_ok()
    };
    let peer = RawPeer::shake(stranger(&a), "eager@127.0.0.1", "secret", ALL, &a, with_more);
    assert!(peer.unwrap().stands());
}

#[test]
fn zsec7_garbage_between_the_messages_of_a_handshake_and_after_it_ends_that_connection() {
    let (a, b) = served("garbage");
    let processes = a.node.processes().len();
    for garbage in [&[255; 9][..], b"\r\n\r\n", &[0, 0, 0, 1, 131], &[0, 0, 0, 3, 1, 2, 3]] {
        let mut writes = 0;
        let before_reply = |stream: &mut TcpStream, bytes: &[u8]| {
            writes += 1;
            let garbage = if writes == 2 { garbage } else { &[] };
            stream.write_all(&[garbage, bytes].concat()).is_ok()
        };
        let peer = RawPeer::shake(stranger(&a), "x@127.0.0.1", "secret", ALL, &a, before_reply);
        assert!(peer.is_none(), "{garbage:?}");
        let mut peer = RawPeer::up("y@127.0.0.1", &a);
        peer.write(garbage);
        closed(&peer.stream);
        assert!(works(&a, &b), "{garbage:?}");
    }
    only_the_other_is_left(&a, processes);
}

#[test]
fn zsec6_a_thousand_connections_without_a_handshake_keep_nobody_out_and_leave_nothing() {
    let (a, b) = served("thousand");
    let processes = a.node.processes().len();
    let (_, hello) = dialling("half@127.0.0.1", "secret", ALL, &a.name);
    let parts: [&[u8]; 4] = [&[], &hello[..1], &hello[..20], &hello];
    let mut open = Vec::new();
    for number in 0..1_000 {
        let mut socket = stranger(&a);
        let _ = socket.write_all(parts[number % parts.len()]);
        open.push(socket);
        if number % 100 == 50 {
            assert!(works(&a, &b));
            assert!(table(&a, "handshakes") <= 64);
        }
    }
    // A right peer gets in while they are there.
    assert!(RawPeer::up("right@127.0.0.1", &a).stands());
    until("the oldest are closed", || table(&a, "connections") <= 64 + 1);
    for socket in &open[..900] {
        closed(socket);
    }
    assert!(works(&a, &b));
    drop(open);
    only_the_other_is_left(&a, processes);
}

#[test]
fn zhs6_nothing_of_a_replaced_connection_is_obeyed_when_the_new_one_is_up() {
    let (a, _b) = served("replaced");
    for round in 0..20 {
        let mut old = RawPeer::up("again@127.0.0.1", &a);
        let mut bytes = Vec::new();
        for number in 0..500 {
            let (from, reference) = (old.pid(number), old.reference());
            let target = Monitored::Name(Atom::fixed("stock"));
            bytes.extend(old.bytes(&ControlMessage::Monitor { from, target, reference }, None));
        }
        old.write(&bytes);
        let mut new = RawPeer::up("again@127.0.0.1", &a);
        // The monitors of the old connection went with it, and no other comes.
        closed(&old.stream);
        assert!(new.stands());
        until("the monitor of the call is gone", || {
            let connections = a.cluster.connections().unwrap();
            let new = connections.iter().find(|one| one.node.as_str() == "again@127.0.0.1");
            new.is_some_and(|new| (new.foreign_monitors, new.bound_processes) == (0, 0))
        });
        assert!(new.stands(), "{round}");
    }
}

#[test]
fn zhs6_a_peer_that_connects_again_replaces_its_connection_and_keeps_no_other() {
    let (a, b) = served("again");
    let processes = a.node.processes().len();
    let mut peers: Vec<RawPeer> = (0..20).map(|_| RawPeer::up("again@127.0.0.1", &a)).collect();
    let mut last = peers.pop().unwrap();
    assert!(last.stands());
    for peer in &peers {
        closed(&peer.stream);
    }
    drop(last);
    assert!(works(&a, &b));
    only_the_other_is_left(&a, processes);
    let handle = a.cluster.cluster().unwrap();
    assert!(handle.listens_at().is_some());
}
