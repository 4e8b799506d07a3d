//! What one asks of a supervisor (rule S8).

mod support;

use krarup_act::{Context, behavior_fn};
use krarup_gen::{CallError, Reason};
use krarup_supervisor::{
    ChildSpec, ChildState, DeleteChildError, GetChildSpecError, RestartChildError, RestartType,
    SpecError, StartChildError, Supervisor, SupervisorAddress, SupervisorCalls,
    TerminateChildError,
};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::{Habits, Stage, Start, kids};

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
    assert_eq!(kids(&supervisor), "a:undefined b c");
    let pid = supervisor.restart_child("a").wait().unwrap();
    assert_eq!(pid, Some(stage.pid("a")));
    supervisor.terminate_child("b").wait().unwrap();
    supervisor.delete_child("b").wait().unwrap();
    assert_eq!(kids(&supervisor), "a c");
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
    assert_eq!(kids(&supervisor), "a b");
    supervisor.terminate_child("a").wait().unwrap();
    stage.plan("a", &[Start::Fail]);
    let failed = RestartChildError::Failed { id: "a".into(), reason };
    assert_eq!(supervisor.restart_child("a").wait(), Err(failed));
    assert_eq!(kids(&supervisor), "a:undefined b");
    assert_eq!(stage.log(), "fail c, stop a, fail a");
}

#[test]
fn s8_a_name_that_is_taken_is_a_failed_start() {
    let stage = Stage::new();
    let supervisor = ab(&stage);
    let error = supervisor.start_child(stage.child("c").name("a")).wait().unwrap_err();
    assert!(matches!(error, StartChildError::Failed { .. }), "{error}");
    assert!(error.to_string().contains("name a is taken by"), "{error}");
    assert_eq!(kids(&supervisor), "a b");
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
    assert_eq!(kids(&supervisor), "a b c:undefined");
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
}

#[test]
fn s8_processes_and_plain_threads_ask_alike() {
    let stage = Stage::new();
    let supervisor = ab(&stage);
    let (asked, c) = (supervisor.clone(), stage.child("c"));
    let client = stage.sim.spawn(move || {
        behavior_fn(move |_ctx: Context<()>| async move {
            asked.start_child(c).await.map_err(Reason::from)?;
            asked.terminate_child("a").await?;
            assert_eq!(asked.count_children().await?.active, 2);
            let error = asked.which_children().wait().unwrap_err();
            assert_eq!(error, CallError::WaitInProcess);
            Ok(())
        })
    });
    let client = client.start().unwrap();
    assert_eq!(client.monitor().wait().unwrap().reason, Reason::Normal);
    assert_eq!(kids(&supervisor), "a:undefined b c");
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
    assert_eq!(error, CallError::Terminated(Reason::Shutdown));
}

#[test]
fn s8_a_request_can_be_given_up() {
    let stage = Stage::new();
    let slow = Habits { trap: true, slow: Some(Duration::from_secs(3)) };
    let a = stage.child_with("a", slow);
    let supervisor = stage.supervisor(|| Supervisor::one_for_one().child(a));
    let second = Duration::from_secs(1);
    let error = supervisor.terminate_child("a").timeout(second).wait().unwrap_err();
    assert_eq!(error, TerminateChildError::Call(CallError::Timeout(second)));
    stage.pass(Duration::from_secs(2));
    assert_eq!(kids(&supervisor), "a:undefined", "it was served all the same");
}

/// Ends, requests and the supervisor's own retry share one lane: each is served when
/// what came before it has been.
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
