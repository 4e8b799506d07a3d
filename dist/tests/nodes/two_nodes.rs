//! Two Krarup nodes over sockets: messages, calls, links, monitors and their loss.

use crate::support::watching::{LONG, Seen, remote_pid, watcher};
use crate::support::{Member, Order, not_connected, pair};
use krarup_act::{Context, Received, Reply, behavior_fn};
use krarup_dist::{Cluster, ClusterCalls, Cookie, NodeEvent};
use krarup_gen::{CallError, NodeName, Reason, SpawnError, Target, UndeliveredCause};
use krarup_node::Node;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::channel;
use std::time::Duration;

#[test]
fn zcall4_a_call_to_another_node_ends_with_its_answer_or_one_error() {
    let (a, b) = pair("calls");
    a.worker("stock");
    let stock = b.cluster.remote::<Order>("stock", &a.name).unwrap();
    let to = stock.pid();
    assert_eq!(stock.call(|reply| Order::Add(2, 3, reply)).wait(), Ok(5));
    stock.send(Order::Note(40)).unwrap();
    stock.send(Order::Note(2)).unwrap();
    assert_eq!(stock.call(Order::Total).wait(), Ok(42));
    assert_eq!(stock.call(Order::Drop).wait(), Err(CallError::NoReply { to }));
    let nobody = b.cluster.remote::<Order>("nobody", &a.name).unwrap();
    assert_eq!(nobody.call(Order::Total).wait(), Err(CallError::NoProcess { to: nobody.pid() }));
    let short = Duration::from_millis(1);
    let late = Err(CallError::Timeout { to, limit: short });
    assert_eq!(stock.call(Order::Keep).timeout(short).wait(), late);
    stock.send(Order::End(Some("broken".into()))).unwrap();
    let error = stock.call(Order::Total).wait().unwrap_err();
    assert!(matches!(error, CallError::Terminated { .. } | CallError::NoProcess { .. }), "{error}");
    assert_eq!(stock.call(Order::Total).wait(), Err(CallError::NoProcess { to }));
    // The first node has learnt where the second is by being dialled.
    b.worker("desk");
    let desk = a.cluster.remote::<Order>("desk", &b.name).unwrap();
    assert_eq!(desk.call(|reply| Order::Add(20, 1, reply)).wait(), Ok(21));
}

/// A token inside a message that is a call.
#[derive(serde::Serialize, serde::Deserialize)]
struct Two(Reply<i64>, Reply<i64>);

#[test]
fn zcall4_a_token_that_is_passed_on_to_a_node_out_of_reach_does_not_say_that_nobody_has_seen_its_request()
 {
    let (a, b) = pair("passed");
    a.worker("stock");
    let (told, tells) = channel();
    let process = behavior_fn(move |mut ctx: Context<Order>| async move {
        while let Received::Message(order) = ctx.receive().await {
            if let Order::Total(reply) = order {
                let _ = told.send(reply);
            }
        }
        Ok(())
    });
    let desk = b.node.spawn(move || process).wait().unwrap();
    let asks = || {
        let desk = desk.clone();
        let asking = std::thread::spawn(move || desk.call(Order::Total).timeout(LONG).wait());
        (asking, tells.recv_timeout(LONG).unwrap())
    };
    let (inside, token) = asks();
    let nobody = b.cluster.remote::<Two>("stock", "nobody@127.0.0.1").unwrap();
    let outer = nobody.call(move |reply| Two(reply, token)).wait().unwrap_err();
    assert_eq!(outer, not_connected("stock", "nobody@127.0.0.1"));
    let (alone, token) = asks();
    let nobody = b.cluster.remote::<Order>("stock", "nobody@127.0.0.1").unwrap();
    nobody.send(Order::Total(token)).unwrap();
    for asking in [inside, alone] {
        let reason = Reason::NoConnection;
        let lost = CallError::Terminated { to: desk.pid(), reason };
        assert_eq!(asking.join().unwrap(), Err(lost));
    }
    // Nor does one that the other node cannot read.
    let (odd, token) = asks();
    let stock = b.cluster.remote::<(u8, Reply<i64>)>("stock", &a.name).unwrap();
    stock.send((1, token)).unwrap();
    let error = odd.join().unwrap().unwrap_err();
    assert!(error.was_begun(), "{error}");
    assert!(error.to_string().contains("\"stock\" at passed_a@127.0.0.1: its node"), "{error}");
}

#[test]
fn zcall5_a_call_that_is_over_leaves_neither_entry_nor_monitor() {
    let (a, b) = pair("leaves");
    a.worker("stock");
    let stock = b.cluster.remote::<Order>("stock", &a.name).unwrap();
    for _ in 0..20 {
        let short = Duration::from_millis(1);
        let late = Err(CallError::Timeout { to: stock.pid(), limit: short });
        assert_eq!(stock.call(Order::Keep).timeout(short).wait(), late);
    }
    // The signals of the calls come before this one, which comes from the same sender.
    loop {
        assert_eq!(stock.call(|reply| Order::Add(1, 1, reply)).wait(), Ok(2));
        let [from_b] = &b.cluster.connections().unwrap()[..] else { panic!() };
        let [from_a] = &a.cluster.connections().unwrap()[..] else { panic!() };
        assert_eq!((from_b.monitors, from_b.bound_processes), (0, 0));
        // The end of the monitor of the last call may still be on its way.
        if from_a.foreign_monitors <= 1 {
            return;
        }
    }
}

#[test]
fn zcall6_a_token_that_is_passed_on_to_another_node_is_answered_from_there() {
    let (a, b) = pair("tokens");
    a.worker("stock");
    b.worker("desk");
    // The first node does not know where the second is: it is dialled by it.
    remote_pid(&b, "stock", &a);
    let desk = remote_pid(&a, "desk", &b);
    let desk_at_home = b.node.whereis("desk").unwrap();
    assert_eq!(desk.id(), desk_at_home.id());
    let stock = b.cluster.remote::<Order>("stock", &a.name).unwrap();
    // The desk is on the node of the caller: its pid comes home as a local one there, and goes
    // out as a remote one.
    let answer = stock.call(move |reply| Order::Pass(desk_at_home, reply)).wait();
    assert_eq!(answer, Ok(42));
}

#[test]
fn zlink1_the_end_of_a_process_of_another_node_is_seen_by_its_links_and_monitors() {
    let (a, b) = pair("ends");
    let there = a.worker("stock");
    let pid = remote_pid(&b, "stock", &a);
    assert_eq!((pid.id(), pid.node() > 0), (there.id(), true));
    let name = Target::Remote("stock".parse_name(), a.name.parse().unwrap());
    let seen = watcher(&b, Some(pid), vec![Target::Pid(pid), name.clone()]);
    let stock = b.cluster.remote::<Order>("stock", &a.name).unwrap();
    assert_eq!(stock.call(|reply| Order::Add(1, 1, reply)).wait(), Ok(2));
    stock.send(Order::End(Some("broken".into()))).unwrap();
    let mut all: Vec<String> =
        (0..3).map(|_| format!("{:?}", seen.recv_timeout(LONG).unwrap())).collect();
    all.sort();
    assert!(all.iter().all(|one| one.contains("broken")), "{all:?}");
    assert_eq!(all.iter().filter(|one| one.starts_with("Exit")).count(), 1);
    // A link to, and monitors of, one that has ended (L4).
    let seen = watcher(&b, Some(pid), vec![Target::Pid(pid), name]);
    for _ in 0..3 {
        match seen.recv_timeout(LONG).unwrap() {
            Seen::Exit(_, reason) | Seen::Down(_, reason) => {
                assert_eq!(reason, Reason::NoProcess);
            }
        }
    }
    let [connection] = &b.cluster.connections().unwrap()[..] else { panic!() };
    assert_eq!((connection.links, connection.monitors), (0, 0), "{connection:?}");
}

#[test]
fn zlink8_exit_signals_do_to_a_remote_process_what_they_do_to_a_local_one() {
    let (a, b) = pair("signals");
    let there = a.worker("stock");
    let pid = remote_pid(&b, "stock", &a);
    b.node.exit(pid, Reason::Normal);
    let stock = b.cluster.remote::<Order>("stock", &a.name).unwrap();
    assert_eq!(stock.call(|reply| Order::Add(1, 1, reply)).wait(), Ok(2));
    let end = a.node.watch(there);
    b.node.kill(pid);
    assert_eq!(end.wait().unwrap().reason, Reason::Killed);
}

#[test]
fn zlink7_a_lost_connection_is_one_notice_for_each_bond_and_fails_each_call() {
    let (a, b) = pair("loss");
    a.worker("stock");
    a.worker("linked");
    let pid = remote_pid(&b, "stock", &a);
    let linked = remote_pid(&b, "linked", &a);
    let node: NodeName = a.name.parse().unwrap();
    let name = Target::Remote("stock".parse_name(), node.clone());
    let targets = vec![Target::Pid(pid), name, Target::Node(node)];
    let seen = watcher(&b, Some(linked), targets);
    let end = a.node.watch(a.node.whereis("linked").unwrap());
    let stock = b.cluster.remote::<Order>("stock", &a.name).unwrap();
    let (told, tells) = channel();
    let asking = {
        let stock = stock.clone();
        std::thread::spawn(move || {
            let call = stock.call(Order::Keep).timeout(LONG);
            told.send(()).unwrap();
            call.wait()
        })
    };
    tells.recv_timeout(LONG).unwrap();
    // It may not have been sent yet, nor the link and the monitors of the watcher.
    let bonds_there =
        || a.cluster.connections().unwrap().iter().any(|one| one.foreign_monitors > 1);
    while stock.call(Order::Kept).wait() != Ok(1) || !bonds_there() {}
    assert!(b.cluster.disconnect(&a.name).unwrap());
    for _ in 0..4 {
        match seen.recv_timeout(LONG).unwrap() {
            Seen::Exit(_, reason) | Seen::Down(_, reason) => {
                assert_eq!(reason, Reason::NoConnection);
            }
        }
    }
    let lost = CallError::Terminated { to: stock.pid(), reason: Reason::NoConnection };
    assert_eq!(asking.join().unwrap(), Err(lost));
    // The other side of the link has lost it, too.
    assert_eq!(end.wait().unwrap().reason, Reason::NoConnection);
    // The next use dials again, and nothing is revived (rules Zlive3, Zlive5).
    assert_eq!(stock.call(|reply| Order::Add(1, 1, reply)).wait(), Ok(2));
    assert_eq!(remote_pid(&b, "stock", &a), pid);
    assert!(seen.try_recv().is_err());
}

#[test]
fn zlive2_subscribers_are_told_of_nodes_up_and_down_in_turns() {
    let (a, b) = pair("events");
    a.worker("stock");
    let (told, tells) = channel();
    let process = behavior_fn(move |mut ctx: Context<NodeEvent>| async move {
        loop {
            if let Received::Message(event) = ctx.receive().await {
                let _ = told.send(event);
            }
        }
    });
    let watcher = b.node.spawn(move || process).wait().unwrap();
    b.cluster.subscribe_nodes(watcher.recipient()).unwrap();
    let name: NodeName = a.name.parse().unwrap();
    for _ in 0..3 {
        remote_pid(&b, "stock", &a);
        assert_eq!(tells.recv_timeout(LONG).unwrap(), NodeEvent::Up(name.clone()));
        assert_eq!(b.cluster.nodes().unwrap(), std::slice::from_ref(&name));
        b.cluster.disconnect(&a.name).unwrap();
        assert_eq!(tells.recv_timeout(LONG).unwrap(), NodeEvent::Down(name.clone()));
    }
}

#[test]
fn zlive3_a_node_that_cannot_be_reached_is_told_at_once() {
    let (_a, b) = pair("nowhere");
    let nowhere: NodeName = "nobody@127.0.0.1".parse().unwrap();
    let seen = watcher(&b, None, vec![Target::Node(nowhere.clone())]);
    let expected = Seen::Down(Target::Node(nowhere), Reason::NoConnection);
    assert_eq!(seen.recv_timeout(LONG).unwrap(), expected);
    let nobody = b.cluster.remote::<Order>("stock", "nobody@127.0.0.1").unwrap();
    let error = nobody.call(Order::Total).wait().unwrap_err();
    assert_eq!(error, not_connected("stock", "nobody@127.0.0.1"));
}

#[test]
fn zhs4_a_wrong_cookie_never_brings_a_connection_up() {
    let a = Member::start("cookies_a@127.0.0.1", "secret", &[]);
    let b = Member::start("cookies_b@127.0.0.1", "other", &[&a]);
    a.worker("stock");
    let stock = b.cluster.remote::<Order>("stock", &a.name).unwrap();
    let error = stock.call(Order::Total).wait().unwrap_err();
    assert_eq!(error, not_connected("stock", &a.name));
    assert_eq!((a.cluster.nodes().unwrap().len(), b.cluster.nodes().unwrap().len()), (0, 0));
}

#[test]
fn zsec7_garbage_is_answered_by_a_close_and_nobody_else_notices() {
    let (a, b) = pair("garbage");
    a.worker("stock");
    let stock = b.cluster.remote::<Order>("stock", &a.name).unwrap();
    assert_eq!(stock.call(|reply| Order::Add(1, 1, reply)).wait(), Ok(2));
    for garbage in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0, 3, 1, 2, 3], &[255; 64], &[0, 0]] {
        let mut stranger = TcpStream::connect(a.address()).unwrap();
        stranger.set_read_timeout(Some(LONG)).unwrap();
        // The other side may close before all is written.
        let _ = stranger.write_all(garbage);
        let mut rest = Vec::new();
        let _ = stranger.read_to_end(&mut rest);
        assert_eq!(stock.call(|reply| Order::Add(1, 1, reply)).wait(), Ok(2));
    }
    assert_eq!(a.cluster.nodes().unwrap().len(), 1);
}

#[test]
fn zhs7_a_crowd_of_the_silent_keeps_nobody_out() {
    let (a, b) = pair("crowd");
    a.worker("stock");
    let mut silent: Vec<TcpStream> =
        (0..100).map(|_| TcpStream::connect(a.address()).unwrap()).collect();
    // The first of them is closed when the 65th has come.
    silent[0].set_read_timeout(Some(LONG)).unwrap();
    assert_eq!(silent[0].read(&mut [0]).unwrap(), 0);
    let stock = b.cluster.remote::<Order>("stock", &a.name).unwrap();
    assert_eq!(stock.call(|reply| Order::Add(1, 1, reply)).wait(), Ok(2));
}

#[test]
fn zlink10_links_and_monitors_that_come_and_go_leave_nothing() {
    let (a, b) = pair("bonds");
    a.worker("stock");
    let pid = remote_pid(&b, "stock", &a);
    let (told, tells) = channel();
    let process = behavior_fn(move |mut ctx: Context<()>| async move {
        for _ in 0..5_000 {
            ctx.link(pid);
            let monitor = ctx.monitor(pid);
            ctx.unlink(pid);
            ctx.demonitor(monitor);
        }
        let _ = told.send(());
        Ok(())
    });
    b.node.spawn(move || process).start().unwrap();
    tells.recv_timeout(LONG).unwrap();
    let stock = b.cluster.remote::<Order>("stock", &a.name).unwrap();
    loop {
        // An answer says that what was sent before has been read there, and its
        // acknowledgements here: signals between the same nodes.
        match stock.call(|reply| Order::Add(1, 1, reply)).wait() {
            // The signals wait to be sent: a busy machine is slower than the process.
            Err(CallError::Undelivered { cause: UndeliveredCause::Full, .. }) => continue,
            answer => assert_eq!(answer, Ok(2)),
        }
        let [here] = &b.cluster.connections().unwrap()[..] else { panic!() };
        let [there] = &a.cluster.connections().unwrap()[..] else { panic!() };
        let left = [here.links, here.monitors, here.bound_processes, there.links];
        if left == [0; 4] && there.foreign_monitors <= 1 && there.bound_processes <= 1 {
            return;
        }
    }
}

#[test]
fn zid9_a_cluster_needs_a_node_name_with_a_host_and_there_is_one_on_a_node() {
    let cluster = || Cluster::new(Cookie::new("secret").unwrap());
    let node = Node::start("nameless").unwrap();
    let error = node.spawn_system(cluster).wait().unwrap_err();
    assert!(matches!(&error, SpawnError::Init(reason) if reason.to_string().contains("nameless")));
    let (a, _b) = pair("second");
    let error = a.node.spawn_system(cluster).wait().unwrap_err();
    assert!(matches!(&error, SpawnError::Init(reason) if reason.to_string().contains("already")));
    // The first one is as it was.
    assert!(a.cluster.nodes().is_ok());
}

#[test]
fn zsec2_an_address_that_others_can_reach_needs_consent() {
    let cluster = || Cluster::new(Cookie::new("secret").unwrap()).listen(([0, 0, 0, 0], 0).into());
    let node = Node::start("open@127.0.0.1").unwrap();
    let error = node.spawn_system(cluster).wait().unwrap_err();
    assert!(error.to_string().contains("`allow_clear_text`"), "{error}");
    node.spawn_system(move || cluster().allow_clear_text()).wait().unwrap();
}

#[test]
fn zlive7_the_end_of_a_cluster_is_a_loss_of_connections_and_no_more() {
    let (a, b) = pair("cluster");
    a.worker("stock");
    let linked = a.node.watch(a.worker("linked"));
    let pid = remote_pid(&b, "stock", &a);
    let seen = watcher(&b, Some(remote_pid(&b, "linked", &a)), vec![Target::Pid(pid)]);
    // The link is written behind the turn that has made it, and before a later call.
    let _ = remote_pid(&b, "stock", &a);
    b.node.kill(b.cluster.pid());
    for _ in 0..2 {
        match seen.recv_timeout(LONG).unwrap() {
            Seen::Exit(_, reason) | Seen::Down(_, reason) => {
                assert_eq!(reason, Reason::NoConnection);
            }
        }
    }
    // The other side of the link has lost it, too, and nobody else is told.
    assert_eq!(linked.wait().unwrap().reason, Reason::NoConnection);
    assert!(a.node.whereis("stock").is_some());
}

/// Names of processes from texts.
trait ParseName {
    fn parse_name(&self) -> krarup_gen::Name;
}

impl ParseName for str {
    fn parse_name(&self) -> krarup_gen::Name {
        krarup_gen::Name::new(self).unwrap()
    }
}
