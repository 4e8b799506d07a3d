//! What goes on while a node stops: rule X2. A front that is asked to stop finishes what it has
//! begun, with all that it needs; nobody is killed before everybody has been asked.

use crate::support::journal::keep_another_subscriber;
use crate::support::{Does, Log, Puppet, boom, on_wake, poll_once, poll_with, puppet, simulations};
use krarup::behavior::{Received, behavior_fn};
use krarup::dispatcher::DispatcherOptions;
use krarup::grains::{GrainCalls, Grains};
use krarup::prelude::*;
use krarup::testing::{Fault, Faults};
use std::panic;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::Poll;
use std::thread;
use std::time::Duration;
use tracing::span;

const SECOND: Duration = Duration::from_secs(1);

/// Never ends unless it is killed; notes that it was asked.
fn never(log: &Log) -> impl krarup::behavior::Behavior<Message = (), Command = ()> {
    let log = log.clone();
    behavior_fn(move |mut ctx: Context<()>| async move {
        ctx.stop_in_order();
        ctx.initialised();
        ctx.receive().await;
        log.note(format!("never asked at {}", ctx.now()));
        std::future::pending::<()>().await;
        Ok(())
    })
}

/// Doubles a number; at 13 it crashes.
struct Doubles;

struct Double(u32, Reply<u32>);

impl Actor for Doubles {
    type Message = Double;
    async fn handle_message(&mut self, _: &mut Context<Double>, job: Double) -> Result {
        if job.0 == 13 {
            return Err(boom());
        }
        job.1.send(2 * job.0);
        Ok(())
    }
}

#[test]
fn x2_every_process_is_asked_before_any_is_killed() {
    for sim in simulations(20) {
        let log = Log::new();
        // Started first, so it would be asked last.
        let below = puppet(&sim, "below", &log);
        let noted = log.clone();
        below.tells(move |ctx| {
            let orphan = Puppet::new("orphan", &noted);
            ctx.spawn(move || orphan).start().unwrap();
        });
        sim.run_until_idle();
        let stuck = never(&log);
        let stuck = sim.spawn(move || stuck).wait().unwrap();
        let mut ends = [sim.watch(below.pid()), sim.watch(stuck.pid())];
        let before = sim.now();
        sim.stop().timeout(5 * SECOND).wait().unwrap();
        let ends = ends.each_mut().map(|end| match poll_once(end) {
            Poll::Ready(down) => down.reason,
            Poll::Pending => panic!("alive"),
        });
        assert_eq!(ends, [Reason::Shutdown, Reason::Killed]);
        assert_eq!(log.count("orphan terminate shutdown"), 1);
        assert_eq!(sim.now() - before, 5 * SECOND);
    }
}

#[test]
fn x2_remaining_processes_are_asked_after_four_fifths_of_the_time() {
    struct NotesTermination(&'static str, Log);
    impl Actor for NotesTermination {
        type Message = ();
        async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
            Ok(())
        }
        async fn terminate(&mut self, ctx: &mut Context<()>, _: &Reason) {
            self.1.note(format!("{} at {}", self.0, ctx.now()));
        }
    }
    for timeout in [10 * SECOND, Duration::ZERO] {
        let sim = Simulation::new(1);
        let log = Log::new();
        for name in ["a", "b"] {
            let notes = NotesTermination(name, log.clone());
            sim.spawn(move || notes).wait().unwrap();
        }
        let stuck = never(&log);
        sim.spawn(move || stuck).wait().unwrap();
        sim.stop().timeout(timeout).wait().unwrap();
        if timeout.is_zero() {
            // No time for anything: asked and killed at one moment.
            assert_eq!(sim.now().as_nanos(), 0);
        } else {
            let asked = ["a at 8s", "b at 8s", "never asked at 0ns"];
            assert_eq!(log.take_sorted(), asked);
        }
        assert_eq!(sim.stats().processes, 0);
    }
}

/// Where each runs on the thread that asks it, they end in the order in which they are asked.
#[test]
fn x2_remaining_processes_are_asked_together_last_started_first() {
    let here = DispatcherOptions::calling_thread();
    let node = Node::builder("x2together").options(here).start().unwrap();
    let log = Log::new();
    for name in ["first", "second", "third"] {
        puppet(&node, name, &log);
    }
    let hangs = never(&log);
    node.spawn(move || hangs).start().unwrap();
    node.stop().timeout(Duration::ZERO).wait().unwrap();
    let lines = log.take();
    let asked: Vec<_> = lines.iter().filter(|line| line.contains("terminate")).collect();
    assert_eq!(
        asked,
        ["third terminate shutdown", "second terminate shutdown", "first terminate shutdown"]
    );
    assert!(lines[0].starts_with("never asked"), "{lines:?}");
}

#[test]
fn x2_a_stop_without_a_limit_waits_as_long_as_it_takes() {
    struct Slow;
    impl Actor for Slow {
        type Message = ();
        async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
            Ok(())
        }
        async fn terminate(&mut self, ctx: &mut Context<()>, _: &Reason) {
            ctx.sleep(Duration::from_secs(3_600_000)).await;
        }
    }
    let sim = Simulation::new(1);
    let slow = sim.spawn(|| Slow).wait().unwrap();
    let mut end = slow.watch();
    sim.stop().timeout(Duration::MAX).wait().unwrap();
    assert!(matches!(poll_once(&mut end), Poll::Ready(down) if down.reason == Reason::Shutdown));
}

#[test]
fn x2_running_processes_can_do_everything_until_they_are_asked() {
    for sim in simulations(20) {
        let log = Log::new();
        let pool = sim.spawn(|| Pool::new(1, || Doubles)).wait().unwrap();
        let tree = || {
            let child = ChildSpec::worker("doubles", || Doubles).name("doubles");
            Supervisor::one_for_one().intensity(5, SECOND).child(child)
        };
        let supervisor = sim.spawn(tree).wait().unwrap();
        let grains = sim.spawn(|| Grains::new(|_: &String| Doubles)).wait().unwrap();
        let (noted, node) = (log.clone(), sim.node().clone());
        // The front: started last, so it is the first to be asked, and drains then.
        let front = behavior_fn(move |mut ctx: Context<u32>| async move {
            ctx.stop_in_order();
            ctx.initialised();
            while !matches!(ctx.receive().await, Received::Stop(_)) {}
            // Pool workers are replaced.
            let crashed = pool.call(|reply| Double(13, reply)).await;
            assert!(crashed.is_err());
            ctx.sleep(SECOND).await;
            noted.note(format!("pool {:?}", pool.call(|reply| Double(1, reply)).await));
            // Children are restarted, and added.
            let named: Address<Double> = ctx.lookup("doubles")?;
            assert!(named.call(|reply| Double(13, reply)).await.is_err());
            ctx.sleep(SECOND).await;
            let named: Address<Double> = ctx.lookup("doubles")?;
            noted.note(format!("child {:?}", named.call(|reply| Double(2, reply)).await));
            let added = supervisor.start_child(ChildSpec::worker("added", || Doubles)).await;
            noted.note(format!("added {}", added.is_ok()));
            // Grains are made.
            let grain = grains.call_to("new".to_owned(), |reply| Double(3, reply)).await;
            noted.note(format!("grain {grain:?}"));
            // Work in flight comes back.
            ctx.pipe(async { 4 }, |n| n)?;
            let n = loop {
                if let Received::Message(n) = ctx.receive().await {
                    break n;
                }
            };
            noted.note(format!("pipe {n}"));
            // A child of its own; but no new top-level process.
            let child = ctx.spawn(|| Doubles).await?;
            noted.note(format!("spawn {:?}", child.call(|reply| Double(5, reply)).await));
            let late = node.spawn(|| Doubles).start().map(|_| ());
            noted.note(format!("top level {late:?}"));
            Ok(())
        });
        sim.spawn(move || front).wait().unwrap();
        sim.stop().wait().unwrap();
        let lines = [
            "pool Ok(2)",
            "child Ok(4)",
            "added true",
            "grain Ok(6)",
            "pipe 4",
            "spawn Ok(10)",
            "top level Err(NodeStopping)",
        ];
        assert_eq!(log.take(), lines);
        assert_eq!((sim.stats().processes, sim.stats().timers), (0, 0));
    }
}

#[test]
fn x2_calls_from_outside_are_answered_until_the_callee_has_stopped() {
    for sim in simulations(10) {
        let log = Log::new();
        let doubles = sim.spawn(|| Doubles).wait().unwrap();
        let slow = never(&log);
        sim.spawn(move || slow).wait().unwrap();
        sim.stop().timeout(10 * SECOND).start();
        assert_eq!(sim.spawn(|| Doubles).start().unwrap_err(), SpawnError::NodeStopping);
        assert_eq!(sim.spawn_system(|| Doubles).wait().unwrap_err(), SpawnError::NodeStopping);
        assert_eq!(doubles.call(|reply| Double(4, reply)).wait(), Ok(8));
        // One that has ended may come back, as long as its root goes on.
        sim.kill(doubles.pid());
        sim.run_until_idle();
        assert!(sim.is_stopping());
        assert_eq!(
            doubles.call(|reply| Double(4, reply)).wait(),
            Err(CallError::NoProcess { to: doubles.pid() })
        );
        sim.stop().wait().unwrap();
        assert_eq!(
            doubles.call(|reply| Double(4, reply)).wait(),
            Err(CallError::NodeStopped { to: doubles.pid() })
        );
    }
}

#[test]
fn x2_a_root_that_has_stopped_is_closed_while_the_services_still_stop() {
    for sim in simulations(5) {
        let doubles = sim.spawn(|| Doubles).wait().unwrap();
        let log = Log::new();
        let slow = never(&log);
        sim.spawn_system(move || slow).wait().unwrap();
        sim.stop().start();
        sim.run_until_idle();
        assert!(log.count("never asked") == 1 && !doubles.is_alive());
        assert_eq!(
            doubles.call(|reply| Double(4, reply)).wait(),
            Err(CallError::NodeStopped { to: doubles.pid() })
        );
        let called = doubles.recipient().call(|reply| Double(4, reply)).wait();
        assert_eq!(called, Err(CallError::NodeStopped { to: doubles.pid() }));
        sim.stop().wait().unwrap();
    }
}

#[test]
fn x2_processes_that_spawn_for_ever_are_ended_when_the_time_is_over() {
    /// When it is asked to end it spawns another.
    struct Hydra(Arc<AtomicUsize>);
    impl Actor for Hydra {
        type Message = ();
        async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
            Ok(())
        }
        async fn terminate(&mut self, ctx: &mut Context<()>, _: &Reason) {
            self.0.fetch_add(1, Ordering::Relaxed);
            ctx.sleep(SECOND / 10).await;
            let heads = Arc::clone(&self.0);
            let _ = ctx.spawn(move || Hydra(heads)).start();
        }
    }
    for sim in simulations(5) {
        let heads = Arc::new(AtomicUsize::new(0));
        let first = Arc::clone(&heads);
        sim.spawn(move || Hydra(first)).wait().unwrap();
        sim.stop().timeout(2 * SECOND).wait().unwrap();
        assert!(heads.load(Ordering::Relaxed) > 10);
        assert!(sim.now().as_nanos() <= 2_100_000_000, "{}", sim.now());
        assert_eq!(sim.stats().processes, 0);
    }
}

/// When its state is dropped, whyever, it spawns another; so often at most.
struct Respawns(Arc<AtomicUsize>);

const MOST: usize = 20_000;

impl krarup::behavior::Behavior for Respawns {
    type Message = ();
    type Command = ();

    async fn run(self, ctx: Context<()>) -> Result {
        let _tail = Tail(ctx, self.0);
        std::future::pending::<()>().await;
        Ok(())
    }
}

struct Tail(Context<()>, Arc<AtomicUsize>);

impl Drop for Tail {
    fn drop(&mut self) {
        if self.1.fetch_add(1, Ordering::Relaxed) < MOST {
            let spawned = Arc::clone(&self.1);
            let _ = self.0.spawn(move || Respawns(spawned)).start();
        }
    }
}

#[test]
fn x2_a_process_that_spawns_another_when_it_is_ended_is_ended_when_the_time_is_over() {
    for sim in simulations(2) {
        let spawned = Arc::new(AtomicUsize::new(0));
        let first = Arc::clone(&spawned);
        sim.spawn(move || Respawns(first)).start().unwrap();
        sim.run_until_idle();
        sim.stop().timeout(SECOND).wait().unwrap();
        assert!((100..MOST).contains(&spawned.load(Ordering::Relaxed)), "{spawned:?}");
        assert_eq!(sim.stats().processes, 0);
    }
}

/// One of a chain: each spawns the next, and is linked to none.
struct Chained {
    left: u32,
    log: Log,
}

impl Actor for Chained {
    type Message = ();

    async fn init(&mut self, ctx: &mut Context<()>) -> Result {
        if let Some(left) = self.left.checked_sub(1) {
            let log = self.log.clone();
            ctx.spawn(move || Chained { left, log }).start()?;
        }
        Ok(())
    }

    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        Ok(())
    }

    async fn terminate(&mut self, _: &mut Context<()>, reason: &Reason) {
        self.log.note(format!("{} {reason}", self.left));
    }
}

#[test]
fn x2_a_long_chain_of_processes_is_asked_one_by_one_and_takes_no_time() {
    const LENGTH: u32 = 500;
    for sim in simulations(3) {
        let log = Log::new();
        let noted = log.clone();
        sim.spawn(move || Chained { left: LENGTH, log: noted }).start().unwrap();
        sim.run_until_idle();
        sim.stop().timeout(SECOND).wait().unwrap();
        assert_eq!(sim.now(), krarup::Timestamp::ZERO);
        let asked: Vec<_> = (0..=LENGTH).rev().map(|left| format!("{left} shutdown")).collect();
        assert_eq!(log.take(), asked);
    }
}

#[test]
fn x2_all_that_cannot_be_ended_are_killed_and_the_services_still_stop_in_order() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let [one, other] = ["one", "other"].map(|name| puppet(&sim, name, &log));
    let service = Puppet::new("service", &log);
    sim.spawn_system(move || service).wait().unwrap();
    let hold = Fault::Delay(Duration::from_secs(3600));
    sim.faults(Faults::new().at_step(0, hold, one.pid()).at_step(0, hold, other.pid()));
    puppet(&sim, "tick", &log).dies(Reason::Normal);
    sim.run_until_idle();
    log.take();
    sim.stop().timeout(2 * SECOND).wait().unwrap();
    assert_eq!(sim.now().as_nanos(), 7_000_000_000);
    assert_eq!(log.take()[..2], ["service terminate shutdown", "service dropped"]);
}

#[test]
fn x2_a_waker_that_panics_keeps_no_other_from_being_woken() {
    for sim in simulations(5) {
        sim.stop().start();
        let woken = Arc::new(AtomicUsize::new(0));
        let counts = || {
            let woken = Arc::clone(&woken);
            on_wake(move || {
                woken.fetch_add(1, Ordering::Relaxed);
            })
        };
        let mut stops: Vec<_> = (0..3).map(|_| sim.stop().into_future()).collect();
        let wakers = [counts(), on_wake(|| panic!("a waker")), counts()];
        for (stop, waker) in stops.iter_mut().zip(&wakers) {
            assert!(poll_with(stop, waker).is_pending());
        }
        // One that is given up is not woken.
        let mut given_up = sim.stop().into_future();
        assert!(poll_with(&mut given_up, &counts()).is_pending());
        drop(given_up);
        let hook = panic::take_hook();
        panic::set_hook(Box::new(|_| {}));
        let outcome = sim.stop().wait();
        panic::set_hook(hook);
        outcome.unwrap();
        assert_eq!(woken.load(Ordering::Relaxed), 2);
    }
}

#[test]
fn x2_a_hundred_thousand_wait_for_one_stop() {
    let sim = Simulation::new(1);
    sim.stop().start();
    let woken = Arc::new(AtomicUsize::new(0));
    let counts = Arc::clone(&woken);
    let waker = on_wake(move || {
        counts.fetch_add(1, Ordering::Relaxed);
    });
    let mut stops: Vec<_> = (0..100_000).map(|_| sim.stop().into_future()).collect();
    assert!(stops.iter_mut().all(|stop| poll_with(stop, &waker).is_pending()));
    sim.stop().wait().unwrap();
    assert_eq!(woken.load(Ordering::Relaxed), 100_000);
}

#[test]
fn x2_a_stop_that_is_awaited_inside_a_process_only_begins_it() {
    for sim in simulations(5) {
        let log = Log::new();
        let (node, noted) = (sim.node().clone(), log.clone());
        let process = behavior_fn(move |mut ctx: Context<()>| async move {
            ctx.stop_in_order();
            ctx.initialised();
            let begun = node.stop().await;
            noted.note(format!("{begun:?} at {}, {}", ctx.now(), node.is_stopping()));
            if let Received::Stop(reason) = ctx.receive().await {
                noted.note(reason);
            }
            Ok(())
        });
        sim.spawn(move || process).start().unwrap();
        sim.run_until_idle();
        assert_eq!(log.take(), ["Ok(()) at 0ns, true", "shutdown"]);
        assert_eq!(sim.stats().processes, 0);
    }
}

#[test]
fn x2_a_process_that_awaits_the_stop_of_another_node_waits_for_its_end() {
    for sim in simulations(5) {
        let log = Log::new();
        let other = sim.beside("other@sim").unwrap();
        let writes = Writes(log.clone());
        other.spawn(move || writes).start().unwrap();
        sim.run_until_idle();
        let (noted, stops) = (log.clone(), other.clone());
        let process = behavior_fn(move |ctx: Context<()>| async move {
            let stopped = stops.stop().await;
            noted.note(format!("{stopped:?} at {}", ctx.now()));
            Ok(())
        });
        sim.spawn(move || process).start().unwrap();
        sim.advance(SECOND);
        assert_eq!(log.take(), ["written at 1s", "Ok(()) at 1s"]);
        assert!(!sim.is_stopping());
        assert_eq!(other.stats().processes, 0);
    }
}

/// Takes a second to write what it keeps.
struct Writes(Log);

impl Actor for Writes {
    type Message = ();

    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        Ok(())
    }

    async fn terminate(&mut self, ctx: &mut Context<()>, _: &Reason) {
        ctx.sleep(SECOND).await;
        self.0.note(format!("written at {}", ctx.now()));
    }
}

#[test]
fn x2_the_first_stop_that_is_begun_decides_how_long_it_takes() {
    let sim = Simulation::new(1);
    let stuck = never(&Log::new());
    sim.spawn(move || stuck).wait().unwrap();
    // One that is not begun decides nothing.
    drop(sim.stop().timeout(SECOND));
    sim.stop().timeout(3 * SECOND).start();
    sim.stop().timeout(SECOND).start();
    sim.stop().timeout(10 * SECOND).wait().unwrap();
    assert_eq!(sim.now().as_nanos(), 3_000_000_000);
}

/// Takes the 5 s that a process is given which has been killed.
#[test]
fn x2_a_stop_says_that_processes_block_their_workers() {
    let node = Node::builder("x2blocks").workers(2).start().unwrap();
    let (release, released) = mpsc::channel::<()>();
    let (begun, begins) = mpsc::channel();
    let process = puppet(&node, "p", &Log::new());
    process.tells(move |_| {
        begun.send(()).unwrap();
        let _ = released.recv();
    });
    begins.recv().unwrap();
    let pid = process.pid();
    let left = format!("1 processes block their workers and cannot be ended: {pid}");
    let error = node.stop().timeout(Duration::ZERO).wait().unwrap_err();
    assert_eq!(error.to_string(), left);
    // Who awaits it hears the same.
    let awaited = poll_once(&mut node.stop().into_future());
    assert!(
        matches!(&awaited, Poll::Ready(Err(error)) if error.to_string() == left),
        "{awaited:?}"
    );
    assert_eq!(node.stats().processes, 1);
    let end = process.watch();
    drop(release);
    assert_eq!(end.wait().map(|down| down.reason), Ok(Reason::Killed));
    // When they have ended after all, nobody is left.
    while node.stats().processes > 0 {
        thread::yield_now();
    }
    assert!(matches!(poll_once(&mut node.stop().into_future()), Poll::Ready(Ok(()))));
}

/// A log subscriber that panics at every warning and error.
struct PanicsAtLogs;

impl tracing::Subscriber for PanicsAtLogs {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target() == "krarup" && *metadata.level() <= tracing::Level::WARN
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, _: &tracing::Event<'_>) {
        panic!("a log subscriber");
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

#[test]
fn x2_a_log_subscriber_that_panics_does_not_keep_a_node_from_its_stop() {
    keep_another_subscriber();
    let _here = tracing::subscriber::set_default(PanicsAtLogs);
    let log = Log::new();
    for sim in simulations(3) {
        let stuck = never(&log);
        sim.spawn(move || stuck).wait().unwrap();
        puppet(&sim, "below", &log);
        sim.stop().timeout(SECOND).wait().unwrap();
        assert_eq!((sim.stats().processes, sim.stats().timers), (0, 0));
    }
}

/// In order, and once more with all that are left.
#[test]
fn x2_a_process_that_does_not_end_is_asked_twice_to_stop() {
    for sim in simulations(3) {
        let log = Log::new();
        let all = ["slow", "below"].map(|name| {
            let noted = log.clone();
            let slow = behavior_fn(move |mut ctx: Context<()>| async move {
                ctx.stop_in_order();
                ctx.initialised();
                while let Received::Stop(_) = ctx.receive().await {
                    noted.note(name);
                }
                Ok(())
            });
            sim.spawn(move || slow).start().unwrap()
        });
        sim.run_until_idle();
        sim.stop().timeout(10 * SECOND).wait().unwrap();
        assert!(all.iter().all(|process| !process.is_alive()));
        // The last started is the first to be asked, and holds the other up.
        assert_eq!(log.take_sorted(), ["below", "below", "slow"]);
    }
}
