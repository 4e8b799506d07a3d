//! What strangers and peers cannot do.

use crate::support::scripted::{ScriptedPeer, gen_cast, identity, tag, tagged};
use crate::support::watching::{next, until, watcher};
use crate::support::{Member, Order, Worker};
use krarup_act::{Context, Received, behavior_fn};
use krarup_dist::etf::{Atom, ExternalPid, Term};
use krarup_dist::{
    Cluster, ClusterCalls, Cookie, CookieError, DistributionFlags, HasCluster, NodeRights, Reach,
    Sys,
};
use krarup_gen::{Pid, Target};
use krarup_wire::handshake::{Handshake, HandshakeError, Identity};
use krarup_wire::{AliasRecipient, ControlMessage, Monitored};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::num::NonZeroU64;
use std::sync::mpsc::channel;

fn settle(peer: &mut ScriptedPeer) {
    assert!(matches!(peer.answer("stock", Term::atom("total")), Ok(Term::Int(_))));
}

/// Everything that a peer can say to a process by its pid.
fn touch(peer: &mut ScriptedPeer, pid: Pid) {
    let to: ExternalPid = peer.theirs(pid);
    let from = peer.pid(5);
    let (id, boom) = (NonZeroU64::new(1).unwrap(), Term::atom("boom"));
    let to = || to.clone();
    let from = || from.clone();
    let cast = gen_cast(tagged("note", [Term::Int(1)]));
    peer.say(&ControlMessage::SendSender { from: from(), to: to() }, Some(&cast));
    peer.say(&ControlMessage::Send { to: to() }, Some(&cast));
    let (recipient, priority) = (AliasRecipient::Pid(to()), true);
    for exit in [false, true] {
        let to = recipient.clone();
        peer.say(&ControlMessage::AltactSend { from: from(), to, priority, exit }, Some(&boom));
    }
    let kill = Term::atom("kill");
    peer.say(&ControlMessage::PayloadExit2 { from: from(), to: to() }, Some(&kill));
    peer.say(&ControlMessage::Exit2 { from: from(), to: to(), reason: kill.clone() }, None);
    peer.say(&ControlMessage::PayloadExit { from: from(), to: to() }, Some(&kill));
    peer.say(&ControlMessage::Exit { from: from(), to: to(), reason: kill }, None);
    peer.say(&ControlMessage::GroupLeader { from: from(), to: to() }, None);
    peer.say(&ControlMessage::UnlinkId { id, from: from(), to: to() }, None);
    peer.say(&ControlMessage::UnlinkIdAck { id, from: from(), to: to() }, None);
    peer.say(&ControlMessage::Link { from: from(), to: to() }, None);
    let (target, reference) = (Monitored::Pid(to()), peer.reference());
    peer.say(&ControlMessage::Monitor { from: from(), target, reference }, None);
    // An unlink is acknowledged; a link to and a monitor of nobody are.
    assert!(matches!(peer.read(), Some((ControlMessage::UnlinkIdAck { .. }, None))));
    for _ in 0..2 {
        match peer.read() {
            Some((
                ControlMessage::PayloadExit { .. } | ControlMessage::PayloadMonitorExit { .. },
                Some(reason),
            )) => {
                assert_eq!(reason, Term::atom("noproc"));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn zglobal1_the_node_says_that_it_is_hidden() {
    let member = Member::start("hidden_a@127.0.0.1", "secret", &[]);
    let peer = ScriptedPeer::dial(&member, "hidden_b@127.0.0.1", 10);
    assert!(!peer.other.offered.contains(DistributionFlags::PUBLISHED));
}

#[test]
fn zsec3_the_name_is_looked_at_before_any_cookie() {
    let member = Member::with("first_a@127.0.0.1", "secret", |cluster| {
        cluster
            .allow(["first_b@127.0.0.1"])
            .cookie_for("first_c@*", Cookie::new("cookie of c").unwrap())
    });
    // It has the right cookie; what is asked for is not even a digest.
    for (name, cookie) in [("first_c@127.0.0.1", "cookie of c"), ("first_d@127.0.0.1", "secret")] {
        let mut stream = TcpStream::connect(member.address()).unwrap();
        let (mut handshake, mut room) = crate::support::raw::dialling(
            name,
            cookie,
            DistributionFlags::OFFERED.bits(),
            &member.name,
        );
        stream.write_all(&room).unwrap();
        room.clear();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        assert_eq!(answer, [&[0, 12][..], b"snot_allowed"].concat());
        let read = handshake.read(&answer, &mut room);
        assert!(matches!(read, Err(HandshakeError::NotAllowed)), "{read:?}");
    }
    assert_eq!(crate::support::served::table(&member, "known_nodes"), 0);
    ScriptedPeer::dial(&member, "first_b@127.0.0.1", 10);
}

#[test]
fn zsec4_exits_aliases_factories_and_sys_are_narrowed_by_node() {
    let member = Member::with("right_a@127.0.0.1", "secret", |cluster| {
        let stock = || Reach::only(["stock"]);
        let rights = NodeRights::all().send(stock()).exit(stock()).monitor(stock());
        cluster.policy("*_b@*", rights.spawn(Reach::only(["calc:worker"])).sys(Sys::Read))
    });
    let (stock, other) = (member.worker("stock"), member.worker("other"));
    let nameless = member.node.spawn(Worker::default).wait().unwrap().pid();
    member.cluster.export_with::<Order>("stock", Sys::All).unwrap();
    for name in ["worker", "waiter"] {
        member.cluster.factory("calc", name, |(): ()| Worker::default()).unwrap();
    }
    let cluster = member.cluster.cluster().unwrap();
    for pid in [stock, other, nameless] {
        cluster.pid_term(pid).unwrap();
    }
    let mut peer = ScriptedPeer::dial(&member, "right_b@127.0.0.1", 10);
    let denied = || member.cluster.stats().unwrap().denied;
    // A call and its monitor; exit signals in each form.
    assert_eq!(peer.answer("other", Term::atom("total")), Err(Term::atom("noproc")));
    for pid in [other, nameless] {
        let (from, to) = (peer.pid(5), peer.theirs(pid));
        let kill = Term::atom("kill");
        let exit = ControlMessage::PayloadExit2 { from: from.clone(), to: to.clone() };
        peer.say(&exit, Some(&kill));
        let to = AliasRecipient::Pid(to);
        let exit = ControlMessage::AltactSend { from, to, priority: true, exit: true };
        peer.say(&exit, Some(&kill));
    }
    settle(&mut peer);
    // The monitor, the message of the call, and the four exits.
    assert_eq!(denied(), 6);
    for pid in [other, nameless] {
        assert!(member.node.process_info(pid).is_some());
    }
    // Requests of `sys` beyond its rights, though the export obeys them.
    for (request, is_obeyed) in [("get_status", true), ("get_state", true), ("suspend", false)] {
        let reference = peer.reference();
        let from = Term::tuple([peer.pid(1).into(), tag(&reference)]);
        peer.send_to("stock", &tagged("system", [from, Term::atom(request)]));
        let answer = peer.outcome(&reference).unwrap();
        let is_refused = answer == tagged("error", [Term::atom("not_allowed")]);
        assert_eq!(is_refused, !is_obeyed, "{request}: {answer}");
    }
    // A factory that is not in reach is not there.
    for (function, is_made) in [("worker", true), ("waiter", false)] {
        let (reference, from, group_leader) = (peer.reference(), peer.pid(1), peer.pid(2));
        let (module, function, arity) = (Atom::fixed("calc"), Atom::fixed(function), 0);
        let options = Term::nil();
        let request = ControlMessage::SpawnRequest {
            reference,
            from,
            group_leader,
            module,
            function,
            arity,
            options,
        };
        peer.say(&request, Some(&Term::nil()));
        let Some((ControlMessage::SpawnReply { result, .. }, _)) = peer.read() else { panic!() };
        assert_eq!(result.is_ok(), is_made);
        assert!(is_made || result == Err(Atom::fixed("notsup")));
    }
    // What it may.
    let kill = ControlMessage::PayloadExit2 { from: peer.pid(5), to: peer.theirs(stock) };
    let end = member.node.watch(stock);
    peer.say(&kill, Some(&Term::atom("kill")));
    assert_eq!(end.wait().unwrap().reason, krarup_gen::Reason::Killed);
}

#[test]
fn zsec1_a_cookie_is_never_empty_and_stands_in_no_text() {
    for none in ["", "nocookie"] {
        assert!(matches!(Cookie::new(none), Err(CookieError::Empty | CookieError::NoCookie)));
    }
    let secret = "open_sesame_4711";
    let member = Member::start("texts_a@127.0.0.1", secret, &[]);
    let cookie = || Cookie::new(secret).unwrap();
    let mut texts = vec![
        format!("{:?}", cookie()),
        format!("{:?}", Cluster::new(cookie())),
        format!("{:?}", member.cluster.cluster().unwrap()),
        format!("{:?}", member.node.tree()),
        format!("{:?}", Identity::new(Atom::fixed("a@b"), 4, cookie())),
    ];
    for pid in member.node.processes() {
        texts.extend(member.node.inspect(pid).wait().map(|seen| format!("{seen:?}")));
        texts.extend(member.node.process_info(pid).map(|info| format!("{info:?}")));
    }
    // A failed spawn, and a failed handshake.
    let second = || Cluster::new(Cookie::new("open_sesame_4711").unwrap());
    texts.push(member.node.spawn_system(second).wait().unwrap_err().to_string());
    for text in texts {
        assert!(!text.contains("sesame"), "{text}");
    }
}

#[test]
fn zsec4_names_pids_functions_and_sys_are_refused_until_they_are_allowed() {
    let member = Member::start("allowed_a@127.0.0.1", "secret", &[]);
    member.worker("stock");
    let hidden = member.node.spawn(Worker::default).name("hidden").wait().unwrap();
    let mut peer = ScriptedPeer::dial(&member, "allowed_b@127.0.0.1", 10);
    let total = || Term::atom("total");
    let noproc = Term::atom("noproc");
    assert_eq!(peer.answer("hidden", total()), Err(noproc.clone()));
    let (from, reference) = (peer.pid(5), peer.reference());
    let target = Monitored::Pid(peer.theirs(hidden.pid()));
    peer.say(&ControlMessage::Monitor { from, target, reference }, None);
    let Some((ControlMessage::PayloadMonitorExit { .. }, Some(reason))) = peer.read() else {
        panic!("no notice")
    };
    assert_eq!(reason, noproc);
    // `sys`: a status says nothing of the state; all else needs consent.
    let system = |peer: &mut ScriptedPeer, request| {
        let reference = peer.reference();
        let from = Term::tuple([peer.pid(1).into(), crate::support::scripted::tag(&reference)]);
        peer.send_to("stock", &tagged("system", [from, request]));
        peer.outcome(&reference).unwrap()
    };
    let refused = tagged("error", [Term::atom("not_allowed")]);
    assert!(system(&mut peer, Term::atom("get_status")).to_string().starts_with("{status,"));
    for request in ["get_state", "statistics", "suspend", "resume"] {
        assert_eq!(system(&mut peer, Term::atom(request)), refused, "{request}");
    }
    assert_eq!(system(&mut peer, tagged("terminate", [Term::atom("normal")])), refused);
    settle(&mut peer);
    // Allowed, they are obeyed; withdrawn, they are not.
    member.cluster.export_with::<Order>("stock", Sys::All).unwrap();
    assert_eq!(system(&mut peer, Term::atom("suspend")), Term::atom("ok"));
    assert_eq!(system(&mut peer, Term::atom("resume")), Term::atom("ok"));
    settle(&mut peer);
    assert!(member.cluster.unexport("stock").unwrap());
    assert_eq!(peer.answer("stock", total()), Err(noproc));
}

#[test]
fn zsec5_a_process_whose_pid_was_never_sent_out_cannot_be_touched() {
    let member = Member::start("touch_a@127.0.0.1", "secret", &[]);
    member.worker("stock");
    let (told, tells) = channel();
    let process = behavior_fn(move |mut ctx: Context<Order>| async move {
        ctx.trap_exits(true);
        let alias = ctx.alias();
        let _ = told.send(format!("{}", alias.number()));
        loop {
            let what = match ctx.receive().await {
                Received::Stop(_) => return Ok(()),
                Received::Message(message) => format!("{message:?}"),
                Received::Exit(exit) => format!("{exit:?}"),
                Received::Down(down) => format!("{down:?}"),
                _ => "another".to_owned(),
            };
            let _ = told.send(what);
        }
    });
    let hidden = member.node.spawn(move || process).wait().unwrap();
    let alias: u64 = next(&tells).parse().unwrap();
    let mut peer = ScriptedPeer::dial(&member, "touch_b@127.0.0.1", 10);
    touch(&mut peer, hidden.pid());
    // A guessed alias.
    let cluster = member.cluster.cluster().unwrap();
    let guessed = {
        let Term::Reference(made) = cluster.ref_term(krarup_gen::Ref::new(1 << 40)) else {
            panic!()
        };
        let low = u32::try_from(alias & 0x3_ffff).unwrap();
        let middle = u32::try_from(alias >> 18 & 0xffff_ffff).unwrap();
        krarup_wire::etf::Reference::new(made.node().clone(), made.creation(), &[low, middle, 0])
    };
    let control = ControlMessage::AliasSend { from: peer.pid(5), alias: guessed.unwrap() };
    peer.say(&control, Some(&gen_cast(tagged("note", [Term::Int(1)]))));
    settle(&mut peer);
    assert!(tells.try_recv().is_err() && hidden.is_alive());
    // Once it was sent out, it can.
    cluster.pid_term(hidden.pid()).unwrap();
    let exit = ControlMessage::PayloadExit2 { from: peer.pid(5), to: peer.theirs(hidden.pid()) };
    peer.say(&exit, Some(&Term::atom("boom")));
    assert!(next(&tells).contains("boom"));
}

#[test]
fn zsec5_a_process_below_the_system_root_cannot_be_touched_even_if_its_pid_was_sent_out() {
    let member = Member::start("root_a@127.0.0.1", "secret", &[]);
    member.worker("stock");
    let mut peer = ScriptedPeer::dial(&member, "root_b@127.0.0.1", 10);
    let pid = member.cluster.pid();
    let cluster = member.cluster.cluster().unwrap();
    cluster.pid_term(pid).unwrap();
    touch(&mut peer, pid);
    let worker = member.node.spawn_system(Worker::default).name("inside").wait().unwrap();
    member.cluster.export::<Order>("inside").unwrap();
    cluster.pid_term(worker.pid()).unwrap();
    touch(&mut peer, worker.pid());
    assert_eq!(peer.answer("inside", Term::atom("total")), Err(Term::atom("noproc")));
    settle(&mut peer);
    assert!(member.node.is_alive(pid) && worker.is_alive());
    assert_eq!(worker.call(Order::Total).wait(), Ok(0));
}

#[test]
fn zsec5_exits_replies_and_ends_count_only_for_a_link_a_call_and_a_monitor_that_exist() {
    let member = Member::start("exist_a@127.0.0.1", "secret", &[]);
    member.worker("stock");
    let mut one = ScriptedPeer::dial(&member, "exist_b@127.0.0.1", 10);
    let mut two = ScriptedPeer::dial(&member, "exist_c@127.0.0.1", 10);
    let cluster = member.cluster.cluster().unwrap();
    let far = cluster.pid(&one.pid(5).into()).unwrap();
    let seen = watcher(&member, Some(far), vec![Target::Pid(far)]);
    let mut said = [one.read().unwrap().0, one.read().unwrap().0];
    said.sort_by_key(|control| matches!(control, ControlMessage::Monitor { .. }));
    let [
        ControlMessage::Link { from: local, to },
        ControlMessage::Monitor { target, reference, .. },
    ] = said
    else {
        panic!("{said:?}")
    };
    let asked = member.cluster.remote_pid::<Order>(far).unwrap();
    let call = std::thread::spawn(move || asked.call(Order::Total).no_timeout().wait());
    let Some((ControlMessage::Monitor { reference: called, .. }, None)) = one.read() else {
        panic!("no call")
    };
    assert!(one.read().is_some());
    // Another peer says that they have ended, in the name of the first.
    let boom = Term::atom("boom");
    for reference in [&reference, &called] {
        let (target, to, reference) = (target.clone(), local.clone(), reference.clone());
        two.say(&ControlMessage::PayloadMonitorExit { target, to, reference }, Some(&boom));
    }
    // In the name of a process of the first, a signal ends the connection.
    let (from, dead) = (to.clone(), local.clone());
    let exit = ControlMessage::PayloadExit { from: from.clone(), to: dead.clone() };
    let link = ControlMessage::Link { from, to: dead };
    for (control, reason) in [(exit, Some(&boom)), (link, None)] {
        let mut forger = ScriptedPeer::dial(&member, "exist_d@127.0.0.1", 10);
        forger.say(&control, reason);
        assert!(forger.read().is_none());
    }
    // Nobody has asked for these.
    let (linked, monitored, result) = (true, true, Ok(two.pid(9)));
    let reference = two.reference();
    let reply =
        ControlMessage::SpawnReply { reference, to: local.clone(), linked, monitored, result };
    two.say(&reply, None);
    let Term::Reference(mine) = cluster.ref_term(krarup_gen::Ref::new(1 << 40)) else { panic!() };
    let answer = Term::tuple([crate::support::scripted::tag(&mine), Term::Int(1)]);
    let alias = krarup_wire::etf::Reference::clone(&mine);
    two.say(&ControlMessage::AliasSend { from: two.pid(5), alias }, Some(&answer));
    settle(&mut two);
    assert!(seen.try_recv().is_err() && !call.is_finished());
    assert_eq!(member.cluster.stats().unwrap().late, 1);
    // An exit in the name of a process of the first ends the connection of the second.
    let exit = ControlMessage::PayloadExit { from: to, to: local };
    two.say(&exit, Some(&boom));
    two.ends();
    assert!(seen.try_recv().is_err() && !call.is_finished());
    // The first peer may.
    let answer = Term::tuple([crate::support::scripted::tag(&called), Term::Int(42)]);
    one.say(&ControlMessage::AliasSend { from: one.pid(5), alias: called }, Some(&answer));
    assert_eq!(call.join().unwrap(), Ok(42));
}

#[test]
fn zhs3_a_peer_with_this_nodes_own_name_is_not_allowed() {
    let member = Member::start("own_name@127.0.0.1", "secret", &[]);
    let to = Atom::new(&member.name).unwrap();
    let mut room = Vec::new();
    let me = identity(&member.name, 10);
    let handshake = Handshake::dialling(me.clone(), to, 7, &mut room);
    let stream = TcpStream::connect(member.address()).unwrap();
    let refused = ScriptedPeer::shake(stream.try_clone().unwrap(), me, handshake, room);
    assert!(matches!(refused, Err(HandshakeError::NotAllowed)));
    let mut stream = stream;
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    assert!(member.cluster.nodes().unwrap().is_empty());
    until(|| {
        let seen = member.node.inspect(member.cluster.pid()).wait().unwrap();
        seen.number("connections") == Some(0) && seen.number("handshakes") == Some(0)
    });
}
