//! Restarts that wait, and restarts in place (rule S10).

use super::world::{Mail, StartOutcome, World, flags, permanent, temporary, transient};
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

fn abc(strategy: Strategy) -> World {
    let children = [permanent("a"), patient(transient("b")), permanent("c")];
    World::running(flags(strategy), &children)
}

#[test]
fn s10_the_other_children_run_while_a_restart_waits() {
    let mut world = abc(Strategy::OneForOne);
    world.crashes("b");
    world.serve();
    assert_eq!(world.log(), "b waits 2");
    assert_eq!(world.kids(), "a#1 b:restarting c#3");
    world.crashes("a");
    world.serve();
    assert_eq!(world.log(), "start a");
    world.pass(2 * SECOND);
    world.serve();
    assert_eq!(world.log(), "start b");
}

#[test]
fn s10_a_failed_restart_waits_longer() {
    let mut world = abc(Strategy::OneForOne);
    world.outcomes("b", &[StartOutcome::Fail; 3]);
    world.crashes("b");
    for _ in 0..4 {
        world.serve();
        world.pass(8 * SECOND);
    }
    world.serve();
    let log = world.log();
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
        let mut world = World::running(flags(Strategy::OneForOne), std::slice::from_ref(&child));
        world.random = random;
        world.crashes("a");
        world.serve();
        assert_eq!(world.log(), waits);
    }
}

#[test]
fn s10_a_group_is_stopped_and_waits_together() {
    let mut world = abc(Strategy::OneForAll);
    world.crashes("b");
    world.serve();
    assert_eq!(world.log(), "stop c, stop a, b waits 2");
    assert_eq!(world.kids(), "a:undefined b:restarting c:undefined");
    world.pass(2 * SECOND);
    world.serve();
    assert_eq!(world.log(), "start a, start b, start c");
    let mut world = abc(Strategy::RestForOne);
    world.crashes("b");
    world.serve();
    world.pass(2 * SECOND);
    world.serve();
    assert_eq!(world.log(), "stop c, b waits 2, start b, start c");
}

#[test]
fn s10_a_restart_that_waits_counts_when_it_is_made() {
    let flags = SupervisorFlags { intensity: 0, ..SupervisorFlags::new(Strategy::OneForOne) };
    let mut world = World::running(flags, &[patient(permanent("a")), permanent("b")]);
    world.crashes("a");
    world.serve();
    assert_eq!((world.plan.restarts(), world.ended.is_none()), (0, true));
    world.pass(2 * SECOND);
    world.serve();
    assert_eq!(world.log(), "a waits 2, stop b, end shutdown");
    assert_eq!(world.ending(), Some(&SupervisorEnd::RestartIntensity("a".into())));
}

#[test]
fn s10_requests_about_a_child_that_waits_are_those_about_a_restarting_one() {
    let mut world = abc(Strategy::OneForOne);
    world.crashes("b");
    world.serve();
    let id = || "b".into();
    let error = Err(RestartChildError::Restarting { id: id() });
    assert_eq!(world.request(ChildRequest::Restart(id())), RequestOutcome::Restart(error));
    let error = Err(DeleteChildError::Restarting { id: id() });
    assert_eq!(world.request(ChildRequest::Delete(id())), RequestOutcome::Delete(error));
    let error = Err(StartChildError::AlreadyPresent { id: id() });
    assert_eq!(
        world.request(ChildRequest::Start(permanent("b"), ())),
        RequestOutcome::Start(error)
    );
    assert_eq!(world.request(ChildRequest::Terminate(id())), RequestOutcome::Terminate(Ok(())));
    world.log();
    world.pass(9 * SECOND);
    world.serve();
    assert_eq!((world.log().as_str(), world.kids().as_str()), ("", "a#1 b:undefined c#3"));
}

#[test]
fn s10_an_earlier_wait_does_not_shorten_a_later_one() {
    let mut world = abc(Strategy::OneForOne);
    world.crashes("b");
    world.serve();
    world.pass(SECOND);
    world.request(ChildRequest::Terminate("b".into()));
    world.request(ChildRequest::Restart("b".into()));
    world.pass(SECOND / 2);
    // Its message is in the lane when the second wait begins.
    world.crashes("b");
    let key = world.plan.children().by_id(&"b".into()).unwrap();
    world.lane.push_back(Mail::TryAgain(key));
    world.log();
    world.serve();
    assert_eq!(world.log(), "b waits 4");
    world.pass(3 * SECOND);
    world.serve();
    assert_eq!(world.log(), "");
    world.pass(SECOND);
    world.serve();
    assert_eq!(world.log(), "start b");
}

#[test]
fn s10_a_stop_ends_a_supervisor_whose_child_waits() {
    let mut world = abc(Strategy::OneForOne);
    world.crashes("b");
    world.serve();
    world.lane.push_back(Mail::Stop(Reason::Shutdown));
    world.serve();
    assert_eq!(world.log(), "b waits 2, stop c, stop a, end shutdown");
}

#[test]
fn s10_a_restart_in_place_is_counted_like_any_restart() {
    let flags = SupervisorFlags { intensity: 1, ..SupervisorFlags::new(Strategy::OneForOne) };
    let mut world = World::running(flags, &[permanent("a"), permanent("b")]);
    let pid = world.pid("a");
    assert!(world.state_fails(pid));
    world.serve();
    assert_eq!((world.log().as_str(), world.kids().as_str()), ("", "a#1 b#2"));
    assert_eq!(world.plan.restarts(), 1);
    let key = world.alive[&pid];
    assert_eq!(world.plan.children().get(key).unwrap().restarts, 1);
    assert!(!world.state_fails(pid), "no room in the window");
    assert_eq!(world.plan.restarts(), 1, "what was refused is no restart");
    assert_eq!(world.plan.children().get(key).unwrap().restarts, 1);
    world.serve();
    assert_eq!(world.log(), "stop b, end shutdown");
    assert_eq!(world.ending(), Some(&SupervisorEnd::RestartIntensity("a".into())));
}

#[test]
fn s10_restarts_leave_the_window_with_time() {
    let mut world = World::running(SupervisorFlags::new(Strategy::OneForOne), &[permanent("a")]);
    let pid = world.pid("a");
    for _ in 0..9 {
        assert!(world.state_fails(pid));
        world.pass(5 * SECOND + Duration::from_nanos(1));
    }
}

#[test]
fn s10_a_temporary_child_is_not_restarted_in_place() {
    let mut world = World::running(flags(Strategy::OneForOne), &[temporary("a"), transient("b")]);
    assert!(world.state_fails(world.pid("b")));
    assert!(!world.state_fails(world.pid("a")));
    world.serve();
    assert_eq!((world.log().as_str(), world.kids().as_str()), ("", "b#2"));
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
fn s10_who_waits_for_its_restart_has_ended_and_does_not_end_once_more() {
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
