//! Requests to change a process that need none of its types (rule X12).

use crate::pool_support::{Job, PoolAddress, done, millis, numbers, occupy, seconds, workers};
use crate::support::{Log, Puppet, boom, simulations};
use krarup::behavior::{Behavior, BehaviorContext, Received, behavior_fn};
use krarup::observe::{ManageError, Managed, ManagedChild, Management, ProcessKind};
use krarup::prelude::*;
use krarup::supervisor::{ChildSpec, ChildTemplate, Supervisor};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const REQUESTS: [fn() -> Management; 6] = [
    || Management::Resize { workers: 1 },
    || Management::Drain,
    || Management::Reopen,
    || Management::TerminateChild { child: "a".to_owned() },
    || Management::RestartChild { child: "a".to_owned() },
    || Management::ListChildren,
];

fn pool(sim: &Simulation, size: usize, log: &Log) -> PoolAddress {
    let factory = workers(log);
    sim.spawn(move || Pool::new(size, factory).mailbox(9)).wait().unwrap()
}

fn resize(sim: &Simulation, pool: &PoolAddress, workers: usize) -> Result<Managed, ManageError> {
    sim.manage(pool.pid(), Management::Resize { workers }).wait()
}

fn refused(outcome: Result<Managed, ManageError>) -> String {
    match outcome {
        Err(ManageError::Refused { cause, .. }) => cause,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn x12_a_pool_is_resized_without_its_types() {
    for sim in simulations(10) {
        let log = Log::new();
        let pool = pool(&sim, 2, &log);
        for size in [5, 5, 1, 0, 3] {
            assert_eq!(resize(&sim, &pool, size), Ok(Managed::Resized { workers: size }));
            assert_eq!(pool.workers().wait().unwrap().len(), size);
        }
        // What removed workers have accepted is done.
        occupy(&sim, &pool, seconds(1));
        assert_eq!(resize(&sim, &pool, 1), Ok(Managed::Resized { workers: 1 }));
        sim.run_until_idle();
        sim.advance(seconds(1));
        assert_eq!(done(&log), [999, 999, 999]);
    }
}

#[test]
fn x12_a_pool_drains_and_reopens_without_its_types() {
    for sim in simulations(10) {
        let log = Log::new();
        let pool = pool(&sim, 2, &log);
        let manage = |request| sim.manage(pool.pid(), request).wait();
        assert_eq!(manage(Management::Reopen), Ok(Managed::Reopened { was_drained: false }));
        occupy(&sim, &pool, seconds(60));
        // The answer does not wait for what was accepted.
        let before = sim.now();
        assert_eq!(manage(Management::Drain), Ok(Managed::Drains));
        assert_eq!(sim.now(), before);
        assert!(matches!(pool.send(Job::Note(1)), Err(SendError::Draining { .. })));
        // A drained pool is not at work.
        let cause = refused(resize(&sim, &pool, 3));
        assert_eq!(cause, format!("pool {} cannot be resized: it is drained", pool.pid()));
        assert_eq!(manage(Management::Reopen), Ok(Managed::Reopened { was_drained: true }));
        pool.send(Job::Note(2)).unwrap();
        sim.advance(seconds(60));
        let mut done = done(&log);
        done.sort_unstable();
        assert_eq!(done, [2, 999, 999]);
        assert_eq!(numbers(&pool).forwarded, 3);
    }
}

#[test]
fn x12_a_pool_that_is_growing_or_stopping_refuses_what_it_cannot_do() {
    /// Takes a second to start, but for the first one.
    struct Slow(bool);
    impl Actor for Slow {
        type Message = ();
        async fn init(&mut self, ctx: &mut Context<()>) -> Result {
            if self.0 {
                ctx.sleep(Duration::from_secs(1)).await;
            }
            Ok(())
        }
        async fn handle_message(&mut self, ctx: &mut Context<()>, (): ()) -> Result {
            ctx.sleep(Duration::from_secs(60)).await;
            Ok(())
        }
    }
    for sim in simulations(10) {
        let made = std::sync::atomic::AtomicUsize::new(0);
        let factory = move || Slow(made.fetch_add(1, std::sync::atomic::Ordering::Relaxed) > 0);
        let pool = sim.spawn(move || Pool::new(1, factory)).wait().unwrap();
        let address = pool.clone();
        let growing = sim.spawn(move || {
            behavior_fn(move |ctx: Context<()>| async move {
                let request = Management::Resize { workers: 3 };
                let outcome = ctx.view().manage(address.pid(), request).await;
                assert_eq!(outcome, Ok(Managed::Resized { workers: 3 }));
                Ok(())
            })
        });
        let end = sim.watch(growing.start().unwrap().pid());
        sim.advance(millis(500));
        let shrinks = sim.manage(pool.pid(), Management::Resize { workers: 2 }).wait();
        assert_eq!(refused(shrinks), "the pool is adding 2 workers");
        // As many as are coming: nothing is to be done but to wait for nobody.
        let same = sim.manage(pool.pid(), Management::Resize { workers: 3 }).wait();
        assert_eq!(same, Ok(Managed::Resized { workers: 1 }));
        assert_eq!(end.wait().unwrap().reason, Reason::Normal);
        // It finishes what it has accepted.
        pool.send(()).unwrap();
        sim.run_until_idle();
        pool.finish();
        sim.run_until_idle();
        for request in [Management::Drain, Management::Reopen] {
            let outcome = sim.manage(pool.pid(), request).wait();
            assert_eq!(refused(outcome), "the pool is stopping");
        }
        let cause = refused(sim.manage(pool.pid(), Management::Resize { workers: 9 }).wait());
        assert!(cause.ends_with("it is stopping"), "{cause}");
    }
}

/// A worker that says when it ends.
fn child(log: &Log, id: &'static str) -> ChildSpec {
    let log = log.clone();
    ChildSpec::worker(id, move || Puppet::new(id, &log)).name(id)
}

#[test]
fn x12_a_supervisor_terminates_restarts_and_lists_children_without_its_types() {
    for sim in simulations(10) {
        let log = Log::new();
        let inner = || Supervisor::one_for_one();
        let (one, two) = (child(&log, "one"), child(&log, "two"));
        let tree = move || {
            Supervisor::one_for_one()
                .child(one)
                .child(two)
                .child(ChildSpec::supervisor("in", inner))
        };
        let tree = sim.spawn(tree).wait().unwrap();
        let manage = |request| sim.manage(tree.pid(), request).wait();
        let terminate = |child: &str| Management::TerminateChild { child: child.to_owned() };
        let restart = |child: &str| Management::RestartChild { child: child.to_owned() };
        let list = || match manage(Management::ListChildren) {
            Ok(Managed::Children(children)) => children,
            other => panic!("{other:?}"),
        };
        let entry = |id: &str, kind| {
            let mut entry = ManagedChild::new(id.to_owned());
            (entry.pid, entry.kind) = (sim.whereis(id), kind);
            entry
        };
        let (worker, supervisor) = (ProcessKind::Process, ProcessKind::Supervisor);
        let children = list();
        assert_eq!(children[1..], [entry("two", worker), entry("one", worker)]);
        assert_eq!((children[0].id.as_str(), children[0].kind), ("in", supervisor));
        assert!(children[0].pid.is_some());
        // A child that runs is not restarted.
        let first = sim.whereis("one").unwrap();
        assert_eq!(refused(manage(restart("one"))), format!("child \"one\" is running as {first}"));
        assert_eq!(manage(terminate("one")), Ok(Managed::ChildTerminated));
        assert!(!sim.is_alive(first));
        assert_eq!(list()[2], entry("one", worker));
        let Ok(Managed::ChildRestarted { pid: Some(second) }) = manage(restart("one")) else {
            panic!("not restarted")
        };
        assert_eq!(sim.whereis("one"), Some(second));
        assert_ne!(first, second);
        // The supervisor restarts it itself, and counts.
        sim.kill(second);
        sim.run_until_idle();
        assert_eq!(list()[2].restarts, 1);
        assert_eq!(refused(manage(terminate("three"))), "no child \"three\"");
        assert!(refused(manage(restart("three"))).contains("three"));
        assert!(sim.is_alive(tree.pid()));
    }
}

#[test]
fn x12_a_child_of_a_template_is_not_known_by_an_id() {
    let sim = Simulation::new(1);
    let template = ChildTemplate::worker("one", |log: Log| Puppet::new("one", &log));
    let tree = sim.spawn(|| Supervisor::simple_one_for_one(template)).wait().unwrap();
    for request in &REQUESTS[3..5] {
        let cause = refused(sim.manage(tree.pid(), request()).wait());
        assert!(cause.contains("simple_one_for_one"), "{cause}");
    }
    let none = sim.manage(tree.pid(), Management::ListChildren).wait();
    assert_eq!(none, Ok(Managed::Children(Vec::new())));
}

/// What an operator has is the pid, as a text.
#[test]
fn x12_a_child_of_a_template_is_terminated_by_its_pid() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let template = ChildTemplate::worker("session", |log: Log| Puppet::new("one", &log));
    let tree = sim.spawn(|| Supervisor::simple_one_for_one(template)).wait().unwrap();
    let child = tree.start_child(log).wait().unwrap().unwrap();
    let terminate = |child: &str| {
        sim.manage(tree.pid(), Management::TerminateChild { child: child.to_owned() }).wait()
    };
    assert_eq!(refused(terminate(&tree.pid().to_string())), format!("no child {}", tree.pid()));
    assert_eq!(terminate(&child.to_string()), Ok(Managed::ChildTerminated));
    assert!(!sim.is_alive(child));
    // With ids a child has the id that it was given, also one that looks like a pid.
    let (log, id) = (Log::new(), child.to_string());
    let named = ChildSpec::worker(id.as_str(), move || Puppet::new("two", &log));
    let tree = sim.spawn(move || Supervisor::one_for_one().child(named)).wait().unwrap();
    let request = Management::TerminateChild { child: id };
    assert_eq!(sim.manage(tree.pid(), request).wait(), Ok(Managed::ChildTerminated));
}

#[test]
fn x12_a_supervisor_says_which_child_a_process_is() {
    for sim in simulations(5) {
        let log = Log::new();
        let template = ChildTemplate::worker("session", |log: Log| Puppet::new("one", &log));
        let tree = move || Supervisor::simple_one_for_one(template).intensity(9, seconds(9));
        let tree = sim.spawn(tree).wait().unwrap();
        let which = |pid| sim.manage(tree.pid(), Management::WhichChild { pid }).wait();
        let entry = |pid, restarts| {
            let mut entry = ManagedChild::new("session".to_owned());
            (entry.pid, entry.restarts) = (Some(pid), restarts);
            Ok(Managed::Child(entry))
        };
        let other = tree.start_child(Log::new()).wait().unwrap().unwrap();
        let first = tree.start_child(log.clone()).wait().unwrap().unwrap();
        assert_eq!((which(first), which(other)), (entry(first, 0), entry(other, 0)));
        sim.kill(first);
        sim.run_until_idle();
        let second = tree.which_children().wait().unwrap()[0].state.pid().unwrap();
        assert_eq!((which(second), which(other)), (entry(second, 1), entry(other, 0)));
        // Neither its former process nor the supervisor itself.
        for pid in [first, tree.pid()] {
            assert_eq!(refused(which(pid)), format!("{pid} is no child"));
        }
    }
}

/// Its second `init` takes a minute.
struct SlowRestart(Arc<AtomicBool>);

impl Actor for SlowRestart {
    type Message = ();

    async fn init(&mut self, ctx: &mut Context<()>) -> Result {
        if self.0.swap(true, Ordering::Relaxed) {
            ctx.sleep(seconds(60)).await;
        }
        Ok(())
    }

    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        Ok(())
    }
}

#[test]
fn x12_a_supervisor_says_which_child_a_process_is_while_another_starts() {
    for sim in simulations(5) {
        let (log, has_started) = (Log::new(), Arc::new(AtomicBool::new(false)));
        let one = child(&log, "one");
        let slow = ChildSpec::worker("slow", move || SlowRestart(Arc::clone(&has_started)));
        let tree = move || Supervisor::one_for_one().child(one).child(slow.name("slow"));
        let tree = sim.spawn(tree).wait().unwrap();
        sim.kill(sim.whereis("slow").unwrap());
        sim.run_until_idle();
        for id in ["slow", "one"] {
            let pid = sim.whereis(id).unwrap();
            let mut entry = ManagedChild::new(id.to_owned());
            // The restart that goes on is not counted yet.
            entry.pid = Some(pid);
            let answer = sim.manage(tree.pid(), Management::WhichChild { pid }).wait();
            assert_eq!(answer, Ok(Managed::Child(entry)));
        }
    }
}

fn waits() -> impl Behavior<Message = u32, Command = u32> {
    behavior_fn(|mut ctx: Context<u32>| async move {
        loop {
            ctx.receive().await;
        }
    })
}

#[test]
fn x12_who_does_not_know_a_request_says_so_and_goes_on() {
    for sim in simulations(5) {
        let log = Log::new();
        let bare = sim.spawn(waits).wait().unwrap().pid();
        let actor = sim
            .spawn({
                let log = log.clone();
                move || Puppet::new("actor", &log)
            })
            .wait()
            .unwrap()
            .pid();
        let pool = pool(&sim, 1, &log).pid();
        let tree = sim.spawn(Supervisor::one_for_one).wait().unwrap().pid();
        let (of_pools, of_supervisors) = REQUESTS.split_at(3);
        let all: Vec<_> = REQUESTS.to_vec();
        for (pid, unknown) in [
            (bare, all.as_slice()),
            (actor, all.as_slice()),
            (pool, of_supervisors),
            (tree, of_pools),
        ] {
            for request in unknown {
                let name = request().as_str();
                let outcome = sim.manage(pid, request()).wait();
                assert_eq!(outcome, Err(ManageError::NotOffered { pid, request: name }));
            }
            assert!(sim.is_alive(pid));
        }
    }
}

#[test]
fn x12_any_behaviour_can_offer_a_request() {
    for sim in simulations(5) {
        let offers = sim.spawn(|| {
            behavior_fn(|mut ctx: Context<u32>| async move {
                loop {
                    if let Received::Manage(request) = ctx.receive().await {
                        let asker = request.asker();
                        match request.request() {
                            Management::Drain => request.done(Managed::Drains),
                            Management::Reopen => request.refuse(format_args!("{asker:?}")),
                            Management::ListChildren => return Err(Reason::error("enough")),
                            _ => {}
                        }
                    }
                }
            })
        });
        let pid = offers.wait().unwrap().pid();
        assert_eq!(sim.manage(pid, Management::Drain).wait(), Ok(Managed::Drains));
        assert_eq!(refused(sim.manage(pid, Management::Reopen).wait()), "None");
        let resize = sim.manage(pid, Management::Resize { workers: 1 }).wait();
        assert_eq!(resize, Err(ManageError::NotOffered { pid, request: "resize" }));
        // A process that fails over the request is no process that does not know it.
        let reason = Reason::error("enough");
        let ends = sim.manage(pid, Management::ListChildren).wait();
        assert_eq!(ends, Err(ManageError::Terminated { pid, reason }));
    }
}

#[test]
fn x12_the_dead_the_foreign_and_oneself_are_typed_errors() {
    let sim = Simulation::new(1);
    let dead = sim.spawn(waits).wait().unwrap().pid();
    sim.kill(dead);
    sim.run_until_idle();
    let view = sim.view();
    for pid in [
        dead,
        Pid::local(999_999, dead.creation()),
        Simulation::new(2).spawn(waits).wait().unwrap().pid(),
    ] {
        assert_eq!(view.manage(pid, Management::Drain).wait(), Err(ManageError::NoProcess(pid)));
    }
    let foreign = Pid::remote(7, 3, 1);
    assert_eq!(
        view.manage(foreign, Management::Drain).wait(),
        Err(ManageError::OtherNode(foreign))
    );
    let myself = sim.spawn(|| {
        behavior_fn(|ctx: Context<u32>| async move {
            let outcome = ctx.view().manage(ctx.pid(), Management::Drain).await;
            assert_eq!(outcome, Err(ManageError::ManagesItself(ctx.pid())));
            Ok(())
        })
    });
    let end = sim.watch(myself.start().unwrap().pid());
    assert_eq!(end.wait().unwrap().reason, Reason::Normal);
    drop(sim);
    assert_eq!(view.manage(dead, Management::Drain).wait(), Err(ManageError::NoProcess(dead)));
}

#[test]
fn x12_a_request_has_a_time_limit_at_the_caller_and_is_done_later() {
    for sim in simulations(10) {
        let log = Log::new();
        let pool = pool(&sim, 1, &log);
        let pid = pool.pid();
        // A suspended process does nothing, so it does not change itself either.
        sim.suspend(pid).wait().unwrap();
        let before = sim.now();
        let outcome = sim.manage(pid, Management::Resize { workers: 3 }).wait();
        let limit = Duration::from_secs(5);
        assert_eq!(outcome, Err(ManageError::Timeout { pid, limit }));
        assert_eq!(sim.now() - before, limit);
        let limit = Duration::from_millis(70);
        let outcome = sim.view().manage_within(pid, Management::Drain, limit).wait();
        assert_eq!(outcome, Err(ManageError::Timeout { pid, limit }));
        assert!(sim.resume(pid));
        sim.run_until_idle();
        assert_eq!(pool.workers().wait().unwrap().len(), 3);
        assert!(matches!(pool.send(Job::Note(1)), Err(SendError::Draining { .. })));
    }
}

#[test]
fn x12_a_request_overtakes_messages_and_is_taken_in_the_order_of_its_lane() {
    for sim in simulations(10) {
        let log = Log::new();
        let noted = log.clone();
        let process = sim.spawn(move || {
            behavior_fn(move |mut ctx: Context<u32>| async move {
                ctx.sleep(Duration::from_secs(1)).await;
                loop {
                    match ctx.receive().await {
                        Received::Message(n) => noted.note(format_args!("message {n}")),
                        Received::Command(n) => noted.note(format_args!("command {n}")),
                        Received::Manage(request) => {
                            noted.note(request.request());
                            request.done(Managed::Drains);
                        }
                        _ => {}
                    }
                }
            })
        });
        let process = process.start().unwrap();
        process.send(1).unwrap();
        process.send_high(2).unwrap();
        let view = sim.view();
        let asks = sim.spawn(move || {
            let pid = process.pid();
            behavior_fn(move |_: Context<u32>| async move {
                process.send_high(3).unwrap();
                let asked = view.manage(pid, Management::Drain).into_future();
                asked.await.unwrap();
                Ok(())
            })
        });
        asks.start().unwrap();
        sim.advance(seconds(2));
        assert_eq!(log.take(), ["command 2", "command 3", "drain", "message 1"]);
    }
}

#[test]
fn x12_a_request_to_a_process_that_ends_is_answered_with_its_reason() {
    for sim in simulations(20) {
        let process = sim.spawn(|| {
            behavior_fn(|mut ctx: Context<u32>| async move {
                ctx.sleep(Duration::from_secs(1)).await;
                let _ = ctx.receive_early().await;
                Err(boom())
            })
        });
        let pid = process.start().unwrap().pid();
        let outcome = sim.manage(pid, Management::Drain).wait();
        assert_eq!(outcome, Err(ManageError::Terminated { pid, reason: boom() }));
    }
}
