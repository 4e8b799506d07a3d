//! What hostile peers leave behind: memory, descriptors, processes. It is the only test, because all
//! tests of a process share what is counted.
#![cfg(target_os = "linux")]

mod support;

use cap::Cap;
use krarup_wire::etf::{Atom, ExternalPid, Term};
use krarup_wire::{ControlMessage, DistributionFlags, Monitored};
use std::alloc::System;
use std::io::Write;
use support::Member;
use support::raw::{RawPeer, closed, dialling, stranger, until};
use support::served::{only_the_other_is_left, served, table, works};

#[global_allocator]
static ALLOCATED: Cap<System> = Cap::new(System, usize::MAX);

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// One of everything, several times over.
fn attack(a: &Member, round: u32) {
    let all = DistributionFlags::OFFERED.bits();
    let name = format!("x{round}@127.0.0.1");
    let (_, hello) = dialling(&name, "secret", all, &a.name);
    for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[255; 64], &[0, 3, 1, 2, 3]] {
        let mut socket = stranger(a);
        let _ = socket.write_all(bytes);
        closed(&socket);
    }
    let half: Vec<_> = (0..100)
        .map(|number| {
            let mut socket = stranger(a);
            let _ = socket.write_all(&hello[..number % hello.len()]);
            socket
        })
        .collect();
    drop(half);
    assert!(RawPeer::connect(&name, "wrong", all, a).is_none());

    // Atoms, messages in fragments and announced bytes die with the connection.
    let mut peer = RawPeer::up(&name, a);
    let stock = peer.pid_of("stock");
    for number in 0..200 {
        let (from, reference) = (peer.pid(number), peer.reference());
        let name = Atom::new(format!("atom{round}_{number}")).unwrap();
        let payload = Term::tuple([Term::Atom(name.clone()), Term::binary(vec![7; 100])]);
        peer.send(&ControlMessage::RegSend { from: from.clone(), name }, Some(&payload));
        let target = Monitored::Pid(stock.clone());
        peer.send(&ControlMessage::Monitor { from: from.clone(), target, reference }, None);
        let call = Term::tuple([Term::atom("$gen_call"), caller(number), Term::atom("total")]);
        let name = Atom::fixed("stock");
        peer.send(&ControlMessage::RegSend { from, name }, Some(&call));
    }
    for sequence in 0..64_u64 {
        let mut bytes = vec![131, 69];
        bytes.extend([sequence, 9].map(u64::to_be_bytes).concat());
        bytes.push(0);
        ControlMessage::Send { to: stock.clone() }.write(&mut bytes).unwrap();
        bytes.extend([7; 10_000]);
        peer.frame(&bytes);
    }
    assert!(peer.stands());
    // A frame that is never complete.
    peer.write(&(128_u32 << 20).to_be_bytes());
    peer.write(&[7; 1000]);
    drop(peer);
    let mut peer = RawPeer::up(&name, a);
    peer.frame(&[131, 71]);
    closed(&peer.stream);
}

/// A caller of a node that cannot be reached.
fn caller(number: u32) -> Term {
    let node = Atom::new(format!("nowhere{number}@127.0.0.1")).unwrap();
    let pid = ExternalPid { node, id: 1, serial: 0, creation: 4 };
    Term::tuple([pid.into(), Term::Int(1)])
}

#[test]
fn zsec7_hostile_peers_leave_no_memory_descriptor_or_process() {
    let (a, b) = served("memory");
    let processes = a.node.processes().len();
    let rest = |round| {
        attack(&a, round);
        assert!(works(&a, &b));
        only_the_other_is_left(&a, processes);
        until("named nodes are forgotten", || table(&a, "known_nodes") == 1);
        assert_eq!(table(&a, "dials"), 0);
        (ALLOCATED.allocated(), descriptors())
    };
    // The first rounds fill caches and pools.
    let rounds: Vec<_> = (0..5).map(rest).collect();
    let (before, after) = (rounds[1], rounds[4]);
    assert_eq!(after.1, before.1, "descriptors");
    // Each incarnation of a node has its number for good: some hundred bytes.
    let grown = after.0.saturating_sub(before.0);
    assert!(grown < 64 << 10, "{grown} bytes, from {} to {}", before.0, after.0);

    // A peer that stays leaves nothing of the processes that it had.
    let mut peer = RawPeer::up("stays@127.0.0.1", &a);
    let nobody = peer.pid_there(999_999, 4);
    let mut links = |first: u32, count: u32| {
        for number in first..first + count {
            let (from, to) = (peer.pid(number), nobody.clone());
            peer.send(&ControlMessage::Link { from, to }, None);
            if number % 100 == 0 {
                assert!(peer.stands());
            }
        }
        assert!(peer.stands());
        ALLOCATED.allocated()
    };
    let before = links(1, 2_000);
    let grown = links(2_001, 20_000).saturating_sub(before);
    assert!(grown < 256 << 10, "{grown} bytes");
}
