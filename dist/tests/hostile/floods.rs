//! A peer that sends as much as it can: other peers are served meanwhile, and nothing is left.

use crate::support::raw::{LONG, RawPeer, until};
use crate::support::served::{only_the_other_is_left, served, works};
use crate::support::{Member, Order};
use krarup_dist::ClusterCalls;
use krarup_wire::etf::{Atom, ExternalPid, Term};
use krarup_wire::{ControlMessage, Monitored};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A part of a flood, as bytes: some hundred messages of this kind.
type Part = fn(&mut RawPeer, &ExternalPid) -> Vec<u8>;

const MANY: usize = 300;

/// Another peer's calls are answered while one peer floods the node, and does not read.
fn flood(label: &str, part: Part) {
    let (a, b) = served(label);
    a.worker("desk");
    let desk = b.cluster.remote::<Order>("desk", &a.name).unwrap();
    let processes = a.node.processes().len();
    let (stop, parts) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let mut peer = RawPeer::up("flood@127.0.0.1", &a);
    let stock = peer.pid_of("stock");
    let flooding = {
        let (stop, parts) = (Arc::clone(&stop), Arc::clone(&parts));
        std::thread::spawn(move || {
            while !stop.load(Ordering::SeqCst) {
                let bytes = part(&mut peer, &stock);
                // The connection may have ended as overloaded.
                if !peer.write(&bytes) {
                    break;
                }
                parts.fetch_add(1, Ordering::SeqCst);
            }
        })
    };
    until("the flood has begun", || parts.load(Ordering::SeqCst) >= 3);
    for number in 0..200 {
        let sum = desk.call(move |reply| Order::Add(number, 1, reply)).timeout(LONG).wait();
        assert_eq!(sum, Ok(number + 1));
    }
    stop.store(true, Ordering::SeqCst);
    flooding.join().unwrap();
    only_the_other_is_left(&a, processes);
    until("the monitors of calls are gone", || bonds(&a) == [0, 0]);
    assert!(works(&a, &b));
}

/// The links and monitors of the only connection.
fn bonds(a: &Member) -> [usize; 2] {
    let connections = a.cluster.connections().unwrap();
    [connections[0].links, connections[0].foreign_monitors]
}

fn messages(
    peer: &mut RawPeer,
    mut one: impl FnMut(&mut RawPeer, u32) -> (ControlMessage, Option<Term>),
) -> Vec<u8> {
    let mut bytes = Vec::new();
    for number in 0..u32::try_from(MANY).unwrap() {
        let (control, payload) = one(peer, number);
        bytes.extend(peer.bytes(&control, payload.as_ref()));
    }
    bytes
}

fn named(peer: &RawPeer, name: &'static str) -> ControlMessage {
    ControlMessage::RegSend { from: peer.pid(1), name: Atom::fixed(name) }
}

#[test]
fn zsec8_a_flood_of_casts_stops_nobody_else() {
    flood("casts", |peer, _| {
        messages(peer, |peer, _| {
            let note = Term::tuple([Term::atom("note"), Term::Int(1)]);
            let cast = Term::tuple([Term::atom("$gen_cast"), note]);
            (named(peer, "stock"), Some(cast))
        })
    });
}

#[test]
fn zsec8_a_flood_of_calls_whose_answers_are_not_read_stops_nobody_else() {
    flood("calls", |peer, _| {
        messages(peer, |peer, _| {
            let reference = peer.reference();
            let call = peer.call_term(&reference, Term::atom("total"));
            (named(peer, "stock"), Some(call))
        })
    });
}

#[test]
fn zsec8_a_flood_of_messages_to_nobody_and_of_wrong_types_stops_nobody_else() {
    flood("nobody", |peer, stock| {
        messages(peer, |peer, number| match number % 3 {
            0 => (named(peer, "nobody"), Some(Term::nil())),
            1 => (named(peer, "stock"), Some(Term::nil())),
            _ => {
                let to = peer.pid_there(number, stock.creation);
                (ControlMessage::SendSender { from: peer.pid(1), to }, Some(Term::nil()))
            }
        })
    });
}

#[test]
fn zsec8_a_flood_of_monitors_stops_nobody_else() {
    flood("monitors", |peer, stock| {
        messages(peer, |peer, number| {
            let (from, reference) = (peer.pid(number), peer.reference());
            let target = match number % 3 {
                0 => Monitored::Name(Atom::fixed("nobody")),
                1 => Monitored::Name(Atom::fixed("stock")),
                _ => Monitored::Pid(stock.clone()),
            };
            (ControlMessage::Monitor { from, target, reference }, None)
        })
    });
}

#[test]
fn zsec8_a_flood_of_links_stops_nobody_else() {
    // The worker is linked to all of them: it ends with the connection.
    let (a, b) = served("links");
    a.worker("desk");
    let desk = b.cluster.remote::<Order>("desk", &a.name).unwrap();
    let processes = a.node.processes().len();
    let mut peer = RawPeer::up("flood@127.0.0.1", &a);
    let stock = peer.pid_of("stock");
    for number in 0..100 {
        let first = peer.count();
        let bytes = messages(&mut peer, |peer, number| {
            let (from, to) = (peer.pid(first + number), stock.clone());
            (ControlMessage::Link { from, to }, None)
        });
        assert!(peer.write(&bytes));
        let sum = desk.call(move |reply| Order::Add(number, 1, reply)).timeout(LONG).wait();
        assert_eq!(sum, Ok(number + 1));
    }
    assert!(peer.stands());
    drop(peer);
    only_the_other_is_left(&a, processes - 1);
    until("the links are gone", || bonds(&a) == [0, 0]);
}

#[test]
fn zsec8_a_flood_of_requests_to_spawn_stops_nobody_else() {
    flood("spawns", |peer, _| {
        messages(peer, |peer, number| {
            let (reference, from, group_leader) = (peer.reference(), peer.pid(1), peer.pid(1));
            let arity = u8::try_from(number % 5).unwrap();
            let (module, function) = (Atom::fixed("erpc"), Atom::fixed("execute_call"));
            let request = ControlMessage::SpawnRequest {
                reference,
                from,
                group_leader,
                module,
                function,
                arity,
                options: Term::nil(),
            };
            let arguments = [Term::nil(), Term::atom("m"), Term::atom("f"), Term::nil()];
            (request, Some(Term::list(arguments)))
        })
    });
}

#[test]
fn zsec8_a_flood_of_connections_stops_nobody_else() {
    let (a, b) = served("connections");
    let processes = a.node.processes().len();
    let stop = Arc::new(AtomicBool::new(false));
    let flooding = {
        let (stop, address) = (Arc::clone(&stop), a.address());
        std::thread::spawn(move || {
            let mut count = 0;
            while !stop.load(Ordering::SeqCst) || count < 100 {
                drop(std::net::TcpStream::connect(address));
                count += 1;
            }
        })
    };
    for _ in 0..200 {
        assert!(works(&a, &b));
    }
    stop.store(true, Ordering::SeqCst);
    flooding.join().unwrap();
    only_the_other_is_left(&a, processes);
}
