//! Tasks: rules J1 to J5, J8 and J10.

use crate::support::{Guard, Log, poll_once, simulations};
use krarup::behavior::{Received, behavior_fn};
use krarup::dispatcher::{Class, DispatcherOptions};
use krarup::prelude::*;
use krarup::{CannotWait, Task, TaskError};
use std::pin::pin;
use std::sync::mpsc;
use std::task::Poll;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// Runs the function in a process, and lets 100 s pass.
fn in_process<F, R>(sim: &Simulation, run: F) -> Pid
where
    F: FnOnce(Context<Tell>) -> R + Send + 'static,
    R: Future<Output = Result> + Send + 'static,
{
    let pid = sim.spawn(|| behavior_fn(run)).start().unwrap().pid();
    sim.advance(100 * SECOND);
    pid
}

/// What the processes of these tests are told.
#[derive(Debug)]
enum Tell {
    Go,
    Ask(Reply<u32>),
}

/// Never ends, and says when it is dropped.
async fn wait_for_ever(log: Log, name: &'static str) {
    let _guard = Guard::new(&log, format!("{name} dropped"));
    log.note(format!("{name} began"));
    std::future::pending::<()>().await;
}

#[test]
fn j1_a_task_gives_the_value_of_its_future() {
    for sim in simulations(20) {
        let log = Log::new();
        let noted = log.clone();
        let owner = in_process(&sim, |ctx| async move {
            let own = ctx.pid();
            let task = ctx.task(async { krarup::behavior::current_pid() }).await?;
            assert!(task.is_some_and(|task| task != own), "a process of its own");
            let task = ctx.task(async { 6 * 7 }).start()?;
            assert_ne!(task.pid(), own);
            noted.note(task.await?);
            Ok(())
        });
        assert_eq!(log.lines(), ["42"]);
        assert!(!sim.is_alive(owner));
    }
}

#[test]
fn j1_a_panic_is_an_error_with_its_place_and_ends_nobody_else() {
    for sim in simulations(20) {
        let log = Log::new();
        let noted = log.clone();
        in_process(&sim, |ctx| async move {
            let error = ctx.task(async { panic!("planned") }).await.unwrap_err();
            let TaskError::Failed(reason) = &error else { panic!("{error}") };
            assert!(reason.to_string().contains("tests/process/tasks.rs:"), "{reason}");
            noted.note("lives");
            Ok(())
        });
        assert_eq!(log.lines(), ["lives"]);
    }
}

#[test]
fn j1_a_task_that_is_killed_gives_its_reason() {
    for sim in simulations(20) {
        let log = Log::new();
        let noted = log.clone();
        in_process(&sim, |ctx| async move {
            let task = ctx.task(std::future::pending::<()>()).start()?;
            ctx.exit(task.pid(), Reason::Kill);
            noted.note(task.await.unwrap_err());
            let task = ctx.task(std::future::pending::<()>()).start()?;
            // It has run before it is killed.
            ctx.sleep(SECOND).await;
            ctx.exit(task.pid(), Reason::Kill);
            noted.note(task.await.unwrap_err());
            Ok(())
        });
        assert_eq!(log.lines(), ["task was ended: killed"; 2]);
    }
}

#[test]
fn j1_a_task_that_is_refused_says_why() {
    let sim = Simulation::new(1);
    let error = sim.task(async {}).dispatcher("none").wait().unwrap_err();
    assert_eq!(error.to_string(), "cannot start a task: unknown dispatcher \"none\"");
    sim.stop().wait().unwrap();
    assert_eq!(sim.task(async {}).wait(), Err(TaskError::NodeStopping));
}

#[derive(Clone, Copy, Debug)]
enum HowToEnd {
    Normal,
    Error,
    Panic,
    Kill,
}

#[test]
fn j2_a_task_ends_with_its_owner_however_that_ends() {
    for how in [HowToEnd::Normal, HowToEnd::Error, HowToEnd::Panic, HowToEnd::Kill] {
        for sim in simulations(20) {
            let log = Log::new();
            let noted = log.clone();
            let owner = sim.spawn(move || {
                behavior_fn(move |mut ctx: Context<Tell>| async move {
                    ctx.task(wait_for_ever(noted.clone(), "detached")).start()?.detach();
                    let _task = ctx.task(wait_for_ever(noted.clone(), "task")).start()?;
                    ctx.receive().await;
                    match how {
                        HowToEnd::Normal => Ok(()),
                        HowToEnd::Error => Err(crate::support::boom()),
                        HowToEnd::Panic => panic!("planned"),
                        HowToEnd::Kill => std::future::pending().await,
                    }
                })
            });
            let owner = owner.name("owner").start().unwrap();
            sim.run_until_idle();
            assert_eq!(log.take_sorted(), ["detached began", "task began"]);
            owner.send(Tell::Go).unwrap();
            if let HowToEnd::Kill = how {
                sim.run_until_idle();
                sim.kill(owner.pid());
            }
            sim.run_until_idle();
            assert_eq!(log.take_sorted(), ["detached dropped", "task dropped"], "{how:?}");
            assert_eq!(sim.processes().len(), 0, "{how:?}");
        }
    }
}

/// Whoever can take the name of the owner finds that its tasks have been told to end: none of them
/// does anything after its await.
#[test]
fn j2_a_task_is_ended_before_the_name_of_its_owner_is_free() {
    for sim in simulations(100) {
        let log = Log::new();
        let noted = log.clone();
        let owner = sim.spawn(move || {
            behavior_fn(move |mut ctx: Context<Tell>| async move {
                let work = async move {
                    // Runs in many turns, in the order that the seed chooses.
                    for step in 0_u32.. {
                        noted.note(format!("step {step}"));
                        krarup::behavior::yield_now().await;
                    }
                };
                ctx.task(work).start()?.detach();
                ctx.receive().await;
                Ok(())
            })
        });
        let owner = owner.name("owner").start().unwrap();
        for _ in 0..20 {
            sim.step();
        }
        owner.send(Tell::Go).unwrap();
        while sim.whereis("owner").is_some() {
            sim.step();
        }
        log.take();
        sim.run_until_idle();
        assert_eq!(log.lines(), [""; 0], "after the name was free");
    }
}

#[test]
fn j3_a_handle_that_is_dropped_ends_its_task() {
    for sim in simulations(20) {
        let log = Log::new();
        let noted = log.clone();
        let owner = in_process(&sim, |mut ctx| async move {
            let task = ctx.task(wait_for_ever(noted.clone(), "task")).start()?;
            ctx.sleep(SECOND).await;
            drop(task);
            // Started and dropped before it has run.
            drop(ctx.task(wait_for_ever(noted, "other")).start()?);
            ctx.receive().await;
            Ok(())
        });
        assert_eq!(log.take(), ["task began", "task dropped", "other dropped"][..2]);
        assert_eq!(sim.processes(), [owner]);
    }
}

#[test]
fn j3_no_task_is_left_when_a_handler_is_killed_in_mid_air() {
    for sim in simulations(50) {
        let log = Log::new();
        let noted = log.clone();
        let owner = in_process(&sim, |ctx| async move {
            let first = ctx.task(wait_for_ever(noted.clone(), "first")).start()?;
            let second = ctx.task(wait_for_ever(noted.clone(), "second"));
            let _ = second.await;
            drop(first);
            Ok(())
        });
        assert_eq!(log.take_sorted(), ["first began", "second began"]);
        sim.kill(owner);
        sim.run_until_idle();
        assert_eq!(log.take_sorted(), ["first dropped", "second dropped"]);
        assert_eq!(sim.processes().len(), 0);
    }
}

#[test]
fn j3_a_detached_task_runs_until_it_is_done() {
    for sim in simulations(20) {
        let log = Log::new();
        let noted = log.clone();
        in_process(&sim, |ctx| async move {
            let done = noted.clone();
            ctx.task(async move { done.note("done") }).start()?.detach();
            ctx.sleep(SECOND).await;
            noted.note("owner");
            Ok(())
        });
        assert_eq!(log.lines(), ["done", "owner"]);
    }
}

#[test]
fn j4_the_failure_of_a_linked_task_is_the_owners_too() {
    for linked in [true, false] {
        for kills in [true, false] {
            for sim in simulations(20) {
                let log = Log::new();
                let noted = log.clone();
                let owner = in_process(&sim, move |ctx| async move {
                    let task = ctx.task(async move {
                        if kills {
                            std::future::pending::<()>().await;
                        }
                        panic!("planned");
                    });
                    let task = if linked { task.linked() } else { task }.start()?;
                    if kills {
                        ctx.exit(task.pid(), Reason::Kill);
                    }
                    assert!(task.await.is_err());
                    ctx.sleep(SECOND).await;
                    noted.note("lives");
                    std::future::pending().await
                });
                assert_eq!(sim.is_alive(owner), !linked, "linked {linked}, kills {kills}");
                assert_eq!(log.count("lives"), usize::from(!linked));
            }
        }
    }
}

/// What the owner does to its task is no failure.
#[test]
fn j4_a_linked_task_that_is_ended_on_purpose_does_not_end_its_owner() {
    for sim in simulations(20) {
        let log = Log::new();
        let noted = log.clone();
        in_process(&sim, |ctx| async move {
            let for_ever = || std::future::pending::<()>();
            assert_eq!(ctx.task(async { 7 }).linked().await, Ok(7));
            drop(ctx.task(for_ever()).linked().start()?);
            let task = ctx.task(for_ever()).linked().start()?;
            ctx.sleep(SECOND).await;
            drop(task);
            let late = ctx.task(for_ever()).linked().timeout(SECOND).await;
            assert_eq!(late, Err(TaskError::Timeout(SECOND)));
            assert_eq!(ctx.task(for_ever()).linked().start()?.end().await, None);
            ctx.sleep(SECOND).await;
            noted.note("lives");
            Ok(())
        });
        assert_eq!(log.lines(), ["lives"]);
    }
}

#[test]
fn j5_after_a_timeout_nothing_of_the_task_runs() {
    for sim in simulations(20) {
        let log = Log::new();
        let noted = log.clone();
        in_process(&sim, |ctx| async move {
            let before = ctx.now();
            let late = ctx.task(wait_for_ever(noted.clone(), "task")).timeout(SECOND).await;
            assert_eq!(late, Err(TaskError::Timeout(SECOND)));
            assert_eq!(ctx.now() - before, SECOND);
            noted.note("timed out");
            assert_eq!(ctx.task(async { 7 }).timeout(SECOND).await, Ok(7));
            Ok(())
        });
        assert_eq!(log.lines(), ["task began", "task dropped", "timed out"]);
    }
}

#[test]
fn j5_within_leaves_a_task_running_that_is_not_done() {
    for sim in simulations(20) {
        let log = Log::new();
        let noted = log.clone();
        in_process(&sim, |ctx| async move {
            let sleep = ctx.sleep(3 * SECOND);
            let mut task = ctx
                .task(async move {
                    sleep.await;
                    7
                })
                .start()?;
            assert_eq!(task.within(SECOND).await, None);
            assert_eq!(task.within(SECOND).await, None);
            assert_eq!(task.within(2 * SECOND).await, Some(Ok(7)));
            noted.note("done");
            Ok(())
        });
        assert_eq!(log.lines(), ["done"]);
    }
}

#[test]
fn j5_end_ends_a_task_and_gives_the_result_that_there_was() {
    for sim in simulations(20) {
        let log = Log::new();
        let noted = log.clone();
        in_process(&sim, |ctx| async move {
            let task = ctx.task(wait_for_ever(noted.clone(), "task")).start()?;
            ctx.sleep(SECOND).await;
            assert_eq!(task.end().await, None);
            noted.note("ended");
            let done = ctx.task(async { 7 }).start()?;
            let failed = ctx.task(async { panic!("planned") }).start()?;
            ctx.sleep(SECOND).await;
            assert_eq!(done.end().await, Some(Ok(7)));
            assert!(matches!(failed.end().await, Some(Err(TaskError::Failed(_)))));
            noted.note("over");
            Ok(())
        });
        assert_eq!(log.lines(), ["task began", "task dropped", "ended", "over"]);
    }
}

#[test]
fn j8_a_task_that_calls_its_owner_fails_at_once() {
    for sim in simulations(100) {
        let log = Log::new();
        let noted = log.clone();
        in_process(&sim, |ctx| async move {
            let owner = ctx.address();
            let before = ctx.now();
            // With and without timers of its own.
            for limit in [None, Some(9 * SECOND)] {
                let owner = owner.clone();
                let task = ctx.task(async move { owner.call(Tell::Ask).await });
                let task = if let Some(limit) = limit { task.timeout(limit) } else { task };
                let called = task.await?;
                assert!(matches!(called, Err(CallError::Deadlock(_))), "{called:?}");
            }
            assert_eq!(ctx.now(), before, "at once");
            noted.note("lives");
            Ok(())
        });
        assert_eq!(log.lines(), ["lives"]);
    }
}

/// The owner begins to wait after its task has called it, and a process in between calls.
#[test]
fn j8_a_longer_cycle_through_a_task_is_found_whoever_closes_it() {
    for sim in simulations(100) {
        let log = Log::new();
        let noted = log.clone();
        in_process(&sim, |ctx| async move {
            let owner = ctx.address();
            let between = ctx
                .spawn(move || {
                    behavior_fn(move |mut ctx: Context<Tell>| async move {
                        if let Received::Message(Tell::Ask(reply)) = ctx.receive().await {
                            let found = owner.call(Tell::Ask).await;
                            assert!(
                                matches!(found, Err(CallError::Deadlock(_)) | Ok(_)),
                                "{found:?}"
                            );
                            reply.send(9);
                        }
                        Ok(())
                    })
                })
                .start()?;
            let before = ctx.now();
            let inner = move |ctx: &Context<Tell>| {
                let between = between.clone();
                ctx.task(async move { between.call(Tell::Ask).await })
            };
            let called = inner(&ctx).start()?;
            krarup::behavior::yield_now().await;
            match called.await? {
                Ok(9) | Err(CallError::Deadlock(_)) => {}
                other => panic!("{other:?}"),
            }
            assert_eq!(ctx.now(), before, "at once");
            noted.note("lives");
            Ok(())
        });
        assert_eq!(log.lines(), ["lives"]);
    }
}

/// A task may call its owner if that serves meanwhile.
#[test]
fn j8_a_task_of_an_owner_that_serves_may_call_it() {
    for sim in simulations(20) {
        let log = Log::new();
        let noted = log.clone();
        in_process(&sim, |mut ctx| async move {
            let owner = ctx.address();
            let mut task = pin!(ctx.task(async move { owner.call(Tell::Ask).await }).start()?);
            loop {
                if let Received::Message(Tell::Ask(reply)) = ctx.receive().await {
                    reply.send(7);
                    break;
                }
            }
            noted.note(format!("{:?}", (&mut task).await));
            Ok(())
        });
        assert_eq!(log.lines(), ["Ok(Ok(7))"]);
    }
}

#[test]
fn j10_a_task_of_the_node_is_waited_for_on_a_plain_thread() {
    let node = Node::builder("tasks@localhost")
        .dispatcher("reports", DispatcherOptions::new())
        .start()
        .unwrap();
    assert_eq!(node.task(async { 6 * 7 }).wait(), Ok(42));
    let error = node.task(async { panic!("planned") }).wait().unwrap_err();
    assert!(matches!(error, TaskError::Failed(_)), "{error}");
    // Its options are those of a spawn.
    let thread = || std::thread::current().name().unwrap_or_default().to_owned();
    let on = node.task(async move { thread() }).dispatcher("reports").class(Class::High).wait();
    assert!(on.as_ref().is_ok_and(|name| name.contains("reports")), "{on:?}");
    // A handle that is dropped ends its task here too.
    let task = node.task(std::future::pending::<()>()).start().unwrap();
    let pid = task.pid();
    assert!(node.is_alive(pid));
    let watch = node.watch(pid);
    drop(task);
    assert_eq!(watch.wait().unwrap().reason, Reason::Shutdown);
    node.stop().wait().unwrap();
}

#[test]
fn j10_a_blocking_task_runs_on_a_side_thread_and_may_block() {
    let node = Node::start("blocking@localhost").unwrap();
    let (told, tells) = mpsc::channel();
    let blocking = node.task(async move { tells.recv().unwrap() }).blocking().start().unwrap();
    let other = node.task(async move { told.send(7).unwrap() }).blocking().wait();
    assert_eq!(other, Ok(()));
    assert_eq!(blocking.wait(), Ok(7));
    let failed = node.task(async { panic!("planned") }).blocking().wait().unwrap_err();
    let TaskError::Failed(reason) = failed else { panic!("{failed}") };
    assert!(reason.to_string().contains("tests/process/tasks.rs:"), "{reason}");
    node.stop().wait().unwrap();
}

#[test]
fn j10_a_blocking_task_runs_in_a_simulation() {
    for sim in simulations(10) {
        let log = Log::new();
        let noted = log.clone();
        in_process(&sim, |ctx| async move {
            noted.note(ctx.task(async { 7 }).blocking().await?);
            Ok(())
        });
        assert_eq!(log.lines(), ["7"]);
    }
}

#[test]
fn j10_a_process_does_not_wait_for_a_task_by_blocking_its_worker() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let noted = log.clone();
    in_process(&sim, |ctx| async move {
        let waited = ctx.task(async { 7 }).wait();
        assert_eq!(waited, Err(TaskError::CannotWait(CannotWait::InProcess)));
        noted.note("lives");
        Ok(())
    });
    assert_eq!(log.lines(), ["lives"]);
    // A handle that was awaited has nothing more to give.
    let mut task: Task<u32> = sim.task(async { 7 }).start().unwrap();
    sim.run_until_idle();
    assert_eq!(poll_once(&mut task), Poll::Ready(Ok(7)));
    assert_eq!(poll_once(&mut task), Poll::Pending);
}
