//! Restarts that wait, and restarts in place (rule S10).

use super::model::{Mail, PlanModel, StartOutcome, flags, permanent, temporary, transient};
use crate::action::{Action, ChildRequest, EventTime, PlanEvent, RequestOutcome, SupervisorEnd};
use crate::back_off::BackOff;
use crate::children::ChildKey;
use crate::error::{DeleteChildError, RestartChildError, StartChildError};
use crate::plan::Plan;
use crate::spec::{ChildRules, Strategy, SupervisorFlags};
use krarup_gen::{Pid, Reason, Timestamp};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn patient(rules: ChildRules) -> ChildRules {
    ChildRules { back_off: Some(BackOff::new(2 * SECOND, 8 * SECOND)), ..rules }
}

fn abc(strategy: Strategy) -> PlanModel {
    let children = [permanent("a"), patient(transient("b")), permanent("c")];
    PlanModel::running(flags(strategy), &children)
}

#[test]
fn s10_the_other_children_run_while_a_restart_waits() {
    let mut model = abc(Strategy::OneForOne);
    model.crashes("b");
    model.serve();
    assert_eq!(model.log(), "b waits 2");
    assert_eq!(model.children_text(), "a#1 b:restarting c#3");
    model.crashes("a");
    model.serve();
    assert_eq!(model.log(), "start a");
    model.pass(2 * SECOND);
    model.serve();
    assert_eq!(model.log(), "start b");
}

#[test]
fn s10_a_failed_restart_waits_longer() {
    let mut model = abc(Strategy::OneForOne);
    model.outcomes("b", &[StartOutcome::Fail; 3]);
    model.crashes("b");
    for _ in 0..4 {
        model.serve();
        model.pass(8 * SECOND);
    }
    model.serve();
    let log = model.log();
    assert_eq!(
        log,
        "b waits 2, b fails, b waits 4, b fails, b waits 8, b fails, b waits 8, start b"
    );
}

#[test]
fn s10_chance_shortens_a_wait_by_its_part() {
    let back_off = Some(BackOff::new(2 * SECOND, 8 * SECOND).jitter(0.5));
    let child = ChildRules { back_off, ..permanent("a") };
    for (random, waits) in [(0, "a waits 2"), (1 << 63, "a waits 1.5"), (1 << 62, "a waits 1.75")] {
        let mut model =
            PlanModel::running(flags(Strategy::OneForOne), std::slice::from_ref(&child));
        model.random = random;
        model.crashes("a");
        model.serve();
        assert_eq!(model.log(), waits);
    }
}

#[test]
fn s10_a_group_is_stopped_and_waits_together() {
    let mut model = abc(Strategy::OneForAll);
    model.crashes("b");
    model.serve();
    assert_eq!(model.log(), "stop c, stop a, b waits 2");
    assert_eq!(model.children_text(), "a:undefined b:restarting c:undefined");
    model.pass(2 * SECOND);
    model.serve();
    assert_eq!(model.log(), "start a, start b, start c");
    let mut model = abc(Strategy::RestForOne);
    model.crashes("b");
    model.serve();
    model.pass(2 * SECOND);
    model.serve();
    assert_eq!(model.log(), "stop c, b waits 2, start b, start c");
}

#[test]
fn s10_a_restart_that_waits_counts_when_it_is_made() {
    let flags = SupervisorFlags { intensity: 0, ..SupervisorFlags::new(Strategy::OneForOne) };
    let mut model = PlanModel::running(flags, &[patient(permanent("a")), permanent("b")]);
    model.crashes("a");
    model.serve();
    assert_eq!((model.plan.restarts(), model.ended.is_none()), (0, true));
    model.pass(2 * SECOND);
    model.serve();
    assert_eq!(model.log(), "a waits 2, stop b, end shutdown");
    assert_eq!(model.ending(), Some(&SupervisorEnd::RestartIntensity("a".into())));
}

#[test]
fn s10_requests_treat_a_child_that_waits_as_restarting() {
    let mut model = abc(Strategy::OneForOne);
    model.crashes("b");
    model.serve();
    let id = || "b".into();
    let error = Err(RestartChildError::Restarting { id: id() });
    assert_eq!(model.request(ChildRequest::Restart(id())), RequestOutcome::Restart(error));
    let error = Err(DeleteChildError::Restarting { id: id() });
    assert_eq!(model.request(ChildRequest::Delete(id())), RequestOutcome::Delete(error));
    let error = Err(StartChildError::AlreadyPresent { id: id() });
    assert_eq!(
        model.request(ChildRequest::Start(permanent("b"), ())),
        RequestOutcome::Start(error)
    );
    assert_eq!(model.request(ChildRequest::Terminate(id())), RequestOutcome::Terminate(Ok(())));
    model.log();
    model.pass(9 * SECOND);
    model.serve();
    assert_eq!((model.log().as_str(), model.children_text().as_str()), ("", "a#1 b:undefined c#3"));
}

#[test]
fn s10_an_earlier_wait_does_not_shorten_a_later_one() {
    let mut model = abc(Strategy::OneForOne);
    model.crashes("b");
    model.serve();
    model.pass(SECOND);
    model.request(ChildRequest::Terminate("b".into()));
    model.request(ChildRequest::Restart("b".into()));
    model.pass(SECOND / 2);
    // Its message is in the lane when the second wait begins.
    model.crashes("b");
    let key = model.plan.children().by_id(&"b".into()).unwrap();
    model.lane.push_back(Mail::TryAgain(key));
    model.log();
    model.serve();
    assert_eq!(model.log(), "b waits 4");
    model.pass(3 * SECOND);
    model.serve();
    assert_eq!(model.log(), "");
    model.pass(SECOND);
    model.serve();
    assert_eq!(model.log(), "start b");
}

#[test]
fn s10_a_stop_ends_a_supervisor_whose_child_waits() {
    let mut model = abc(Strategy::OneForOne);
    model.crashes("b");
    model.serve();
    model.lane.push_back(Mail::Stop(Reason::Shutdown));
    model.serve();
    assert_eq!(model.log(), "b waits 2, stop c, stop a, end shutdown");
}

#[test]
fn s10_a_restart_in_place_is_counted_like_any_restart() {
    let flags = SupervisorFlags { intensity: 1, ..SupervisorFlags::new(Strategy::OneForOne) };
    let mut model = PlanModel::running(flags, &[permanent("a"), permanent("b")]);
    let pid = model.pid("a");
    assert!(model.state_fails(pid));
    model.serve();
    assert_eq!((model.log().as_str(), model.children_text().as_str()), ("", "a#1 b#2"));
    assert_eq!(model.plan.restarts(), 1);
    let key = model.alive[&pid];
    assert_eq!(model.plan.children().get(key).unwrap().restarts, 1);
    assert!(!model.state_fails(pid), "no room in the window");
    assert_eq!(model.plan.restarts(), 1, "a refused restart is not counted");
    assert_eq!(model.plan.children().get(key).unwrap().restarts, 1);
    model.serve();
    assert_eq!(model.log(), "stop b, end shutdown");
    assert_eq!(model.ending(), Some(&SupervisorEnd::RestartIntensity("a".into())));
}

#[test]
fn s10_restarts_leave_the_window_with_time() {
    let mut model =
        PlanModel::running(SupervisorFlags::new(Strategy::OneForOne), &[permanent("a")]);
    let pid = model.pid("a");
    for _ in 0..9 {
        assert!(model.state_fails(pid));
        model.pass(5 * SECOND + Duration::from_nanos(1));
    }
}

#[test]
fn s10_a_temporary_child_is_not_restarted_in_place() {
    let mut model =
        PlanModel::running(flags(Strategy::OneForOne), &[temporary("a"), transient("b")]);
    assert!(model.state_fails(model.pid("b")));
    assert!(!model.state_fails(model.pid("a")));
    model.serve();
    assert_eq!((model.log().as_str(), model.children_text().as_str()), ("", "b#2"));
}

/// A plan with two running children, and their keys.
fn ab() -> (Plan<()>, ChildKey, ChildKey) {
    let mut plan = Plan::new(flags(Strategy::OneForOne));
    plan.add(permanent("a"), ());
    plan.add(permanent("b"), ());
    let mut keys = Vec::new();
    let mut next = plan.step(PlanEvent::Begin, now());
    while let Some(Action::Start(key)) = next {
        keys.push(key);
        next = plan.step(PlanEvent::Started(Pid::local(keys.len() as u64, 0)), now());
    }
    (plan, keys[0], keys[1])
}

fn now() -> EventTime {
    EventTime { now: Timestamp::ZERO, random: 0 }
}

#[test]
fn s10_a_child_that_is_being_stopped_is_not_restarted_in_place_and_others_are() {
    let (mut plan, a, b) = ab();
    let action = plan.step(PlanEvent::Request(ChildRequest::Terminate("a".into())), now());
    assert!(matches!(action, Some(Action::Stop { key, .. }) if key == a));
    assert!(!plan.may_restart_in_place(a, Timestamp::ZERO));
    assert!(plan.may_restart_in_place(b, Timestamp::ZERO));
    plan.step(PlanEvent::Stopped, now());
    plan.step(PlanEvent::Stop(Reason::Shutdown), now());
    assert!(!plan.may_restart_in_place(b, Timestamp::ZERO), "the supervisor ends");
}

#[test]
fn s10_a_child_is_restarted_in_place_while_another_starts() {
    let (mut plan, a, _) = ab();
    let started = plan.step(PlanEvent::Request(ChildRequest::Start(permanent("c"), ())), now());
    assert!(matches!(started, Some(Action::Start(_))));
    assert!(plan.may_restart_in_place(a, Timestamp::ZERO));
    assert!(matches!(plan.step(PlanEvent::Ignored, now()), Some(Action::Reply(_))));
}

#[test]
fn s10_a_child_that_waits_for_its_restart_does_not_end_again() {
    let mut plan = Plan::new(flags(Strategy::OneForOne));
    plan.add(patient(permanent("a")), ());
    let Some(Action::Start(a)) = plan.step(PlanEvent::Begin, now()) else { panic!("no start") };
    let pid = Pid::local(1, 0);
    plan.step(PlanEvent::Started(pid), now());
    let exited = || PlanEvent::Exited { pid, reason: Reason::Killed };
    let waits = plan.step(exited(), now());
    assert!(matches!(waits, Some(Action::TryAgain { key, wait: Some(_) }) if key == a));
    assert!(plan.step(exited(), now()).is_none());
    assert_eq!(plan.restarts(), 0);
}
