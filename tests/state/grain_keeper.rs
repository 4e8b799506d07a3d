//! The keeper of grains as a process: what it says of itself, what it cannot make, and how it ends
//! (rules K1 to K3).

use crate::support::journal::Journal;
use crate::support::{Act, Log, Puppet, boom, on_wake, poll_once, poll_with, simulations};
use krarup::behavior::{Received, behavior_fn};
use krarup::dispatcher::{DispatcherOptions, Executor, ExecutorTask};
use krarup::grains::{GrainAddress, GrainCalls, Grains};
use krarup::observe::DeadLetter;
use krarup::prelude::*;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::thread;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);

type Puppets = GrainAddress<u32, Act>;

/// Puppets by number, with names; there is none for 13.
fn puppets(sim: &Simulation, log: &Log) -> Puppets {
    let log = log.clone();
    let grains = sim.spawn(move || {
        Grains::new(move |key: &u32| Puppet::new(&key.to_string(), &log)).named(|key| {
            assert_ne!(*key, 13, "unlucky");
            format!("puppet/{key}")
        })
    });
    grains.wait().unwrap()
}

/// Does something with the context of a grain's process, and answers.
fn asks(grains: &Puppets, key: u32) -> Result<Pid, CallError> {
    let asked = grains.call_to(key, |reply: Reply<Pid>| {
        Act::new(move |ctx| {
            reply.send(ctx.pid());
            Ok(())
        })
    });
    asked.wait()
}

fn number(grains: &Puppets, item: &str) -> Option<u64> {
    grains.inspect().wait().unwrap().number(item)
}

#[test]
fn k3_a_name_that_panics_fails_the_calls_to_its_grain_and_is_logged_and_nothing_more() {
    let journal = Log::new();
    let noted = journal.clone();
    let told = Journal::new(
        |event| event.target() == "krarup",
        move |fields| noted.note(format!("{fields:?}")),
    );
    tracing::subscriber::with_default(told, || {
        let sim = Simulation::new(1);
        let grains = puppets(&sim, &Log::new());
        journal.take();
        for _ in 0..2 {
            let failed = asks(&grains, 13).unwrap_err();
            assert!(!failed.was_begun());
            assert!(failed.to_string().contains("unlucky"), "{failed}");
            let lines = journal.take();
            let line = lines.iter().find(|line| line.contains("could not be spawned"));
            let line = line.unwrap_or_else(|| panic!("{lines:?}"));
            assert!(line.contains(&grains.pid().to_string()) && line.contains("unlucky"), "{line}");
        }
        let dead = sim.stats().dead_letters;
        grains.send_to(13, Act::nothing()).unwrap();
        sim.run_until_idle();
        assert_eq!(sim.stats().dead_letters, dead + 1);
        assert_eq!((number(&grains, "made"), number(&grains, "coming")), (Some(0), Some(0)));
        assert!(asks(&grains, 1).is_ok());
        assert_eq!((number(&grains, "made"), number(&grains, "present")), (Some(1), Some(1)));
    });
}

#[test]
fn k3_a_call_that_its_keeper_drops_for_another_reason_does_not_fail_with_that_of_a_grain() {
    let (sim, token) = (Simulation::new(1), Arc::new(Mutex::new(None::<Reply<()>>)));
    let drops = Arc::clone(&token);
    let grains = sim.spawn(move || {
        Grains::new(move |key: &u32| Puppet::new(&key.to_string(), &Log::new())).named(move |_| {
            drop(drops.lock().unwrap().take());
            panic!("no name")
        })
    });
    let grains: Puppets = grains.wait().unwrap();
    let probe = krarup::testing::Probe::<Reply<()>>::spawn(&sim);
    let other = probe.address();
    let mut call = Box::pin(other.call(|reply| reply).into_future());
    assert!(poll_once(&mut call).is_pending());
    *token.lock().unwrap() = Some(probe.expect(SECOND));
    assert!(matches!(asks(&grains, 1), Err(CallError::NotBegun { reason: Reason::Panic(_), .. })));
    assert_eq!(poll_once(&mut call), Poll::Ready(Err(CallError::NoReply { to: other.pid() })));
}

#[test]
fn k1_a_grain_is_a_process_of_its_own_kind_linked_to_its_keeper() {
    for sim in simulations(3) {
        let grains = puppets(&sim, &Log::new());
        let grain = asks(&grains, 1).unwrap();
        let info = sim.process_info(grain).unwrap();
        let known_as = info.behavior.to_string();
        assert!(known_as.contains("Puppet") && !known_as.contains("Grain"), "{known_as}");
        assert_eq!((info.parent, info.links), (Some(grains.pid()), vec![grains.pid()]));
        assert_eq!(info.mailbox, Some(1024));
        sim.advance(Duration::from_secs(360_000_000));
        assert!(sim.is_alive(grain), "it has no idle time");
    }
}

#[test]
fn k1_the_shortest_idle_time_is_a_millisecond() {
    for sim in simulations(3) {
        let log = Log::new();
        let grains = sim.spawn(move || {
            Grains::new(move |key: &u32| Puppet::new(&key.to_string(), &log)).idle(Duration::ZERO)
        });
        let grains = grains.wait().unwrap();
        grains.send_to(1, Act::nothing()).unwrap();
        sim.run_until_idle();
        assert_eq!(number(&grains, "present"), Some(1));
        sim.advance(Duration::from_millis(1));
        assert_eq!((number(&grains, "present"), number(&grains, "passivated")), (Some(0), Some(1)));
    }
}

#[test]
fn k1_a_grain_that_outlives_its_keeper_goes_when_it_is_idle() {
    for keeps_address in [false, true] {
        for sim in simulations(3) {
            let log = Log::new();
            let noted = log.clone();
            let grains = sim.spawn(move || {
                let make = move |key: &u32| Puppet::new(&key.to_string(), &noted);
                Grains::new(make).idle(SECOND)
            });
            let grains: Puppets = grains.wait().unwrap();
            let (keeper, grain) = (grains.pid(), asks(&grains, 1).unwrap());
            let unlinks = Act::new(move |ctx| {
                ctx.unlink(keeper);
                Ok(())
            });
            grains.send_to(1, unlinks).unwrap();
            sim.run_until_idle();
            let kept = keeps_address.then_some(grains);
            sim.kill(keeper);
            sim.run_until_idle();
            assert!(!sim.is_alive(keeper) && sim.is_alive(grain));
            sim.advance(2 * SECOND);
            assert!(!sim.is_alive(grain), "an address of its keeper is kept: {keeps_address}");
            assert_eq!(log.count("1 terminate normal"), 1);
            drop(kept);
        }
    }
}

#[test]
fn k1_a_released_grain_counts_as_passivated_once_and_an_absent_one_does_not_count() {
    for sim in simulations(3) {
        let grains = puppets(&sim, &Log::new());
        asks(&grains, 1).unwrap();
        for _ in 0..2 {
            grains.release(1).unwrap();
            grains.release(2).unwrap();
            sim.run_until_idle();
        }
        assert_eq!((number(&grains, "passivated"), number(&grains, "made")), (Some(1), Some(1)));
        assert_eq!(number(&grains, "present"), Some(0));
        // The end of a grain is heard of before what comes after it.
        let grain = asks(&grains, 1).unwrap();
        grains.suspend().wait().unwrap();
        sim.kill(grain);
        sim.run_until_idle();
        grains.release(1).unwrap();
        assert!(grains.resume());
        sim.run_until_idle();
        assert_eq!((number(&grains, "passivated"), number(&grains, "leaving")), (Some(1), Some(0)));
    }
}

#[test]
fn k3_a_keeper_ends_on_request_and_its_grains_are_shut_down() {
    for sim in simulations(3) {
        for how in ["finish", "stop", "fail"] {
            let log = Log::new();
            let grains = puppets(&sim, &log);
            (0..3).for_each(|key| drop(asks(&grains, key)));
            let end = grains.watch();
            let reason = match how {
                "finish" => {
                    grains.finish();
                    Reason::Normal
                }
                "stop" => {
                    grains.process().request_stop(Reason::Shutdown);
                    Reason::Shutdown
                }
                _ => {
                    grains.process().request_stop(boom());
                    boom()
                }
            };
            sim.run_until_idle();
            assert_eq!(end.wait().unwrap().reason, reason);
            assert_eq!(log.count("terminate shutdown"), 3, "{:?}", log.lines());
        }
    }
}

/// A grain that takes a second to end.
struct Slow;

impl Actor for Slow {
    type Message = Reply<u32>;

    async fn handle_message(&mut self, _: &mut Context<Reply<u32>>, reply: Reply<u32>) -> Result {
        reply.send(1);
        Ok(())
    }

    async fn terminate(&mut self, ctx: &mut Context<Reply<u32>>, _: &Reason) {
        ctx.sleep(SECOND).await;
    }
}

#[test]
fn k3_an_ending_keeper_is_inspected_and_held_calls_fail_at_once_with_its_reason() {
    for sim in simulations(3) {
        let grains = sim.spawn(|| Grains::new(|_: &u32| Slow)).wait().unwrap();
        (0..2).for_each(|key| assert_eq!(grains.call_to(key, |reply| reply).wait(), Ok(1)));
        grains.release(1).unwrap();
        sim.run_until_idle();
        let log = Log::new();
        let (noted, callee) = (log.clone(), grains.clone());
        sim.spawn(move || {
            behavior_fn(move |_: Context<()>| async move {
                let held = callee.call_to(1, |reply| reply).await;
                noted.note(held == Err(CallError::NotBegun { to: callee.pid(), reason: boom() }));
                Ok(())
            })
        })
        .start()
        .unwrap();
        sim.run_until_idle();
        let began = sim.now();
        grains.process().request_stop(boom());
        sim.run_until_idle();
        assert_eq!((log.take(), sim.now()), (vec!["true".to_owned()], began));
        assert!(grains.is_alive(), "it waits for its grains");
        let inspected = grains.inspect().wait().unwrap();
        let numbers = ["made", "present", "leaving"].map(|item| inspected.number(item));
        assert_eq!(numbers, [Some(2), Some(0), Some(0)]);
        sim.advance(SECOND);
        assert!(!grains.is_alive());
    }
}

/// A key whose comparison panics while the fuse burns.
#[derive(Clone)]
struct Fused(u32, Arc<AtomicBool>);

impl Hash for Fused {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl PartialEq for Fused {
    fn eq(&self, other: &Self) -> bool {
        assert!(!self.1.load(Ordering::Relaxed), "fused");
        self.0 == other.0
    }
}

impl Eq for Fused {}

#[test]
fn k2_a_key_that_panics_when_compared_affects_only_its_sender() {
    let sim = Simulation::new(1);
    let (fuse, log) = (Arc::new(AtomicBool::new(false)), Log::new());
    let noted = log.clone();
    let grains = sim
        .spawn(move || Grains::new(move |key: &Fused| Puppet::new(&key.0.to_string(), &noted)))
        .wait()
        .unwrap();
    let key = |number| Fused(number, Arc::clone(&fuse));
    let sends = |number| grains.send_to(key(number), Act::nothing()).is_ok();
    assert!(sends(1));
    sim.run_until_idle();
    fuse.store(true, Ordering::Relaxed);
    assert!(catch_unwind(AssertUnwindSafe(|| sends(1))).is_err());
    fuse.store(false, Ordering::Relaxed);
    assert!(sends(1) && sends(2));
    sim.run_until_idle();
    assert!(grains.is_alive());
    assert_eq!(grains.inspect().wait().unwrap().number("present"), Some(2));
    grains.stop().wait().unwrap();
    assert_eq!(log.count("terminate shutdown"), 2);
}

#[test]
fn k2_a_sender_that_waited_for_room_is_the_sender_of_its_message() {
    let (sim, log) = (Simulation::new(1), Log::new());
    let grains = puppets(&sim, &Log::new());
    for key in [1, 1, 2] {
        let (grains, noted) = (grains.clone(), log.clone());
        let sends = sim.spawn(move || {
            behavior_fn(move |_: Context<()>| async move {
                let act = Act::new(move |ctx| {
                    noted.note(format!("{:?}", ctx.sender()));
                    Ok(())
                });
                grains.send_or_wait_to(key, act).await.map_err(|_| boom())
            })
        });
        let sender = sends.start().unwrap().pid();
        sim.run_until_idle();
        assert_eq!(log.take(), [format!("{:?}", Some(sender))]);
    }
}

#[test]
fn the_debug_text_of_grains_shows_their_settings() {
    let grains = Grains::new(|_: &u32| Puppet::new("", &Log::new())).idle(SECOND).mailbox(7);
    assert_eq!(format!("{grains:?}"), "Grains { idle: Some(1s), mailbox: 7, .. }");
    let shortest = format!("{:?}", grains.idle(Duration::ZERO));
    assert_eq!(shortest, "Grains { idle: Some(1ms), mailbox: 7, .. }");
}

#[test]
fn k3_a_grain_is_counted_as_made_only_when_its_name_is_free() {
    for sim in simulations(3) {
        let grains = puppets(&sim, &Log::new());
        let other = behavior_fn(|mut ctx: Context<()>| async move {
            ctx.receive().await;
            Ok(())
        });
        let other = sim.spawn(move || other).name("puppet/1").start().unwrap();
        assert!(asks(&grains, 1).is_err());
        let counts = || ["made", "present", "coming"].map(|item| number(&grains, item));
        assert_eq!(counts(), [0, 0, 0].map(Some));
        other.send(()).unwrap();
        sim.run_until_idle();
        assert!(asks(&grains, 1).is_ok());
        assert_eq!(counts(), [1, 1, 0].map(Some));
    }
}

#[test]
fn k3_messages_held_for_a_grain_that_cannot_be_spawned_are_dead_letters() {
    for ends in [false, true] {
        let (sim, log) = (Simulation::new(1), Log::new());
        let noted = log.clone();
        let hears = sim.spawn(move || {
            behavior_fn(move |mut ctx: Context<DeadLetter>| async move {
                ctx.subscribe_dead_letters();
                while let Received::Message(letter) = ctx.receive().await {
                    noted.note(letter);
                }
                Ok(())
            })
        });
        hears.start().unwrap();
        let grains = puppets(&sim, &Log::new());
        // There is none for 13; and a keeper that is stopped makes none.
        let key = if ends { 1 } else { 13 };
        let to = grains.clone();
        let sends = sim.spawn(move || {
            behavior_fn(move |_: Context<()>| async move {
                if ends {
                    to.process().request_stop(Reason::Shutdown);
                }
                to.send_to(key, Act::nothing()).map_err(|_| boom())
            })
        });
        let sender = sends.start().unwrap().pid();
        sim.run_until_idle();
        assert_eq!((log.count(&format!("from {sender}")), log.lines().len()), (1, 1));
    }
}

#[test]
fn k3_a_log_subscriber_that_panics_does_not_end_a_keeper_that_cannot_spawn_a_grain() {
    let told = Journal::new(|event| event.target() == "krarup", |_| panic!("a log subscriber"));
    tracing::subscriber::with_default(told, || {
        let sim = Simulation::new(1);
        let grains = puppets(&sim, &Log::new());
        // There is none for 13.
        assert!(asks(&grains, 13).is_err());
        assert!(asks(&grains, 1).is_ok());
        assert!(grains.is_alive());
    });
}

/// Tasks lie in a list until the test runs them; but the next one that a task of the list brings
/// runs before that goes on, if the test wants that.
#[derive(Clone, Default)]
struct Nesting {
    tasks: Arc<Mutex<Vec<ExecutorTask>>>,
    nested: Arc<AtomicBool>,
}

impl Executor for Nesting {
    fn execute(&self, task: ExecutorTask) -> Result<(), ExecutorTask> {
        if self.nested.swap(false, Ordering::SeqCst) {
            thread::spawn(|| task.run()).join().unwrap();
        } else {
            self.tasks.lock().unwrap().push(task);
        }
        Ok(())
    }
}

impl Nesting {
    fn run(&self) {
        let next = || self.tasks.lock().unwrap().pop();
        // There is an end to it.
        assert!(std::iter::from_fn(next).map(ExecutorTask::run).take(1000).count() < 1000);
    }
}

#[test]
fn k3_a_grain_that_ends_before_it_is_in_the_directory_loses_its_held_messages_and_is_spawned_again()
{
    let executor = Nesting::default();
    let options = DispatcherOptions::executor(executor.clone());
    let node = Node::builder("k3early").workers(1).dispatcher("list", options).start().unwrap();
    let dies_at_once = Arc::new(AtomicBool::new(true));
    let dies = Arc::clone(&dies_at_once);
    let grains = node.spawn(move || {
        let make = move |_: &u32| {
            let dies = dies.load(Ordering::SeqCst);
            behavior_fn(move |mut ctx: Context<Option<Reply<Pid>>>| async move {
                if dies {
                    return Err(boom());
                }
                while let Received::Message(reply) = ctx.receive().await {
                    reply.into_iter().for_each(|reply| reply.send(ctx.pid()));
                }
                Ok(())
            })
        };
        Grains::new(make).mailbox(2)
    });
    let grains = grains.dispatcher("list").start().unwrap();
    executor.run();
    let counts = || {
        let mut inspected = pin!(grains.inspect().into_future());
        assert!(poll_once(&mut inspected).is_pending());
        executor.run();
        let Poll::Ready(Ok(inspected)) = poll_once(&mut inspected) else { panic!("no answer") };
        ["made", "present", "coming", "leaving"].map(|item| inspected.number(item).unwrap())
    };
    let calls = || Box::pin(grains.call_to(1, Some).timeout(HOUR).into_future());
    // Two are held, and one waits for a place.
    let (mut call, mut waits) = (calls(), Box::pin(grains.send_or_wait_to(1, None).into_future()));
    let wakes = Log::new();
    let noted = wakes.clone();
    let waker = on_wake(move || noted.note("woken"));
    assert!(poll_once(&mut call).is_pending() && grains.send_to(1, None).is_ok());
    assert!(poll_with(&mut waits, &waker).is_pending());
    executor.nested.store(true, Ordering::SeqCst);
    executor.run();
    let failed = CallError::NotBegun { to: grains.pid(), reason: boom() };
    assert_eq!(poll_once(&mut call), Poll::Ready(Err(failed)));
    assert_eq!((node.stats().dead_letters, counts()), (2, [1, 0, 1, 0]), "one has a place");
    assert_eq!(wakes.lines(), ["woken"]);
    dies_at_once.store(false, Ordering::SeqCst);
    assert!(matches!(poll_once(&mut waits), Poll::Ready(Ok(()))));
    let mut call = calls();
    assert!(poll_once(&mut call).is_pending());
    executor.run();
    assert!(matches!(poll_once(&mut call), Poll::Ready(Ok(_))));
    assert_eq!((node.stats().dead_letters, counts()), (2, [2, 1, 0, 0]));
}
