//! When `terminate` runs, and that it runs once: rule D5, with C4 and L3.

use crate::support::{Act, Does, Log, Puppet, boom, poll_once, simulations};
use krarup::StopError;
use krarup::behavior::{Received, behavior_fn};
use krarup::prelude::*;
use std::time::Duration;

/// A parent and its child, both puppets, linked if so asked.
struct Family {
    sim: Simulation,
    log: Log,
    parent: Address<Act>,
    child: Address<Act>,
}

fn family(sim: Simulation, traps: bool, linked: bool) -> Family {
    let log = Log::new();
    let silent = Log::new();
    let parent = Puppet::trapping("parent", &silent);
    let parent = sim.spawn(move || parent).wait().unwrap();
    let (noted, found) = (log.clone(), std::sync::mpsc::channel());
    parent.tells(move |ctx| {
        let child = if traps { Puppet::trapping } else { Puppet::new }("child", &noted);
        let spawn = ctx.spawn(move || child);
        let spawn = if linked { spawn.link() } else { spawn };
        found.0.send(spawn.start().unwrap()).unwrap();
    });
    sim.run_until_idle();
    let child = found.1.recv().unwrap();
    Family { sim, log, parent, child }
}

/// What is done to a family, what it is called, and the reason with which the child ends.
type Way = (&'static str, fn(&Family), Reason);

/// Does something to a child and says whether its `terminate` ran, and with what reason
/// it ended.
fn ends(sim: Simulation, traps: bool, linked: bool, how: fn(&Family)) -> (Vec<String>, Reason) {
    let family = family(sim, traps, linked);
    let mut end = family.sim.watch(family.child.pid());
    how(&family);
    family.sim.advance(Duration::from_secs(60));
    let std::task::Poll::Ready(down) = poll_once(&mut end) else {
        panic!("the child has not ended")
    };
    let mut lines = family.log.take();
    assert_eq!(lines.pop().as_deref(), Some("child dropped"), "the state is always dropped");
    (lines, down.reason)
}

fn parent_exits(family: &Family, reason: Reason) {
    let child = family.child.pid();
    family.parent.tells(move |ctx| ctx.exit(child, reason));
}

#[test]
fn d5_terminate_runs_once_for_its_own_end_and_for_a_requested_stop() {
    let ways: [Way; 8] = [
        ("returned reason", |f| assert!(f.child.dies(boom())), boom()),
        ("returned normal", |f| assert!(f.child.dies(Reason::Normal)), Reason::Normal),
        ("returned kill", |f| assert!(f.child.dies(Reason::Kill)), Reason::Kill),
        ("ctx.stop", |f| assert!(f.child.tells(Context::stop)), Reason::Normal),
        ("stop from outside", |f| f.child.stop().wait().unwrap(), Reason::Normal),
        (
            "stop from outside with a reason",
            |f| f.child.stop().reason(boom()).wait().unwrap(),
            boom(),
        ),
        ("parent's shutdown", |f| parent_exits(f, Reason::Shutdown), Reason::Shutdown),
        ("parent's boom", |f| parent_exits(f, boom()), boom()),
    ];
    for (way, how, reason) in ways {
        for traps in [false, true] {
            for sim in simulations(5) {
                let (lines, ended) = ends(sim, traps, true, how);
                assert_eq!(lines, [format!("child terminate {reason}")], "{way}");
                assert_eq!(ended, reason, "{way}");
            }
        }
    }
}

#[test]
fn d5_a_panic_runs_terminate_with_the_panic_as_its_reason() {
    let panics: fn(&Family) = |f| assert!(f.child.does(|_| panic!("planned")));
    let (lines, reason) = ends(Simulation::new(1), false, false, panics);
    assert_eq!(lines.len(), 1);
    assert!(lines[0].starts_with("child terminate panic: planned at "), "{lines:?}");
    assert!(matches!(reason, Reason::Panic(_)));
}

#[test]
fn d5_terminate_does_not_run_for_a_kill_or_an_untrapped_signal() {
    let ways: [Way; 6] = [
        ("kill", |f| f.sim.kill(f.child.pid()), Reason::Killed),
        ("exit kill", |f| f.sim.exit(f.child.pid(), Reason::Kill), Reason::Killed),
        ("parent's kill", |f| parent_exits(f, Reason::Kill), Reason::Killed),
        ("stranger's signal", |f| f.sim.exit(f.child.pid(), boom()), boom()),
        ("parent's death", |f| assert!(f.parent.dies(boom())), boom()),
        (
            "own signal",
            |f| assert!(f.child.tells(|ctx| ctx.exit(ctx.pid(), Reason::Normal))),
            Reason::Normal,
        ),
    ];
    for (way, how, reason) in ways {
        for sim in simulations(5) {
            let (lines, ended) = ends(sim, false, true, how);
            assert_eq!(lines, Vec::<String>::new(), "{way}");
            assert_eq!(ended, reason, "{way}");
        }
    }
}

#[test]
fn l3_a_trapping_actor_is_ended_by_its_parent_for_every_reason() {
    let ways: [Way; 5] = [
        ("signal normal", |f| parent_exits(f, Reason::Normal), Reason::Normal),
        ("signal killed", |f| parent_exits(f, Reason::Killed), Reason::Killed),
        ("normal death", |f| assert!(f.parent.dies(Reason::Normal)), Reason::Normal),
        ("abnormal death", |f| assert!(f.parent.dies(boom())), boom()),
        ("killed", |f| f.sim.kill(f.parent.pid()), Reason::Killed),
    ];
    for (way, how, reason) in ways {
        for sim in simulations(5) {
            let (lines, ended) = ends(sim, true, true, how);
            assert_eq!(lines, [format!("child terminate {reason}")], "{way}");
            assert_eq!(ended, reason, "{way}");
        }
    }
}

/// The parent has its child note this.
fn parent_has_noted(family: &Family, what: &'static str) {
    let (child, log) = (family.child.clone(), family.log.clone());
    family.parent.tells(move |_| {
        child.tells(move |_| log.note(what));
    });
}

#[test]
fn m3_a_trapping_actor_handles_what_its_parent_has_sent_before_the_end_of_that() {
    let killed: fn(&Family) = |f| assert!(f.parent.tells(|ctx| ctx.exit(ctx.pid(), Reason::Kill)));
    let ways: [Way; 3] = [
        ("normal death", |f| assert!(f.parent.dies(Reason::Normal)), Reason::Normal),
        ("abnormal death", |f| assert!(f.parent.dies(boom())), boom()),
        ("killed", killed, Reason::Killed),
    ];
    for (way, how, reason) in ways {
        for sim in simulations(20) {
            let family = family(sim, true, true);
            parent_has_noted(&family, "one");
            parent_has_noted(&family, "two");
            how(&family);
            family.sim.run_until_idle();
            let expected = ["one", "two", &format!("child terminate {reason}"), "child dropped"];
            assert_eq!(family.log.take(), expected, "{way}");
        }
    }
}

#[test]
fn m3_the_parents_signal_to_stop_overtakes_what_it_has_sent() {
    for sim in simulations(20) {
        let family = family(sim, true, true);
        let (child, log) = (family.child.clone(), family.log.clone());
        // One turn: the signal is there before the child handles anything.
        family.parent.tells(move |ctx| {
            child.tells(move |_| log.note("one"));
            ctx.exit(child.pid(), Reason::Shutdown);
        });
        family.sim.run_until_idle();
        assert_eq!(family.log.take(), ["child terminate shutdown", "child dropped"]);
    }
}

#[test]
fn x5_the_end_of_the_parent_ends_a_suspended_actor_that_traps() {
    let family = family(Simulation::new(1), true, true);
    family.sim.suspend(family.child.pid()).wait().unwrap();
    family.parent.dies(boom());
    family.sim.run_until_idle();
    assert_eq!(family.log.take(), ["child terminate boom", "child dropped"]);
}

#[test]
fn l3_who_spawns_without_a_link_is_no_parent_for_an_actor_that_traps() {
    for sim in simulations(5) {
        let family = family(sim, true, false);
        let (parent, child) = (family.parent.pid(), family.child.pid());
        parent_exits(&family, Reason::Shutdown);
        parent_exits(&family, Reason::Normal);
        family.parent.tells(move |ctx| ctx.link(child));
        family.sim.run_until_idle();
        family.parent.dies(boom());
        family.sim.run_until_idle();
        let told =
            ["shutdown", "normal", "boom"].map(|reason| format!("child exit {parent} {reason}"));
        assert_eq!(family.log.take(), told);
        assert!(family.child.is_alive());
    }
}

#[test]
fn l3_a_parent_without_a_link_any_more_is_the_parent() {
    let family = family(Simulation::new(1), true, true);
    let child = family.child.pid();
    family.parent.tells(move |ctx| {
        ctx.unlink(child);
        ctx.exit(child, Reason::Shutdown);
    });
    family.sim.run_until_idle();
    assert_eq!(family.log.take(), ["child terminate shutdown", "child dropped"]);
}

#[test]
fn l7_a_parents_normal_does_not_end_a_child_that_does_not_trap() {
    for sim in simulations(5) {
        let family = family(sim, false, true);
        parent_exits(&family, Reason::Normal);
        family.parent.dies(Reason::Normal);
        family.sim.run_until_idle();
        assert!(family.child.is_alive());
        assert_eq!(family.log.take(), Vec::<String>::new());
    }
}

/// Its handler and its `terminate` take a while.
struct Slow(Log, Duration);

impl Actor for Slow {
    type Message = ();

    async fn handle_message(&mut self, ctx: &mut Context<()>, (): ()) -> Result {
        ctx.sleep(self.1).await;
        self.0.note("handled");
        Ok(())
    }

    async fn terminate(&mut self, ctx: &mut Context<()>, reason: &Reason) {
        self.0.note(format!("terminate {reason}"));
        ctx.sleep(self.1).await;
        self.0.note("terminated");
    }
}

fn slow(sim: &Simulation, log: &Log) -> Address<()> {
    let noted = log.clone();
    sim.spawn(move || Slow(noted, Duration::from_secs(5))).wait().unwrap()
}

#[test]
fn c4_a_stop_is_obeyed_when_the_handler_is_done() {
    for sim in simulations(5) {
        let log = Log::new();
        let process = slow(&sim, &log);
        (0..3).for_each(|_| process.send(()).unwrap());
        sim.advance(Duration::from_secs(1));
        process.stop().wait().unwrap();
        assert_eq!(log.take(), ["handled", "terminate normal", "terminated"]);
        assert_eq!(sim.now().as_nanos(), 10_000_000_000);
    }
}

#[test]
fn c4_a_kill_or_an_untrapped_signal_ends_the_wait_at_once() {
    for sim in simulations(5) {
        for reason in [Reason::Kill, boom()] {
            let log = Log::new();
            let process = slow(&sim, &log);
            process.send(()).unwrap();
            let before = sim.now();
            sim.run_until_idle();
            sim.exit(process.pid(), reason);
            sim.watch(process.pid()).wait().unwrap();
            assert_eq!((log.take(), sim.now()), (vec![], before));
            assert_eq!(sim.stats().timers, 0);
        }
    }
}

#[test]
fn d5_a_second_stop_while_terminate_runs_changes_nothing() {
    for sim in simulations(5) {
        let log = Log::new();
        let process = slow(&sim, &log);
        let mut stops = [boom(), Reason::Shutdown, boom()]
            .map(|reason| process.stop().reason(reason).into_future());
        for stop in &mut stops {
            assert!(poll_once(stop).is_pending());
            sim.advance(Duration::from_secs(1));
        }
        let ends = stops.map(krarup::Pending::wait);
        assert_eq!(
            ends,
            [Ok(()), Err(StopError::Other { pid: process.pid(), reason: boom() }), Ok(())]
        );
        assert_eq!(log.take(), ["terminate boom", "terminated"]);
    }
}

#[test]
fn d5_an_untrapped_signal_while_terminate_runs_ends_it_at_once() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let process = slow(&sim, &log);
    let mut stop = process.stop().into_future();
    assert!(poll_once(&mut stop).is_pending());
    sim.advance(Duration::from_secs(1));
    sim.exit(process.pid(), boom());
    assert_eq!(stop.wait(), Err(StopError::Other { pid: process.pid(), reason: boom() }));
    assert_eq!(log.take(), ["terminate normal"]);
}

#[test]
fn d5_a_stop_that_comes_before_the_first_turn_is_not_lost() {
    for sim in simulations(20) {
        let log = Log::new();
        for reason in [Reason::Normal, Reason::Shutdown, boom()] {
            let puppet = Puppet::new("early", &log);
            let process = sim.spawn(move || puppet).start().unwrap();
            process.stop().reason(reason).wait().unwrap();
            assert!(!process.is_alive());
            assert_eq!(log.count("early dropped"), 1);
            log.take();
        }
    }
}

#[test]
fn d5_a_stop_ends_a_bare_process_too() {
    for sim in simulations(5) {
        for reason in [Reason::Normal, Reason::Shutdown, boom()] {
            let bare = behavior_fn(|mut ctx: Context<()>| async move {
                loop {
                    ctx.receive().await;
                }
            });
            let process = sim.spawn(move || bare).wait();
            process.unwrap().stop().reason(reason).wait().unwrap();
        }
    }
}

#[test]
fn d5_terminate_can_still_call_send_and_spawn() {
    enum Ask {
        Number(Reply<u32>),
        Note(&'static str),
    }
    struct Answers(Log);
    impl Actor for Answers {
        type Message = Ask;
        async fn handle_message(&mut self, _: &mut Context<Ask>, ask: Ask) -> Result {
            match ask {
                Ask::Number(reply) => reply.send(7),
                Ask::Note(text) => self.0.note(text),
            }
            Ok(())
        }
    }
    struct Leaves(Address<Ask>, Log);
    impl Actor for Leaves {
        type Message = ();
        async fn handle_message(&mut self, ctx: &mut Context<()>, (): ()) -> Result {
            ctx.stop();
            Ok(())
        }
        async fn terminate(&mut self, ctx: &mut Context<()>, _: &Reason) {
            self.1.note(format!("{:?}", self.0.call(Ask::Number).await));
            self.0.send(Ask::Note("sent")).unwrap();
            let log = self.1.clone();
            self.1.note(ctx.spawn(move || Answers(log)).await.is_ok());
        }
    }
    for sim in simulations(10) {
        let log = Log::new();
        let noted = log.clone();
        let answers = sim.spawn(move || Answers(noted)).wait().unwrap();
        let noted = log.clone();
        let leaves = sim.spawn(move || Leaves(answers, noted)).wait().unwrap();
        leaves.send(()).unwrap();
        sim.run_until_idle();
        assert!(!leaves.is_alive());
        assert_eq!(log.take_sorted(), ["Ok(7)", "sent", "true"]);
    }
}

#[test]
fn d5_a_stop_that_a_handler_receives_is_obeyed_when_the_handler_is_done() {
    /// Talks to its mailbox itself for the time of one message.
    struct Selective(Log);
    impl Actor for Selective {
        type Message = u32;
        async fn handle_message(&mut self, ctx: &mut Context<u32>, number: u32) -> Result {
            self.0.note(number);
            if number == 1 {
                let item = ctx.receive().await;
                let Received::Stop(reason) = item else { panic!("{item:?}") };
                self.0.note(format!("took {reason}"));
            }
            Ok(())
        }
        async fn terminate(&mut self, _: &mut Context<u32>, reason: &Reason) {
            self.0.note(format!("terminate {reason}"));
        }
    }
    for sim in simulations(5) {
        let log = Log::new();
        let noted = log.clone();
        let selective = sim.spawn(move || Selective(noted)).wait().unwrap();
        selective.send(1).unwrap();
        sim.run_until_idle();
        let reason = Reason::shutdown("enough");
        selective.stop().reason(reason).wait().unwrap();
        assert_eq!(log.take(), ["1", "took shutdown: enough", "terminate shutdown: enough"]);
    }
}

#[test]
fn d5_a_stop_with_a_reason_is_not_done_by_a_normal_end() {
    let sim = Simulation::new(1);
    // It hears of the stop as an exit, and ends as it likes.
    let ends = behavior_fn(|mut ctx: Context<()>| async move {
        ctx.trap_exits(true);
        ctx.receive().await;
        Ok(())
    });
    let process = sim.spawn(|| ends).start().unwrap();
    sim.run_until_idle();
    let stopped = process.stop().reason(boom()).wait();
    assert_eq!(stopped, Err(StopError::Other { pid: process.pid(), reason: Reason::Normal }));
}

#[test]
fn d5_a_stop_that_is_done_when_its_time_is_over_is_done() {
    for sim in simulations(3) {
        let (limit, slow) = (Duration::from_secs(5), slow(&sim, &Log::new()));
        let mut stop = slow.stop().timeout(limit).into_future();
        assert!(poll_once(&mut stop).is_pending());
        // Both have come when it is looked at.
        sim.advance(limit);
        assert!(!slow.is_alive());
        assert_eq!(poll_once(&mut stop), std::task::Poll::Ready(Ok(())));
    }
}
