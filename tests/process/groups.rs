//! Process groups (rules G1 to G5).

use crate::support::{Log, boom, simulations};
use crate::topic_support::{Say, ask, ear, tell};
use krarup::behavior::{Received, behavior_fn};
use krarup::groups::{GroupChange, JoinError, LeaveError, WatchGroupError};
use krarup::prelude::*;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn join(sim: &Simulation, ear: &Address<Say>, group: &'static str) {
    ask(sim, ear, move |ctx| ctx.join(group).unwrap());
}

fn leave(sim: &Simulation, ear: &Address<Say>, group: &'static str) -> Result<(), LeaveError> {
    ask(sim, ear, move |ctx| ctx.leave(group))
}

/// The members of a group as the letters of their names.
fn shown(sim: &Simulation, group: &str, names: &[(&Address<Say>, char)]) -> String {
    let letter = |pid: Pid| names.iter().find(|(ear, _)| ear.pid() == pid).map(|(_, name)| name);
    sim.groups().pids(group).into_iter().filter_map(letter).collect()
}

#[test]
fn g1_members_are_those_that_otp_has_in_the_order_of_joining() {
    for sim in simulations(5) {
        let log = Log::new();
        let (p, q) = (ear(&sim, "p", &log), ear(&sim, "q", &log));
        let names = [(&p, 'p'), (&q, 'q')];
        let groups = sim.groups();
        assert_eq!(shown(&sim, "none", &names), "");
        join(&sim, &p, "g");
        join(&sim, &p, "g");
        join(&sim, &q, "g");
        assert_eq!(shown(&sim, "g", &names), "ppq");
        for member in [&p, &q, &p] {
            groups.join("h", &member.recipient::<Say>()).unwrap();
        }
        assert_eq!(shown(&sim, "h", &names), "pqp");
        let listed: Vec<_> = groups.names().iter().map(ToString::to_string).collect();
        assert_eq!(listed, ["g", "h"]);
        // As often as it has joined, and not once more.
        leave(&sim, &p, "g").unwrap();
        leave(&sim, &p, "g").unwrap();
        let refused = LeaveError::NotJoined { pid: p.pid(), group: "g".to_owned() };
        assert_eq!(leave(&sim, &p, "g"), Err(refused));
        assert_eq!(shown(&sim, "g", &names), "q");
        // Of a list those leave that are there: the latest membership of each.
        assert_eq!(groups.leave_all("h", &[p.pid(), Pid::local(999, 0)]), 1);
        assert_eq!(shown(&sim, "h", &names), "pq");
        assert_eq!(groups.leave_all("h", &[p.pid(), q.pid(), p.pid()]), 2);
        let listed: Vec<_> = groups.names().iter().map(ToString::to_string).collect();
        assert_eq!(listed, ["g"]);
        assert_eq!(format!("{groups:?}"), "Groups([\"g\"])");
    }
}

#[test]
fn g1_a_text_that_is_no_name_joins_nothing() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let p = ear(&sim, "p", &log);
    let refused = ask(&sim, &p, |ctx| (ctx.join(""), ctx.watch_group("x".repeat(256)).err()));
    assert!(matches!(refused.0, Err(JoinError::InvalidName(_))), "{:?}", refused.0);
    assert!(matches!(refused.1, Some(WatchGroupError::InvalidName(_))), "{:?}", refused.1);
    assert!(leave(&sim, &p, "").is_err());
    assert_eq!(sim.groups().names(), []);
}

#[test]
fn g2_who_is_dead_is_in_no_group_before_anyone_is_told() {
    for sim in simulations(5) {
        for way in 0..5 {
            let log = Log::new();
            let (a, b) = (ear(&sim, "a", &log), ear(&sim, "b", &log));
            for group in ["g", "g", "h"] {
                join(&sim, &a, group);
            }
            join(&sim, &b, "g");
            // A watcher looks in the moment in which it is told.
            let seen = Arc::new(Mutex::new(None));
            let (told, groups) = (Arc::clone(&seen), sim.groups());
            let mut watch = Box::pin(sim.watch(a.pid()).into_future());
            let waker = crate::support::on_wake(move || {
                *told.lock().unwrap() = Some((groups.pids("g"), groups.pids("h")));
            });
            assert!(crate::support::poll_with(&mut watch, &waker).is_pending());
            match way {
                0 => sim.kill(a.pid()),
                1 => tell(&a, |_| Err(boom())),
                2 => drop(a.stop().wait()),
                3 => tell(&a, |_| panic!("on purpose")),
                _ => sim.exit(a.pid(), boom()),
            }
            sim.run_until_idle();
            assert_eq!(*seen.lock().unwrap(), Some((vec![b.pid()], vec![])), "way {way}");
            let late = sim.groups().join("g", &a.recipient::<Say>());
            assert_eq!(late, Err(JoinError::NoProcess(a.pid())));
            assert!(sim.groups().leave("g", a.pid()).is_err());
            assert_eq!(sim.groups().pids("g"), [b.pid()]);
            sim.kill(b.pid());
            sim.run_until_idle();
            assert_eq!(sim.groups().names(), []);
        }
    }
}

#[test]
fn g2_the_next_incarnation_joins_in_its_init() {
    struct Member;
    impl Actor for Member {
        type Message = ();
        async fn init(&mut self, ctx: &mut Context<()>) -> Result {
            ctx.join("g")?;
            Ok(())
        }
        async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
            Ok(())
        }
    }
    for sim in simulations(5) {
        let child = || ChildSpec::worker("member", || Member);
        sim.spawn(move || {
            Supervisor::one_for_one().intensity(9, Duration::from_secs(1)).child(child())
        })
        .wait()
        .unwrap();
        for _ in 0..5 {
            let [before] = sim.groups().pids("g")[..] else { panic!("one member") };
            sim.kill(before);
            sim.run_until_idle();
            let after = sim.groups().pids("g");
            assert!(after.len() == 1 && after[0] != before, "{after:?}");
        }
    }
}

#[test]
fn g3_a_watcher_gets_each_change_once_as_otp_tells_it() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let [w, p, q] = ["w", "p", "q"].map(|name| ear(&sim, name, &log));
    let (id_p, id_q) = (p.pid().id(), q.pid().id());
    let (now, _) = ask(&sim, &w, |ctx| ctx.watch_group("g").unwrap());
    assert_eq!(now, []);
    // A group that is only watched is none.
    assert_eq!(sim.groups().names(), []);
    for member in [&p, &p, &q] {
        join(&sim, member, "g");
    }
    join(&sim, &p, "h");
    leave(&sim, &p, "g").unwrap();
    sim.kill(p.pid());
    sim.run_until_idle();
    let told = [
        format!("w +{id_p}"),
        format!("w +{id_p}"),
        format!("w +{id_q}"),
        format!("w -{id_p}"),
        format!("w -{id_p}"),
    ];
    assert_eq!(
        log.take().into_iter().filter(|line| line.starts_with("w ")).collect::<Vec<_>>(),
        told
    );
    // A second watcher begins with who is there.
    let x = ear(&sim, "x", &log);
    let (now, watch) = ask(&sim, &x, |ctx| ctx.watch_group("g").unwrap());
    assert_eq!((now, watch.group().as_str()), (vec![q.pid()], "g"));
    assert_eq!(format!("{watch:?}"), "GroupWatch(g)");
    // Unwatched, nothing comes, also of what waits already.
    let (ended, again) = ask(&sim, &x, {
        let groups = sim.groups();
        move |ctx| {
            groups.leave("g", groups.pids("g")[0]).unwrap();
            (ctx.unwatch_group(&watch), ctx.unwatch_group(&watch))
        }
    });
    assert!(ended && !again);
    sim.run_until_idle();
    assert_eq!(log.take(), [format!("w -{id_q}")]);
}

#[test]
fn g3_a_process_that_watches_again_has_the_members_of_now_and_no_change_twice() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let (w, p) = (ear(&sim, "w", &log), ear(&sim, "p", &log));
    ask(&sim, &w, |ctx| ctx.watch_group("g").unwrap().0);
    let now = ask(&sim, &w, {
        let (groups, p) = (sim.groups(), p.recipient::<Say>());
        move |ctx| {
            // It waits in the mailbox while the process watches again.
            groups.join("g", &p).unwrap();
            ctx.watch_group("g").unwrap().0
        }
    });
    assert_eq!(now, [p.pid()]);
    assert_eq!(log.take(), [] as [String; 0]);
    leave(&sim, &p, "g").unwrap();
    assert_eq!(log.take(), [format!("w -{}", p.pid().id())]);
}

#[test]
fn g3_processes_of_two_nodes_that_have_one_number_both_watch_a_group() {
    let (one, two) = (Simulation::new(1), Simulation::new(1));
    let log = Log::new();
    let watchers = [(&one, "one"), (&two, "two")].map(|(sim, name)| {
        let (groups, log) = (one.groups(), log.clone());
        let watcher = behavior_fn(move |mut ctx: Context<GroupChange>| async move {
            ctx.watch_group_of(&groups, "stock").unwrap();
            while let Received::Message(change) = ctx.receive().await {
                log.note(format!("{name} has heard: {change}"));
            }
            Ok(())
        });
        let watcher = sim.spawn(move || watcher).start().unwrap();
        sim.run_until_idle();
        watcher.pid().id()
    });
    assert_eq!(watchers[0], watchers[1]);
    let member = behavior_fn(|ctx: Context<u32>| async move {
        ctx.join("stock").unwrap();
        std::future::pending().await
    });
    one.spawn(move || member).start().unwrap();
    one.run_until_idle();
    two.run_until_idle();
    let heard: Vec<_> = log.take().into_iter().map(|line| line[..3].to_owned()).collect();
    assert_eq!(heard, ["one", "two"]);
}

#[test]
fn g3_a_watcher_of_all_groups_has_them_all_and_then_each_change_once() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let [w, p, q] = ["w", "p", "q"].map(|name| ear(&sim, name, &log));
    let (id_p, id_q) = (p.pid().id(), q.pid().id());
    for (member, group) in [(&q, "h"), (&p, "g"), (&q, "g"), (&p, "g")] {
        join(&sim, member, group);
    }
    let (now, watch) = ask(&sim, &w, |ctx| ctx.watch_groups(&ctx.groups()).unwrap());
    let now: Vec<_> = now.iter().map(|(group, pids)| (group.as_str(), pids.clone())).collect();
    let (of_g, of_h) = (vec![p.pid(), q.pid(), p.pid()], vec![q.pid()]);
    assert_eq!(now, [("g", of_g), ("h", of_h)]);
    assert_eq!(format!("{watch:?}"), "GroupsWatch(..)");
    // A watch of one group beside it hears of it, too.
    ask(&sim, &w, |ctx| ctx.watch_group("i").unwrap().0);
    join(&sim, &p, "i");
    leave(&sim, &p, "g").unwrap();
    sim.kill(q.pid());
    sim.run_until_idle();
    let changes = |log: &Log| -> Vec<String> {
        log.take().into_iter().filter(|line| line.starts_with("w ")).collect()
    };
    let told = changes(&log);
    let expected = [("+", id_p), ("+", id_p), ("-", id_p), ("-", id_q), ("-", id_q)]
        .map(|(did, id)| format!("w {did}{id}"));
    assert_eq!(told, expected);
    // Watched again: the members of now, and what waits of before is dropped.
    let (now, again) = ask(&sim, &w, {
        let (groups, p) = (sim.groups(), p.recipient::<Say>());
        move |ctx| {
            groups.join("h", &p).unwrap();
            ctx.watch_groups(&groups).unwrap()
        }
    });
    let groups: Vec<_> = now.iter().map(|(group, _)| group.as_str()).collect();
    assert_eq!(groups, ["g", "h", "i"]);
    assert_eq!(changes(&log), [] as [String; 0]);
    let ended = ask(&sim, &w, move |ctx| {
        let groups = ctx.groups();
        groups.leave("h", groups.pids("h")[0]).unwrap();
        (ctx.unwatch_groups(&again), ctx.unwatch_groups(&watch))
    });
    assert_eq!(ended, (true, false));
    join(&sim, &p, "h");
    sim.run_until_idle();
    assert_eq!(changes(&log), [] as [String; 0]);
}

/// Watches in `init`, and keeps the members up to date.
struct Mirror(Arc<Mutex<BTreeMap<Pid, i32>>>);

impl Actor for Mirror {
    type Message = GroupChange;

    async fn init(&mut self, ctx: &mut Context<GroupChange>) -> Result {
        let (now, _) = ctx.watch_group("g")?;
        let mut mirror = self.0.lock().unwrap();
        now.into_iter().for_each(|pid| *mirror.entry(pid).or_default() += 1);
        Ok(())
    }

    async fn handle_message(
        &mut self,
        _: &mut Context<GroupChange>,
        change: GroupChange,
    ) -> Result {
        let mut mirror = self.0.lock().unwrap();
        let times = mirror.entry(change.pid()).or_default();
        *times += if matches!(change, GroupChange::Joined { .. }) { 1 } else { -1 };
        assert!(*times >= 0, "left before it has joined");
        Ok(())
    }
}

/// As [`Mirror`], of all groups.
struct MirrorOfAll(Arc<Mutex<BTreeMap<Pid, i32>>>);

impl Actor for MirrorOfAll {
    type Message = GroupChange;

    async fn init(&mut self, ctx: &mut Context<GroupChange>) -> Result {
        let groups = ctx.groups();
        let (now, _) = ctx.watch_groups(&groups)?;
        let mut mirror = self.0.lock().unwrap();
        let pids = now.into_iter().flat_map(|(_, pids)| pids);
        pids.for_each(|pid| *mirror.entry(pid).or_default() += 1);
        Ok(())
    }

    async fn handle_message(
        &mut self,
        _: &mut Context<GroupChange>,
        change: GroupChange,
    ) -> Result {
        let mut mirror = self.0.lock().unwrap();
        let times = mirror.entry(change.pid()).or_default();
        *times += if matches!(change, GroupChange::Joined { .. }) { 1 } else { -1 };
        assert!(*times >= 0, "left before it has joined");
        Ok(())
    }
}

/// Joins and leaves at random, and dies in the end of some runs.
struct Restless(u64);

impl Actor for Restless {
    type Message = ();

    async fn init(&mut self, ctx: &mut Context<()>) -> Result {
        ctx.address().send(())?;
        Ok(())
    }

    async fn handle_message(&mut self, ctx: &mut Context<()>, (): ()) -> Result {
        match ctx.random() % 4 {
            0 | 1 => ctx.join("g")?,
            2 => drop(ctx.leave("g")),
            _ if self.0.is_multiple_of(3) => return Err(boom()),
            _ => {}
        }
        self.0 -= 1;
        if self.0 > 0 {
            ctx.address().send(())?;
        }
        Ok(())
    }
}

/// The members, as often as each has joined, and what mirrors have made of the changes.
fn agree(node: &Node, mirrors: &[Arc<Mutex<BTreeMap<Pid, i32>>>]) {
    let mut members = BTreeMap::new();
    for pid in node.groups().pids("g") {
        *members.entry(pid).or_default() += 1;
    }
    for mirror in mirrors {
        let mut mirrored = mirror.lock().unwrap().clone();
        mirrored.retain(|_, times| *times > 0);
        assert_eq!(mirrored, members);
    }
}

#[test]
fn g3_none_is_missed_and_none_comes_twice_while_others_join_leave_and_die() {
    for sim in simulations(200) {
        let mirrors: [Arc<Mutex<BTreeMap<Pid, i32>>>; 3] = Default::default();
        for (round, mirror) in mirrors.iter().enumerate() {
            for number in 0..4 {
                sim.spawn(move || Restless(number + 5 * round as u64 + 1)).start().unwrap();
            }
            let mirror = Arc::clone(mirror);
            // It watches in the middle of it all.
            if round == 1 {
                sim.spawn(move || MirrorOfAll(mirror)).start().unwrap();
            } else {
                sim.spawn(move || Mirror(mirror)).start().unwrap();
            }
        }
        sim.run_until_idle();
        agree(&sim, &mirrors);
    }
}

#[test]
fn g3_the_same_on_threads() {
    let node = Node::builder("groups").workers(2).start().unwrap();
    let mirrors: [Arc<Mutex<BTreeMap<Pid, i32>>>; 3] = Default::default();
    let mut watchers = Vec::new();
    for mirror in &mirrors {
        let restless: Vec<_> = (0..20)
            .map(|number| node.spawn(move || Restless(300 + number)).start().unwrap())
            .collect();
        let mirror = Arc::clone(mirror);
        watchers.push(node.spawn(move || Mirror(mirror)).wait().unwrap());
        for one in restless {
            one.finish();
            drop(node.watch(one.pid()).wait());
        }
    }
    for watcher in watchers {
        // Behind all changes.
        watcher.finish();
        drop(node.watch(watcher.pid()).wait());
    }
    agree(&node, &mirrors);
    node.stop().wait().unwrap();
}

/// A process with messages of another type, made from those of the others.
struct Number;

struct Digits(#[allow(dead_code, reason = "only its type counts")] String);

impl From<Say> for Digits {
    fn from(_: Say) -> Self {
        Digits(String::new())
    }
}

impl Actor for Number {
    type Message = Digits;

    async fn init(&mut self, ctx: &mut Context<Digits>) -> Result {
        ctx.join("g")?;
        ctx.join_as::<Say>("said")?;
        Ok(())
    }

    async fn handle_message(&mut self, ctx: &mut Context<Digits>, _: Digits) -> Result {
        ctx.stop();
        Ok(())
    }
}

#[test]
fn g4_members_are_those_that_take_the_message() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let (p, number) = (ear(&sim, "p", &log), sim.spawn(|| Number).wait().unwrap());
    join(&sim, &p, "g");
    let pids = |members: Vec<Pid>| members;
    let groups = sim.groups();
    assert_eq!(pids(groups.pids("g")), [number.pid(), p.pid()]);
    let takes_say: Vec<_> = groups.members::<Say>("g").iter().map(krarup::Recipient::pid).collect();
    let takes_digits: Vec<_> =
        groups.members::<Digits>("g").iter().map(krarup::Recipient::pid).collect();
    assert_eq!((takes_say, takes_digits), (vec![p.pid()], vec![number.pid()]));
    assert!(groups.members::<u32>("g").is_empty() && groups.any::<u32>("g").is_none());
    // To look up sends nothing.
    assert_eq!((p.waiting(), number.waiting()), (0, 0));
    let said = groups.any::<Say>("said").unwrap();
    assert_eq!(said.pid(), number.pid());
    said.send(Say::Price(1)).ok().unwrap();
    sim.run_until_idle();
    assert!(!number.is_alive());
    assert!(groups.members::<Say>("said").is_empty());
}

#[test]
fn g4_any_is_one_of_all_and_the_same_with_the_same_seed() {
    let chosen = |seed| {
        let sim = Simulation::new(seed);
        let log = Log::new();
        let ears: Vec<_> = (0..4).map(|_| ear(&sim, "p", &log)).collect();
        ears.iter().for_each(|ear| join(&sim, ear, "g"));
        // Removing one leaves a gap, which is nobody's gain.
        leave(&sim, &ears[1], "g").unwrap();
        let groups = sim.groups();
        let chosen: Vec<_> = (0..300).map(|_| groups.any::<Say>("g").unwrap().pid().id()).collect();
        for ear in [&ears[0], &ears[2], &ears[3]] {
            let times = chosen.iter().filter(|id| **id == ear.pid().id()).count();
            assert!((50..150).contains(&times), "{times} of 300");
        }
        chosen
    };
    assert_eq!(chosen(7), chosen(7));
    assert_ne!(chosen(7), chosen(8));
}

#[test]
fn g4_a_message_to_all_is_cloned_for_each_and_counted() {
    #[derive(Clone)]
    struct Close;
    struct Shelf;
    impl Actor for Shelf {
        type Message = Close;
        async fn init(&mut self, ctx: &mut Context<Close>) -> Result {
            ctx.join("stock")?;
            Ok(())
        }
        async fn handle_message(&mut self, ctx: &mut Context<Close>, _: Close) -> Result {
            ctx.stop();
            Ok(())
        }
    }
    let sim = Simulation::new(1);
    let shelves: Vec<_> = (0..3).map(|_| sim.spawn(|| Shelf).mailbox(1).wait().unwrap()).collect();
    shelves[0].send(Close).ok().unwrap();
    // One is full.
    assert_eq!(sim.groups().send_all("stock", Close), 2);
    sim.run_until_idle();
    assert_eq!(sim.groups().send_all("stock", Close), 0);
}

#[test]
fn g5_a_node_joins_its_own_processes_only() {
    let (one, other) =
        (Node::builder("one").start().unwrap(), Node::builder("two").start().unwrap());
    let log = Log::new();
    let foreign = ear(&other, "foreign", &log);
    let refused = one.groups().join("g", &foreign.recipient::<Say>());
    assert_eq!(refused, Err(JoinError::NotLocal(foreign.pid())));
    assert_eq!((one.groups().names(), other.groups().names()), (vec![], vec![]));
    other.groups().join("g", &foreign.recipient::<Say>()).unwrap();
    assert_eq!((one.groups().pids("g"), other.groups().pids("g")), (vec![], vec![foreign.pid()]));
    one.stop().wait().unwrap();
    other.stop().wait().unwrap();
}
