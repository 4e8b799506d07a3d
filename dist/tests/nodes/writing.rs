//! Who writes to a socket, and when.

use crate::support::scripted::ScriptedPeer;
use crate::support::{Member, Order};
use krarup_dist::{ClusterCalls, HasCluster};
use krarup_gen::{Pid, SendError};

/// The process of the only connection, and how much it has handled.
fn connection(member: &Member, peer: &str) -> (Pid, u64) {
    let of_peer = |pid: &Pid| {
        let info = member.node.process_info(*pid)?;
        (info.label.as_ref()?.to_string() == peer).then_some((*pid, info.handled))
    };
    let pids = member.node.processes();
    pids.iter().find_map(of_peer).expect("a process of the connection")
}

#[test]
fn zmsg5_the_process_of_a_connection_rests_while_the_peer_does_not_read() {
    let name = "rests_b@127.0.0.1";
    let member = Member::with("rests_a@127.0.0.1", "secret", |cluster| {
        cluster.queue_limits(4 << 20, 512 << 20)
    });
    member.worker("stock");
    let mut peer = ScriptedPeer::dial(&member, name, 10);
    let to = member.cluster.cluster().unwrap().pid(&peer.pid(5).into()).unwrap();
    let recipient = member.cluster.remote_pid::<Order>(to).unwrap();
    let big = || Order::End(Some("x".repeat(30_000)));
    while !matches!(recipient.send(big()), Err(SendError::Full { .. })) {}
    // Answers, which are not refused, have it look at the socket again.
    for _ in 0..10 {
        peer.call("stock", krarup_dist::etf::Term::atom("total"));
    }
    let local = member.node.whereis("stock").unwrap();
    let calls = || {
        for _ in 0..2_000 {
            member.node.inspect(local).wait().unwrap();
        }
    };
    calls();
    let (pid, before) = connection(&member, name);
    calls();
    let (again, after) = connection(&member, name);
    assert_eq!(pid, again);
    // A tick, and what is left of the answers.
    assert!(after - before < 100, "it has handled {} messages in vain", after - before);
    // When the peer reads, everything arrives.
    while peer.read_counted().0 < 4_000_000 && member.connection().waiting > 0 {}
}
