//! Links, monitors and exit signals: rules L1, L2 and L4 to L9. (L3 is in terminate.rs.)

use crate::support::{
    Act, Does, Log, Puppet, asked, boom, poll_once, puppet, simulations, trapper,
};
use krarup::behavior::{Received, behavior_fn};
use krarup::prelude::*;
use krarup::supervisor::{Ignore, InPlace};
use krarup::{Name, Ref};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::task::Poll;
use std::thread;
use std::time::Duration;

fn nobody() -> Pid {
    "<0.4711.0>".parse().unwrap()
}

#[test]
fn l4_a_pid_of_another_node_is_answered_with_no_connection() {
    let (here, there) = (Simulation::new(1), Simulation::new(2));
    let log = Log::new();
    let living = puppet(&there, "living", &log).pid();
    let a = trapper(&here, "a", &log);
    a.tells(move |ctx| ctx.link(living));
    a.tells(move |ctx| {
        ctx.monitor(living);
    });
    here.run_until_idle();
    let heard = heard(&log);
    assert_eq!(heard.len(), 2, "{heard:?}");
    assert!(heard.iter().all(|line| line.contains("no connection")), "{heard:?}");
    assert_eq!(here.watch(living).wait().unwrap().reason, Reason::NoConnection);
    let sent = here.send(living, 1_u8);
    assert!(matches!(sent, Err(SendError::NoConnection { .. })), "{sent:?}");
    assert!(there.is_alive(living));
    let found = here.address_of::<Act, Act>(living);
    assert!(matches!(found, Err(krarup::LookupError::NoConnection(pid)) if pid == living));
}

/// Links the first to the second.
fn link(a: &Address<Act>, b: &Address<Act>) {
    let to = b.pid();
    a.tells(move |ctx| ctx.link(to));
}

/// What was noted, without who terminated and was dropped.
fn heard(log: &Log) -> Vec<String> {
    let mut lines = log.take_sorted();
    lines.retain(|line| line.contains(" exit ") || line.contains(" down "));
    lines
}

#[test]
fn l2_a_shutdown_ends_untrapping_peers_too_and_normal_does_not() {
    for sim in simulations(20) {
        for reason in [Reason::Shutdown, Reason::shutdown("a detail"), Reason::Normal] {
            let log = Log::new();
            let (a, b, c) =
                (puppet(&sim, "a", &log), puppet(&sim, "b", &log), trapper(&sim, "c", &log));
            link(&a, &b);
            link(&b, &c);
            sim.run_until_idle();
            let mut end = b.watch();
            a.dies(reason.clone());
            sim.run_until_idle();
            if reason.is_normal() {
                assert!(poll_once(&mut end).is_pending() && heard(&log).is_empty());
                continue;
            }
            assert!(matches!(poll_once(&mut end), Poll::Ready(down) if down.reason == reason));
            assert_eq!(heard(&log), [format!("c exit {} {reason}", b.pid())]);
        }
    }
}

#[test]
fn l1_a_link_is_two_way_and_idempotent() {
    for sim in simulations(20) {
        let log = Log::new();
        let (a, b) = (trapper(&sim, "a", &log), trapper(&sim, "b", &log));
        (0..3).for_each(|_| link(&a, &b));
        (0..3).for_each(|_| link(&b, &a));
        link(&a, &a);
        sim.run_until_idle();
        assert_eq!(sim.process_info(a.pid()).unwrap().links, [b.pid()]);
        assert_eq!(sim.process_info(b.pid()).unwrap().links, [a.pid()]);
        b.dies(boom());
        sim.run_until_idle();
        assert_eq!(heard(&log), [format!("a exit {} boom", b.pid())]);
        assert_eq!(sim.process_info(a.pid()).unwrap().links, []);
    }
}

#[test]
fn l1_a_link_that_is_made_again_is_as_urgent_as_it_was() {
    for sim in simulations(5) {
        for again in [Context::link as fn(&mut Context<Act>, Pid), Context::link_urgent] {
            let log = Log::new();
            let (a, b) = (trapper(&sim, "a", &log), puppet(&sim, "b", &log));
            let to = b.pid();
            a.tells(move |ctx| {
                ctx.link_urgent(to);
                again(ctx, to);
            });
            sim.run_until_idle();
            sim.suspend(a.pid()).wait().unwrap();
            let noted = log.clone();
            a.tells(move |_| noted.note("sent before the end"));
            b.dies(boom());
            sim.run_until_idle();
            log.take();
            assert!(sim.resume(a.pid()));
            sim.run_until_idle();
            assert_eq!(log.take(), [format!("a exit {to} boom"), "sent before the end".into()]);
        }
    }
}

#[test]
fn l1_one_unlink_takes_a_link_away_however_often_it_was_made() {
    for sim in simulations(20) {
        let log = Log::new();
        let (a, b) = (puppet(&sim, "a", &log), puppet(&sim, "b", &log));
        (0..3).for_each(|_| link(&a, &b));
        sim.run_until_idle();
        let from = a.pid();
        b.tells(move |ctx| ctx.unlink(from));
        sim.run_until_idle();
        a.dies(boom());
        sim.run_until_idle();
        assert!(b.is_alive());
    }
}

#[test]
fn l1_a_spawn_links_and_monitors_before_the_first_instruction() {
    for sim in simulations(100) {
        let log = Log::new();
        let parent = trapper(&sim, "parent", &log);
        let (sent, found) = mpsc::channel();
        parent.tells(move |ctx| {
            let dies = || behavior_fn(|_: Context<()>| async { Err::<(), _>(boom()) });
            let monitor = ctx.make_ref();
            sent.send(ctx.spawn(dies).link().monitor(monitor).start().unwrap().pid()).unwrap();
        });
        sim.run_until_idle();
        let child = found.recv().unwrap();
        let expected = [format!("parent down {child} boom"), format!("parent exit {child} boom")];
        assert_eq!(heard(&log), expected);
    }
}

#[test]
fn l5_a_failed_start_is_told_by_its_result_and_not_by_the_monitor_or_the_link_too() {
    for sim in simulations(10) {
        for (links, monitors) in [(false, true), (true, false), (true, true)] {
            let log = Log::new();
            let parent = trapper(&sim, "parent", &log);
            let noted = log.clone();
            parent.tells(move |ctx| {
                let fails = || krarup::behavior::made_by(async { Err::<Puppet, Reason>(boom()) });
                let monitor = ctx.make_ref();
                let spawn = ctx.spawn(fails);
                let spawn = if links { spawn.link() } else { spawn };
                let spawn = if monitors { spawn.monitor(monitor) } else { spawn };
                let started = spawn.into_future();
                let piped = ctx.pipe(started, move |started| {
                    Act::new(move |_| {
                        noted.note(format!("parent exit {}", started.unwrap_err()));
                        Ok(())
                    })
                });
                piped.unwrap();
            });
            sim.run_until_idle();
            assert_eq!(heard(&log), ["parent exit init failed: boom"], "{links} {monitors}");
        }
    }
}

/// Spawns a puppet that this process monitors with a reference; its pid, or the error.
fn monitored(ctx: &mut Context<Act>, log: &Log, monitor: Ref) -> Result<Pid, SpawnError> {
    let child = Puppet::new("child", log);
    ctx.spawn(move || child).monitor(monitor).start().map(|child| child.pid())
}

#[test]
fn l5_a_spawn_with_the_reference_of_a_monitor_that_is_held_starts_nothing() {
    for sim in simulations(20) {
        let log = Log::new();
        let (first, parent) = (puppet(&sim, "first", &log), puppet(&sim, "parent", &log));
        let (target, noted) = (first.pid(), log.clone());
        parent.tells(move |ctx| {
            let of_monitor = ctx.monitor(target);
            let refused = monitored(ctx, &noted, of_monitor);
            assert_eq!(refused, Err(SpawnError::MonitorInUse(of_monitor)));
            let of_spawn = ctx.make_ref();
            // What does not start takes no reference.
            let unnamed = ctx.spawn(|| Puppet::new("no", &Log::new())).monitor(of_spawn);
            let unnamed = unnamed.name("taken").start().map(|child| child.pid());
            assert!(matches!(unnamed, Err(SpawnError::NameTaken { .. })), "{unnamed:?}");
            let child = monitored(ctx, &noted, of_spawn).unwrap();
            let refused = monitored(ctx, &noted, of_spawn);
            assert_eq!(refused, Err(SpawnError::MonitorInUse(of_spawn)));
            ctx.exit(child, boom());
        });
        let _taken = sim.spawn(|| Puppet::new("taken", &Log::new())).name("taken").start();
        let before = sim.stats().spawned;
        sim.run_until_idle();
        assert_eq!(sim.stats().spawned, before + 1);
        assert_eq!(sim.process_info(parent.pid()).unwrap().monitors, 1);
        first.dies(boom());
        sim.run_until_idle();
        let downs = heard(&log);
        assert_eq!(downs.len(), 2, "{downs:?}");
        assert!(downs.contains(&format!("parent down {target} boom")), "{downs:?}");
    }
}

#[test]
fn l5_a_reference_is_free_when_its_monitor_is_gone_and_its_notice_is_not_that_of_the_next() {
    for sim in simulations(20) {
        let log = Log::new();
        let parent = puppet(&sim, "parent", &log);
        let (removed, ended) = (puppet(&sim, "removed", &log), puppet(&sim, "ended", &log));
        let (pids, noted) = ([removed.pid(), ended.pid()], log.clone());
        let [a, b] = asked(&sim, &parent, move |ctx| pids.map(|pid| ctx.monitor(pid)));
        // The notice of one is received; that of the other waits in the mailbox when its monitor is removed.
        ended.dies(boom());
        sim.run_until_idle();
        log.take();
        sim.suspend(parent.pid()).wait().unwrap();
        let children = Arc::new(Mutex::new(Vec::new()));
        let started = Arc::clone(&children);
        parent.tells(move |ctx| {
            assert_eq!(monitored(ctx, &noted, a), Err(SpawnError::MonitorInUse(a)));
            assert!(ctx.demonitor(a));
            let pids = [a, b].map(|monitor| monitored(ctx, &noted, monitor).unwrap());
            started.lock().unwrap().extend(pids);
        });
        removed.dies(boom());
        sim.run_until_idle();
        assert!(sim.resume(parent.pid()));
        sim.run_until_idle();
        assert_eq!(heard(&log), Vec::<String>::new());
        let children = children.lock().unwrap().clone();
        children.iter().for_each(|child| sim.exit(*child, boom()));
        sim.run_until_idle();
        let mut expected: Vec<_> =
            children.iter().map(|child| format!("parent down {child} boom")).collect();
        expected.sort();
        assert_eq!(heard(&log), expected);
    }
}

#[test]
fn l4_each_link_to_no_process_is_answered() {
    let (sim, log) = (Simulation::new(1), Log::new());
    let a = trapper(&sim, "a", &log);
    a.tells(|ctx| {
        ctx.link(nobody());
        ctx.link(nobody());
    });
    sim.run_until_idle();
    let no_process = || format!("a exit {} no process", nobody());
    assert_eq!(heard(&log), [no_process(), no_process()]);
    // After `unlink` none of them comes (rule L5).
    a.tells(|ctx| {
        ctx.link(nobody());
        ctx.link(nobody());
        ctx.unlink(nobody());
    });
    sim.run_until_idle();
    assert_eq!(heard(&log), Vec::<String>::new());
    // Who does not trap any more ends, though an answer is in its mailbox.
    a.tells(|ctx| {
        ctx.link(nobody());
        ctx.trap_exits(false);
        ctx.link(nobody());
    });
    sim.run_until_idle();
    assert!(!a.is_alive());
}

#[test]
fn l2_an_abnormal_end_ends_untrapping_peers_with_the_same_reason() {
    let ends: [(Reason, bool); 6] = [
        (Reason::Normal, false),
        (Reason::Shutdown, true),
        (Reason::shutdown("detail"), true),
        (Reason::Kill, true),
        (Reason::Killed, true),
        (boom(), true),
    ];
    for (reason, spreads) in ends {
        for sim in simulations(10) {
            let log = Log::new();
            let [a, b] = ["a", "b"].map(|name| puppet(&sim, name, &log));
            let watcher = trapper(&sim, "watcher", &log);
            link(&b, &a);
            link(&watcher, &b);
            sim.run_until_idle();
            a.dies(reason.clone());
            sim.run_until_idle();
            assert_eq!(b.is_alive(), !spreads, "{reason}");
            let told = format!("watcher exit {} {reason}", b.pid());
            assert_eq!(heard(&log), if spreads { vec![told] } else { vec![] });
        }
    }
}

#[test]
fn l2_a_kill_signal_is_seen_as_killed_along_a_chain() {
    for length in [1, 2, 10] {
        for sim in simulations(10) {
            let log = Log::new();
            let chain: Vec<_> = (0..length).map(|_| puppet(&sim, "link", &log)).collect();
            chain.windows(2).for_each(|pair| link(&pair[0], &pair[1]));
            let last = trapper(&sim, "last", &log);
            link(&last, &chain[length - 1]);
            sim.run_until_idle();
            sim.exit(chain[0].pid(), Reason::Kill);
            sim.run_until_idle();
            let from = chain[length - 1].pid();
            assert_eq!(heard(&log), [format!("last exit {from} killed")]);
            assert_eq!(sim.stats().processes, 1);
        }
    }
}

#[test]
fn l2_the_reason_killed_is_an_ordinary_one_and_can_be_trapped() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let traps = trapper(&sim, "traps", &log);
    sim.exit(traps.pid(), Reason::Killed);
    sim.run_until_idle();
    assert_eq!(heard(&log), ["traps exit <0.0.0> killed"]);
    assert!(traps.is_alive());
}

#[test]
fn l4_a_link_or_monitor_to_no_process_is_answered_at_once() {
    for sim in simulations(10) {
        let log = Log::new();
        let dead = puppet(&sim, "dead", &Log::new());
        dead.dies(Reason::Normal);
        sim.run_until_idle();
        for to in [dead.pid(), nobody()] {
            let traps = trapper(&sim, "traps", &log);
            traps.tells(move |ctx| {
                ctx.link(to);
                ctx.monitor(to);
            });
            sim.run_until_idle();
            let told = ["down", "exit"].map(|what| format!("traps {what} {to} no process"));
            assert_eq!(heard(&log), told);
            let info = sim.process_info(traps.pid()).unwrap();
            assert_eq!((info.links.len(), info.monitors), (0, 0));
            let plain = puppet(&sim, "plain", &log);
            let end = sim.watch(plain.pid());
            plain.tells(move |ctx| ctx.link(to));
            assert_eq!(end.wait().unwrap().reason, Reason::NoProcess);
            assert_eq!(sim.watch(to).wait().unwrap().reason, Reason::NoProcess);
        }
    }
}

#[test]
fn l5_one_notice_per_link_or_monitor_whenever_the_target_dies() {
    for sim in simulations(200) {
        let log = Log::new();
        let watcher = trapper(&sim, "watcher", &log);
        let target = puppet(&sim, "target", &log);
        let pid = target.pid();
        // The seed decides which comes first.
        watcher.tells(move |ctx| {
            ctx.link(pid);
            ctx.monitor(pid);
        });
        target.dies(boom());
        sim.run_until_idle();
        let lines = heard(&log);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].starts_with("watcher down") && lines[1].starts_with("watcher exit"));
        assert_eq!(lines[0].contains("boom"), lines[1].contains("boom"));
    }
}

#[test]
fn l5_one_notice_per_link_or_monitor_between_threads() {
    let node = Node::builder("l5").workers(2).start().unwrap();
    for _ in 0..500 {
        let start = Arc::new(Barrier::new(2));
        let (gate, told) = (Arc::clone(&start), mpsc::channel());
        let target = node
            .spawn(|| {
                behavior_fn(|mut ctx: Context<()>| async move {
                    ctx.receive().await;
                    Err::<(), _>(boom())
                })
            })
            .wait()
            .unwrap();
        let pid = target.pid();
        let watcher = behavior_fn(move |mut ctx: Context<()>| async move {
            ctx.trap_exits(true);
            gate.wait();
            let kept = ctx.monitor(pid);
            ctx.link(pid);
            let dropped = ctx.monitor(pid);
            ctx.demonitor(dropped);
            let mut notices = Vec::new();
            for _ in 0..2 {
                notices.push(match ctx.receive().await {
                    Received::Down(down) => {
                        assert!(down.monitor == kept, "notified by a removed monitor");
                        down.reason
                    }
                    Received::Exit(exit) => exit.reason,
                    _ => Reason::Normal,
                });
            }
            told.0.send((notices, ctx.address().waiting())).unwrap();
            Ok(())
        });
        node.spawn(move || watcher).start().unwrap();
        start.wait();
        target.send(()).unwrap();
        let (notices, _) = told.1.recv().unwrap();
        assert!(notices.iter().all(|r| *r == boom() || *r == Reason::NoProcess), "{notices:?}");
    }
    node.stop().wait().unwrap();
}

#[test]
fn l5_nothing_comes_after_unlink_or_demonitor() {
    for sim in simulations(200) {
        let log = Log::new();
        let watcher = trapper(&sim, "watcher", &log);
        let target = puppet(&sim, "target", &log);
        let (pid, node) = (target.pid(), sim.node().clone());
        link(&watcher, &target);
        let noted = log.clone();
        watcher.tells(move |ctx| {
            let monitor = ctx.monitor(pid);
            let (itself, noted) = (ctx.address(), noted.clone());
            node.kill(pid);
            // In a later message: the target has died meanwhile or it has not, and the
            // notices lie in the mailbox or are still to come.
            itself.tells(move |ctx| {
                ctx.unlink(pid);
                let had = ctx.demonitor(monitor);
                noted.note(format!("had {had} {}", ctx.demonitor(monitor)));
            });
        });
        sim.run_until_idle();
        let had = log.lines().iter().any(|line| line == "had true false");
        let lines = heard(&log);
        let downs = lines.iter().filter(|line| line.contains("down")).count();
        assert_eq!(downs, usize::from(!had), "{lines:?}");
    }
}

#[test]
fn l5_a_link_made_again_is_another_link() {
    // The old link's notice lies in the mailbox; unlinked it must not be heard, and the
    // new link to the dead process is answered with no process.
    let sim = Simulation::new(1);
    let log = Log::new();
    let watcher = trapper(&sim, "watcher", &log);
    let target = puppet(&sim, "target", &log);
    let pid = target.pid();
    link(&watcher, &target);
    sim.run_until_idle();
    let process = behavior_fn(move |mut ctx: Context<()>| async move {
        ctx.trap_exits(true);
        ctx.link(pid);
        ctx.sleep(Duration::from_secs(2)).await;
        ctx.unlink(pid);
        ctx.link(pid);
        match ctx.receive().await {
            Received::Exit(exit) => Err(exit.reason),
            _ => Err(boom()),
        }
    });
    let process = sim.spawn(move || process).start().unwrap();
    sim.advance(Duration::from_secs(1));
    target.dies(boom());
    assert_eq!(sim.watch(process.pid()).wait().unwrap().reason, Reason::NoProcess);
}

#[test]
fn l5_a_link_that_was_taken_away_can_be_made_again_from_either_end() {
    for sim in simulations(3) {
        for (first, second) in [(true, true), (true, false), (false, true), (false, false)] {
            let log = Log::new();
            let (a, b) = (trapper(&sim, "a", &log), trapper(&sim, "b", &log));
            let pair = |from_a: bool| if from_a { (&a, &b) } else { (&b, &a) };
            let (from, to) = pair(first);
            link(from, to);
            sim.run_until_idle();
            let pid = to.pid();
            from.tells(move |ctx| ctx.unlink(pid));
            sim.run_until_idle();
            assert!(a.info().links.is_empty() && b.info().links.is_empty());
            let (from, to) = pair(second);
            link(from, to);
            sim.run_until_idle();
            a.dies(boom());
            sim.run_until_idle();
            assert_eq!(heard(&log), [format!("b exit {} boom", a.pid())]);
            sim.kill(b.pid());
            sim.run_until_idle();
        }
    }
}

#[test]
fn l4_a_process_with_a_pending_exit_is_ended_for_new_links_and_monitors() {
    for sim in simulations(3) {
        let log = Log::new();
        let (watcher, target) = (trapper(&sim, "w", &log), puppet(&sim, "t", &log));
        let (pid, node) = (target.pid(), sim.node().clone());
        watcher.tells(move |ctx| {
            node.kill(pid);
            ctx.link(pid);
            ctx.monitor(pid);
        });
        sim.run_until_idle();
        let none = |what| format!("w {what} {pid} no process");
        assert_eq!(heard(&log), [none("down"), none("exit")]);
    }
}

#[test]
fn l6_monitors_have_their_own_refs_and_each_gives_a_notice() {
    for sim in simulations(20) {
        let log = Log::new();
        let noted = log.clone();
        let target = sim.spawn(|| Puppet::new("t", &Log::new())).name("target").wait().unwrap();
        let pid = target.pid();
        let watcher = puppet(&sim, "watcher", &log);
        watcher.tells(move |ctx| {
            let by_pid = [ctx.monitor(pid), ctx.monitor(pid)];
            let by_name = ctx.monitor(Name::new("target").unwrap());
            ctx.monitor(Name::new("nobody").unwrap());
            assert!(by_pid[0] != by_pid[1] && by_pid[0] != by_name);
            noted.note("monitoring");
        });
        sim.run_until_idle();
        assert_eq!(sim.process_info(pid).unwrap().monitored_by, 3);
        assert_eq!(sim.process_info(watcher.pid()).unwrap().monitors, 3);
        target.dies(boom());
        sim.run_until_idle();
        let mut expected = vec![format!("watcher down {pid} boom"); 2];
        expected.insert(0, "watcher down \"target\" boom".into());
        expected.insert(0, "watcher down \"nobody\" no process".into());
        assert_eq!(heard(&log), expected);
        assert_eq!(sim.process_info(watcher.pid()).unwrap().monitors, 0);
    }
}

#[test]
fn l6_a_monitor_on_oneself_never_gives_a_notice() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let a = puppet(&sim, "a", &log);
    a.tells(|ctx| {
        let alias = ctx.alias();
        ctx.register("a").unwrap();
        let by_name = ctx.monitor(Name::new("a").unwrap());
        for itself in [ctx.monitor(ctx.pid()), ctx.monitor(alias), by_name] {
            assert!(!ctx.demonitor(itself));
        }
        ctx.monitor(alias);
    });
    sim.run_until_idle();
    a.dies(boom());
    sim.run_until_idle();
    assert_eq!(log.take(), ["a terminate boom", "a dropped"]);
}

#[test]
fn l7_normal_from_another_is_ignored_and_from_oneself_ends() {
    for sim in simulations(20) {
        let log = Log::new();
        let [a, b] = ["a", "b"].map(|name| puppet(&sim, name, &log));
        let traps = trapper(&sim, "traps", &log);
        for to in [b.pid(), traps.pid(), nobody()] {
            a.tells(move |ctx| ctx.exit(to, Reason::Normal));
            sim.exit(to, Reason::Normal);
        }
        sim.run_until_idle();
        assert!(b.is_alive());
        let mut told = vec!["traps exit <0.0.0> normal".into()];
        told.push(format!("traps exit {} normal", a.pid()));
        assert_eq!(heard(&log), told);
        for (process, reason) in [(&a, Reason::Normal), (&b, boom())] {
            let own = reason.clone();
            let end = sim.watch(process.pid());
            process.tells(move |ctx| ctx.exit(ctx.pid(), own));
            assert_eq!(end.wait().unwrap().reason, reason);
        }
        let own = traps.pid();
        traps.tells(move |ctx| ctx.exit(own, boom()));
        sim.run_until_idle();
        assert_eq!(heard(&log), [format!("traps exit {own} boom")]);
    }
}

/// An error whose destructor panics.
#[derive(Debug)]
struct Falls;

impl std::fmt::Display for Falls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("falls")
    }
}

impl std::error::Error for Falls {}

impl Drop for Falls {
    fn drop(&mut self) {
        panic!("a destructor");
    }
}

#[test]
fn l7_an_exit_signal_to_oneself_counts_before_an_end_that_comes_without_a_wait() {
    struct Ends(Log);
    impl Actor for Ends {
        type Message = Reason;
        async fn handle_message(&mut self, ctx: &mut Context<Reason>, own: Reason) -> Result {
            ctx.exit(ctx.pid(), own.clone());
            match own {
                Reason::Kill => ctx.stop(),
                Reason::Shutdown => panic!("after the signal"),
                // It is dropped unused, and that panics.
                _ => return Err(Reason::from(Falls)),
            }
            Ok(())
        }
        async fn before_restart(&mut self, _: &mut Context<Reason>, reason: &Reason) {
            self.0.note(reason);
        }
        async fn terminate(&mut self, _: &mut Context<Reason>, reason: &Reason) {
            self.0.note(reason);
        }
    }
    struct Drops;
    impl Actor for Drops {
        type Message = Reply<()>;
        async fn handle_message(&mut self, ctx: &mut Context<Reply<()>>, _: Reply<()>) -> Result {
            ctx.exit(ctx.pid(), boom());
            Err(Reason::error("another"))
        }
    }
    for sim in simulations(5) {
        let log = Log::new();
        let ends = [
            (Reason::Kill, Reason::Killed),
            (Reason::Shutdown, Reason::Shutdown),
            (boom(), boom()),
        ];
        for (own, seen) in ends {
            let noted = log.clone();
            let process = sim.spawn(move || Ends(noted)).wait().unwrap();
            let end = process.watch();
            process.send(own).unwrap();
            assert_eq!(end.wait().unwrap().reason, seen);
        }
        assert_eq!(log.take(), Vec::<String>::new(), "none is an end in order");
        // A request in hand fails with that reason (rule C2).
        let drops = sim.spawn(|| Drops).wait().unwrap();
        let to = drops.pid();
        let failed = drops.call(|reply| reply).wait();
        assert_eq!(failed, Err(CallError::Terminated { to, reason: boom() }));
        // One that would be replaced in place.
        let noted = log.clone();
        let ends = move || InPlace::new(move || Ends(noted.clone()));
        let replaced = sim.spawn(ends).wait().unwrap();
        let end = replaced.watch();
        replaced.send(boom()).unwrap();
        assert_eq!(end.wait().unwrap().reason, boom());
        assert_eq!(log.take(), Vec::<String>::new());
        // A bare process too.
        let bare = |ctx: Context<()>| async move {
            ctx.exit(ctx.pid(), boom());
            Err(Reason::from(Falls))
        };
        let end = sim.spawn(move || behavior_fn(bare)).start().unwrap().watch();
        assert_eq!(end.wait().unwrap().reason, boom());
        // The signal of another one that has come meanwhile does not.
        let sends = sim.clone();
        let other = move |ctx: Context<()>| async move {
            sends.exit(ctx.pid(), boom());
            Ok(())
        };
        let end = sim.spawn(move || behavior_fn(other)).start().unwrap().watch();
        assert_eq!(end.wait().unwrap().reason, Reason::Normal);
    }
}

#[test]
fn l7_trapping_is_looked_at_when_the_signal_arrives() {
    for sim in simulations(20) {
        let log = Log::new();
        let a = puppet(&sim, "a", &log);
        a.tells(|ctx| ctx.trap_exits(true));
        sim.run_until_idle();
        sim.exit(a.pid(), boom());
        sim.run_until_idle();
        a.tells(|ctx| ctx.trap_exits(false));
        sim.run_until_idle();
        assert_eq!(heard(&log), ["a exit <0.0.0> boom"]);
        sim.exit(a.pid(), boom());
        sim.run_until_idle();
        assert!(!a.is_alive());
    }
}

#[test]
fn l8_a_waiter_that_gives_up_leaves_nothing_at_the_process() {
    let sim = Simulation::new(1);
    let slow = behavior_fn(|ctx: Context<()>| async move {
        ctx.sleep(Duration::from_secs(60)).await;
        Ok(())
    });
    let slow = sim.spawn(move || slow).start().unwrap();
    sim.run_until_idle();
    let monitored_by = || sim.process_info(slow.pid()).unwrap().monitored_by;
    let mut waiters: Vec<_> = (0..3).map(|_| slow.watch()).collect();
    waiters.iter_mut().for_each(|waiter| assert!(poll_once(waiter).is_pending()));
    assert_eq!(monitored_by(), 3);
    drop(waiters);
    assert_eq!(monitored_by(), 0);
}

#[test]
fn l8_a_process_notified_of_an_end_finds_its_links_and_monitors_removed() {
    for sim in simulations(10) {
        let log = Log::new();
        let [dying, target] = ["dying", "target"].map(|name| trapper(&sim, name, &log));
        let to = target.pid();
        dying.tells(move |ctx| {
            ctx.monitor(to);
            ctx.monitor(to);
        });
        sim.run_until_idle();
        let (node, noted) = (sim.node().clone(), log.clone());
        let waker = crate::support::on_wake(move || {
            noted.note(format!("still {}", node.process_info(to).unwrap().monitored_by));
        });
        let mut end = sim.watch(dying.pid());
        assert!(crate::support::poll_with(&mut end, &waker).is_pending());
        dying.dies(boom());
        sim.run_until_idle();
        assert_eq!(log.count("still 0"), 1, "{:?}", log.take());
    }
}

#[test]
fn l9_signals_run_through_chains_and_rings_and_each_process_ends_once() {
    for sim in simulations(50) {
        let log = Log::new();
        let ring: Vec<_> = (0..20).map(|_| puppet(&sim, "ring", &log)).collect();
        for (index, process) in ring.iter().enumerate() {
            link(process, &ring[(index + 1) % ring.len()]);
            link(process, &ring[(index + 7) % ring.len()]);
        }
        sim.run_until_idle();
        let ends: Vec<_> = ring.iter().map(|process| sim.watch(process.pid())).collect();
        sim.exit(ring[3].pid(), boom());
        sim.run_until_idle();
        for end in ends {
            assert_eq!(end.wait().unwrap().reason, boom());
        }
        assert_eq!(log.count("ring dropped"), 20);
        assert_eq!(sim.stats().processes, 0);
    }
}

#[test]
fn l9_of_two_exit_signals_the_first_wins() {
    for sim in simulations(20) {
        let process = puppet(&sim, "p", &Log::new());
        let end = sim.watch(process.pid());
        sim.exit(process.pid(), boom());
        sim.exit(process.pid(), Reason::Shutdown);
        sim.kill(process.pid());
        assert_eq!(end.wait().unwrap().reason, boom());
    }
}

#[test]
fn l9_a_ring_killed_from_two_threads_ends_and_notifies_each_once() {
    let node = Node::builder("l9").workers(2).start().unwrap();
    for _ in 0..50 {
        let log = Log::new();
        let ring: Vec<_> = (0..10).map(|_| puppet(&node, "ring", &log)).collect();
        (0..10).for_each(|n| link(&ring[n], &ring[(n + 1) % 10]));
        let watcher = behavior_fn({
            let pids: Vec<_> = ring.iter().map(Address::pid).collect();
            move |mut ctx: Context<()>| async move {
                let mut monitors: Vec<_> = pids.iter().map(|pid| ctx.monitor(*pid)).collect();
                ctx.initialised();
                while !monitors.is_empty() {
                    let Received::Down(down) = ctx.receive().await else { return Err(boom()) };
                    let place = monitors.iter().position(|monitor| *monitor == down.monitor);
                    monitors.remove(place.ok_or_else(boom)?);
                }
                Ok(())
            }
        });
        let watcher = node.spawn(move || watcher).wait().unwrap();
        let killers = [0, 5].map(|n| {
            let (node, pid) = (node.clone(), ring[n].pid());
            thread::spawn(move || node.exit(pid, boom()))
        });
        killers.into_iter().for_each(|thread| thread.join().unwrap());
        let reason = watcher.watch().wait().unwrap().reason;
        assert!(matches!(reason, Reason::Normal | Reason::NoProcess), "{reason}");
    }
    node.stop().wait().unwrap();
}

/// Whoever waits for the start hears of its failure by that alone, whatever the reason.
#[test]
fn l1_a_child_that_ends_in_its_init_gives_one_notice() {
    struct Ends(Reason);
    impl Actor for Ends {
        type Message = ();
        async fn init(&mut self, _: &mut Context<()>) -> Result {
            Err(self.0.clone())
        }
        async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
            Ok(())
        }
    }
    for sim in simulations(3) {
        for reason in [Reason::Normal, Reason::Shutdown, boom()] {
            let (log, ends) = (Log::new(), reason.clone());
            let noted = log.clone();
            let parent = behavior_fn(move |mut ctx: Context<()>| async move {
                ctx.trap_exits(true);
                let spawned = ctx.spawn(move || Ends(ends)).link().await;
                noted.note(format!("{:?}", spawned.unwrap_err()));
                while let Received::Exit(exit) = ctx.receive().await {
                    noted.note(exit.reason);
                }
                Ok(())
            });
            sim.spawn(move || parent).start().unwrap();
            sim.run_until_idle();
            assert_eq!(log.take(), [format!("{:?}", SpawnError::Init(reason))]);
        }
    }
}

/// Of whom an end is told already, though the notice has not been handled.
#[test]
fn x3_a_snapshot_shows_only_links_to_live_processes() {
    for sim in simulations(5) {
        let log = Log::new();
        let (a, b, c) =
            (trapper(&sim, "a", &log), puppet(&sim, "b", &log), puppet(&sim, "c", &log));
        link(&a, &b);
        link(&a, &c);
        sim.run_until_idle();
        sim.suspend(a.pid()).wait().unwrap();
        assert_eq!(a.info().links, [b.pid(), c.pid()]);
        b.dies(boom());
        sim.run_until_idle();
        assert_eq!(a.info().links, [c.pid()]);
        assert!(sim.resume(a.pid()));
        a.tells(|ctx| ctx.link(nobody()));
        sim.run_until_idle();
        assert_eq!(a.info().links, [c.pid()]);
        assert_eq!(heard(&log).len(), 2);
    }
}

/// As OTP's `ignore`: what is linked with it lives on, a monitor hears `normal`, and so does a call that waits for it.
#[test]
fn s2_who_has_nothing_to_do_ends_normally_for_all_but_its_spawner() {
    struct Declines(Address<()>);

    impl Actor for Declines {
        type Message = Reply<u32>;

        async fn init(&mut self, ctx: &mut Context<Reply<u32>>) -> Result {
            ctx.link(self.0.pid());
            ctx.sleep(Duration::from_secs(1)).await;
            Err(Ignore::reason())
        }

        async fn handle_message(&mut self, _: &mut Context<Reply<u32>>, _: Reply<u32>) -> Result {
            Ok(())
        }
    }

    for sim in simulations(10) {
        let log = Log::new();
        let waits = || {
            behavior_fn(|mut ctx: Context<()>| async move {
                ctx.receive().await;
                Ok(())
            })
        };
        let linked: Address<()> = sim.spawn(waits).start().unwrap();
        let (noted, other) = (log.clone(), linked.clone());
        let parent = behavior_fn(move |mut ctx: Context<()>| async move {
            let waited = ctx.spawn({
                let other = other.clone();
                move || Declines(other)
            });
            let error = waited.link().await.unwrap_err();
            noted.note(format!("{error} {}", ctx.is_alive(other.pid())));
            ctx.trap_exits(true);
            let child = ctx.spawn(move || Declines(other)).link().start()?;
            let monitor = ctx.monitor(child.pid());
            noted.note(format!("{}", child.call(|reply| reply).await.unwrap_err()));
            for _ in 0..2 {
                match ctx.receive().await {
                    Received::Down(down) if down.monitor == monitor => {
                        noted.note(format!("down {}", down.reason));
                    }
                    Received::Exit(exit) => noted.note(format!("exit {}", exit.reason)),
                    other => panic!("{other:?}"),
                }
            }
            Ok(())
        });
        sim.spawn(move || parent).start().unwrap();
        sim.run_until_idle();
        sim.advance(Duration::from_secs(5));
        assert!(linked.is_alive());
        let lines = log.take_sorted();
        assert_eq!(lines[1..3], ["down normal", "exit normal"], "{lines:?}");
        assert!(lines.iter().any(|line| line.ends_with("nothing to do true")), "{lines:?}");
        assert!(
            lines.iter().any(|line| line.ends_with("handled the request: normal")),
            "{lines:?}"
        );
        assert_eq!(lines.len(), 4);
    }
}
