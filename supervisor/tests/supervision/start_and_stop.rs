//! How a supervisor starts and ends its children (rules S2, S3, S7, S11).

use crate::support::{Habits, Stage, Start, Worker, children_text};
use krarup_act::{Context, behavior_fn};
use krarup_gen::{Class, Reason, SpawnError, StopError};
use krarup_supervisor::{
    AutoShutdown, ChildKind, ChildSpec, ChildTemplate, FailedToStartChild, RestartType, Shutdown,
    SpecError, Supervisor, SupervisorAddress, SupervisorCalls,
};
use std::future::IntoFuture;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Wake, Waker};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn failed(error: SpawnError) -> Reason {
    match error {
        SpawnError::Init(reason) => reason,
        other => panic!("{other}"),
    }
}

#[test]
fn s2_children_start_in_order_before_the_supervisor_has_started() {
    let stage = Stage::new();
    let (a, b, c) = (stage.child("a"), stage.child("b"), stage.child("c"));
    let supervisor = stage.start(|| Supervisor::one_for_one().child(a).child(b).child(c)).unwrap();
    assert_eq!(stage.log(), "start a, start b, start c");
    assert_eq!(children_text(&supervisor), "a b c");
}

#[test]
fn s2_a_failing_start_stops_those_already_started_and_fails_with_id_and_reason() {
    let stage = Stage::new();
    stage.plan("c", &[Start::Fail]);
    let (a, b, c, d) = (stage.child("a"), stage.child("b"), stage.child("c"), stage.child("d"));
    let error =
        stage.start(|| Supervisor::one_for_one().child(a).child(b).child(c).child(d)).unwrap_err();
    assert_eq!(stage.log(), "start a, start b, fail c, stop b, stop a");
    let reason = failed(error);
    assert!(!reason.is_abnormal());
    let detail = reason.downcast_ref::<FailedToStartChild>().unwrap();
    assert_eq!((detail.id.as_str(), &detail.reason), ("c", &Reason::error("no")));
    assert_eq!(stage.sim.processes(), []);
}

#[test]
fn s2_a_panic_in_a_childs_init_or_factory_is_a_failed_start() {
    let stage = Stage::new();
    stage.plan("a", &[Start::Panic]);
    let a = stage.child("a");
    let error = stage.start(|| Supervisor::one_for_one().child(a)).unwrap_err();
    let reason = failed(error);
    let detail = reason.downcast_ref::<FailedToStartChild>().unwrap();
    assert!(matches!(&detail.reason, Reason::Panic(panic) if panic.message() == "oops"));

    let b = ChildSpec::worker("b", || -> crate::support::Worker { panic!("no worker") });
    let reason = failed(stage.start(|| Supervisor::one_for_one().child(b)).unwrap_err());
    let detail = reason.downcast_ref::<FailedToStartChild>().unwrap();
    assert!(matches!(&detail.reason, Reason::Panic(panic) if panic.message() == "no worker"));
}

#[test]
fn s2_failures_nest_in_a_tree() {
    let stage = Stage::new();
    stage.plan("a", &[Start::Fail]);
    let a = stage.child("a");
    let inner = ChildSpec::supervisor("inner", move || Supervisor::one_for_one().child(a.clone()));
    let reason = failed(stage.start(|| Supervisor::one_for_one().child(inner)).unwrap_err());
    assert_eq!(
        reason.to_string(),
        "shutdown: child \"inner\" failed to start: \
         shutdown: child \"a\" failed to start: no"
    );
    let outer = reason.downcast_ref::<FailedToStartChild>().unwrap();
    let inner = outer.reason.downcast_ref::<FailedToStartChild>().unwrap();
    assert_eq!(inner.id, "a");
}

#[test]
fn s2_ignore_leaves_the_slot_empty() {
    let stage = Stage::new();
    for id in ["a", "b"] {
        stage.plan(id, &[Start::Ignore]);
    }
    let (a, b, c) = (stage.child("a"), stage.child("b"), stage.child("c"));
    let supervisor = stage
        .start(|| {
            Supervisor::one_for_one().child(a).child(b.restart(RestartType::Temporary)).child(c)
        })
        .unwrap();
    assert_eq!(
        (stage.log().as_str(), children_text(&supervisor).as_str()),
        ("ignore a, ignore b, start c", "a:undefined c")
    );
}

#[test]
fn b1_a_bad_specification_starts_nothing() {
    let stage = Stage::new();
    let refused = |supervisor: Supervisor| {
        let reason = failed(stage.start(|| supervisor).unwrap_err());
        reason.downcast_ref::<SpecError>().unwrap().clone()
    };
    let id = || "a".into();
    let twice = Supervisor::one_for_one().child(stage.child("a")).child(stage.child("a"));
    assert_eq!(refused(twice), SpecError::DuplicateId { id: id() });
    let zero = Supervisor::one_for_one().child(stage.child("a")).intensity(1, Duration::ZERO);
    assert_eq!(refused(zero), SpecError::ZeroPeriod);
    let never = Supervisor::one_for_one().child(stage.child("a").significant(true));
    assert_eq!(refused(never), SpecError::SignificantWithoutAutoShutdown { id: id() });
    let permanent = Supervisor::one_for_one()
        .auto_shutdown(AutoShutdown::AnySignificant)
        .child(stage.child("a").significant(true));
    assert_eq!(refused(permanent), SpecError::SignificantPermanent { id: id() });
    let name = Supervisor::one_for_one().child(stage.child("a").name(""));
    assert!(matches!(refused(name), SpecError::InvalidName { .. }));
    assert_eq!(stage.log(), "");
}

#[test]
fn s3_children_stop_in_reverse_order_one_after_the_other() {
    let stage = Stage::new();
    let slow = Habits { trap: true, slow: Some(Duration::from_secs(1)) };
    let children = [stage.child("a"), stage.child_with("b", slow), stage.child_with("c", slow)];
    let supervisor = stage
        .supervisor(|| children.into_iter().fold(Supervisor::one_for_one(), Supervisor::child));
    supervisor.stop().wait().unwrap();
    assert_eq!(stage.log(), "stop c, stopped c, stop b, stopped b, stop a");
    assert_eq!(stage.sim.processes(), []);
}

#[test]
fn s7_a_child_that_takes_too_long_is_killed_and_the_others_have_their_full_time() {
    let stage = Stage::new();
    let hour = Habits { trap: true, slow: Some(Duration::from_secs(3600)) };
    let second = Habits { trap: true, slow: Some(Duration::from_secs(1)) };
    let a = stage.child_with("a", second).shutdown(Duration::from_secs(2));
    let b = stage.child_with("b", hour).shutdown(Duration::from_secs(2));
    let supervisor = stage.supervisor(|| Supervisor::one_for_one().child(a).child(b));
    let before = stage.sim.now();
    supervisor.stop().wait().unwrap();
    assert_eq!(stage.log(), "stop b, stop a, stopped a");
    assert_eq!(stage.sim.now() - before, Duration::from_secs(3));
}

#[test]
fn s7_brutal_kill_kills_at_once_and_infinity_waits() {
    let stage = Stage::new();
    let day = Habits { trap: true, slow: Some(Duration::from_secs(86_400)) };
    let a = stage.child_with("a", day).shutdown(Shutdown::Infinity);
    let b = stage.child_with("b", day).shutdown(Shutdown::BrutalKill);
    let supervisor = stage.supervisor(|| Supervisor::one_for_one().child(a).child(b));
    supervisor.stop().wait().unwrap();
    assert_eq!(stage.log(), "stop a, stopped a");
}

#[test]
fn s7_a_timeout_of_zero_stops_and_kills_at_once() {
    let stage = Stage::new();
    let slow = Habits { trap: true, slow: Some(Duration::from_secs(1)) };
    let a = stage.child_with("a", slow).shutdown(Duration::ZERO);
    let supervisor = stage.supervisor(|| Supervisor::one_for_one().child(a));
    let before = stage.sim.now();
    supervisor.stop().wait().unwrap();
    assert_eq!(stage.sim.now(), before);
    assert_eq!(stage.sim.processes(), []);
}

#[test]
fn s11_a_tree_ends_within_the_sum_of_its_shutdown_times() {
    let stage = Stage::new();
    let hour = Habits { trap: true, slow: Some(Duration::from_secs(3600)) };
    let time = Duration::from_secs(2);
    let (a, b) = (stage.child_with("a", hour), stage.child_with("b", hour));
    let (a, b) = (a.shutdown(time), b.shutdown(time));
    let inner = ChildSpec::supervisor("inner", move || {
        Supervisor::one_for_one().child(a.clone()).child(b.clone())
    });
    let c = stage.child_with("c", hour).shutdown(time);
    let supervisor = stage.supervisor(|| Supervisor::one_for_one().child(inner).child(c));
    let before = stage.sim.now();
    supervisor.stop().wait().unwrap();
    assert_eq!(stage.log(), "stop c, stop b, stop a");
    assert_eq!(stage.sim.now() - before, Duration::from_secs(6));
    assert_eq!(stage.sim.processes(), []);
}

#[test]
fn s3_the_supervisor_ends_with_the_reason_it_was_given_and_its_children_with_shutdown() {
    let stage = Stage::new();
    let a = stage.child("a");
    let supervisor = stage.supervisor(|| Supervisor::one_for_one().child(a));
    // `stop` succeeds only if the supervisor ended with this reason.
    supervisor.stop().reason(Reason::error("over")).wait().unwrap();
    assert_eq!(stage.log(), "stop a");
}

#[test]
fn x2_a_stopping_node_ends_its_supervisors_in_order() {
    let stage = Stage::new();
    let (a, b) = (stage.child("a"), stage.child("b"));
    stage.supervisor(|| Supervisor::one_for_one().child(a).child(b));
    stage.sim.stop().wait().unwrap();
    assert_eq!(stage.log(), "stop b, stop a");
}

#[test]
fn s2_a_childs_init_timeout_is_a_failed_start() {
    let stage = Stage::new();
    stage.plan("a", &[Start::Never]);
    let a = stage.child("a").init_timeout(Duration::from_secs(3));
    let reason = failed(stage.start(|| Supervisor::one_for_one().child(a)).unwrap_err());
    let detail = reason.downcast_ref::<FailedToStartChild>().unwrap();
    let limit = SpawnError::Timeout(Duration::from_secs(3));
    assert_eq!(detail.reason, Reason::from(limit));
}

#[test]
fn s8_get_childspec_returns_the_defaults() {
    let stage = Stage::new();
    let a = stage.child("a");
    let supervisor = stage.supervisor(|| Supervisor::one_for_one().child(a));
    let spec = supervisor.get_childspec("a").wait().unwrap();
    assert_eq!(spec.restart, RestartType::Permanent);
    assert_eq!(spec.shutdown, Shutdown::Timeout(Duration::from_secs(5)));
    assert_eq!((spec.significant, spec.name.as_deref()), (false, Some("a")));
    assert!(spec.behavior.ends_with("Worker"), "{}", spec.behavior);
}

/// OTP's supervisor waits for such a child for ever, and receives nothing meanwhile.
#[test]
fn s11_a_child_that_hangs_in_its_init_does_not_hold_up_a_stop() {
    let stage = Stage::new();
    let a = stage.child("a").shutdown(Duration::from_secs(3));
    let b = stage.child("b");
    let supervisor = stage.supervisor(|| Supervisor::one_for_one().child(b).child(a));
    stage.plan("a", &[Start::Never]);
    stage.crash("a");
    stage.pass(Duration::from_secs(3600));
    assert_eq!(stage.log(), "(boom) a, hang a", "without a stop it has all the time");
    let before = stage.sim.now();
    supervisor.stop().wait().unwrap();
    assert_eq!(stage.sim.now() - before, Duration::from_secs(3));
    assert_eq!(stage.log(), "stop b");
    assert_eq!(stage.sim.processes(), []);
}

#[test]
fn s11_a_supervisor_that_hangs_in_its_own_start_is_told_to_stop() {
    let stage = Stage::new();
    stage.plan("b", &[Start::Never]);
    let (a, b) = (stage.child("a"), stage.child("b").shutdown(Duration::from_secs(3)));
    let inner = ChildSpec::supervisor("inner", move || {
        Supervisor::one_for_one().child(a.clone()).child(b.clone())
    });
    let c = stage.child("c");
    let supervisor = stage.sim.spawn(|| Supervisor::one_for_one().child(c).child(inner));
    let supervisor = supervisor.start().unwrap();
    stage.sim.run_until_idle();
    assert_eq!(stage.log(), "start c, start a, hang b");
    let before = stage.sim.now();
    let error = supervisor.stop().wait().unwrap_err();
    assert!(error.to_string().contains("child \"inner\" failed to start"), "{error}");
    // 5 s until the inner supervisor is told to stop, and 3 s that it gives its child.
    assert_eq!(stage.sim.now() - before, Duration::from_secs(8));
    assert_eq!(stage.log(), "stop a, stop c");
    assert_eq!(stage.sim.processes(), []);
}

#[test]
fn s11_a_supervisor_ends_with_its_parent_though_a_child_never_starts() {
    let stage = Stage::new();
    stage.plan("b", &[Start::Never]);
    let (a, b) = (stage.child("a"), stage.child("b").shutdown(3 * SECOND));
    let parent = behavior_fn(|mut ctx: Context<()>| async move {
        ctx.spawn(|| Supervisor::one_for_one().child(a).child(b)).link().start()?;
        ctx.receive().await;
        Ok(())
    });
    let parent = stage.sim.spawn(|| parent).start().unwrap();
    stage.sim.run_until_idle();
    assert_eq!(stage.log(), "start a, hang b");
    parent.send(()).unwrap();
    stage.sim.advance(3 * SECOND);
    assert_eq!(stage.log(), "stop a");
    assert_eq!(stage.sim.processes(), []);
}

/// Polls a request, and so makes it, when it is woken.
struct AskWhenWoken<F>(Mutex<Pin<Box<F>>>);

impl<F: Future + Send + 'static> Wake for AskWhenWoken<F> {
    fn wake(self: Arc<Self>) {
        let mut request = self.0.lock().unwrap();
        let mut cx = std::task::Context::from_waker(Waker::noop());
        assert!(request.as_mut().poll(&mut cx).is_pending());
    }
}

#[test]
fn m3_a_supervisor_takes_the_end_of_its_parent_before_later_requests() {
    let stage = Stage::new();
    let (a, late) = (stage.child("a"), stage.child("late"));
    let (told, found) = std::sync::mpsc::channel();
    let parent = behavior_fn(|mut ctx: Context<()>| async move {
        told.send(ctx.spawn(|| Supervisor::one_for_one().child(a)).link().await?).unwrap();
        ctx.receive().await;
        Ok(())
    });
    let parent = stage.sim.spawn(|| parent).start().unwrap();
    stage.sim.run_until_idle();
    // Who waits for the end is woken behind those that are linked, and before any of them runs.
    let supervisor = found.recv().unwrap();
    let request = async move { supervisor.start_child(late).await };
    let waker = Waker::from(Arc::new(AskWhenWoken(Mutex::new(Box::pin(request)))));
    let mut end = stage.sim.watch(parent.pid());
    let mut cx = std::task::Context::from_waker(&waker);
    assert!(Pin::new(&mut end).poll(&mut cx).is_pending());
    parent.send(()).unwrap();
    stage.sim.advance(3 * SECOND);
    assert_eq!(stage.log(), "start a, stop a");
    assert_eq!(stage.sim.processes(), []);
}

#[test]
fn s11_a_child_that_is_only_slow_to_start_is_let_finish() {
    let stage = Stage::new();
    let (a, b) = (stage.child("a"), stage.child("b"));
    let supervisor = stage.supervisor(|| Supervisor::one_for_one().child(a).child(b));
    stage.plan("a", &[Start::WellLate(Duration::from_secs(2))]);
    stage.crash("a");
    supervisor.stop().wait().unwrap();
    assert_eq!(stage.log(), "(boom) a, start a, stop b, stop a");
}

/// Requests a stop and does not wait for it.
fn ask_to_stop(supervisor: &SupervisorAddress) -> impl Future<Output = Result<(), StopError>> {
    let mut stop = supervisor.stop().into_future();
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(std::pin::Pin::new(&mut stop).poll(&mut cx).is_pending());
    stop
}

#[test]
fn s11_a_stop_that_is_held_when_a_start_begins_limits_it_too() {
    for (shutdown, time) in [(Shutdown::Timeout(3 * SECOND), 3), (Shutdown::BrutalKill, 5)] {
        let stage = Stage::new();
        stage.plan("a", &[Start::WellLate(2 * SECOND)]);
        stage.plan("b", &[Start::Never]);
        let (a, b) = (stage.child("a"), stage.child("b").shutdown(shutdown));
        let tree = || Supervisor::one_for_one().child(a).child(b);
        let supervisor = stage.sim.spawn(tree).start().unwrap();
        stage.pass(SECOND);
        let end = supervisor.watch();
        let _stop = ask_to_stop(&supervisor);
        stage.sim.run_until_idle();
        assert_eq!(stage.log(), "", "a has the time it needs");
        let reason = end.wait().unwrap().reason;
        let failed = reason.downcast_ref::<FailedToStartChild>().unwrap();
        assert_eq!((failed.id.as_str(), &failed.reason), ("b", &Reason::Killed));
        assert_eq!(stage.log(), "start a, hang b, stop a");
        assert_eq!(stage.sim.now().as_nanos(), (2 + time) * 1_000_000_000);
        assert_eq!(stage.sim.processes(), []);
    }
}

#[test]
fn s11_neither_a_second_stop_nor_anything_else_gives_a_start_more_time_or_less() {
    let stage = Stage::new();
    stage.plan("a", &[Start::Never]);
    let a = stage.child("a").shutdown(3 * SECOND);
    let supervisor = stage.sim.spawn(|| Supervisor::one_for_one().child(a)).start().unwrap();
    // A request sets no limit.
    let asked = stage.sim.spawn({
        let supervisor = supervisor.clone();
        move || {
            behavior_fn(move |_: Context<()>| async move {
                supervisor.count_children().await.map(drop).map_err(Reason::from)
            })
        }
    });
    asked.start().unwrap();
    stage.pass(10 * SECOND);
    assert_eq!(stage.log(), "hang a");
    let end = supervisor.watch();
    let stops = [0, 2].map(|later| {
        stage.pass(later * SECOND);
        ask_to_stop(&supervisor)
    });
    end.wait().unwrap();
    assert_eq!(stage.sim.now().as_nanos(), 13_000_000_000);
    drop(stops);
}

#[test]
fn s3_a_supervisor_that_is_to_finish_ends_its_children_in_order() {
    let stage = Stage::new();
    let (a, b) = (stage.child("a"), stage.child("b"));
    let supervisor = stage.supervisor(|| Supervisor::one_for_one().child(a).child(b));
    supervisor.finish();
    assert_eq!(supervisor.watch().wait().unwrap().reason, Reason::Normal);
    assert_eq!(stage.log(), "stop b, stop a");
    assert_eq!(stage.sim.processes(), []);
}

#[test]
fn s2_every_incarnation_of_a_child_is_spawned_as_it_is_specified() {
    let stage = Stage::new();
    stage.sim.add_dispatcher("io");
    let shared = stage.shared();
    let fixed = stage.child("fixed").dispatcher("io").class(Class::High).label("saga").mailbox(7);
    let dynamic = ChildTemplate::worker("dynamic", move |id: String| {
        Worker::new(&id, std::sync::Arc::clone(&shared), Habits::default())
    });
    let dynamic = dynamic.dispatcher("io").class(Class::High).label("saga").mailbox(7);
    let dynamic = dynamic.name("dynamic").init_timeout(SECOND);
    let one = stage.supervisor(|| Supervisor::one_for_one().intensity(9, SECOND).child(fixed));
    let many = stage.supervisor(|| Supervisor::simple_one_for_one(dynamic).intensity(9, SECOND));
    many.start_child("x".to_owned()).wait().unwrap();
    for name in ["fixed", "dynamic"] {
        for _ in 0..2 {
            let info = stage.sim.process_info(stage.pid(name)).unwrap();
            assert_eq!((info.dispatcher.as_str(), info.class), ("io", Class::High), "{name}");
            assert_eq!((info.behavior.to_string().as_str(), info.mailbox), ("saga", Some(7)));
            let parent = if name == "fixed" { one.pid() } else { many.pid() };
            assert_eq!((info.parent, info.links.as_slice()), (Some(parent), &[parent][..]));
            stage.crash(name);
        }
    }
    // A name has one process.
    let taken = many.start_child("y".to_owned()).wait().unwrap_err();
    assert!(taken.to_string().contains("name dynamic is taken by"), "{taken}");
    many.terminate_child(stage.pid("dynamic")).wait().unwrap();
    stage.plan("x", &[Start::Never]);
    let late = many.start_child("x".to_owned()).wait().unwrap_err();
    assert!(late.to_string().ends_with("init did not return within 1s"), "{late}");
}

#[test]
fn s8_get_childspec_returns_the_settings() {
    let stage = Stage::new();
    let inner = ChildSpec::supervisor("inner", Supervisor::one_for_one);
    let inner = inner.restart(RestartType::Transient).significant(true).name("other");
    let a = stage.child("a").shutdown(Shutdown::BrutalKill);
    let any = AutoShutdown::AnySignificant;
    let supervisor = stage
        .supervisor(move || Supervisor::one_for_one().auto_shutdown(any).child(inner).child(a));
    let spec = supervisor.get_childspec("inner").wait().unwrap();
    assert_eq!((spec.id.as_str(), spec.kind), ("inner", ChildKind::Supervisor));
    assert_eq!((spec.restart, spec.shutdown), (RestartType::Transient, Shutdown::Infinity));
    assert_eq!((spec.significant, spec.name.as_deref()), (true, Some("other")));
    assert_eq!((spec.behavior, spec.back_off, spec.in_place), ("Supervisor", None, false));
    let spec = supervisor.get_childspec("a").wait().unwrap();
    assert_eq!((spec.kind, spec.shutdown), (ChildKind::Worker, Shutdown::BrutalKill));
    let unnamed = ChildSpec::worker("b", stage.factory("b", Habits::default()));
    supervisor.start_child(unnamed).wait().unwrap();
    assert_eq!(supervisor.get_childspec("b").wait().unwrap().name, None);
}
