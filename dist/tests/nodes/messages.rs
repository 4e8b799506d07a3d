//! Messages between nodes: their order, and what becomes of those that nobody can take.

use crate::support::scripted::{ScriptedPeer, gen_cast, tagged};
use crate::support::watching::{events, next, remote_pid, until};
use crate::support::{Member, Order, pair};
use krarup_act::{Actor, Context, Received, Recipient, Reply, behavior_fn};
use krarup_dist::etf::{Atom, ExternalPid, Reference, Term};
use krarup_dist::{ClusterCalls, HasCluster, NodeEvent};
use krarup_gen::{DeadLetter, DeadLetterCause, Pid, Reason, Ref, Result, SendError};
use krarup_wire::{AliasRecipient, ControlMessage};
use serde::{Deserialize, Serialize};
use std::sync::mpsc::{Receiver, channel};

fn total(peer: &mut ScriptedPeer) -> i64 {
    match peer.answer("stock", Term::atom("total")) {
        Ok(Term::Int(total)) => total,
        other => panic!("{other:?}"),
    }
}

fn note(number: i64) -> Term {
    tagged("note", [Term::Int(number)])
}

/// Tells of the dead letters of a node.
fn dead_letters(member: &Member) -> Receiver<DeadLetter> {
    let (told, tells) = channel();
    let process = behavior_fn(move |mut ctx: Context<DeadLetter>| async move {
        loop {
            if let Received::Message(letter) = ctx.receive().await {
                let _ = told.send(letter);
            }
        }
    });
    let watcher = member.node.spawn(move || process).wait().unwrap();
    member.node.subscribe_dead_letters(watcher.recipient());
    tells
}

#[test]
fn zmsg1_exported_processes_are_reached_by_name_by_pid_and_by_alias() {
    let (a, b) = pair("reached");
    a.worker("stock");
    let by_name = b.cluster.remote::<Order>("stock", &a.name).unwrap();
    by_name.send(Order::Note(1)).unwrap();
    let by_pid = b.cluster.remote_pid::<Order>(remote_pid(&b, "stock", &a)).unwrap();
    by_pid.send(Order::Note(20)).unwrap();
    assert_eq!(by_name.call(Order::Total).wait(), Ok(21));

    let (told, tells) = channel();
    let process = behavior_fn(move |mut ctx: Context<Order>| async move {
        let alias = ctx.alias();
        let _ = told.send((alias, 0));
        while let Received::Message(message) = ctx.receive().await {
            match message {
                Order::Note(number) => drop(told.send((alias, number))),
                Order::Total(reply) => reply.send(i64::from(ctx.revoke(alias))),
                _ => {}
            }
        }
        Ok(())
    });
    let aliased = a.node.spawn(move || process).wait().unwrap();
    let (alias, _) = next(&tells);
    let cluster = a.cluster.cluster().unwrap();
    let mut peer = ScriptedPeer::dial(&a, "reached_c@127.0.0.1", 10);
    let Term::Reference(ours) = cluster.ref_term(Ref::new(alias.number())) else { panic!() };
    let (from, theirs) = (peer.pid(1), peer.reference());
    let control = ControlMessage::AliasSend { from, alias: Reference::clone(&ours) };
    peer.say(&control, Some(&note(7)));
    assert_eq!(next(&tells), (alias, 7));
    assert_eq!(aliased.call(Order::Total).wait(), Ok(1));
    peer.say(&control, Some(&note(8)));
    assert_eq!(total(&mut peer), 21);
    assert!(tells.try_recv().is_err());
    // An alias there.
    cluster.send(&theirs.clone().into(), &Term::Int(9)).unwrap();
    let (control, payload) = peer.read().unwrap();
    let to = AliasRecipient::Alias(theirs);
    assert!(matches!(&control, ControlMessage::AltactSend { to: found, .. } if *found == to));
    assert_eq!(payload, Some(Term::Int(9)));
}

#[test]
fn zmsg2_what_a_process_sends_another_leaves_in_that_order() {
    let member = Member::start("out_a@127.0.0.1", "secret", &[]);
    let mut peer = ScriptedPeer::dial(&member, "out_b@127.0.0.1", 10);
    let to = member.cluster.cluster().unwrap().pid(&peer.pid(5).into()).unwrap();
    let recipient = member.cluster.remote_pid::<(i64, Vec<i64>)>(to).unwrap();
    let process = behavior_fn(move |mut ctx: Context<()>| async move {
        let send = |number, length| {
            let numbers: Vec<i64> = (0..length).map(|at| at + 1_000_000).collect();
            recipient.send((number, numbers)).map_err(SendError::without_message)
        };
        send(1, 1)?;
        ctx.link(to);
        send(2, 1)?;
        let monitor = ctx.monitor(to);
        // In several fragments.
        send(3, 50_000)?;
        ctx.demonitor(monitor);
        send(4, 1)?;
        ctx.exit(to, Reason::Shutdown);
        send(5, 1)?;
        Err(Reason::error("over"))
    });
    member.node.spawn(move || process).start().unwrap();
    let mut came = Vec::new();
    for _ in 0..10 {
        came.push(match peer.read().unwrap() {
            (ControlMessage::SendSender { .. }, Some(Term::Tuple(cast))) => match &cast[1] {
                Term::Tuple(parts) => parts[0].to_string(),
                other => panic!("{other}"),
            },
            (ControlMessage::Link { .. }, None) => "link".to_owned(),
            (ControlMessage::Monitor { .. }, None) => "monitor".to_owned(),
            (ControlMessage::Demonitor { .. }, None) => "demonitor".to_owned(),
            (
                ControlMessage::PayloadExit2 { .. } | ControlMessage::PayloadExit { .. },
                Some(reason),
            ) => reason.to_string(),
            other => panic!("{other:?}"),
        });
    }
    let over = "{error,<<\"over\">>}";
    let expected = ["1", "link", "2", "monitor", "3", "demonitor", "4", "shutdown", "5", over];
    assert_eq!(came, expected);
}

#[test]
fn zmsg2_what_a_process_of_another_node_sends_arrives_in_that_order() {
    let member = Member::start("in_a@127.0.0.1", "secret", &[]);
    let (told, tells) = channel();
    let process = behavior_fn(move |mut ctx: Context<Order>| async move {
        ctx.trap_exits(true);
        loop {
            let text = match ctx.receive().await {
                Received::Message(Order::Note(number)) => number.to_string(),
                Received::Message(Order::End(text)) => text.unwrap_or_default().len().to_string(),
                Received::Message(Order::Total(reply)) => {
                    reply.send(7);
                    "call".to_owned()
                }
                Received::Exit(exit) => exit.reason.to_string(),
                _ => continue,
            };
            let _ = told.send(text);
        }
    });
    let log = member.node.spawn(move || process).name("log").wait().unwrap();
    member.cluster.export::<Order>("log").unwrap();
    let mut peer = ScriptedPeer::dial(&member, "in_b@127.0.0.1", 10);
    member.cluster.cluster().unwrap().pid_term(log.pid()).unwrap();
    let (from, to) = (peer.pid(1), peer.theirs(log.pid()));
    peer.send_to("log", &gen_cast(note(1)));
    peer.say(&ControlMessage::Link { from: from.clone(), to: to.clone() }, None);
    peer.send_to("log", &note(2));
    let big = "x".repeat(300_000);
    peer.send_to("log", &gen_cast(tagged("end", [Term::binary(big)])));
    let exit = ControlMessage::PayloadExit2 { from: from.clone(), to: to.clone() };
    peer.say(&exit, Some(&Term::atom("shutdown")));
    peer.ask("log", Term::atom("total"));
    peer.say(&ControlMessage::PayloadExit { from, to }, Some(&Term::atom("gone")));
    peer.send_to("log", &gen_cast(note(3)));
    for expected in ["1", "2", "300000", "shutdown", "call", "gone", "3"] {
        assert_eq!(next(&tells), expected);
    }
}

#[test]
fn zmsg3_numbered_floods_each_way_arrive_once_and_in_order() {
    const EACH: i64 = 5_000;
    let (a, b) = pair("floods");
    // The first node learns where the second is by being dialled.
    a.worker("any");
    remote_pid(&b, "any", &a);
    let mut ends = Vec::new();
    for (from, to, label) in [(&a, &b, "there"), (&b, &a, "here")] {
        for at in 0..4 {
            let name = format!("{label}_{at}");
            let (done, is_done) = channel();
            let process = behavior_fn(move |mut ctx: Context<Order>| async move {
                let mut expected = 1;
                while expected <= EACH {
                    if let Received::Message(Order::Note(number)) = ctx.receive().await {
                        assert_eq!(number, expected);
                        expected += 1;
                    }
                }
                let _ = done.send(());
                Ok(())
            });
            let spawn = to.node.spawn(move || process).name(&name);
            spawn.wait().unwrap();
            to.cluster.export::<Order>(&name).unwrap();
            let recipient = from.cluster.remote::<Order>(&name, &to.name).unwrap();
            let process = behavior_fn(move |_: Context<()>| async move {
                for number in 1..=EACH {
                    let sent = recipient.send_or_wait(Order::Note(number)).await;
                    sent.map_err(SendError::without_message)?;
                }
                Ok(())
            });
            from.node.spawn(move || process).start().unwrap();
            ends.push(is_done);
        }
    }
    ends.iter().for_each(next);
}

#[test]
fn zmsg8_a_payload_that_cannot_be_read_costs_that_message_alone() {
    let member = Member::start("payload_a@127.0.0.1", "secret", &[]);
    let stock = member.worker("stock");
    let dead = dead_letters(&member);
    let mut peer = ScriptedPeer::dial(&member, "payload_b@127.0.0.1", 10);
    let name = Atom::fixed("stock");
    let control = ControlMessage::RegSend { from: peer.pid(1), name };
    peer.say_bytes(&control, vec![255, 1, 2]);
    peer.send_to("stock", &gen_cast(tagged("note", [Term::atom("no number")])));
    // A call to a variant without a token, and one to no variant.
    for (request, why) in [
        (note(1), "{refused,no_reply}"),
        (Term::atom("what"), "{refused,{undecodable,"),
        (tagged("add", [Term::Int(1), Term::atom("one")]), "{refused,{undecodable,"),
        // One element too many is not the token.
        (tagged("add", [Term::Int(1), Term::Int(2), Term::Int(3)]), "{refused,{undecodable,"),
        (tagged("total", [Term::Int(1)]), "{refused,{undecodable,"),
    ] {
        let reason = peer.answer("stock", request).unwrap_err().to_string();
        assert!(reason.starts_with(why), "{reason}");
    }
    assert_eq!(total(&mut peer), 0);
    assert_eq!(member.cluster.stats().unwrap().undecodable, 7);
    for _ in 0..7 {
        let letter = next(&dead);
        assert_eq!((letter.to, letter.cause), (stock.into(), DeadLetterCause::Undecodable));
    }
}

#[derive(Serialize, Deserialize)]
enum Odd {
    Number(Reply<f64>),
}

#[test]
fn zcall3_an_answer_that_cannot_be_written_is_a_refusal_with_the_reason() {
    let member = Member::start("nan_a@127.0.0.1", "secret", &[]);
    let process = behavior_fn(move |mut ctx: Context<Odd>| async move {
        while let Received::Message(Odd::Number(reply)) = ctx.receive().await {
            reply.send(f64::NAN);
        }
        Ok(())
    });
    member.node.spawn(move || process).name("nan").wait().unwrap();
    member.cluster.export::<Odd>("nan").unwrap();
    let mut peer = ScriptedPeer::dial(&member, "nan_b@127.0.0.1", 10);
    let why = tagged("unserializable", [Term::binary("NaN is not a finite float")]);
    let refused = tagged("refused", [why]);
    for _ in 0..2 {
        assert_eq!(peer.answer("nan", Term::atom("number")), Err(refused.clone()));
    }
}

#[test]
fn zmsg9_a_malformed_frame_or_control_message_ends_the_connection() {
    let member = Member::start("frames_a@127.0.0.1", "secret", &[]);
    let told = events(&member);
    let tuple = |parts: &[Term]| {
        let mut bytes = vec![131, 68, 0];
        Term::tuple(parts.iter().cloned()).write(&mut bytes).unwrap();
        bytes
    };
    let pid = |id| {
        let node = Atom::fixed("frames_b@127.0.0.1");
        Term::from(ExternalPid { node, id, serial: 0, creation: 10 })
    };
    for frame in [
        vec![1, 2, 3],
        vec![131, 68, 0],
        tuple(&[Term::Int(99)]),
        // A link of a wrong arity, and of wrong types.
        tuple(&[Term::Int(1), pid(1)]),
        tuple(&[Term::Int(1), Term::Int(1), pid(2)]),
    ] {
        let mut peer = ScriptedPeer::dial(&member, "frames_b@127.0.0.1", 10);
        assert!(matches!(next(&told), NodeEvent::Up(_)));
        let length = u32::try_from(frame.len()).unwrap();
        peer.write(&length.to_be_bytes());
        peer.write(&frame);
        peer.ends();
        assert!(matches!(next(&told), NodeEvent::Down(_)), "{frame:?}");
    }
}

#[test]
fn zmsg10_a_message_to_nobody_is_dropped_and_counted() {
    let member = Member::start("nobody_a@127.0.0.1", "secret", &[]);
    let stock = member.worker("stock");
    // It has a name, and is not exported.
    member.node.spawn(crate::support::Worker::default).name("hidden").wait().unwrap();
    let mut peer = ScriptedPeer::dial(&member, "nobody_b@127.0.0.1", 10);
    peer.send_to("nobody", &gen_cast(note(1)));
    peer.send_to("hidden", &gen_cast(note(1)));
    // Its pid was never sent out, and this one never existed.
    for to in [peer.theirs(stock), ExternalPid { id: 99_999, ..peer.theirs(stock) }] {
        let control = ControlMessage::SendSender { from: peer.pid(1), to };
        peer.say(&control, Some(&gen_cast(note(1))));
    }
    let counted = member.cluster.stats().unwrap();
    assert_eq!(total(&mut peer), 0);
    assert_eq!(member.cluster.stats().unwrap().unreachable, 4, "{counted:?}");
    assert_eq!(peer.answer("nobody", Term::atom("total")), Err(Term::atom("noproc")));
    assert_eq!(peer.answer("hidden", Term::atom("total")), Err(Term::atom("noproc")));
    assert_eq!(total(&mut peer), 0);
}

#[test]
fn zmsg12_a_full_mailbox_makes_a_cast_a_dead_letter_and_fails_a_call_at_once() {
    let member = Member::start("full_a@127.0.0.1", "secret", &[]);
    let dead = dead_letters(&member);
    let (begun, begins) = channel();
    let (open, opened) = channel::<()>();
    let process = behavior_fn(move |mut ctx: Context<Order>| async move {
        loop {
            if let Received::Message(Order::Note(_)) = ctx.receive().await {
                let _ = begun.send(());
                let _ = opened.recv();
            }
        }
    });
    let spawn = member.node.spawn(move || process).name("busy");
    let busy = spawn.mailbox(1).wait().unwrap();
    member.cluster.export::<Order>("busy").unwrap();
    member.worker("stock");
    let mut peer = ScriptedPeer::dial(&member, "full_b@127.0.0.1", 10);
    peer.send_to("busy", &gen_cast(note(1)));
    next(&begins);
    // One fits; from then on it is full.
    peer.send_to("busy", &gen_cast(note(2)));
    peer.send_to("busy", &gen_cast(note(3)));
    let refused = tagged("refused", [Term::atom("full")]);
    assert_eq!(peer.answer("busy", Term::atom("total")), Err(refused));
    until(|| member.cluster.stats().unwrap().refused == 2);
    let letter = next(&dead);
    assert_eq!((letter.to, letter.cause), (busy.pid().into(), DeadLetterCause::Overflow));
    assert_eq!(total(&mut peer), 0);
    drop(open);
    next(&begins);
    assert!(dead.try_recv().is_err());
}

/// A process that passes recipients on.
struct Holder;

#[derive(Serialize, Deserialize)]
enum Hold {
    /// Sends 40 and 2 to this one.
    Use(Recipient<Order>, Reply<bool>),
    /// Returns what was passed to it.
    Back(Recipient<Order>, Reply<Recipient<Order>>),
    /// Tries to send a value of a type that is not carried.
    Other(Pid, Reply<String>),
}

struct NotCarried;

impl Actor for Holder {
    type Message = Hold;

    async fn handle_message(&mut self, ctx: &mut Context<Hold>, message: Hold) -> Result {
        match message {
            Hold::Use(to, reply) => {
                to.send(Order::Note(40)).map_err(SendError::without_message)?;
                to.send(Order::Note(2)).map_err(SendError::without_message)?;
                reply.send(to.pid().node() > 0);
            }
            Hold::Back(to, reply) => reply.send(to),
            Hold::Other(to, reply) => match ctx.send(to, NotCarried) {
                Err(error @ SendError::Unserializable { .. }) => {
                    let text = error.to_string();
                    assert!(error.into_message().is::<NotCarried>());
                    reply.send(text);
                }
                other => reply.send(format!("{:?}", other.map_err(SendError::without_message))),
            },
        }
        Ok(())
    }
}

#[test]
fn zmsg14_a_recipient_that_is_sent_out_reaches_its_process_and_is_local_again_at_home() {
    let (a, b) = pair("carried");
    a.node.spawn(|| Holder).name("holder").wait().unwrap();
    a.cluster.export::<Hold>("holder").unwrap();
    let worker = b.node.spawn(crate::support::Worker::default).wait().unwrap();
    let holder = b.cluster.remote::<Hold>("holder", &a.name).unwrap();
    let to = worker.recipient();
    assert_eq!(holder.call(move |reply| Hold::Use(to, reply)).wait(), Ok(true));
    assert_eq!(worker.call(Order::Total).wait(), Ok(42));
    let to = worker.recipient();
    let back = holder.call(move |reply| Hold::Back(to, reply)).wait().unwrap();
    assert_eq!((back.pid(), back.pid().node()), (worker.pid(), 0));
    back.send(Order::Note(8)).unwrap();
    assert_eq!(worker.call(Order::Total).wait(), Ok(50));
    // What refuses it is told as it is.
    let stopped = b.node.watch(worker.pid());
    worker.send(Order::End(None)).unwrap();
    stopped.wait().unwrap();
    let error = back.send(Order::Note(1)).unwrap_err();
    assert!(matches!(error, SendError::NoProcess { message: Order::Note(1), .. }), "{error}");
    let pid = remote_pid_of_worker(&a, &b);
    let holder = a.node.lookup::<Hold, Hold>("holder").unwrap();
    let text = holder.call(move |reply| Hold::Other(pid, reply)).wait().unwrap();
    assert!(text.contains("NotCarried is not carried"), "{text}");
}

fn remote_pid_of_worker(from: &Member, on: &Member) -> Pid {
    on.worker("desk");
    remote_pid(from, "desk", on)
}

#[test]
fn zmsg14_a_recipient_that_came_home_tells_the_true_cause_of_a_refusal() {
    let (a, b) = pair("causes");
    a.node.spawn(|| Holder).name("holder").wait().unwrap();
    a.cluster.export::<Hold>("holder").unwrap();
    let holder = b.cluster.remote::<Hold>("holder", &a.name).unwrap();
    let pool = b.node.spawn(|| krarup_act::Pool::new(1, crate::support::Worker::default));
    let pool = pool.wait().unwrap();
    pool.call(|reply| Order::Add(1, 1, reply)).wait().unwrap();
    let to = pool.recipient();
    let back = holder.call(move |reply| Hold::Back(to, reply)).wait().unwrap();
    back.send(Order::Note(1)).unwrap();
    pool.drain().wait().unwrap();
    let error = back.send(Order::Note(1)).unwrap_err();
    let at_home = pool.send(Order::Note(1)).unwrap_err();
    assert_eq!(error.to_string(), at_home.to_string());
    assert!(!matches!(error, SendError::NoProcess { .. }), "{error}");
}
