//! Ticks, silence, and what a node tells of its connections.

use crate::support::scripted::{ScriptedPeer, gen_cast, tagged};
use crate::support::watching::{events, next, until, watcher};
use crate::support::{Member, Order};
use krarup_dist::etf::Term;
use krarup_dist::{Cluster, ClusterCalls, HasCluster, NodeEvent};
use krarup_gen::Target;
use std::time::Duration;

/// A node with a short tick time.
fn ticking(label: &str) -> Member {
    let settings = |cluster: Cluster| cluster.tick_time(Duration::from_secs(1));
    let member = Member::with(&format!("{label}_a@127.0.0.1"), "secret", settings);
    member.worker("stock");
    member
}

#[test]
fn zlive1_a_node_ticks_and_a_peer_whose_only_bytes_are_ticks_lives() {
    let member = ticking("ticks");
    let told = events(&member);
    let mut peer = ScriptedPeer::dial(&member, "ticks_b@127.0.0.1", 10);
    assert!(matches!(next(&told), NodeEvent::Up(_)));
    // More than twice as long as a silent peer lives.
    for _ in 0..11 {
        assert_eq!(peer.read_bytes(4), [0; 4]);
        peer.write(&[0; 4]);
    }
    assert_eq!(peer.answer("stock", Term::atom("total")), Ok(Term::Int(0)));
    assert!(told.try_recv().is_err());
}

#[test]
fn zlive1_one_byte_of_a_frame_is_life() {
    let member = ticking("byte");
    let told = events(&member);
    let mut peer = ScriptedPeer::dial(&member, "byte_b@127.0.0.1", 10);
    assert!(matches!(next(&told), NodeEvent::Up(_)));
    // A long frame that comes a byte at a time.
    peer.write(&1_000_u32.to_be_bytes());
    for _ in 0..11 {
        assert_eq!(peer.read_bytes(4), [0; 4]);
        peer.write(&[131]);
        assert_eq!(member.cluster.nodes().unwrap().len(), 1);
    }
    assert!(told.try_recv().is_err());
}

#[test]
fn zlive1_a_silent_peer_is_down_after_the_tick_time_and_not_before() {
    let member = ticking("silent");
    let told = events(&member);
    let mut peer = ScriptedPeer::dial(&member, "silent_b@127.0.0.1", 10);
    assert!(matches!(next(&told), NodeEvent::Up(_)));
    let far = member.cluster.cluster().unwrap().pid(&peer.pid(5).into()).unwrap();
    let seen = watcher(&member, Some(far), vec![Target::Pid(far)]);
    peer.ends();
    assert!(matches!(next(&told), NodeEvent::Down(_)));
    for _ in 0..2 {
        next(&seen);
    }
}

#[test]
fn zobs1_connections_tells_of_each_connection_who_it_is_and_what_hangs_on_it() {
    let member = ticking("told");
    let mut peer = ScriptedPeer::dial(&member, "told_b@127.0.0.1", 10);
    let connection = member.connection();
    assert_eq!((connection.node.as_str(), connection.creation), ("told_b@127.0.0.1", 10));
    assert!(!connection.is_dialled);
    let far = member.cluster.cluster().unwrap().pid(&peer.pid(5).into()).unwrap();
    let _seen = watcher(&member, Some(far), vec![Target::Pid(far)]);
    for _ in 0..2 {
        assert!(peer.read().is_some());
    }
    let before = member.connection();
    assert_eq!((before.links, before.monitors, before.bound_processes), (1, 1, 1));
    let recipient = member.cluster.remote_pid::<Order>(far).unwrap();
    for _ in 0..3 {
        recipient.send(Order::Note(1)).unwrap();
        assert!(peer.read().is_some());
        peer.send_to("stock", &gen_cast(tagged("note", [Term::Int(1)])));
    }
    assert_eq!(peer.answer("stock", Term::atom("total")), Ok(Term::Int(3)));
    let after = member.connection();
    assert_eq!(after.messages_out - before.messages_out, 4);
    // The casts, and the monitor and the message of the call; its end may be on its way.
    assert!([5, 6].contains(&(after.messages_in - before.messages_in)), "{after:?}");
    assert!(after.bytes_in > before.bytes_in && after.bytes_out > before.bytes_out);
    assert_eq!(after.refusals, 0);
    // What waits, and the most that there was.
    while recipient.send(Order::End(Some("x".repeat(100_000)))).is_ok() {}
    let full = member.connection();
    assert!(full.most_waiting >= full.waiting && full.most_waiting > 1 << 20, "{full:?}");
    assert_eq!(full.refusals, 1);
    while member.connection().waiting > 0 {
        assert!(peer.read().is_some());
    }
    assert!(member.connection().most_waiting > 1 << 20);
    drop(peer);
    until(|| member.cluster.connections().unwrap().is_empty());
}

#[test]
fn zobs1_what_one_node_has_sent_the_other_has_received() {
    let (a, b) = crate::support::pair("accounts");
    a.worker("stock");
    let stock = b.cluster.remote::<Order>("stock", &a.name).unwrap();
    for number in 0..100 {
        stock.send(Order::Note(number)).unwrap();
    }
    assert_eq!(stock.call(Order::Total).wait(), Ok(4_950));
    assert!(b.connection().is_dialled && !a.connection().is_dialled);
    until(|| {
        let (here, there) = (b.connection(), a.connection());
        here.messages_out == there.messages_in
            && here.messages_in == there.messages_out
            && here.bytes_out == there.bytes_in
            && here.bytes_in == there.bytes_out
    });
}
