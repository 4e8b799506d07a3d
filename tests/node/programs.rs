//! A program around a node, futures that a simulation drives, actors that are made by futures: rules
//! Y1 to Y3.

use crate::support::{Log, boom, poll_once, simulations};
use krarup::behavior::{behavior_fn, made_by};
use krarup::prelude::*;
use krarup::{CannotWait, NodeError, ProgramError};
use std::error::Error;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

/// Notes that it has written what it keeps.
struct Keeps(Log);

impl Actor for Keeps {
    type Message = Reply<u32>;

    async fn handle_message(&mut self, _: &mut Context<Self::Message>, to: Reply<u32>) -> Result {
        to.send(42);
        Ok(())
    }

    async fn terminate(&mut self, _: &mut Context<Self::Message>, reason: &Reason) {
        self.0.note(format!("written at {reason}"));
    }
}

fn keeper(node: &Node, log: &Log) -> Address<Reply<u32>> {
    let log = log.clone();
    node.spawn(move || Keeps(log)).wait().unwrap()
}

#[test]
fn y1_a_program_stops_its_node_in_order_when_it_returns_fails_and_panics() {
    let log = Log::new();
    let answer = Node::run("y1_returns", |node| {
        let answer = keeper(node, &log).call(|reply| reply).wait()?;
        Ok::<_, Box<dyn Error + Send + Sync>>(answer)
    });
    assert_eq!(answer.unwrap(), 42);
    assert_eq!(log.take(), ["written at shutdown"]);
    // The error is a reason, and that of `main`.
    let failed: Result = Node::run("y1_fails", |node| {
        keeper(node, &log);
        Err(boom())
    });
    assert_eq!(failed, Err(boom()));
    assert_eq!(log.take(), ["written at shutdown"]);
    let panicked = std::panic::catch_unwind(|| {
        Node::run("y1_panics", |node| -> Result {
            keeper(node, &log);
            panic!("in main")
        })
    });
    assert!(panicked.is_err());
    assert_eq!(log.take(), ["written at shutdown"]);
}

#[test]
fn y1_an_async_program_stops_its_node_in_order_and_begins_to_when_it_is_dropped() {
    let log = Log::new();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let outcome: Result<u32> = runtime.block_on(async {
        let handle = tokio::runtime::Handle::current();
        let node = Node::builder("y1_async").tokio(handle);
        node.run_async(async |node: &Node| {
            let log = log.clone();
            let keeper = node.spawn(move || Keeps(log)).await?;
            keeper.call(|reply| reply).await?;
            Err(boom())
        })
        .await
    });
    assert_eq!(outcome, Err(boom()));
    assert_eq!(log.take(), ["written at shutdown"]);
    let (sender, started) = std::sync::mpsc::channel();
    let mut dropped = Box::pin(Node::builder("y1_dropped").run_async(async |node: &Node| {
        let log = log.clone();
        let keeper = node.spawn(move || Keeps(log)).await?;
        let _ = sender.send((node.clone(), keeper));
        std::future::pending::<Result>().await
    }));
    let (node, keeper) = loop {
        assert!(poll_once(&mut dropped).is_pending());
        if let Ok(started) = started.try_recv() {
            break started;
        }
        std::thread::yield_now();
    };
    let end = keeper.watch();
    drop(dropped);
    assert_eq!(end.wait().unwrap().reason, Reason::Shutdown);
    node.stop().wait().unwrap();
    assert_eq!(log.take(), ["written at shutdown"]);
}

/// Writes what it keeps when it is allowed to.
struct WritesLate {
    log: Log,
    allowed: Receiver<()>,
}

impl Actor for WritesLate {
    type Message = ();

    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        Ok(())
    }

    async fn terminate(&mut self, _: &mut Context<()>, _: &Reason) {
        self.allowed.recv().unwrap();
        self.log.note("written");
    }
}

#[test]
fn y1_an_async_program_in_a_process_of_another_node_ends_when_its_node_has_stopped() {
    let log = Log::new();
    let node = Node::start("y1_outer").unwrap();
    let (allow, allowed) = mpsc::channel();
    let noted = log.clone();
    let is_done = Arc::new(AtomicBool::new(false));
    let done = Arc::clone(&is_done);
    let program = Node::builder("y1_inner").run_async(async move |inner: &Node| {
        let keeper = WritesLate { log: noted, allowed };
        inner.spawn(move || keeper).await?;
        done.store(true, Ordering::Relaxed);
        Ok::<(), Reason>(())
    });
    let mut program = Box::pin(program);
    let noted = log.clone();
    let outer = behavior_fn(move |_: Context<()>| async move {
        let outcome = poll_fn(|cx| {
            let polled = program.as_mut().poll(cx);
            // The main function has returned, and its node cannot stop before it is allowed to.
            if is_done.swap(false, Ordering::Relaxed) {
                noted.note(if polled.is_pending() { "waits" } else { "has ended" });
                allow.send(()).unwrap();
            }
            polled
        });
        noted.note(format!("{:?}", outcome.await));
        Ok(())
    });
    let end = node.spawn(move || outer).start().unwrap().watch();
    assert_eq!(end.wait().unwrap().reason, Reason::Normal);
    assert_eq!(log.take(), ["waits", "written", "Ok(())"]);
    node.stop().wait().unwrap();
}

#[test]
fn y1_a_node_that_does_not_start_is_the_error_of_the_program() {
    let ran = std::cell::Cell::new(false);
    let refused: std::result::Result<(), ProgramError> = Node::run("", |_| {
        ran.set(true);
        Ok(())
    });
    assert!(matches!(refused, Err(ProgramError::Start(NodeError::InvalidName(_)))), "{refused:?}");
    assert!(!ran.get());
    assert!(Reason::from(refused.unwrap_err()).to_string().contains("invalid node name"));
    let left = ProgramError::Stop(boom()).to_string();
    assert_eq!(left, "the node has not stopped in order: boom");
}

#[test]
fn y2_a_simulation_drives_a_future_that_is_no_process() {
    for sim in simulations(20) {
        let keeper = keeper(sim.node(), &Log::new());
        let start = sim.now();
        let late = sim.node().named_address::<Reply<u32>, Reply<u32>>("late").unwrap();
        let log = Log::new();
        let spawner = behavior_fn(move |ctx: Context<()>| async move {
            ctx.sleep(Duration::from_secs(3)).await;
            let late = ctx.spawn(move || Keeps(log)).name("late").await;
            late.map(drop).map_err(Reason::from)
        });
        sim.spawn(move || spawner).start().unwrap();
        // What it borrows need not be moved.
        let sum = sim.block_on(async {
            let one = keeper.call(|reply| reply).await?;
            Ok::<_, Reason>(one + late.call(|reply| reply).await?)
        });
        assert_eq!(sum.unwrap(), Ok(84));
        assert_eq!(sim.now().since(start), Duration::from_secs(3));
        let never = sim.block_on(std::future::pending::<()>());
        assert_eq!(never, Err(CannotWait::Stalled));
    }
}

#[test]
fn y2_a_process_does_not_drive_its_simulation() {
    let sim = Simulation::new(1);
    let other = Simulation::new(2);
    let drives = behavior_fn(move |_: Context<()>| async move {
        assert_eq!(other.block_on(async { 1 }), Err(CannotWait::InProcess));
        Ok(())
    });
    let end = sim.spawn(move || drives).start().unwrap().watch();
    assert_eq!(end.wait().unwrap().reason, Reason::Normal);
    let ready = pin!(async { 7 });
    assert_eq!(sim.block_on(ready), Ok(7));
}

#[test]
fn y3_an_actor_that_is_made_by_a_future_starts_when_that_has_succeeded() {
    for sim in simulations(20) {
        let log = Log::new();
        let config = keeper(sim.node(), &log);
        let made = |number: u32| {
            let (config, log) = (config.clone(), log.clone());
            move || {
                made_by(async move {
                    let answer = config.call(|reply| reply).await?;
                    if answer == number { Ok(Keeps(log)) } else { Err(boom()) }
                })
            }
        };
        let actor = sim.spawn(made(42)).name("made").wait().unwrap();
        assert_eq!(actor.call(|reply| reply).wait(), Ok(42));
        assert!(actor.info().behavior.to_string().contains("Keeps"));
        let failed = sim.spawn(made(7)).name("failed").wait();
        assert!(matches!(failed, Err(SpawnError::Init(reason)) if reason == boom()));
        assert_eq!(sim.whereis("failed"), None);
        // A supervisor makes it anew.
        let make = made(42);
        let tree = move || {
            let child = ChildSpec::worker("made2", move || make.clone()()).name("made2");
            Supervisor::one_for_one().intensity(1, Duration::from_secs(1)).child(child)
        };
        sim.spawn(tree).wait().unwrap();
        sim.kill(sim.whereis("made2").unwrap());
        let next = sim.named_address::<Reply<u32>, Reply<u32>>("made2").unwrap();
        assert_eq!(next.call(|reply| reply).wait(), Ok(42));
    }
}
