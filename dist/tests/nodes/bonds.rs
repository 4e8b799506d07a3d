//! Links and monitors over the wire: what is said, in which order, and how often anybody is told.

use crate::support::Member;
use crate::support::scripted::{ScriptedPeer, gen_cast, tagged};
use crate::support::watching::{Seen, events, next, until, watcher};
use krarup_act::{Context, Received, behavior_fn};
use krarup_dist::etf::{Atom, ExternalPid, Reference, Term};
use krarup_dist::{HasCluster, NodeEvent};
use krarup_gen::{Name, Pid, Reason, Target};
use krarup_wire::{ControlMessage, Monitored};
use std::num::NonZeroU64;
use std::sync::mpsc::channel;

fn pid(member: &Member, peer: &ScriptedPeer, id: u32) -> Pid {
    member.cluster.cluster().unwrap().pid(&peer.pid(id).into()).unwrap()
}

fn id(number: u64) -> NonZeroU64 {
    NonZeroU64::new(number).unwrap()
}

/// Makes a worker reachable by its pid, and returns it.
fn reachable(member: &Member, peer: &ScriptedPeer, name: &str) -> ExternalPid {
    let worker = member.worker(name);
    member.cluster.cluster().unwrap().pid_term(worker).unwrap();
    peer.theirs(worker)
}

/// All that was said before has been handled.
fn settle(peer: &mut ScriptedPeer) {
    assert!(matches!(peer.answer("stock", Term::atom("total")), Ok(Term::Int(_))));
}

#[test]
fn zlink5_an_unlink_is_acknowledged_before_any_other_signal_of_that_process() {
    let member = Member::start("ack_a@127.0.0.1", "secret", &[]);
    let mut peer = ScriptedPeer::dial(&member, "ack_b@127.0.0.1", 10);
    let to = reachable(&member, &peer, "stock");
    let from = peer.pid(5);
    let (link, exit) = (
        ControlMessage::Link { from: from.clone(), to: to.clone() },
        ControlMessage::PayloadExit { from: from.clone(), to: to.clone() },
    );
    for number in 1..=20 {
        peer.say(&link, None);
        let (from, to) = (from.clone(), to.clone());
        peer.say(&ControlMessage::UnlinkId { id: id(number), from, to }, None);
        // The process answers behind it.
        let asked = peer.ask("stock", Term::atom("total"));
        let Some((ControlMessage::UnlinkIdAck { id: found, .. }, None)) = peer.read() else {
            panic!("no acknowledgement")
        };
        assert_eq!(found, id(number));
        assert_eq!(peer.outcome(&asked), Ok(Term::Int(0)));
    }
    // The exit of a link that is gone has no effect.
    peer.say(&exit, Some(&Term::atom("boom")));
    settle(&mut peer);
    assert_eq!(member.connection().links, 0);
    // An unlink without a link is acknowledged, too; and its end is that of no link.
    let unlink = ControlMessage::UnlinkId { id: id(99), from: from.clone(), to: to.clone() };
    peer.say(&unlink, None);
    assert!(matches!(peer.read(), Some((ControlMessage::UnlinkIdAck { id: found, .. }, None))
        if found == id(99)));
    peer.say(&link, None);
    peer.send_to("stock", &gen_cast(tagged("end", [Term::atom("undefined")])));
    let Some((ControlMessage::PayloadExit { from: found, .. }, Some(reason))) = peer.read() else {
        panic!("no exit")
    };
    assert_eq!((found, reason), (to, Term::atom("normal")));
}

#[test]
fn zlink5_a_link_that_is_read_while_unlinking_changes_nothing_and_numbers_differ() {
    let member = Member::start("unlink_a@127.0.0.1", "secret", &[]);
    let mut peer = ScriptedPeer::dial(&member, "unlink_b@127.0.0.1", 10);
    member.worker("stock");
    let far = pid(&member, &peer, 5);
    let (told, tells) = channel();
    let process = behavior_fn(move |mut ctx: Context<u32>| async move {
        ctx.trap_exits(true);
        loop {
            match ctx.receive().await {
                Received::Message(0) => ctx.unlink(far),
                Received::Message(_) => ctx.link(far),
                Received::Exit(exit) => drop(told.send(exit.reason)),
                _ => {}
            }
        }
    });
    let process = member.node.spawn(move || process).wait().unwrap();
    let mut numbers = Vec::new();
    for _ in 0..3 {
        process.send(1).unwrap();
        let Some((ControlMessage::Link { from: local, to }, None)) = peer.read() else {
            panic!("no link")
        };
        assert_eq!(to, peer.pid(5));
        process.send(0).unwrap();
        let Some((ControlMessage::UnlinkId { id, .. }, None)) = peer.read() else {
            panic!("no unlink")
        };
        // Their link and their exit are on their way.
        let (from, to) = (peer.pid(5), local);
        peer.say(&ControlMessage::Link { from: from.clone(), to: to.clone() }, None);
        let exit = ControlMessage::PayloadExit { from: from.clone(), to: to.clone() };
        peer.say(&exit, Some(&Term::atom("boom")));
        settle(&mut peer);
        assert_eq!(member.connection().links, 1, "it is forgotten before it is acknowledged");
        // An acknowledgement of another unlink is not the one that it waits for.
        let other = NonZeroU64::new(id.get() + 7).unwrap();
        let acknowledge =
            |id| ControlMessage::UnlinkIdAck { id, from: from.clone(), to: to.clone() };
        peer.say(&acknowledge(other), None);
        settle(&mut peer);
        assert_eq!(member.connection().links, 1);
        if numbers.is_empty() {
            // It links again before the acknowledgement, which is then that of the past.
            process.send(1).unwrap();
            assert!(matches!(peer.read(), Some((ControlMessage::Link { .. }, None))));
            peer.say(&acknowledge(id), None);
            settle(&mut peer);
            process.send(0).unwrap();
            let Some((ControlMessage::UnlinkId { id: again, .. }, None)) = peer.read() else {
                panic!("the link was forgotten")
            };
            assert_ne!(again, id);
            peer.say(&acknowledge(again), None);
        } else {
            peer.say(&acknowledge(id), None);
        }
        settle(&mut peer);
        assert_eq!(member.connection().links, 0);
        numbers.push(id);
    }
    numbers.dedup();
    assert_eq!(numbers.len(), 3);
    assert!(tells.try_recv().is_err());
}

#[test]
fn zlink6_monitors_by_pid_and_by_name_tell_once_each_and_two_are_two() {
    let member = Member::start("mon_a@127.0.0.1", "secret", &[]);
    let mut peer = ScriptedPeer::dial(&member, "mon_b@127.0.0.1", 10);
    let to = reachable(&member, &peer, "mortal");
    member.worker("stock");
    let by_pid = Monitored::Pid(to);
    let by_name = Monitored::Name(Atom::fixed("mortal"));
    let targets = [&by_pid, &by_pid, &by_name, &by_name];
    let made: Vec<(Reference, Monitored)> = targets
        .iter()
        .map(|target| {
            let (from, reference) = (peer.pid(5), peer.reference());
            let target = Monitored::clone(target);
            let monitor = ControlMessage::Monitor {
                from,
                target: target.clone(),
                reference: reference.clone(),
            };
            peer.say(&monitor, None);
            (reference, target)
        })
        .collect();
    // One is removed: nothing comes of it.
    let (reference, target) = made[1].clone();
    let from = peer.pid(5);
    peer.say(&ControlMessage::Demonitor { from, target, reference }, None);
    settle(&mut peer);
    peer.send_to("mortal", &gen_cast(tagged("end", [Term::binary("boom")])));
    let mut left = vec![made[0].clone(), made[2].clone(), made[3].clone()];
    for _ in 0..3 {
        let Some((ControlMessage::PayloadMonitorExit { target, to, reference }, Some(reason))) =
            peer.read()
        else {
            panic!("no notice")
        };
        assert_eq!((to, reason.to_string()), (peer.pid(5), "{error,<<\"boom\">>}".to_owned()));
        // It is named as it was monitored.
        let at = left.iter().position(|one| *one == (reference.clone(), target.clone())).unwrap();
        left.remove(at);
    }
    // A demonitor that comes too late, or twice, has no effect.
    for (reference, target) in made {
        let from = peer.pid(5);
        peer.say(&ControlMessage::Demonitor { from, target, reference }, None);
    }
    settle(&mut peer);
    // The monitor of the last call is removed after its answer.
    until(|| member.connection().foreign_monitors == 0);
}

#[test]
fn zlink6_a_monitor_of_ours_tells_once_whatever_the_other_node_says_and_when_it_is_lost() {
    let member = Member::start("once_a@127.0.0.1", "secret", &[]);
    let mut peer = ScriptedPeer::dial(&member, "once_b@127.0.0.1", 10);
    let told = events(&member);
    member.worker("stock");
    let far = pid(&member, &peer, 5);
    let name = Target::Remote(Name::new("far").unwrap(), "once_b@127.0.0.1".parse().unwrap());
    let targets = vec![Target::Pid(far), Target::Pid(far), name.clone(), name.clone()];
    let seen = watcher(&member, None, targets);
    let mut downs = Vec::new();
    for _ in 0..4 {
        let Some((ControlMessage::Monitor { from, target, reference }, None)) = peer.read() else {
            panic!("no monitor")
        };
        downs.push(ControlMessage::PayloadMonitorExit { target, to: from, reference });
    }
    // The first and the third end, and that is said three times.
    for _ in 0..3 {
        peer.say(&downs[0], Some(&Term::atom("boom")));
        peer.say(&downs[2], Some(&Term::atom("boom")));
    }
    settle(&mut peer);
    let boom = |seen: &Seen| matches!(seen, Seen::Down(_, reason) if reason.to_string() == "boom");
    let both = [next(&seen), next(&seen)];
    assert!(both.iter().all(boom), "{both:?}");
    assert!(matches!(&both[1], Seen::Down(target, _) if *target == name));
    assert_eq!(member.connection().monitors, 2);
    drop(peer);
    assert!(matches!(next(&told), NodeEvent::Down(_)));
    let both = [next(&seen), next(&seen)];
    let lost = |seen: &Seen| matches!(seen, Seen::Down(_, Reason::NoConnection));
    assert!(both.iter().all(lost), "{both:?}");
    // The next connection knows nothing of them.
    let mut peer = ScriptedPeer::dial(&member, "once_b@127.0.0.1", 10);
    downs.iter().for_each(|down| peer.say(down, Some(&Term::atom("boom"))));
    settle(&mut peer);
    assert!(seen.try_recv().is_err());
}

#[test]
fn zlink6_a_demonitor_that_races_with_the_end_is_told_at_most_once() {
    let member = Member::start("race_a@127.0.0.1", "secret", &[]);
    let mut peer = ScriptedPeer::dial(&member, "race_b@127.0.0.1", 10);
    member.worker("stock");
    let far = pid(&member, &peer, 5);
    let (told, tells) = channel();
    let process = behavior_fn(move |mut ctx: Context<bool>| async move {
        let mut monitor = ctx.monitor(far);
        loop {
            match ctx.receive().await {
                Received::Message(_) => {
                    let had = ctx.demonitor(monitor);
                    monitor = ctx.monitor(far);
                    let _ = told.send(u32::from(had));
                }
                Received::Down(_) => drop(told.send(2)),
                _ => {}
            }
        }
    });
    let process = member.node.spawn(move || process).wait().unwrap();
    let mut reference = match peer.read() {
        Some((ControlMessage::Monitor { from, target, reference }, None)) => {
            ControlMessage::PayloadMonitorExit { target, to: from, reference }
        }
        other => panic!("{other:?}"),
    };
    for _ in 0..50 {
        // Both are on their way at the same time.
        peer.say(&reference, Some(&Term::atom("boom")));
        process.send(true).unwrap();
        reference = loop {
            match peer.read() {
                Some((ControlMessage::Monitor { from, target, reference }, None)) => {
                    break ControlMessage::PayloadMonitorExit { target, to: from, reference };
                }
                Some((ControlMessage::Demonitor { .. }, None)) => {}
                other => panic!("{other:?}"),
            }
        };
        settle(&mut peer);
        // Either the notice or the removal, never both.
        let outcome: Vec<u32> = match next(&tells) {
            2 => vec![2, next(&tells)],
            first => vec![first],
        };
        assert!([vec![2, 0], vec![1]].contains(&outcome), "{outcome:?}");
        assert!(tells.try_recv().is_err());
    }
}
