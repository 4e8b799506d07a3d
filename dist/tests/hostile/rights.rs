//! A peer that has the cookie and takes liberties: it reaches nothing that was not given to it.

use crate::support::raw::{LONG, Outcome, RawPeer, closed, until};
use crate::support::served::{only_the_other_is_left, served, table, works};
use crate::support::{Member, Order, Worker};
use krarup_act::{Context, Received, behavior_fn};
use krarup_dist::{ClusterCalls, HasCluster};
use krarup_gen::{CallError, Pid};
use krarup_wire::etf::{Atom, ExternalPid, Reference, Term};
use krarup_wire::{AliasRecipient, ControlMessage, Monitored};
use std::num::NonZeroU64;
use std::sync::mpsc::channel;

const PEER: &str = "x@127.0.0.1";

/// Every signal that touches a process, from a process of the peer.
fn signals(peer: &mut RawPeer, to: &ExternalPid) -> Vec<(ControlMessage, Option<Term>)> {
    let (from, to, kill) = (peer.pid(1), to.clone(), Term::atom("kill"));
    let id = NonZeroU64::MIN;
    let reference = peer.reference();
    let target = Monitored::Pid(to.clone());
    let alias = AliasRecipient::Pid(to.clone());
    let call = peer.call_term(&reference, Term::atom("total"));
    let sys = |request| match &call {
        Term::Tuple(parts) => Term::tuple([Term::atom("system"), parts[1].clone(), request]),
        _ => unreachable!(),
    };
    let terminate = Term::tuple([Term::atom("terminate"), kill.clone()]);
    let (f, t) = (|| from.clone(), || to.clone());
    vec![
        (ControlMessage::Exit2 { from: f(), to: t(), reason: kill.clone() }, None),
        (ControlMessage::PayloadExit2 { from: f(), to: t() }, Some(kill.clone())),
        (ControlMessage::Exit { from: f(), to: t(), reason: kill.clone() }, None),
        (ControlMessage::PayloadExit { from: f(), to: t() }, Some(kill.clone())),
        (
            ControlMessage::AltactSend { from: f(), to: alias, priority: true, exit: true },
            Some(kill.clone()),
        ),
        (ControlMessage::Monitor { from: f(), target: target.clone(), reference }, None),
        (ControlMessage::Link { from: f(), to: t() }, None),
        (ControlMessage::PayloadExit { from: f(), to: t() }, Some(kill)),
        (ControlMessage::UnlinkId { id, from: f(), to: t() }, None),
        (ControlMessage::UnlinkIdAck { id, from: f(), to: t() }, None),
        (ControlMessage::GroupLeader { from: f(), to: t() }, None),
        (ControlMessage::SendSender { from: f(), to: t() }, Some(call.clone())),
        (ControlMessage::Send { to: t() }, Some(sys(terminate))),
        (ControlMessage::Send { to: t() }, Some(sys(Term::atom("suspend")))),
    ]
}

/// The bonds over the connection to a peer.
fn bonds(a: &Member, peer: &str) -> (usize, usize, usize) {
    let connections = a.cluster.connections().unwrap();
    let connection = connections.iter().find(|one| one.node.as_str() == peer).unwrap();
    (connection.links, connection.foreign_monitors, connection.bound_processes)
}

#[test]
fn zsec5_guessed_pids_reach_no_process_that_was_not_sent_out() {
    let (a, b) = served("guesses");
    let hidden: Vec<Pid> =
        (0..5).map(|_| a.node.spawn(Worker::default).wait().unwrap().pid()).collect();
    let mut peer = RawPeer::up(PEER, &a);
    let stock = peer.pid_of("stock");
    let before = a.node.processes();
    let last = hidden.iter().map(|pid| pid.id()).max().unwrap();
    let last = u32::try_from(last).unwrap();
    for id in (0..=last + 20).filter(|id| *id != stock.id) {
        for creation in [stock.creation, stock.creation.wrapping_add(1), 0] {
            let to = peer.pid_there(id, creation);
            for (control, payload) in signals(&mut peer, &to) {
                assert!(peer.send(&control, payload.as_ref()));
            }
        }
    }
    assert!(peer.stands());
    assert_eq!(a.node.processes(), before);
    until("no bonds", || bonds(&a, PEER) == (0, 0, 0));
    // Not one of them was suspended.
    for pid in hidden {
        assert!(a.node.inspect(pid).wait().is_ok());
    }
    assert!(works(&a, &b));
}

#[test]
fn zsec5_an_exit_without_a_link_and_replies_without_a_call_do_nothing() {
    let (a, b) = served("rights");
    let mut peer = RawPeer::up(PEER, &a);
    let stock = peer.pid_of("stock");
    let (from, kill) = (peer.pid(1), Term::atom("kill"));
    let exit = ControlMessage::PayloadExit { from: from.clone(), to: stock.clone() };
    assert!(peer.send(&exit, Some(&kill)));
    // A link that was taken away is none either.
    let id = NonZeroU64::MIN;
    peer.send(&ControlMessage::Link { from: from.clone(), to: stock.clone() }, None);
    peer.send(&ControlMessage::UnlinkId { id, from: from.clone(), to: stock.clone() }, None);
    peer.send(&exit, Some(&kill));
    // That of another process is not its own.
    let other = peer.pid(2);
    peer.send(&ControlMessage::Link { from: other.clone(), to: stock.clone() }, None);
    peer.send(&exit, Some(&kill));
    peer.send(&ControlMessage::UnlinkId { id, from: other, to: stock.clone() }, None);
    for word in 0..200 {
        let (node, creation) = (Atom::new(&*a.name).unwrap(), stock.creation);
        let reference = Reference::new(node, creation, &[word, 0, 0]).unwrap();
        let to = stock.clone();
        let (linked, monitored, result) = (true, true, Ok(peer.pid(3)));
        let reply = ControlMessage::SpawnReply {
            reference: reference.clone(),
            to: to.clone(),
            linked,
            monitored,
            result,
        };
        peer.send(&reply, None);
        let target = Monitored::Pid(peer.pid(3));
        let reference = reference.clone();
        let down = ControlMessage::PayloadMonitorExit { target, to, reference: reference.clone() };
        peer.send(&down, Some(&kill));
        let tag = Term::list_with_tail([Term::atom("alias")], reference.clone().into());
        let answer = Term::tuple([tag, Term::Int(1)]);
        peer.send(
            &ControlMessage::AliasSend { from: from.clone(), alias: reference },
            Some(&answer),
        );
    }
    assert!(peer.stands());
    until("no links", || bonds(&a, PEER).0 == 0);
    assert!(works(&a, &b));
}

#[test]
fn zsec5_a_signal_in_the_name_of_a_process_of_another_node_ends_the_connection() {
    let (a, b) = served("forged");
    let processes = a.node.processes().len();
    let mut peer = RawPeer::up(PEER, &a);
    let stock = peer.pid_of("stock");
    let node = Atom::new(&*b.name).unwrap();
    let forged = ExternalPid { node, id: 1, serial: 0, creation: 9 };
    let ours = peer.pid_there(1, stock.creation);
    drop(peer);
    for from in [forged, ours] {
        let mut peer = RawPeer::up(PEER, &a);
        let all = signals(&mut peer, &stock);
        drop(peer);
        for (control, payload) in all {
            let (mut control, payload) = (control, payload);
            match &mut control {
                ControlMessage::Exit2 { from: of, .. }
                | ControlMessage::PayloadExit2 { from: of, .. }
                | ControlMessage::Exit { from: of, .. }
                | ControlMessage::PayloadExit { from: of, .. }
                | ControlMessage::Monitor { from: of, .. }
                | ControlMessage::Link { from: of, .. }
                | ControlMessage::UnlinkId { from: of, .. }
                | ControlMessage::UnlinkIdAck { from: of, .. } => *of = from.clone(),
                _ => continue,
            }
            let mut peer = RawPeer::up(PEER, &a);
            peer.send(&control, payload.as_ref());
            closed(&peer.stream);
        }
    }
    assert!(works(&a, &b));
    assert_eq!(bonds(&a, &b.name).0, 0);
    only_the_other_is_left(&a, processes);
}

#[test]
fn zsec5_a_peer_cannot_end_calls_to_another_node() {
    let (a, b) = served("calls");
    b.worker("desk");
    let mut peer = RawPeer::up(PEER, &a);
    let desk = a.cluster.remote::<Order>("desk", &b.name).unwrap();
    let (told, tells) = channel();
    let asking = {
        let desk = desk.clone();
        std::thread::spawn(move || {
            let call = desk.call(Order::Keep).timeout(LONG);
            told.send(()).unwrap();
            call.wait()
        })
    };
    tells.recv_timeout(LONG).unwrap();
    until("the call is there", || b.cluster.connections().unwrap()[0].foreign_monitors == 1);
    assert_eq!(table(&a, "calls"), 1);
    // The references of a node are in order.
    let reference = a.cluster.cluster().unwrap().ref_term(a.cluster.node_host().next_ref());
    let Term::Reference(reference) = reference else { panic!() };
    let to = peer.pid_there(1, reference.creation());
    for low in 0..reference.words()[0] + 10 {
        let words = [low, reference.words()[1], reference.words()[2]];
        let guess = Reference::new(reference.node().clone(), reference.creation(), &words).unwrap();
        let target = Monitored::Name(Atom::fixed("desk"));
        let down = ControlMessage::PayloadMonitorExit { target, to: to.clone(), reference: guess };
        assert!(peer.send(&down, Some(&Term::atom("killed"))));
    }
    assert!(peer.stands());
    assert_eq!(table(&a, "calls"), 1);
    desk.send(Order::End(Some("done".into()))).unwrap();
    match asking.join().unwrap() {
        Err(CallError::Terminated { reason, .. }) => {
            assert!(reason.to_string().contains("done"), "{reason}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn zsec5_the_status_of_a_process_does_not_make_its_parent_reachable() {
    let (a, _b) = served("status");
    let (told, tells) = channel();
    let parent = behavior_fn(move |mut ctx: Context<()>| async move {
        let child = ctx.spawn(Worker::default).name("child").await?;
        let _ = told.send(child.pid());
        while let Received::Message(()) = ctx.receive().await {}
        Ok(())
    });
    let parent = a.node.spawn(move || parent).wait().unwrap();
    tells.recv_timeout(LONG).unwrap();
    a.cluster.export::<Order>("child").unwrap();
    let mut peer = RawPeer::up(PEER, &a);
    let child = peer.pid_of("child");
    let reference = peer.reference();
    let Term::Tuple(call) = peer.call_term(&reference, Term::nil()) else { panic!() };
    let request = Term::tuple([Term::atom("system"), call[1].clone(), Term::atom("get_status")]);
    peer.send(&ControlMessage::Send { to: child }, Some(&request));
    let (_, status) = peer.next().unwrap();
    let status = status.unwrap().to_string();
    assert!(status.contains("running"), "{status}");
    let creation = peer.pid_of("stock").creation;
    let to = peer.pid_there(u32::try_from(parent.pid().id()).unwrap(), creation);
    for (control, payload) in signals(&mut peer, &to) {
        peer.send(&control, payload.as_ref());
    }
    assert!(peer.stands());
    assert!(a.node.is_alive(parent.pid()));
}

#[test]
fn zlink6_a_second_monitor_with_the_same_reference_is_ignored() {
    let (a, _b) = served("twice");
    let mut peer = RawPeer::up(PEER, &a);
    let (from, reference) = (peer.pid(1), peer.reference());
    let target = Monitored::Name(Atom::fixed("stock"));
    let of = |from: &ExternalPid| (from.clone(), target.clone(), reference.clone());
    for _ in 0..3 {
        let (from, target, reference) = of(&from);
        peer.send(&ControlMessage::Monitor { from, target, reference }, None);
    }
    assert!(peer.stands());
    until("one monitor", || bonds(&a, PEER).1 == 1);
    let (from, target, reference) = of(&from);
    peer.send(&ControlMessage::Demonitor { from, target, reference }, None);
    assert!(peer.stands());
    until("no bonds", || bonds(&a, PEER) == (0, 0, 0));
}

#[test]
fn zlink6_a_monitor_made_while_another_of_the_same_process_fires_stays() {
    let (a, _b) = served("fires");
    let mut peer = RawPeer::up(PEER, &a);
    let stock = Monitored::Name(Atom::fixed("stock"));
    a.cluster.export::<Order>("brief").unwrap();
    for round in 0..300 {
        let brief = a.node.spawn(Worker::default).name("brief").wait().unwrap();
        let (from, of_brief, of_stock) = (peer.pid(1), peer.reference(), peer.reference());
        let target = Monitored::Name(Atom::fixed("brief"));
        let (name, end) = (Atom::fixed("brief"), Term::tuple([Term::atom("end"), Term::nil()]));
        let all = [
            (ControlMessage::Monitor { from: from.clone(), target, reference: of_brief }, None),
            (ControlMessage::RegSend { from: from.clone(), name }, Some(end)),
        ];
        let mut bytes: Vec<u8> = all
            .iter()
            .flat_map(|(control, message)| peer.bytes(control, message.as_ref()))
            .collect();
        let (target, reference) = (stock.clone(), of_stock.clone());
        let monitor = ControlMessage::Monitor { from: from.clone(), target, reference };
        let (target, reference) = (stock.clone(), of_stock);
        let demonitor = ControlMessage::Demonitor { from, target, reference };
        // Some time between the two, which differs.
        for _ in 0..round % 30 {
            bytes.extend(peer.bytes(&demonitor, None));
        }
        bytes.extend(peer.bytes(&monitor, None));
        assert!(peer.write(&bytes));
        let (ended, _) = peer.next().unwrap();
        assert!(matches!(ended, ControlMessage::PayloadMonitorExit { .. }), "{ended:?}");
        until("there is one monitor, and the process that it is of", || {
            let (_, monitors, processes) = bonds(&a, PEER);
            (monitors, processes) == (1, 1)
        });
        assert!(peer.send(&demonitor, None));
        until("there is none", || bonds(&a, PEER) == (0, 0, 0));
        until("it has ended", || !a.node.is_alive(brief.pid()));
    }
}

#[test]
fn zsec7_nodes_that_a_peer_has_only_named_are_forgotten_and_keep_nobody_out() {
    let (a, b) = served("named");
    let mut peer = RawPeer::up(PEER, &a);
    // Its answer would go to a node that cannot be reached.
    for number in 0..300 {
        let node = Atom::new(format!("nowhere{number}@127.0.0.1")).unwrap();
        let pid = ExternalPid { node, id: 1, serial: 0, creation: 4 };
        let from = Term::tuple([pid.into(), Term::Int(number)]);
        let call = Term::tuple([Term::atom("$gen_call"), from, Term::atom("total")]);
        let (from, name) = (peer.pid(1), Atom::fixed("stock"));
        peer.send(&ControlMessage::RegSend { from, name }, Some(&call));
    }
    // More incarnations of itself than there are numbers.
    let stock = peer.pid_of("stock");
    for creation in 0..66_000 {
        let from = ExternalPid { creation, ..peer.pid(1) };
        let reason = Term::atom("normal");
        assert!(peer.send(&ControlMessage::Exit2 { from, to: stock.clone(), reason }, None));
    }
    assert!(peer.stands());
    drop(peer);
    until("named nodes are forgotten", || table(&a, "known_nodes") == 1);
    assert_eq!(table(&a, "dials"), 0);
    let c = Member::start("named_c@127.0.0.1", "secret", &[&a]);
    assert!(works(&a, &c));
    assert!(works(&a, &b));
}

#[test]
fn zsec4_names_that_are_not_exported_and_sys_requests_that_are_not_allowed_are_refused() {
    let (a, b) = served("names");
    let hidden = a.node.spawn(Worker::default).name("hidden").wait().unwrap();
    let mut peer = RawPeer::up(PEER, &a);
    assert_eq!(peer.call("hidden", Term::atom("total")), Outcome::Down(Term::atom("noproc")));
    let refused = Term::tuple([Term::atom("error"), Term::atom("not_allowed")]);
    let terminate = Term::tuple([Term::atom("terminate"), Term::atom("kill")]);
    for request in [Term::atom("get_state"), Term::atom("suspend"), terminate, Term::nil()] {
        let reference = peer.reference();
        let Term::Tuple(call) = peer.call_term(&reference, Term::nil()) else { panic!() };
        let message = Term::tuple([Term::atom("system"), call[1].clone(), request]);
        let (from, name) = (peer.pid(1), Atom::fixed("stock"));
        peer.send(&ControlMessage::RegSend { from, name }, Some(&message));
        let (_, Some(Term::Tuple(answer))) = peer.next().unwrap() else { panic!() };
        assert_eq!(answer[1], refused);
    }
    let unreachable = a.cluster.stats().unwrap().unreachable;
    let (from, name) = (peer.pid(1), Atom::fixed("hidden"));
    peer.send(&ControlMessage::RegSend { from, name }, Some(&Term::atom("hello")));
    assert!(peer.stands());
    assert_eq!(a.cluster.stats().unwrap().unreachable, unreachable + 1);
    assert!(a.node.is_alive(hidden.pid()));
    assert!(works(&a, &b));
}

#[test]
fn zid5_a_pid_of_an_earlier_incarnation_of_this_node_is_that_of_nobody() {
    let (a, b) = served("earlier");
    let mut peer = RawPeer::up(PEER, &a);
    let stock = peer.pid_of("stock");
    let to = peer.pid_there(stock.id, stock.creation.wrapping_add(1));
    let reason = Term::atom("kill");
    let from = peer.pid(1);
    peer.send(&ControlMessage::Exit2 { from, to, reason }, None);
    assert!(peer.stands());
    assert!(works(&a, &b));
}

#[test]
fn zsec5_a_process_below_the_system_root_is_not_reached_though_its_pid_was_sent_out() {
    let (a, _b) = served("system");
    let below = a.node.spawn_system(Worker::default).wait().unwrap();
    let handle = a.cluster.cluster().unwrap();
    let Some(Term::Pid(to)) = handle.pid_term(below.pid()) else { panic!() };
    let mut peer = RawPeer::up(PEER, &a);
    for (control, payload) in signals(&mut peer, &to) {
        peer.send(&control, payload.as_ref());
    }
    assert!(peer.stands());
    assert!(a.node.is_alive(below.pid()));
    until("no bonds", || bonds(&a, PEER) == (0, 0, 0));
}

#[test]
fn zcall7_every_request_to_spawn_is_answered_and_none_is_obeyed() {
    let (a, _b) = served("spawns");
    let mut peer = RawPeer::up(PEER, &a);
    let processes = a.node.processes();
    for (function, outcome) in [("spawn", "notsup"), ("execute_call", "undef")] {
        let (reference, from, group_leader) = (peer.reference(), peer.pid(1), peer.pid(1));
        let (module, options) = (Atom::fixed("erpc"), Term::list([Term::atom("monitor")]));
        let function = Atom::new(function).unwrap();
        let request = ControlMessage::SpawnRequest {
            reference: reference.clone(),
            from,
            group_leader,
            module,
            function,
            arity: 4,
            options,
        };
        let arguments = [Term::nil(), Term::atom("m"), Term::atom("f"), Term::nil()];
        peer.send(&request, Some(&Term::list(arguments)));
        let (reply, _) = peer.next().unwrap();
        let ControlMessage::SpawnReply { reference: of, result, .. } = reply else { panic!() };
        assert_eq!(of, reference);
        match result {
            Err(why) => assert_eq!(why, outcome),
            Ok(_) => {
                let (down, why) = peer.next().unwrap();
                assert!(matches!(down, ControlMessage::PayloadMonitorExit { .. }), "{down:?}");
                assert!(why.unwrap().to_string().contains(outcome));
            }
        }
    }
    assert_eq!(a.node.processes(), processes);
}

#[test]
fn zcall11_net_kernel_answers_pings_and_nothing_else() {
    let (a, _b) = served("pings");
    let mut peer = RawPeer::up(PEER, &a);
    let is_auth = Term::tuple([Term::atom("is_auth"), Term::atom(PEER)]);
    assert_eq!(peer.call("net_kernel", is_auth), Outcome::Answer(Term::atom("yes")));
    let reference = peer.reference();
    for request in [Term::tuple([Term::atom("connect"), Term::atom(PEER)]), Term::atom("stop")] {
        let call = peer.call_term(&reference, request);
        let (from, name) = (peer.pid(1), Atom::fixed("net_kernel"));
        peer.send(&ControlMessage::RegSend { from, name }, Some(&call));
    }
    // The next answer is that to the next call.
    let (reference, from, name) = (peer.reference(), peer.pid(1), Atom::fixed("stock"));
    let call = peer.call_term(&reference, Term::atom("total"));
    peer.send(&ControlMessage::RegSend { from, name }, Some(&call));
    let (answer, _) = peer.next().unwrap();
    assert!(
        matches!(&answer, ControlMessage::AltactSend { to: AliasRecipient::Alias(to), .. } if *to == reference),
        "{answer:?}"
    );
}

#[test]
fn zhs1_a_peer_gets_ends_in_the_form_that_its_flags_allow() {
    let (a, _b) = served("forms");
    let all = krarup_wire::DistributionFlags::OFFERED.bits();
    let exit_payload = krarup_wire::DistributionFlags::EXIT_PAYLOAD.bits();
    for flags in [all, all & !exit_payload] {
        let mut peer = RawPeer::connect(PEER, "secret", flags, &a).unwrap();
        let (from, reference) = (peer.pid(1), peer.reference());
        let target = Monitored::Name(Atom::fixed("nobody"));
        peer.send(&ControlMessage::Monitor { from, target, reference }, None);
        let (down, _) = peer.next().unwrap();
        let has_payload = matches!(down, ControlMessage::PayloadMonitorExit { .. });
        assert_eq!(has_payload, flags & exit_payload != 0, "{down:?}");
    }
}
