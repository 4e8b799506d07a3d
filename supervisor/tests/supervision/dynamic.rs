//! Children made from one template: `simple_one_for_one` (rules S1 to S8).

use crate::support::{Do, Habits, Stage, Start, Worker, children_text};
use krarup_gen::{Pid, Reason};
use krarup_supervisor::{
    AutoShutdown, BackOff, ChildKind, ChildSpec, ChildTemplate, DeleteChildError,
    GetChildSpecError, RestartChildError, RestartType, Shutdown, SpecError, StartChildError,
    Strategy, Supervisor, SupervisorAddress, SupervisorCalls, TerminateChildError,
};
use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

/// Children that get their id as the argument of their start.
fn template(stage: &Stage, habits: Habits) -> ChildTemplate<String> {
    let stage = stage.shared();
    ChildTemplate::worker("dynamic", move |id: String| Worker::new(&id, Arc::clone(&stage), habits))
}

fn pool(stage: &Stage, restart: RestartType) -> SupervisorAddress<String> {
    let template = template(stage, Habits::default()).restart(restart);
    stage.supervisor(|| Supervisor::simple_one_for_one(template).intensity(100, HOUR))
}

fn start(supervisor: &SupervisorAddress<String>, id: &str) -> Pid {
    supervisor.start_child(id.to_owned()).wait().unwrap().expect("a process")
}

fn tell(stage: &Stage, pid: Pid, what: Do) {
    stage.sim.address_of::<Do, Do>(pid).unwrap().send(what).unwrap();
    stage.sim.run_until_idle();
}

#[test]
fn s1_children_are_started_with_arguments_and_restarted_with_the_same() {
    let stage = Stage::new();
    let supervisor = pool(&stage, RestartType::Permanent);
    assert_eq!(children_text(&supervisor), "");
    let (a, b) = (start(&supervisor, "a"), start(&supervisor, "b"));
    tell(&stage, a, Do::Fail);
    assert_eq!(stage.log(), "start a, start b, (boom) a, start a");
    assert_eq!(children_text(&supervisor), "dynamic dynamic");
    assert!(stage.sim.is_alive(b));
}

#[test]
fn s4_a_dynamic_child_that_ends_without_a_restart_is_removed() {
    let stage = Stage::new();
    let supervisor = pool(&stage, RestartType::Transient);
    let a = start(&supervisor, "a");
    start(&supervisor, "b");
    tell(&stage, a, Do::End(Reason::Normal));
    let counts = supervisor.count_children().wait().unwrap();
    assert_eq!((counts.specs, counts.active, counts.workers), (1, 1, 1));
}

#[test]
fn s2_a_failed_or_ignored_start_leaves_nothing() {
    let stage = Stage::new();
    let supervisor = pool(&stage, RestartType::Permanent);
    stage.plan("a", &[Start::Fail, Start::Ignore]);
    let failed = StartChildError::Failed { id: "dynamic".into(), reason: Reason::error("no") };
    assert_eq!(supervisor.start_child("a".into()).wait(), Err(failed));
    assert_eq!(supervisor.start_child("a".into()).wait(), Ok(None));
    assert_eq!(children_text(&supervisor), "");
}

/// OTP 25 keeps such a child without a process, and crashes because of it later.
#[test]
fn s2_a_dynamic_child_that_is_ignored_in_a_restart_is_removed() {
    let stage = Stage::new();
    let supervisor = pool(&stage, RestartType::Permanent);
    let a = start(&supervisor, "a");
    stage.plan("a", &[Start::Ignore]);
    tell(&stage, a, Do::Fail);
    assert_eq!(children_text(&supervisor), "");
    start(&supervisor, "b");
    supervisor.stop().wait().unwrap();
    assert_eq!(stage.log(), "start a, (boom) a, ignore a, start b, stop b");
}

#[test]
fn s8_a_child_is_terminated_by_its_pid() {
    let stage = Stage::new();
    let supervisor = pool(&stage, RestartType::Permanent);
    let (a, b) = (start(&supervisor, "a"), start(&supervisor, "b"));
    supervisor.terminate_child(a).wait().unwrap();
    supervisor.terminate_child(a).wait().expect("ok also when it has ended");
    assert_eq!(children_text(&supervisor), "dynamic");
    assert!(stage.sim.is_alive(b));
    let own = supervisor.pid();
    let error = supervisor.terminate_child(own).wait();
    assert_eq!(error, Err(TerminateChildError::NotFound { child: own.to_string() }));
}

#[test]
fn s8_requests_by_id_are_refused_for_dynamic_children() {
    let stage = Stage::new();
    let supervisor = pool(&stage, RestartType::Permanent);
    let error = supervisor.terminate_child("dynamic").wait();
    assert_eq!(error, Err(TerminateChildError::SimpleOneForOne { id: "dynamic".into() }));
    let error = supervisor.restart_child("dynamic").wait();
    assert_eq!(error, Err(RestartChildError::SimpleOneForOne { id: "dynamic".into() }));
    let error = supervisor.delete_child("dynamic").wait();
    assert_eq!(error, Err(DeleteChildError::SimpleOneForOne { id: "dynamic".into() }));
}

#[test]
fn s8_the_spec_is_that_of_the_template() {
    let stage = Stage::new();
    let supervisor = pool(&stage, RestartType::Transient);
    let a = start(&supervisor, "a");
    for spec in [supervisor.get_childspec("dynamic"), supervisor.get_childspec(a)] {
        let spec = spec.wait().unwrap();
        assert_eq!((spec.id.as_str(), spec.restart), ("dynamic", RestartType::Transient));
    }
    supervisor.get_childspec("a").wait().unwrap_err();
    // Neither a process that is not a child nor a child that has ended has a spec.
    let own = supervisor.pid();
    tell(&stage, a, Do::End(Reason::Normal));
    for pid in [own, a] {
        let unknown = GetChildSpecError::NotFound { child: pid.to_string() };
        assert_eq!(supervisor.get_childspec(pid).wait(), Err(unknown));
    }
}

#[test]
fn s8_any_number_of_dynamic_children_counts_as_one_specification_of_its_kind() {
    let stage = Stage::new();
    let shared = stage.shared();
    let template = ChildTemplate::supervisor("inner", move |id: String| {
        let (shared, name) = (Arc::clone(&shared), id.clone());
        let worker = move || Worker::new(&id, Arc::clone(&shared), Habits::default());
        Supervisor::one_for_one().child(ChildSpec::worker("w", worker).name(name))
    });
    let supervisor = stage.supervisor(|| Supervisor::simple_one_for_one(template));
    for count in 0..3 {
        let counts = supervisor.count_children().wait().unwrap();
        assert_eq!((counts.specs, counts.active), (1, count));
        assert_eq!((counts.supervisors, counts.workers), (count, 0));
        start(&supervisor, &count.to_string());
    }
    let lines = supervisor.which_children().wait().unwrap();
    assert!(lines.iter().all(|line| line.kind == ChildKind::Supervisor));
    // A supervisor has unlimited time to end.
    let spec = supervisor.get_childspec("inner").wait().unwrap();
    assert_eq!((spec.kind, spec.shutdown), (ChildKind::Supervisor, Shutdown::Infinity));
}

/// OTP refuses a second specification too.
#[test]
fn b1_simple_one_for_one_takes_only_children_of_its_template() {
    let stage = Stage::new();
    let template =
        ChildTemplate::supervisor("inner", |spec: ChildSpec| Supervisor::one_for_one().child(spec));
    let child = stage.child("a");
    let tree = move || Supervisor::simple_one_for_one(template).child(child);
    let refused = SpecError::ChildOfSimpleOneForOne { id: "a".into() };
    assert_eq!(stage.start(tree).unwrap_err().to_string(), format!("init failed: {refused}"));
    assert_eq!(stage.log(), "");
}

#[test]
fn s6_a_child_that_waits_for_its_restart_is_cancelled_by_its_last_pid() {
    let stage = Stage::new();
    let second = Duration::from_secs(1);
    let children = template(&stage, Habits::default()).back_off(BackOff::new(second, HOUR));
    let supervisor =
        stage.supervisor(|| Supervisor::simple_one_for_one(children).intensity(9, HOUR));
    let (a, b) = (start(&supervisor, "a"), start(&supervisor, "b"));
    stage.plan("b", &[Start::Fail]);
    for pid in [a, b] {
        tell(&stage, pid, Do::Fail);
    }
    assert_eq!(children_text(&supervisor), "dynamic:restarting dynamic:restarting");
    supervisor.terminate_child(a).wait().unwrap();
    assert_eq!(children_text(&supervisor), "dynamic:restarting");
    // Its first try fails, and it is still known by its last pid.
    stage.pass(second);
    assert_eq!(stage.log(), "start a, start b, (boom) a, (boom) b, fail b");
    assert_eq!(supervisor.get_childspec(b).wait().unwrap().id, "dynamic");
    supervisor.terminate_child(b).wait().unwrap();
    stage.pass(HOUR);
    assert_eq!((stage.log().as_str(), children_text(&supervisor).as_str()), ("", ""));
}

#[test]
fn s8_terminating_an_ended_process_succeeds_and_a_living_non_child_is_not_found() {
    let stage = Stage::new();
    let dynamic = pool(&stage, RestartType::Permanent);
    let (a, b) = (stage.child("a"), stage.child("b"));
    let fixed = stage.supervisor(|| Supervisor::one_for_one().child(a).child(b));
    let (a, b) = (stage.pid("a"), stage.pid("b"));
    let unknown = |pid: Pid| Err(TerminateChildError::NotFound { child: pid.to_string() });
    assert_eq!(dynamic.terminate_child(a).wait(), unknown(a));
    // Children with ids are not found by their pids, whether they are alive or have ended.
    assert_eq!(fixed.terminate_child(a).wait(), unknown(a));
    fixed.terminate_child("a").wait().unwrap();
    assert_eq!(fixed.terminate_child(a).wait(), unknown(a));
    assert_eq!(dynamic.terminate_child(a).wait(), Ok(()));
    assert!(stage.sim.is_alive(b));
}

#[test]
fn s7_children_are_stopped_together_with_one_time_limit() {
    let stage = Stage::new();
    let second = Duration::from_secs(1);
    let slow = Habits { trap: true, slow: Some(second) };
    let children = template(&stage, slow);
    let supervisor = stage.supervisor(|| Supervisor::simple_one_for_one(children));
    for n in 0..100 {
        start(&supervisor, &n.to_string());
    }
    let before = stage.sim.now();
    supervisor.stop().wait().unwrap();
    assert_eq!(stage.sim.now() - before, second, "that of the slowest, not the sum");
    assert_eq!(stage.sim.processes(), []);

    let forever = Habits { trap: true, slow: Some(HOUR) };
    let children = template(&stage, forever).shutdown(second);
    let supervisor = stage.supervisor(|| Supervisor::simple_one_for_one(children));
    for n in 0..100 {
        start(&supervisor, &n.to_string());
    }
    let before = stage.sim.now();
    supervisor.stop().wait().unwrap();
    assert_eq!(stage.sim.now() - before, second, "one limit for all");
    assert_eq!(stage.sim.processes(), []);
}

#[test]
fn s7_an_early_end_gives_the_other_children_no_more_time() {
    let stage = Stage::new();
    let (tenth, shared) = (Duration::from_millis(100), stage.shared());
    let ends_after = move |tenths: u32| {
        let slow = Habits { trap: true, slow: Some(tenths * tenth) };
        Worker::new(&tenths.to_string(), Arc::clone(&shared), slow)
    };
    let template = ChildTemplate::worker("dynamic", ends_after).shutdown(10 * tenth);
    let supervisor = stage.supervisor(|| Supervisor::simple_one_for_one(template));
    for tenths in [4, 8, 12, 16] {
        supervisor.start_child(tenths).wait().unwrap();
    }
    stage.log();
    let before = stage.sim.now();
    supervisor.stop().wait().unwrap();
    assert_eq!(stage.sim.now() - before, 10 * tenth);
    let log = stage.log();
    let (asked, ended) = log.split_once("stopped").unwrap();
    assert_eq!(asked.matches("stop").count(), 4, "all are asked at once: {log}");
    assert_eq!(ended, " 4, stopped 8");
    assert_eq!(stage.sim.processes(), []);
}

#[test]
fn s7_dynamic_children_are_killed_at_once_or_waited_for_without_a_limit() {
    for (shutdown, time, stopped) in
        [(Shutdown::BrutalKill, Duration::ZERO, 0), (Shutdown::Infinity, HOUR, 3)]
    {
        let stage = Stage::new();
        let slow = Habits { trap: true, slow: Some(HOUR) };
        let children = template(&stage, slow).shutdown(shutdown);
        let supervisor = stage.supervisor(|| Supervisor::simple_one_for_one(children));
        for id in ["a", "b", "c"] {
            start(&supervisor, id);
        }
        stage.log();
        let before = stage.sim.now();
        supervisor.stop().wait().unwrap();
        assert_eq!(stage.sim.now() - before, time);
        assert_eq!(stage.log().matches("stopped").count(), stopped);
        assert_eq!(stage.sim.processes(), []);
    }
}

#[test]
fn s5_the_limit_is_that_of_the_supervisor() {
    let stage = Stage::new();
    let children = template(&stage, Habits::default());
    let supervisor =
        stage.supervisor(|| Supervisor::simple_one_for_one(children).intensity(1, HOUR));
    let (a, b) = (start(&supervisor, "a"), start(&supervisor, "b"));
    tell(&stage, a, Do::Fail);
    tell(&stage, b, Do::Fail);
    assert!(!supervisor.is_alive());
    assert_eq!(stage.log(), "start a, start b, (boom) a, start a, (boom) b, stop a");
}

/// OTP's `hanging_restart_loop_simple`.
#[test]
fn s6_a_restart_loop_is_cancelled_by_the_last_pid() {
    let stage = Stage::new();
    let supervisor = pool(&stage, RestartType::Permanent);
    let a = start(&supervisor, "a");
    stage.plan("a", &[Start::Fail; 50]);
    stage.sim.address_of::<Do, Do>(a).unwrap().send(Do::Fail).unwrap();
    while !stage.log().contains("fail a") {
        stage.sim.step();
    }
    assert_eq!(children_text(&supervisor), "dynamic:restarting");
    assert_eq!(supervisor.count_children().wait().unwrap().active, 0);
    supervisor.terminate_child(a).wait().unwrap();
    stage.sim.run_until_idle();
    assert_eq!(children_text(&supervisor), "");
    start(&supervisor, "b");
    assert_eq!(supervisor.count_children().wait().unwrap().active, 1);
}

#[test]
fn s4_a_temporary_child_does_not_keep_its_arguments_alive() {
    let stage = Stage::new();
    let arguments = Arc::new("a".to_owned());
    let weak = Arc::downgrade(&arguments);
    let shared = stage.shared();
    let template = ChildTemplate::worker("t", move |id: Arc<String>| {
        Worker::new(&id, Arc::clone(&shared), Habits::default())
    });
    let template = template.restart(RestartType::Temporary);
    let supervisor = stage.supervisor(|| Supervisor::simple_one_for_one(template));
    supervisor.start_child(arguments).wait().unwrap();
    assert!(weak.upgrade().is_none());
}

#[test]
fn b1_auto_shutdown_is_refused() {
    let stage = Stage::new();
    let children = template(&stage, Habits::default());
    let auto_shutdown = AutoShutdown::AnySignificant;
    let error = stage
        .start(move || Supervisor::simple_one_for_one(children).auto_shutdown(auto_shutdown))
        .unwrap_err();
    let refused = SpecError::AutoShutdownOfSimpleOneForOne { auto_shutdown };
    assert_eq!(error.to_string(), format!("init failed: {refused}"));
}

#[test]
fn s8_under_simple_one_for_one_active_counts_children_without_a_known_end() {
    for is_simple in [true, false] {
        let stage = Stage::new();
        let template = template(&stage, Habits::default());
        let dynamic = stage.supervisor(|| Supervisor::simple_one_for_one(template));
        let (a, late) = (stage.child("a"), stage.child("late"));
        let fixed = stage.supervisor(|| Supervisor::one_for_one().child(a));
        let dies = if is_simple { start(&dynamic, "x") } else { stage.pid("a") };
        // While it waits for a start that takes a second, it serves nothing.
        stage.plan("late", &[Start::WellLate(Duration::from_secs(1))]);
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        let mut start_dynamic = dynamic.start_child("late".to_owned()).into_future();
        let mut start_fixed = fixed.start_child(late).into_future();
        if is_simple {
            assert!(start_dynamic.as_mut().poll(&mut cx).is_pending());
        } else {
            assert!(start_fixed.as_mut().poll(&mut cx).is_pending());
        }
        stage.sim.run_until_idle();
        let mut asked = if is_simple {
            dynamic.count_children().into_future()
        } else {
            fixed.count_children().into_future()
        };
        assert!(asked.as_mut().poll(&mut cx).is_pending());
        // It ends after the request was sent, and the supervisor has not been notified when it
        // answers.
        stage.sim.kill(dies);
        stage.sim.run_until_idle();
        stage.pass(Duration::from_secs(1));
        let std::task::Poll::Ready(Ok(counts)) = asked.as_mut().poll(&mut cx) else {
            panic!("no answer")
        };
        assert_eq!(counts.active, if is_simple { 2 } else { 1 });
    }
}

#[test]
fn s13_one_child_more_than_the_limit_is_refused() {
    let stage = Stage::new();
    let second = Duration::from_secs(1);
    let children = template(&stage, Habits::default()).back_off(BackOff::new(second, second));
    let supervisor = stage.supervisor(|| {
        Supervisor::simple_one_for_one(children).intensity(100, HOUR).max_children(2)
    });
    // One that is ignored or fails does not count.
    stage.plan("a", &[Start::Ignore, Start::Fail]);
    assert_eq!(supervisor.start_child("a".into()).wait(), Ok(None));
    supervisor.start_child("a".into()).wait().unwrap_err();
    let (a, b) = (start(&supervisor, "a"), start(&supervisor, "b"));
    let full = Err(StartChildError::Full { limit: 2 });
    assert_eq!(supervisor.start_child("c".into()).wait(), full);
    // One that waits for its restart counts.
    tell(&stage, a, Do::Fail);
    assert_eq!(children_text(&supervisor), "dynamic:restarting dynamic");
    assert_eq!(supervisor.start_child("c".into()).wait(), full);
    stage.pass(second);
    assert_eq!(supervisor.start_child("c".into()).wait(), full);
    // One that has ended does not.
    supervisor.terminate_child(b).wait().unwrap();
    start(&supervisor, "c");
    assert_eq!(supervisor.start_child("d".into()).wait(), full);
    let shown = stage.sim.inspect(supervisor.pid()).wait().unwrap();
    let shown = shown.to_string();
    assert!(shown.contains("max_children") && !shown.contains("Infinity"), "{shown}");
}

#[test]
fn s13_a_limit_of_none_refuses_all() {
    let stage = Stage::new();
    let children = template(&stage, Habits::default());
    let supervisor = stage.supervisor(|| Supervisor::simple_one_for_one(children).max_children(0));
    let full = Err(StartChildError::Full { limit: 0 });
    assert_eq!(supervisor.start_child("a".into()).wait(), full);
}

#[test]
fn s13_only_simple_one_for_one_has_a_limit() {
    let stage = Stage::new();
    let tree = || Supervisor::one_for_one().max_children(3);
    let refused = SpecError::MaxChildren { limit: 3, strategy: Strategy::OneForOne };
    assert_eq!(stage.start(tree).unwrap_err().to_string(), format!("init failed: {refused}"));
}

#[test]
fn s14_several_start_in_one_request_and_each_has_its_answer() {
    let stage = Stage::new();
    let children = template(&stage, Habits::default());
    let supervisor = stage.supervisor(|| Supervisor::simple_one_for_one(children).max_children(3));
    stage.plan("b", &[Start::Fail]);
    stage.plan("c", &[Start::Ignore]);
    stage.plan("d", &[Start::Panic]);
    let ids = ["a", "b", "c", "d", "e", "f", "g"].map(str::to_owned);
    let answers = supervisor.start_children(ids).wait().unwrap();
    assert_eq!(answers.len(), 7);
    assert!(matches!(answers[0], Ok(Some(_))));
    let failed = StartChildError::Failed { id: "dynamic".into(), reason: Reason::error("no") };
    assert_eq!(answers[1], Err(failed));
    assert_eq!(answers[2], Ok(None));
    assert!(matches!(answers[3], Err(StartChildError::Failed { .. })), "{:?}", answers[3]);
    assert!(matches!(answers[4..6], [Ok(Some(_)), Ok(Some(_))]));
    assert_eq!(answers[6], Err(StartChildError::Full { limit: 3 }));
    assert_eq!(children_text(&supervisor), "dynamic dynamic dynamic");
    assert_eq!(supervisor.start_children([]).wait(), Ok(vec![]));
}

#[test]
fn s14_it_also_starts_children_by_their_specifications() {
    let stage = Stage::new();
    let supervisor = stage.supervisor(Supervisor::one_for_one);
    let children = [stage.child("a"), stage.child("b"), stage.child("a")];
    let answers = supervisor.start_children(children).wait().unwrap();
    assert!(matches!(answers[2], Err(StartChildError::AlreadyStarted { .. })));
    assert_eq!(stage.log(), "start a, start b");
}

#[test]
fn s14_a_stop_ends_a_long_start_of_several() {
    let stage = Stage::new();
    let second = Duration::from_secs(1);
    let supervisor = pool(&stage, RestartType::Permanent);
    let ids: Vec<_> = (0..100).map(|n| n.to_string()).collect();
    ids.iter().for_each(|id| stage.plan(id, &[Start::WellLate(second)]));
    let (asked, count) = (supervisor.clone(), ids.len());
    let starts = stage.sim.task(async move { asked.start_children(ids).await }).start().unwrap();
    stage.pass(10 * second + second / 2);
    supervisor.stop().reason(Reason::Shutdown).wait().unwrap();
    let answers = starts.wait().unwrap().unwrap();
    assert_eq!(answers.len(), count);
    let stopped = answers.iter().filter(|answer| **answer == Err(StartChildError::Stopping));
    assert_eq!(stopped.count(), 89);
    assert!(stage.sim.now().as_nanos() < 20_000_000_000);
    assert_eq!(stage.sim.processes(), []);
}
