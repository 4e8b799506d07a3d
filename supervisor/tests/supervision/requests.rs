//! The requests to a supervisor (rule S8).

use crate::support::{Do, Habits, Stage, Start, Worker, children_text};
use krarup_act::{Context, behavior_fn};
use krarup_gen::{CallError, CannotWait, Reason};
use krarup_supervisor::{
    ChildSpec, ChildState, ChildTemplate, DeleteChildError, GetChildSpecError, RestartChildError,
    RestartType, SpecError, StartChildError, Supervisor, SupervisorAddress, SupervisorCalls,
    TerminateChildError,
};
use std::future::IntoFuture;
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn ab(stage: &Stage) -> SupervisorAddress {
    let (a, b) = (stage.child("a"), stage.child("b"));
    stage.supervisor(|| Supervisor::one_for_one().child(a).child(b))
}

#[test]
fn s8_a_child_is_started_terminated_restarted_and_deleted() {
    let stage = Stage::new();
    let supervisor = ab(&stage);
    let pid = supervisor.start_child(stage.child("c")).wait().unwrap();
    assert_eq!(pid, Some(stage.pid("c")));
    supervisor.terminate_child("a").wait().unwrap();
    assert_eq!(children_text(&supervisor), "a:undefined b c");
    let pid = supervisor.restart_child("a").wait().unwrap();
    assert_eq!(pid, Some(stage.pid("a")));
    supervisor.terminate_child("b").wait().unwrap();
    supervisor.delete_child("b").wait().unwrap();
    assert_eq!(children_text(&supervisor), "a c");
    assert_eq!(stage.log(), "start c, stop a, start a, stop b");
}

#[test]
fn s8_start_child_refuses_a_known_id_and_a_bad_spec() {
    let stage = Stage::new();
    let supervisor = ab(&stage);
    let started = StartChildError::AlreadyStarted { id: "a".into(), pid: stage.pid("a") };
    assert_eq!(supervisor.start_child(stage.child("a")).wait(), Err(started));
    supervisor.terminate_child("a").wait().unwrap();
    let present = StartChildError::AlreadyPresent { id: "a".into() };
    assert_eq!(supervisor.start_child(stage.child("a")).wait(), Err(present));
    let bad = stage.child("a").restart(RestartType::Transient).significant(true);
    let refused = SpecError::SignificantWithoutAutoShutdown { id: "a".into() };
    assert_eq!(supervisor.start_child(bad).wait(), Err(StartChildError::BadSpec(refused)));
}

#[test]
fn s8_a_failed_start_child_leaves_nothing_and_a_failed_restart_child_the_spec() {
    let stage = Stage::new();
    let supervisor = ab(&stage);
    stage.plan("c", &[Start::Fail]);
    let reason = Reason::error("no");
    let failed = StartChildError::Failed { id: "c".into(), reason: reason.clone() };
    assert_eq!(supervisor.start_child(stage.child("c")).wait(), Err(failed));
    assert_eq!(children_text(&supervisor), "a b");
    supervisor.terminate_child("a").wait().unwrap();
    stage.plan("a", &[Start::Fail]);
    let failed = RestartChildError::Failed { id: "a".into(), reason };
    assert_eq!(supervisor.restart_child("a").wait(), Err(failed));
    assert_eq!(children_text(&supervisor), "a:undefined b");
    assert_eq!(stage.log(), "fail c, stop a, fail a");
}

#[test]
fn s8_a_name_that_is_taken_is_a_failed_start() {
    let stage = Stage::new();
    let supervisor = ab(&stage);
    let error = supervisor.start_child(stage.child("c").name("a")).wait().unwrap_err();
    assert!(matches!(error, StartChildError::Failed { .. }), "{error}");
    assert!(error.to_string().contains("name a is taken by"), "{error}");
    assert_eq!(children_text(&supervisor), "a b");
}

#[test]
fn s8_an_ignored_child_is_kept_unless_temporary() {
    let stage = Stage::new();
    let supervisor = ab(&stage);
    for id in ["c", "d"] {
        stage.plan(id, &[Start::Ignore]);
    }
    assert_eq!(supervisor.start_child(stage.child("c")).wait(), Ok(None));
    let temporary = stage.child("d").restart(RestartType::Temporary);
    assert_eq!(supervisor.start_child(temporary).wait(), Ok(None));
    assert_eq!(children_text(&supervisor), "a b c:undefined");
    stage.plan("c", &[Start::Ignore]);
    assert_eq!(supervisor.restart_child("c").wait(), Ok(None));
    assert_eq!(supervisor.restart_child("c").wait(), Ok(Some(stage.pid("c"))));
}

#[test]
fn s8_requests_about_unknown_or_running_children_are_refused() {
    let stage = Stage::new();
    let supervisor = ab(&stage);
    let (id, pid) = (|| "a".into(), stage.pid("a"));
    let error = supervisor.restart_child("a").wait();
    assert_eq!(error, Err(RestartChildError::Running { id: id(), pid }));
    let error = supervisor.delete_child("a").wait();
    assert_eq!(error, Err(DeleteChildError::Running { id: id(), pid }));
    let child = || "\"x\"".to_owned();
    let error = supervisor.terminate_child("x").wait();
    assert_eq!(error, Err(TerminateChildError::NotFound { child: child() }));
    let error = supervisor.get_childspec("x").wait();
    assert_eq!(error, Err(GetChildSpecError::NotFound { child: child() }));
    let error = supervisor.restart_child("x").wait();
    assert_eq!(error, Err(RestartChildError::NotFound { id: "x".into() }));
    let error = supervisor.delete_child("x").wait();
    assert_eq!(error, Err(DeleteChildError::NotFound { id: "x".into() }));
    let error = supervisor.terminate_child(pid).wait();
    assert_eq!(error, Err(TerminateChildError::NotFound { child: pid.to_string() }));
    let error = supervisor.get_childspec(pid).wait();
    assert_eq!(error, Err(GetChildSpecError::NotFound { child: pid.to_string() }));
}

#[test]
fn s8_which_children_lists_the_last_started_first() {
    let stage = Stage::new();
    let supervisor = ab(&stage);
    let lines = supervisor.which_children().wait().unwrap();
    let ids: Vec<_> = lines.iter().map(|line| line.id.as_str()).collect();
    assert_eq!(ids, ["b", "a"]);
    assert_eq!(lines[0].state, ChildState::Running(stage.pid("b")));
    assert!(lines[0].behavior.ends_with("Worker"));
}

#[test]
fn s8_count_children_counts_specs_processes_and_kinds() {
    let stage = Stage::new();
    let supervisor = ab(&stage);
    let inner = ChildSpec::supervisor("inner", Supervisor::one_for_one);
    supervisor.start_child(inner).wait().unwrap();
    supervisor.terminate_child("a").wait().unwrap();
    let counts = supervisor.count_children().wait().unwrap();
    assert_eq!((counts.specs, counts.active, counts.supervisors, counts.workers), (3, 2, 1, 2));
    supervisor.terminate_child("inner").wait().unwrap();
    let counts = supervisor.count_children().wait().unwrap();
    assert_eq!((counts.specs, counts.active, counts.supervisors, counts.workers), (3, 1, 1, 2));
}

#[test]
fn s8_processes_and_plain_threads_make_requests_alike() {
    let stage = Stage::new();
    let supervisor = ab(&stage);
    let (asked, c) = (supervisor.clone(), stage.child("c"));
    let client = stage.sim.spawn(move || {
        behavior_fn(move |_ctx: Context<()>| async move {
            asked.start_child(c).await.map_err(Reason::from)?;
            asked.terminate_child("a").await?;
            assert_eq!(asked.count_children().await?.active, 2);
            let error = asked.which_children().wait().unwrap_err();
            assert_eq!(error, CallError::CannotWait(CannotWait::InProcess));
            Ok(())
        })
    });
    let client = client.start().unwrap();
    assert_eq!(client.watch().wait().unwrap().reason, Reason::Normal);
    assert_eq!(children_text(&supervisor), "a:undefined b c");
}

#[test]
fn c2_a_request_that_a_dying_supervisor_never_served_fails_with_its_reason() {
    let stage = Stage::new();
    let slow = Habits { trap: true, slow: Some(Duration::from_secs(1)) };
    let a = stage.child_with("a", slow);
    let supervisor = stage.supervisor(|| Supervisor::one_for_one().child(a));
    let stop = supervisor.clone();
    let stopper = stage.sim.spawn(move || {
        behavior_fn(move |_ctx: Context<()>| async move {
            stop.stop().reason(Reason::Shutdown).await.map_err(Reason::from)
        })
    });
    stopper.start().unwrap();
    stage.sim.run_until_idle();
    assert_eq!(stage.log(), "stop a", "it is stopping");
    let error = supervisor.which_children().wait().unwrap_err();
    assert_eq!(error, CallError::Terminated { to: supervisor.pid(), reason: Reason::Shutdown });
}

#[test]
fn s8_a_request_can_be_abandoned() {
    let stage = Stage::new();
    let slow = Habits { trap: true, slow: Some(Duration::from_secs(3)) };
    let a = stage.child_with("a", slow);
    let supervisor = stage.supervisor(|| Supervisor::one_for_one().child(a));
    let second = Duration::from_secs(1);
    let error = supervisor.terminate_child("a").timeout(second).wait().unwrap_err();
    assert_eq!(
        error,
        TerminateChildError::Call(CallError::Timeout { to: supervisor.pid(), limit: second })
    );
    stage.pass(Duration::from_secs(2));
    assert_eq!(children_text(&supervisor), "a:undefined", "it was served all the same");
}

#[test]
fn s8_an_awaited_request_waits_for_its_timeout_or_without_a_limit() {
    let stage = Stage::new();
    let minute = Duration::from_secs(60);
    let slow = Habits { trap: true, slow: Some(minute) };
    let [a, b, c] = ["a", "b", "c"].map(|id| stage.child_with(id, slow).shutdown(2 * minute));
    let supervisor = stage.supervisor(|| Supervisor::one_for_one().child(a).child(b).child(c));
    let (asked, second) = (supervisor.clone(), Duration::from_secs(1));
    let client = behavior_fn(move |ctx: Context<()>| async move {
        let given_up = asked.terminate_child("a").timeout(second).await;
        assert_eq!(
            given_up,
            Err(TerminateChildError::Call(CallError::Timeout { to: asked.pid(), limit: second }))
        );
        assert_eq!(ctx.now().as_nanos(), 1_000_000_000);
        // No call in Krarup waits this long by default.
        asked.terminate_child("b").await?;
        assert_eq!(ctx.now().as_nanos(), 120_000_000_000);
        Ok(())
    });
    let client = stage.sim.spawn(|| client).start().unwrap();
    assert_eq!(client.watch().wait().unwrap().reason, Reason::Normal);
    supervisor.terminate_child("c").wait().unwrap();
    assert_eq!(children_text(&supervisor), "a:undefined b:undefined c:undefined");
}

#[test]
fn s8_a_child_is_counted_for_its_own_restarts_and_no_other_start() {
    let stage = Stage::new();
    let [a, b, c] = ["a", "b", "c"].map(|id| stage.child(id));
    let supervisor = stage.supervisor(|| {
        Supervisor::rest_for_one().intensity(9, Duration::from_secs(9)).child(a).child(b)
    });
    let restarts = || {
        let mut lines = supervisor.which_children().wait().unwrap();
        lines.reverse();
        lines.iter().map(|line| line.restarts).collect::<Vec<_>>()
    };
    supervisor.start_child(c).wait().unwrap();
    assert_eq!(restarts(), [0, 0, 0]);
    for _ in 0..2 {
        stage.crash("b");
    }
    assert_eq!(restarts(), [0, 2, 2], "a group restart is one of each member");
    supervisor.terminate_child("b").wait().unwrap();
    supervisor.restart_child("b").wait().unwrap();
    assert_eq!(restarts(), [0, 2, 2], "no item was requested");
    // A failed try does not count for the child, but it counts for the supervisor.
    stage.plan("c", &[Start::Fail]);
    stage.crash("c");
    assert_eq!(restarts(), [0, 2, 3]);
    assert_eq!(supervisor.inspect().wait().unwrap().number("restarts"), Some(4));
    supervisor.terminate_child("c").wait().unwrap();
    supervisor.delete_child("c").wait().unwrap();
    supervisor.start_child(stage.child("c")).wait().unwrap();
    assert_eq!(restarts(), [0, 2, 0], "a child that is added again begins anew");
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("a destructor");
    }
}

#[test]
fn d4_a_factory_that_panics_when_it_is_dropped_ends_no_supervisor() {
    let stage = Stage::new();
    let supervisor = ab(&stage);
    let armed = |id: &str| {
        let (factory, bomb) = (stage.factory(id, Habits::default()), Bomb);
        ChildSpec::worker(id, move || {
            let _ = &bomb;
            factory()
        })
        .name(id)
    };
    // The child is refused.
    supervisor.start_child(armed("a")).wait().unwrap_err();
    // The child fails to start.
    stage.plan("c", &[Start::Fail]);
    supervisor.start_child(armed("c")).wait().unwrap_err();
    // The child is deleted.
    supervisor.start_child(armed("c")).wait().unwrap();
    supervisor.terminate_child("c").wait().unwrap();
    supervisor.delete_child("c").wait().unwrap();
    // The child is temporary, and ends.
    supervisor.start_child(armed("d").restart(RestartType::Temporary)).wait().unwrap();
    stage.crash("d");
    assert_eq!(children_text(&supervisor), "a b");
    supervisor.start_child(armed("c")).wait().unwrap();
    supervisor.stop().wait().unwrap();
    assert!(stage.log().ends_with("stop c, stop b, stop a"));
}

#[test]
fn d4_arguments_that_panic_when_they_are_dropped_end_no_supervisor() {
    let stage = Stage::new();
    let shared = stage.shared();
    for restart in [RestartType::Temporary, RestartType::Transient] {
        let shared = Arc::clone(&shared);
        let template = ChildTemplate::worker("d", move |_: Arc<Bomb>| {
            Worker::new("d", Arc::clone(&shared), Habits::default())
        });
        let template = template.restart(restart).name("d");
        let supervisor = stage.supervisor(|| Supervisor::simple_one_for_one(template));
        supervisor.start_child(Arc::new(Bomb)).wait().unwrap();
        // The child's name is taken.
        supervisor.start_child(Arc::new(Bomb)).wait().unwrap_err();
        stage.tell("d", Do::End(Reason::Normal));
        assert_eq!(children_text(&supervisor), "");
        supervisor.stop().wait().unwrap();
    }
}

#[test]
fn d4_a_template_that_panics_when_it_is_dropped_changes_no_reason() {
    let stage = Stage::new();
    let (shared, bomb) = (stage.shared(), Bomb);
    let template = ChildTemplate::worker("d", move |id: String| {
        let _ = &bomb;
        Worker::new(&id, Arc::clone(&shared), Habits::default())
    });
    let supervisor = stage.supervisor(|| Supervisor::simple_one_for_one(template));
    supervisor.start_child("a".to_owned()).wait().unwrap();
    supervisor.stop().reason(Reason::Shutdown).wait().unwrap();
    assert_eq!(stage.log(), "start a, stop a");
}

#[test]
fn s6_items_that_arrive_while_a_child_is_stopped_are_served_afterwards() {
    let stage = Stage::new();
    let second = Duration::from_secs(1);
    let slow = Habits { trap: true, slow: Some(second) };
    let (a, b) = (stage.child_with("a", slow), stage.child("b"));
    let supervisor = stage.supervisor(|| Supervisor::one_for_one().child(a).child(b));
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    let mut terminate = supervisor.terminate_child("a").into_future();
    assert!(terminate.as_mut().poll(&mut cx).is_pending());
    stage.sim.run_until_idle();
    let old = stage.pid("b");
    stage.sim.kill(old);
    let mut inspect = Box::pin(supervisor.inspect().into_future());
    assert!(inspect.as_mut().poll(&mut cx).is_pending());
    stage.sim.run_until_idle();
    let mut stop = Box::pin(supervisor.stop().into_future());
    assert!(stop.as_mut().poll(&mut cx).is_pending());
    stage.pass(second);
    assert!(terminate.as_mut().poll(&mut cx).is_ready());
    assert!(inspect.as_mut().poll(&mut cx).is_ready());
    assert!(stop.as_mut().poll(&mut cx).is_ready());
    assert_eq!(stage.log(), "stop a, stopped a, start b, stop b");
}

/// Ends, requests and the supervisor's own retry share one lane. Each is served after all that
/// arrived before it.
#[test]
fn s6_ends_and_requests_are_served_in_the_order_they_came() {
    let stage = Stage::new();
    let (a, b) = (stage.child("a"), stage.child("b"));
    let supervisor = stage.supervisor(|| {
        Supervisor::one_for_one().intensity(9, Duration::from_secs(9)).child(a).child(b)
    });
    stage.plan("a", &[Start::FailLate(Duration::from_secs(1))]);
    stage.crash("a");
    assert_eq!(stage.log(), "(boom) a", "the supervisor waits for a to start");

    let answers = Arc::new(Mutex::new(Vec::new()));
    let ask = || {
        let (supervisor, answers) = (supervisor.clone(), Arc::clone(&answers));
        let client = behavior_fn(move |_ctx: Context<()>| async move {
            let lines = supervisor.which_children().await?;
            let states: Vec<_> = lines.iter().map(|line| line.state).collect();
            answers.lock().unwrap().push(states);
            Ok(())
        });
        stage.sim.spawn(|| client).start().unwrap();
        stage.sim.run_until_idle();
    };
    ask();
    let old = stage.pid("b");
    stage.sim.kill(old);
    stage.sim.run_until_idle();
    ask();
    stage.pass(Duration::from_secs(1));

    let (old, new) = (ChildState::Running(old), ChildState::Running(stage.pid("b")));
    let restarting = ChildState::Restarting;
    assert_eq!(*answers.lock().unwrap(), [[old, restarting], [new, restarting]]);
    assert_eq!(stage.log(), "fail a, start b, start a");
}
