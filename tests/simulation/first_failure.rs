//! Of several failures the first is the cause: rules D4, D5, C2.

use crate::support::{Act, Does, Log, boom, puppet};
use krarup::pool::{PoolBehavior, PoolContext};
use krarup::prelude::*;
use krarup::state::{Scope, StateActor, StateContext, Stateful};
use krarup::supervisor::{ChildSpec, InPlace};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Panics when it is dropped.
#[derive(Default)]
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

/// When it fails, besides at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fails {
    InInit,
    InHandler,
    Not,
}

struct FailingActor {
    fails: Fails,
    /// `terminate` panics too.
    twice: bool,
    _bomb: Bomb,
}

impl FailingActor {
    fn new(fails: Fails, twice: bool) -> Self {
        FailingActor { fails, twice, _bomb: Bomb }
    }
}

impl Actor for FailingActor {
    type Message = ();

    async fn init(&mut self, _: &mut Context<()>) -> Result {
        if self.fails == Fails::InInit { Err(boom()) } else { Ok(()) }
    }

    async fn handle_message(&mut self, ctx: &mut Context<()>, (): ()) -> Result {
        if self.fails == Fails::InHandler {
            return Err(boom());
        }
        ctx.stop();
        Ok(())
    }

    async fn terminate(&mut self, _: &mut Context<()>, _: &Reason) {
        assert!(!self.twice, "terminate");
    }
}

impl PoolBehavior for FailingActor {
    type Job = Act;
    type Command = ();

    async fn init(&mut self, _: &mut PoolContext<'_, Act, ()>) -> Result {
        if self.fails == Fails::InInit { Err(boom()) } else { Ok(()) }
    }

    async fn handle_command(&mut self, pool: &mut PoolContext<'_, Act, ()>, (): ()) -> Result {
        if self.fails == Fails::InHandler {
            return Err(boom());
        }
        pool.stop();
        Ok(())
    }

    async fn terminate(&mut self, _: &mut PoolContext<'_, Act, ()>, _: &Reason) {
        assert!(!self.twice, "terminate");
    }
}

impl StateActor for FailingActor {
    type Notice = ();
    type Ask = ();
    type Reply = ();
    type Event = ();

    async fn after_mount(&mut self, _: &mut StateContext<Self>) -> Result {
        if self.fails == Fails::InInit { Err(boom()) } else { Ok(()) }
    }

    async fn handle_notice(scope: &mut Scope<Self>, (): ()) -> Result {
        if scope.with(|sore| sore.fails) == Fails::InHandler {
            return Err(boom());
        }
        scope.with_context(|_, ctx| ctx.stop());
        Ok(())
    }

    async fn handle_ask(_: &mut Scope<Self>, (): ()) -> Result {
        Ok(())
    }

    async fn terminate(&mut self, _: &mut StateContext<Self>, _: &Reason) {
        assert!(!self.twice, "terminate");
    }
}

/// What it must end with.
fn expected(fails: Fails, twice: bool) -> &'static str {
    match (fails, twice) {
        (Fails::InInit | Fails::InHandler, _) => "boom",
        (Fails::Not, true) => "panic: terminate",
        (Fails::Not, false) => "panic: dropped",
    }
}

const CASES: [(Fails, bool); 5] = [
    (Fails::InInit, false),
    (Fails::InHandler, false),
    (Fails::InHandler, true),
    (Fails::Not, false),
    (Fails::Not, true),
];

fn check(what: &str, ended: &Reason, case: (Fails, bool)) {
    let ended = ended.to_string();
    assert!(ended.starts_with(expected(case.0, case.1)), "{what}, {case:?}: {ended}");
}

/// Why a spawn failed, or its process ended after `tell`.
fn end_of<M: Send + 'static, C: Send + 'static>(
    spawned: Result<Address<M, C>, SpawnError>,
    tell: impl FnOnce(&Address<M, C>),
) -> Reason {
    match spawned {
        Ok(address) => {
            let down = address.watch();
            tell(&address);
            down.wait().unwrap().reason
        }
        Err(SpawnError::Init(reason)) => reason,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn d4_the_first_failure_of_an_actor_is_the_cause_of_its_end() {
    for (fails, twice) in CASES {
        let sim = Simulation::new(1);
        let ended = end_of(sim.spawn(move || FailingActor::new(fails, twice)).wait(), |actor| {
            actor.send(()).unwrap();
        });
        check("actor", &ended, (fails, twice));
    }
}

#[test]
fn d4_the_first_failure_of_an_actor_in_place_is_the_cause_of_its_end() {
    for (fails, twice) in CASES {
        let sim = Simulation::new(1);
        let second = std::time::Duration::from_secs(1);
        let actor =
            move || InPlace::new(move || FailingActor::new(fails, twice)).intensity(0, second);
        let ended = end_of(sim.spawn(actor).wait(), |actor| actor.send(()).unwrap());
        check("in place", &ended, (fails, twice));
    }
}

#[test]
fn d4_the_first_failure_of_a_pool_is_the_cause_of_its_end() {
    for (fails, twice) in CASES {
        let sim = Simulation::new(1);
        let log = Log::new();
        let worker = move || crate::support::Puppet::new("worker", &log);
        let pool = move || Pool::new(1, worker).behavior(FailingActor::new(fails, twice));
        let ended = end_of(sim.spawn(pool).wait(), |pool| {
            pool.send_high(krarup::pool::PoolCommand::Own(())).unwrap();
        });
        check("pool", &ended, (fails, twice));
    }
}

#[test]
fn d4_the_first_failure_of_a_pool_that_does_not_open_is_the_cause_of_its_end() {
    let sim = Simulation::new(1);
    let pool = || Pool::new(1, || FailsToStart).behavior(FailingActor::new(Fails::Not, false));
    let ended = end_of(sim.spawn(pool).wait(), |_| {});
    assert!(ended.to_string().starts_with("boom"), "{ended}");
}

#[test]
fn d4_the_first_failure_of_a_state_actor_is_the_cause_of_its_end() {
    for (fails, twice) in CASES {
        let sim = Simulation::new(1);
        let actor = move || Stateful::new(FailingActor::new(fails, twice));
        let ended = end_of(sim.spawn(actor).wait(), |actor| {
            actor.send(krarup::state::StateMessage::Notice(())).unwrap();
        });
        check("state actor", &ended, (fails, twice));
    }
}

#[test]
fn d4_the_first_failure_of_a_supervisor_is_the_cause_of_its_end() {
    let sim = Simulation::new(1);
    let bomb = Bomb;
    let child = ChildSpec::worker("child", move || {
        let _ = &bomb;
        FailsToStart
    });
    let ended = end_of(sim.spawn(move || Supervisor::one_for_one().child(child)).wait(), |_| {});
    assert!(ended.to_string().contains("boom"), "{ended}");
}

struct FailsToStart;

impl Actor for FailsToStart {
    type Message = Act;

    async fn init(&mut self, _: &mut Context<Act>) -> Result {
        Err(boom())
    }

    async fn handle_message(&mut self, _: &mut Context<Act>, _: Act) -> Result {
        Ok(())
    }
}

/// Panics and catches that, when it is dropped.
struct Fuse;

impl Drop for Fuse {
    fn drop(&mut self) {
        assert!(catch_unwind(|| panic!("second")).is_err());
    }
}

fn panic_of(sim: &Simulation, act: impl FnOnce() + Send + 'static) -> (String, Option<String>) {
    let process = puppet(sim, "p", &Log::new());
    let down = process.watch();
    process.tells(move |_| act());
    let Reason::Panic(panic) = down.wait().unwrap().reason else { panic!("no panic") };
    (panic.message().to_owned(), panic.location().map(ToOwned::to_owned))
}

#[test]
fn d4_a_panic_keeps_its_place_though_others_are_caught_meanwhile() {
    let sim = Simulation::new(1);
    let here = line!() + 3;
    let first = panic_of(&sim, || {
        let _fuse = Fuse;
        panic!("first")
    });
    let place = first.1.expect("a place");
    assert_eq!(first.0, "first");
    assert!(place.contains(&format!("first_failure.rs:{here}")), "{place}, not {here}");
    // Nor does it matter what was caught before, how often, and whether it said the same.
    let here = line!() + 6;
    let after = panic_of(&sim, || {
        for _ in 0..20 {
            assert!(catch_unwind(|| panic!("after others")).is_err());
        }
        let _fuse = Fuse;
        panic!("after others")
    });
    assert_eq!(after.0, "after others");
    assert!(after.1.is_some_and(|place| place.contains(&format!("first_failure.rs:{here}"))));
    // What is raised again without the hook is not taken for another's.
    let resumed = panic_of(&sim, || {
        assert!(catch_unwind(|| panic!("another")).is_err());
        resume_unwind(Box::new("resumed"))
    });
    assert_eq!(resumed, ("resumed".to_owned(), None));
    // And what is caught and raised again is the same panic.
    let here = line!() + 2;
    let again = panic_of(&sim, || {
        let caught = catch_unwind(AssertUnwindSafe(|| panic!("again")));
        resume_unwind(caught.unwrap_err())
    });
    assert_eq!(again.0, "again");
    assert!(again.1.is_some_and(|place| place.contains(&format!(":{here}:"))));
}
