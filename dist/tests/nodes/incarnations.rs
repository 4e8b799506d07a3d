//! Nodes that restart: their earlier processes have ended, and nothing reaches the new ones by
//! their pids.

use crate::support::scripted::{ScriptedPeer, gen_cast, identity, tagged};
use crate::support::watching::{Seen, events, next, until, watcher};
use crate::support::{Member, Order};
use krarup_act::{Context, Received, behavior_fn};
use krarup_dist::etf::{ExternalPid, Term};
use krarup_dist::{Cluster, ClusterCalls, Cookie, HasCluster, NodeEvent};
use krarup_gen::{CallError, Pid, Reason, SendError, Target};
use krarup_wire::ControlMessage;
use krarup_wire::etf::Atom;
use krarup_wire::handshake::{Handshake, HandshakeError};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::channel;

fn pid(member: &Member, of: ExternalPid) -> Pid {
    member.cluster.cluster().unwrap().pid(&Term::from(of)).unwrap()
}

fn asserts_dead(member: &Member, pid: Pid) {
    let seen = watcher(member, Some(pid), vec![Target::Pid(pid)]);
    let mut both = [next(&seen), next(&seen)];
    both.sort_by_key(|seen| matches!(seen, Seen::Down(..)));
    let reason = Reason::NoProcess;
    let expected = [Seen::Exit(pid, reason.clone()), Seen::Down(Target::Pid(pid), reason)];
    assert_eq!(both, expected);
    let recipient = member.cluster.remote_pid::<Order>(pid).unwrap();
    assert!(!recipient.is_alive());
    let error = recipient.send(Order::Note(1)).map_err(SendError::without_message);
    assert_eq!(error, Err(SendError::NoProcess { message: (), to: pid }));
    let error = recipient.send_or_wait(Order::Note(1)).wait().map_err(SendError::without_message);
    assert_eq!(error, Err(SendError::NoProcess { message: (), to: pid }));
    assert_eq!(recipient.call(Order::Total).wait(), Err(CallError::NoProcess { to: pid }));
    let term = member.cluster.cluster().unwrap().pid_term(pid).unwrap();
    let error = member.cluster.cluster().unwrap().send(&term, &Term::Int(1));
    assert_eq!(error, Err(SendError::NoProcess { message: (), to: pid }));
    member.node.exit(pid, Reason::Shutdown);
    member.node.kill(pid);
}

#[test]
fn zid5_a_pid_of_an_earlier_incarnation_is_dead_and_nothing_of_it_is_written() {
    let member = Member::start("past_a@127.0.0.1", "secret", &[]);
    let events = events(&member);
    let old = ScriptedPeer::dial(&member, "past_b@127.0.0.1", 10);
    let was = pid(&member, old.pid(5));
    assert!(matches!(next(&events), NodeEvent::Up(_)));
    drop(old);
    assert!(matches!(next(&events), NodeEvent::Down(_)));
    let mut new = ScriptedPeer::dial(&member, "past_b@127.0.0.1", 11);
    assert!(matches!(next(&events), NodeEvent::Up(_)));
    let is = pid(&member, new.pid(5));
    assert_eq!((is.id() == was.id(), is == was), (true, false));
    asserts_dead(&member, was);
    // The first that reaches the new one is what is meant for it.
    member.cluster.remote_pid::<Order>(is).unwrap().send(Order::Note(7)).unwrap();
    let (control, payload) = new.read().unwrap();
    assert!(matches!(&control, ControlMessage::SendSender { to, .. } if *to == new.pid(5)));
    assert_eq!(payload, Some(gen_cast(tagged("note", [Term::Int(7)]))));
    let connection = member.connection();
    assert_eq!((connection.links, connection.monitors, connection.bound_processes), (0, 0, 0));
}

#[test]
fn zid5_what_waits_for_a_dial_is_dead_when_another_incarnation_answers() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let member = Member::with("later_a@127.0.0.1", "secret", move |cluster| {
        cluster.peer("later_b@127.0.0.1", at)
    });
    let creation = 10;
    let node = Atom::new("later_b@127.0.0.1").unwrap();
    let was = pid(&member, ExternalPid { node, id: 5, serial: 0, creation });
    let seen = watcher(&member, Some(was), vec![Target::Pid(was)]);
    let asked = member.cluster.remote_pid::<Order>(was).unwrap();
    let (told, tells) = channel();
    let call = std::thread::spawn(move || {
        let call = asked.call(move |reply| {
            told.send(()).unwrap();
            Order::Total(reply)
        });
        call.no_timeout().wait()
    });
    next(&tells);
    until(|| member.node.inspect(member.cluster.pid()).wait().unwrap().number("calls") == Some(1));
    let mut new = ScriptedPeer::accept(&listener, "later_b@127.0.0.1", 11);
    for _ in 0..2 {
        match next(&seen) {
            Seen::Exit(_, reason) | Seen::Down(_, reason) => assert_eq!(reason, Reason::NoProcess),
        }
    }
    assert_eq!(call.join().unwrap(), Err(CallError::NoProcess { to: was }));
    let is = pid(&member, new.pid(5));
    member.cluster.remote_pid::<Order>(is).unwrap().send(Order::Note(7)).unwrap();
    let (control, _) = new.read().unwrap();
    assert!(matches!(&control, ControlMessage::SendSender { to, .. } if *to == new.pid(5)));
    let connection = member.connection();
    assert_eq!((connection.links, connection.monitors, connection.bound_processes), (0, 0, 0));
}

#[test]
fn zid5_a_pid_of_this_nodes_own_earlier_incarnation_is_dead_at_once() {
    let member = Member::start("own_a@127.0.0.1", "secret", &[]);
    let here = member.worker("stock");
    let peer = ScriptedPeer::dial(&member, "own_b@127.0.0.1", 10);
    let now = peer.theirs(here);
    assert_eq!(pid(&member, now.clone()), here);
    let was = pid(&member, ExternalPid { creation: now.creation + 1, ..now });
    assert_ne!(was, here);
    asserts_dead(&member, was);
    assert_eq!(member.node.whereis("stock"), Some(here));
}

#[test]
fn zid6_the_creation_is_that_of_the_node_value_whatever_becomes_of_its_cluster() {
    let member = Member::start("same_a@127.0.0.1", "secret", &[]);
    let first = ScriptedPeer::dial(&member, "same_b@127.0.0.1", 10);
    assert!(first.other.creation >= 4);
    let known = pid(&member, first.pid(5));
    let end = member.node.watch(member.cluster.pid());
    member.node.kill(member.cluster.pid());
    end.wait().unwrap();
    let again = || Cluster::new(Cookie::new("secret").unwrap());
    let cluster = member.node.spawn_system(again).wait().unwrap();
    let member = Member { cluster, ..member };
    let other = ScriptedPeer::dial(&member, "same_c@127.0.0.1", 10);
    assert_eq!(other.other.creation, first.other.creation);
    // The numbers of the nodes are those of before: no pid means another process now (Zid4).
    assert_ne!(pid(&member, other.pid(5)), known);
    let second = ScriptedPeer::dial(&member, "same_b@127.0.0.1", 10);
    assert_eq!(pid(&member, second.pid(5)), known);
    let elsewhere = Member::start("same_a@127.0.0.1", "secret", &[]);
    let third = ScriptedPeer::dial(&elsewhere, "same_b@127.0.0.1", 10);
    assert!(third.other.creation >= 4 && third.other.creation != first.other.creation);
}

#[test]
fn zhs6_a_peer_that_connects_again_is_told_alive_and_its_answer_decides() {
    let member = Member::start("again_a@127.0.0.1", "secret", &[]);
    member.worker("stock");
    let name = "again_b@127.0.0.1";
    let told = events(&member);
    let mut old = ScriptedPeer::dial(&member, name, 10);
    assert!(matches!(next(&told), NodeEvent::Up(_)));
    let far = pid(&member, old.pid(5));
    let seen = watcher(&member, Some(far), vec![Target::Pid(far)]);
    // `false`: it knows the old connection, which stays.
    let mut stream = TcpStream::connect(member.address()).unwrap();
    let peer = Atom::new(&member.name).unwrap();
    let mut room = Vec::new();
    let _ = Handshake::dialling(identity(name, 10), peer, 7, &mut room);
    stream.write_all(&room).unwrap();
    let mut status = [0; 8];
    stream.read_exact(&mut status).unwrap();
    assert_eq!(&status, b"\0\x06salive");
    stream.write_all(b"\0\x06sfalse").unwrap();
    assert_eq!(stream.read(&mut status).unwrap(), 0);
    for _ in 0..2 {
        assert!(matches!(
            old.read(),
            Some((ControlMessage::Link { .. } | ControlMessage::Monitor { .. }, None))
        ));
    }
    assert_eq!(old.answer("stock", Term::atom("total")), Ok(Term::Int(0)));
    assert!(told.try_recv().is_err() && seen.try_recv().is_err());
    // `true`: it has restarted.
    let mut new = ScriptedPeer::dial(&member, name, 11);
    assert!(matches!(next(&told), NodeEvent::Down(_)));
    assert!(matches!(next(&told), NodeEvent::Up(_)));
    for _ in 0..2 {
        match next(&seen) {
            Seen::Exit(_, reason) | Seen::Down(_, reason) => {
                assert_eq!(reason, Reason::NoConnection);
            }
        }
    }
    old.ends();
    assert_eq!(new.answer("stock", Term::atom("total")), Ok(Term::Int(0)));
    assert_eq!(member.connection().creation, 11);
}

#[test]
fn zhs6_a_connection_that_is_replaced_ends_its_last_message_before_the_new_one_is_up() {
    let member = Member::start("last_a@127.0.0.1", "secret", &[]);
    member.worker("stock");
    let name = "last_b@127.0.0.1";
    let (begun, begins) = channel();
    let (release, released) = channel::<()>();
    let released = std::sync::Mutex::new(released);
    let serve = move |_| {
        begun.send(()).unwrap();
        let _ = released.lock().unwrap().recv();
    };
    // The name is exported with another type of messages.
    assert!(member.cluster.unexport("stock").unwrap());
    member.cluster.export_served("stock", serve).unwrap();
    let mut old = ScriptedPeer::dial(&member, name, 10);
    old.call("stock", Term::atom("total"));
    next(&begins);
    let address = member.address();
    let to = Atom::new(&member.name).unwrap();
    let new = std::thread::spawn(move || {
        let stream = TcpStream::connect(address).unwrap();
        let (me, mut room) = (identity(name, 11), Vec::new());
        let handshake = Handshake::dialling(me.clone(), to, 7, &mut room);
        ScriptedPeer::shake(stream, me, handshake, room)
    });
    // The handshake is over, and the earlier connection still handles the message.
    let cluster = member.cluster.pid();
    until(|| {
        let seen = member.node.inspect(cluster).wait().unwrap();
        ["connections", "handshakes"].map(|item| seen.number(item)) == [Some(2), Some(0)]
    });
    assert_eq!(member.connection().creation, 10);
    release.send(()).unwrap();
    let up: Result<ScriptedPeer, HandshakeError> = new.join().unwrap();
    assert_eq!(up.unwrap().other.name, *member.name);
    // The handshake is over for the peer before the connection is up here.
    until(|| {
        let connections = member.cluster.connections().unwrap();
        connections.first().is_some_and(|connection| connection.creation == 11)
    });
}

#[test]
fn zlive5_no_link_and_no_monitor_of_before_is_revived_by_the_next_connection() {
    let member = Member::start("heal_a@127.0.0.1", "secret", &[]);
    let here = member.worker("stock");
    let name = "heal_b@127.0.0.1";
    let told = events(&member);
    let mut old = ScriptedPeer::dial(&member, name, 10);
    assert!(matches!(next(&told), NodeEvent::Up(_)));
    let far = pid(&member, old.pid(5));
    let seen = watcher(&member, Some(far), vec![Target::Pid(far)]);
    let made = [old.read().unwrap().0, old.read().unwrap().0];
    let reference = made.iter().find_map(|control| match control {
        ControlMessage::Monitor { reference, .. } => Some(reference.clone()),
        _ => None,
    });
    let linked = made.iter().find_map(|control| match control {
        ControlMessage::Link { from, .. } => Some(from.clone()),
        _ => None,
    });
    drop(old);
    assert!(matches!(next(&told), NodeEvent::Down(_)));
    for _ in 0..2 {
        match next(&seen) {
            Seen::Exit(_, reason) | Seen::Down(_, reason) => {
                assert_eq!(reason, Reason::NoConnection);
            }
        }
    }
    // The same incarnation, after the network was away. What it says of before has no effect.
    let mut new = ScriptedPeer::dial(&member, name, 10);
    let (from, boom) = (new.pid(5), Term::atom("boom"));
    let (target, to) = (krarup_wire::Monitored::Pid(from.clone()), linked.unwrap());
    let reference = reference.unwrap();
    let down = ControlMessage::PayloadMonitorExit { target, to: to.clone(), reference };
    new.say(&down, Some(&boom));
    new.say(&ControlMessage::PayloadExit { from, to }, Some(&boom));
    // Names are right again at once.
    assert_eq!(new.answer("stock", Term::atom("total")), Ok(Term::Int(0)));
    assert!(seen.try_recv().is_err());
    assert_eq!(member.node.whereis("stock"), Some(here));
    let connection = member.connection();
    assert_eq!((connection.links, connection.monitors), (0, 0));
}

#[test]
fn zlink7_an_exit_that_was_not_read_yet_is_received_beside_that_of_a_new_link() {
    let member = Member::start("unread_a@127.0.0.1", "secret", &[]);
    member.worker("stock");
    let name = "unread_b@127.0.0.1";
    let told = events(&member);
    let (open, opened) = channel::<()>();
    let (tell, tells) = channel();
    let process = behavior_fn(move |mut ctx: Context<Order>| async move {
        ctx.trap_exits(true);
        loop {
            match ctx.receive().await {
                // It reads nothing else until it is released.
                Received::Message(_) => drop(opened.recv()),
                Received::Exit(exit) => drop(tell.send(exit.reason)),
                _ => {}
            }
        }
    });
    let slow = member.node.spawn(move || process).name("slow").wait().unwrap();
    member.cluster.export::<Order>("slow").unwrap();
    let mut old = ScriptedPeer::dial(&member, name, 10);
    assert!(matches!(next(&told), NodeEvent::Up(_)));
    // It can be reached by its pid from now on.
    let cluster = member.cluster.cluster().unwrap();
    cluster.pid_term(slow.pid()).unwrap();
    let link = |peer: &ScriptedPeer| ControlMessage::Link {
        from: peer.pid(5),
        to: peer.theirs(slow.pid()),
    };
    old.say(&link(&old), None);
    assert_eq!(old.answer("stock", Term::atom("total")), Ok(Term::Int(0)));
    slow.send(Order::Note(1)).unwrap();
    drop(old);
    assert!(matches!(next(&told), NodeEvent::Down(_)));
    let mut new = ScriptedPeer::dial(&member, name, 10);
    new.say(&link(&new), None);
    let (from, to) = (new.pid(5), new.theirs(slow.pid()));
    new.say(&ControlMessage::PayloadExit { from, to }, Some(&Term::atom("boom")));
    assert_eq!(new.answer("stock", Term::atom("total")), Ok(Term::Int(0)));
    open.send(()).unwrap();
    assert_eq!(next(&tells), Reason::NoConnection);
    assert_eq!(next(&tells).to_string(), "boom");
}
