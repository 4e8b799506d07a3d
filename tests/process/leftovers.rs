//! What a process leaves behind when it ends, with code of users in it that panics: whoever
//! waits for the end hears of it all the same (rules D4, D6, D7).

use crate::support::journal::Journal;
use crate::support::{
    Act, Does, Guard, Log, Puppet, Unheard, asked, boom, on_wake, poll_once, poll_with, puppet,
    trapper,
};
use krarup::behavior::{Behavior, BehaviorContext, Received, Route, behavior_fn};
use krarup::mailbox::{Overflow, Permit};
use krarup::prelude::*;
use krarup::{Recipient, SendError};
use std::cell::Cell;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;

/// Panics when it is dropped.
#[derive(Clone)]
struct Bomb(#[allow(dead_code, reason = "goes off with the last of them")] Arc<Charge>);

struct Charge(Arc<AtomicUsize>);

impl Drop for Charge {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
        panic!("bomb");
    }
}

/// How many bombs went off.
#[derive(Clone, Default)]
struct Count(Arc<AtomicUsize>);

impl Count {
    fn bomb(&self) -> Bomb {
        Bomb(Arc::new(Charge(Arc::clone(&self.0))))
    }

    fn is(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// A message that panics when it is dropped.
    fn act(&self) -> Act {
        let bomb = self.bomb();
        Act::new(move |_| {
            drop(bomb);
            Ok(())
        })
    }

    /// A reason that panics when it is printed and when it is dropped.
    fn reason(&self) -> Reason {
        Reason::from(BombError(self.bomb()))
    }
}

struct BombError(#[allow(dead_code, reason = "held only for its destructor")] Bomb);

impl fmt::Debug for BombError {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("debug")
    }
}

impl fmt::Display for BombError {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("display")
    }
}

impl std::error::Error for BombError {}

/// A route that panics when it is dropped, for a process that has ended.
struct BombRoute(#[allow(dead_code, reason = "held only for its destructor")] Bomb);

impl<M: Send + 'static> Route<M> for BombRoute {
    fn send(&self, message: M, _: u64) -> Result<(), SendError<M>> {
        Err(SendError::Full { message, to: Pid::local(7, 0) })
    }

    fn reserve(&self) -> Result<Permit<M>, SendError<()>> {
        Err(SendError::Full { message: (), to: Pid::local(7, 0) })
    }

    fn waiting(&self) -> usize {
        0
    }
}

/// A handle on a process that is gone, and whose route goes with the last handle.
fn bomb_recipient<M: Send + 'static>(node: &Node, count: &Count) -> Recipient<M> {
    let route = BombRoute(count.bomb());
    let run = |mut ctx: Context<M>| async move {
        ctx.route_main(route);
        Ok(())
    };
    node.spawn(move || behavior_fn(run)).start().unwrap().recipient()
}

/// A suspended process, in which something can be left behind, and all who wait for its end.
struct Scene {
    sim: Simulation,
    log: Log,
    process: Address<Act>,
    bombs: Count,
}

impl Scene {
    fn new(seed: u64) -> Self {
        let (sim, log) = (Simulation::new(seed), Log::new());
        let named = Puppet::new("named", &log);
        let process = sim.spawn(move || named).name("named").mailbox(1).wait().unwrap();
        let pid = process.pid();
        let linked = trapper(&sim, "linked", &log);
        asked(&sim, &linked, move |ctx| ctx.link(pid));
        let watching = puppet(&sim, "watching", &log);
        asked(&sim, &watching, move |ctx| ctx.monitor(pid));
        process.suspend().wait().unwrap();
        Scene { sim, log, process, bombs: Count::default() }
    }

    /// Ends the process: all hear of it, and as many bombs have gone off.
    fn all_hear(self, left: &str, bombs: usize) {
        self.all_hear_of("killed", left, bombs, |scene| scene.sim.kill(scene.process.pid()));
    }

    fn all_hear_of(self, reason: &str, left: &str, bombs: usize, end: impl FnOnce(&Scene)) {
        // Ignores what is refused: there is one message in any case.
        let _ = self.process.send(Act::nothing());
        let mut in_line = self.process.send_or_wait(Act::nothing()).into_future();
        assert!(poll_once(&mut in_line).is_pending(), "{left}");
        let mut down = self.process.watch();
        assert!(poll_once(&mut down).is_pending(), "{left}");
        end(&self);
        self.sim.run_until_idle();
        let Poll::Ready(down) = poll_once(&mut down) else { panic!("{left}: no down") };
        assert_eq!(down.reason.to_string(), reason, "{left}");
        assert!(matches!(poll_once(&mut in_line), Poll::Ready(Err(SendError::NoProcess { .. }))));
        let pid = self.process.pid();
        let heard = |line: String| assert_eq!(self.log.count(&line), 1, "{left}: {line}");
        heard(format!("linked exit {pid} {reason}"));
        heard(format!("watching down {pid} {reason}"));
        heard("named dropped".to_owned());
        let next = Puppet::new("next", &self.log);
        self.sim.spawn(move || next).name("named").wait().unwrap();
        drop((down, in_line));
        assert_eq!(self.sim.processes().len(), 3, "{left}");
        assert_eq!(self.bombs.is(), bombs, "{left}");
    }
}

#[test]
fn d6_an_end_completes_despite_a_panicking_message() {
    let scene = Scene::new(1);
    scene.process.send(scene.bombs.act()).unwrap();
    scene.all_hear("a message", 1);
}

#[test]
fn d6_an_end_completes_despite_panicking_commands() {
    let scene = Scene::new(1);
    scene.process.send_max(scene.bombs.act()).unwrap();
    scene.process.send_high(scene.bombs.act()).unwrap();
    scene.process.send_high(scene.bombs.act()).unwrap();
    scene.all_hear("commands", 3);
}

#[test]
fn d6_an_end_completes_despite_a_panicking_tracer() {
    let scene = Scene::new(1);
    let (one, two) = (scene.bombs.bomb(), scene.bombs.bomb());
    // The first is put in place, the second comes too late.
    scene.process.trace(move |_| drop(one.clone()));
    scene.sim.run_until_idle();
    scene.process.trace(move |_| drop(two.clone()));
    scene.all_hear("a tracer", 2);
}

#[test]
fn d6_an_end_completes_despite_a_panicking_overflow() {
    let (sim, log, bombs) = (Simulation::new(1), Log::new(), Count::default());
    let fallback = bomb_recipient(&sim, &bombs);
    sim.run_until_idle();
    let named = Puppet::new("named", &log);
    let overflow = Overflow::divert(fallback, "tag");
    let process = sim.spawn(move || named).name("named").mailbox(1).overflow(overflow);
    let process = process.wait().unwrap();
    let down = process.watch();
    sim.kill(process.pid());
    assert_eq!(down.wait().unwrap().reason, Reason::Killed);
    assert_eq!((sim.whereis("named"), bombs.is()), (None, 1));
}

#[test]
fn d6_an_end_completes_despite_a_panicking_late_pending_exit() {
    let scene = Scene::new(1);
    let (node, reason) = (scene.sim.node().clone(), scene.bombs.reason());
    // It ends by itself, with the pending exit still there.
    scene
        .process
        .send_max(Act::new(move |ctx| {
            node.exit(ctx.pid(), reason);
            Err(boom())
        }))
        .unwrap();
    scene.all_hear_of("boom", "a pending exit", 1, |scene| {
        scene.process.resume();
    });
}

#[test]
fn d6_an_end_completes_despite_panicking_reasons_of_notices_and_stops() {
    let scene = Scene::new(1);
    let other = puppet(&scene.sim, "other", &scene.log);
    asked(&scene.sim, &other, {
        let pid = scene.process.pid();
        move |ctx| ctx.link(pid)
    });
    // Kept by the process as a notice, for it traps from now on.
    scene.process.resume();
    assert!(asked(&scene.sim, &scene.process, |ctx| {
        ctx.trap_exits(true);
        true
    }));
    scene.process.suspend().wait().unwrap();
    other.dies(scene.bombs.reason());
    scene.sim.run_until_idle();
    scene.all_hear("notices", 1);
}

#[test]
fn d6_an_end_completes_despite_a_panicking_reason() {
    let scene = Scene::new(1);
    let printed = "an error whose Display panicked";
    let reason = scene.bombs.reason();
    // The test itself has it last, and lets it be.
    std::mem::forget(reason.clone());
    scene.all_hear_of(printed, "a reason", 0, |scene| scene.sim.exit(scene.process.pid(), reason));
    // And when those who were told drop it last.
    let (sim, log, bombs) = (Simulation::new(1), Log::new(), Count::default());
    let process = puppet(&sim, "p", &log);
    process.dies(bombs.reason());
    sim.run_until_idle();
    assert_eq!((process.is_alive(), bombs.is(), sim.processes().len()), (false, 1, 0));
}

#[test]
fn d6_an_end_completes_despite_a_panicking_stash() {
    let scene = Scene::new(1);
    scene.process.resume();
    let aside = scene.bombs.act();
    assert!(asked(&scene.sim, &scene.process, move |ctx| ctx.stash(aside).is_ok()));
    scene.process.suspend().wait().unwrap();
    scene.all_hear("a stash", 1);
}

#[test]
fn d6_an_end_completes_despite_panicking_wakers() {
    let scene = Scene::new(1);
    let panics = on_wake(|| panic!("waker"));
    let mut down = scene.process.watch();
    assert!(poll_with(&mut down, &panics).is_pending());
    let mut state = scene.process.state::<()>();
    assert!(poll_with(&mut state, &panics).is_pending());
    let _ = scene.process.send(Act::nothing());
    let mut in_line = scene.process.send_or_wait(Act::nothing()).into_future();
    assert!(poll_with(&mut in_line, &panics).is_pending());
    scene.all_hear("wakers", 0);
}

#[test]
fn d6_an_end_completes_despite_panicking_cleaners() {
    let scene = Scene::new(1);
    scene.process.resume();
    let (one, two, log) = (scene.bombs.bomb(), scene.bombs.bomb(), scene.log.clone());
    assert!(asked(&scene.sim, &scene.process, move |ctx| {
        ctx.on_end(move |_| drop(one));
        ctx.on_end(move |_| log.note("cleaned"));
        ctx.on_end(move |_| drop(two));
        true
    }));
    scene.process.suspend().wait().unwrap();
    let log = scene.log.clone();
    scene.all_hear("cleaners", 2);
    assert_eq!(log.count("cleaned"), 1);
}

#[test]
fn d6_a_spawner_is_notified_of_the_end_despite_panicking_wakers() {
    let (sim, log) = (Simulation::new(1), Log::new());
    let run = |mut ctx: Context<Act>| async move {
        let _: Received<Act> = ctx.receive_early().await;
        Ok(())
    };
    let mut spawned = sim.spawn(move || behavior_fn(run)).name("named").into_future();
    assert!(poll_with(&mut spawned, &on_wake(|| panic!("waker"))).is_pending());
    sim.run_until_idle();
    let pid = sim.whereis("named").unwrap();
    let linked = trapper(&sim, "linked", &log);
    asked(&sim, &linked, move |ctx| ctx.link(pid));
    sim.kill(pid);
    sim.run_until_idle();
    assert_eq!(log.lines(), [format!("linked exit {pid} killed")]);
    assert!(matches!(poll_once(&mut spawned), Poll::Ready(Err(SpawnError::Init(Reason::Killed)))));
}

thread_local! {
    static UNNAMEABLE: Cell<bool> = const { Cell::new(false) };
}

/// Cannot be told what it is called.
struct Unnameable;

impl Behavior for Unnameable {
    type Message = Act;
    type Command = Act;

    async fn run(self, mut ctx: Context<Act>) -> Result {
        ctx.receive().await;
        Ok(())
    }

    fn label() -> &'static str {
        assert!(!UNNAMEABLE.get(), "label");
        "unnameable"
    }
}

#[test]
fn d6_an_end_completes_despite_a_panicking_label() {
    let (sim, log) = (Simulation::new(1), Log::new());
    let process = sim.spawn(|| Unnameable).name("named").wait().unwrap();
    let (pid, linked) = (process.pid(), trapper(&sim, "linked", &log));
    asked(&sim, &linked, move |ctx| ctx.link(pid));
    UNNAMEABLE.set(true);
    sim.kill(pid);
    sim.run_until_idle();
    UNNAMEABLE.set(false);
    assert_eq!(log.lines(), [format!("linked exit {pid} killed")]);
    assert_eq!(sim.whereis("named"), None);
}

#[test]
fn d6_an_end_completes_despite_panicking_subscribers() {
    let scene = Scene::new(1);
    let run = |mut ctx: Context<Unheard>| async move {
        ctx.receive().await;
        Ok(())
    };
    let deaf = scene.sim.spawn(move || behavior_fn(run)).wait().unwrap();
    scene.sim.subscribe_dead_letters(deaf.recipient());
    scene.sim.subscribe_lifecycle(deaf.recipient());
    scene.sim.exit(deaf.pid(), Reason::Normal);
    let sim = scene.sim.node().clone();
    let end = move |scene: &Scene| {
        scene.process.send_high(scene.bombs.act()).unwrap();
        scene.sim.kill(scene.process.pid());
        scene.sim.run_until_idle();
        sim.kill(deaf.pid());
    };
    scene.all_hear_of("killed", "subscribers", 1, end);
}

#[test]
fn d6_an_end_completes_despite_a_panicking_tracing_subscriber() {
    let panics = Journal::new(
        |event| event.target().starts_with("krarup"),
        |_| panic!("a subscriber of tracing"),
    );
    tracing::subscriber::with_default(panics, || {
        let scene = Scene::new(1);
        scene.process.send_high(scene.bombs.act()).unwrap();
        scene.process.send(scene.bombs.act()).unwrap();
        let bomb = scene.bombs.bomb();
        scene
            .process
            .send_max(Act::new(move |ctx| {
                ctx.on_end(move |_| drop(bomb));
                Err(boom())
            }))
            .unwrap();
        scene.all_hear_of("boom", "events", 3, |scene| {
            scene.process.resume();
        });
    });
}

#[test]
fn m7_a_send_to_an_ended_process_is_an_error_despite_a_panicking_tracing_subscriber() {
    let panics = Journal::new(
        |event| event.target().starts_with("krarup"),
        |_| panic!("a subscriber of tracing"),
    );
    tracing::subscriber::with_default(panics, || {
        let (sim, log) = (Simulation::new(1), Log::new());
        let dead = puppet(&sim, "dead", &log);
        sim.kill(dead.pid());
        sim.run_until_idle();
        let sender = puppet(&sim, "sender", &log);
        sender.tells(move |_| assert!(dead.send(Act::nothing()).is_err()));
        sim.run_until_idle();
        assert!(sender.is_alive());
        assert_eq!(sim.stats().dead_letters, 1);
    });
}

#[test]
fn d6_remaining_messages_are_dropped_lane_by_lane_in_arrival_order() {
    let (sim, log) = (Simulation::new(1), Log::new());
    let process = puppet(&sim, "p", &Log::new());
    process.suspend().wait().unwrap();
    let act = |line: &str| {
        let guard = Guard::new(&log, line);
        Act::new(move |_| {
            drop(guard);
            Ok(())
        })
    };
    for line in ["first", "second", "third"] {
        process.send(act(line)).ok().unwrap();
    }
    process.send_high(act("high")).ok().unwrap();
    process.send_max(act("max")).ok().unwrap();
    sim.kill(process.pid());
    sim.run_until_idle();
    assert_eq!(log.take(), ["max", "high", "first", "second", "third"]);
}

/// An error with the token of a call in it.
struct Holds(#[allow(dead_code, reason = "held only for its destructor")] Mutex<Reply<()>>);

impl fmt::Debug for Holds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Holds")
    }
}

impl fmt::Display for Holds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("holds")
    }
}

impl std::error::Error for Holds {}

#[test]
fn c2_a_call_whose_token_is_in_an_exit_reason_fails_at_once() {
    let sim = Simulation::new(1);
    let ends = behavior_fn(|mut ctx: Context<Reply<()>>| async move {
        match ctx.receive().await {
            Received::Message(reply) => Err(Reason::from(Holds(Mutex::new(reply)))),
            _ => Ok(()),
        }
    });
    let ends = sim.spawn(move || ends).start().unwrap();
    let mut call = ends.call(|reply| reply).no_timeout().into_future();
    assert!(poll_once(&mut call).is_pending());
    sim.run_until_idle();
    assert!(!ends.is_alive());
    assert_eq!(poll_once(&mut call), Poll::Ready(Err(CallError::NoReply { to: ends.pid() })));
}
