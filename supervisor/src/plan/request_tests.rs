//! Requests to a supervisor, and ends that are not its children's, rule by rule.

use super::world::{
    Mail, StartOutcome, World, child, flags, permanent, significant, temporary, transient,
};
use crate::action::{ChildRequest, RequestOutcome};
use crate::error::{
    DeleteChildError, RestartChildError, SpecError, StartChildError, TerminateChildError,
};
use crate::spec::{RestartType, Strategy};
use krarup_gen::{Pid, Reason};

fn abc(strategy: Strategy) -> World {
    World::running(flags(strategy), &[permanent("a"), permanent("b"), permanent("c")])
}

fn simple(restart: RestartType, count: usize) -> World {
    let mut world = World::running(flags(Strategy::SimpleOneForOne), &[]);
    for _ in 0..count {
        world.request(ChildRequest::Start(child("d", restart), ()));
    }
    world.log();
    world
}

fn start(id: &str) -> ChildRequest<()> {
    ChildRequest::Start(permanent(id), ())
}

// -- S8: requests

#[test]
fn s8_start_child_adds_the_last_child() {
    let mut world = abc(Strategy::RestForOne);
    assert_eq!(world.request(start("d")), RequestOutcome::Start(Ok(Some(world.pid("d")))));
    world.lane.push_back(Mail::Stop(Reason::Shutdown));
    world.serve();
    assert_eq!(world.log(), "start d, stop d, stop c, stop b, stop a, end shutdown");
}

#[test]
fn s8_start_child_refuses_a_known_id() {
    let mut world = abc(Strategy::OneForOne);
    let (id, pid) = ("a".into(), world.pid("a"));
    let error = StartChildError::AlreadyStarted { id, pid };
    assert_eq!(world.request(start("a")), RequestOutcome::Start(Err(error)));
    world.request(ChildRequest::Terminate("a".into()));
    let error = StartChildError::AlreadyPresent { id: "a".into() };
    assert_eq!(world.request(start("a")), RequestOutcome::Start(Err(error)));
}

#[test]
fn s8_start_child_checks_the_spec_first() {
    let mut world = abc(Strategy::OneForOne);
    let bad = SpecError::SignificantWithoutAutoShutdown { id: "a".into() };
    let request = ChildRequest::Start(significant(transient("a")), ());
    let answer = RequestOutcome::Start(Err(StartChildError::BadSpec(bad)));
    assert_eq!(world.request(request), answer);
}

#[test]
fn s8_a_failed_start_child_leaves_no_spec_and_a_failed_restart_child_keeps_it() {
    let mut world = abc(Strategy::OneForOne);
    world.outcomes("d", &[StartOutcome::Fail]);
    let (id, reason) = ("d".into(), Reason::error("no"));
    let error = StartChildError::Failed { id, reason };
    assert_eq!(world.request(start("d")), RequestOutcome::Start(Err(error)));
    assert_eq!(world.kids(), "a#1 b#2 c#3");

    world.request(ChildRequest::Terminate("a".into()));
    world.outcomes("a", &[StartOutcome::Fail]);
    let (id, reason) = ("a".into(), Reason::error("no"));
    let error = RestartChildError::Failed { id, reason };
    assert_eq!(
        world.request(ChildRequest::Restart("a".into())),
        RequestOutcome::Restart(Err(error))
    );
    assert_eq!(world.kids(), "a:undefined b#2 c#3");
    assert!(world.lane.is_empty() || world.plan.restarts() == 0, "it is not tried again");
}

#[test]
fn s8_start_child_that_is_ignored_keeps_the_spec_unless_temporary() {
    let mut world = World::running(flags(Strategy::OneForOne), &[]);
    world.outcomes("a", &[StartOutcome::Ignore]);
    world.outcomes("b", &[StartOutcome::Ignore]);
    assert_eq!(world.request(start("a")), RequestOutcome::Start(Ok(None)));
    assert_eq!(
        world.request(ChildRequest::Start(temporary("b"), ())),
        RequestOutcome::Start(Ok(None))
    );
    assert_eq!(world.kids(), "a:undefined");
}

#[test]
fn s8_terminate_child_keeps_the_spec_unless_temporary() {
    let mut world = World::running(flags(Strategy::OneForAll), &[permanent("a"), temporary("b")]);
    for _ in 0..2 {
        let answer = world.request(ChildRequest::Terminate("a".into()));
        assert_eq!(answer, RequestOutcome::Terminate(Ok(())));
    }
    assert_eq!(
        world.request(ChildRequest::Terminate("b".into())),
        RequestOutcome::Terminate(Ok(()))
    );
    assert_eq!((world.log().as_str(), world.kids().as_str()), ("stop a, stop b", "a:undefined"));
    let error = TerminateChildError::NotFound { child: "\"b\"".into() };
    assert_eq!(
        world.request(ChildRequest::Terminate("b".into())),
        RequestOutcome::Terminate(Err(error))
    );
}

#[test]
fn s8_restart_child_and_delete_child_need_a_child_without_a_process() {
    let mut world = abc(Strategy::OneForOne);
    let (id, pid) = (|| "a".into(), world.pid("a"));
    let error = RestartChildError::Running { id: id(), pid };
    assert_eq!(world.request(ChildRequest::Restart(id())), RequestOutcome::Restart(Err(error)));
    let error = DeleteChildError::Running { id: id(), pid };
    assert_eq!(world.request(ChildRequest::Delete(id())), RequestOutcome::Delete(Err(error)));

    world.outcomes("a", &[StartOutcome::Fail]);
    world.crashes("a");
    world.lane.push_back(Mail::Request(ChildRequest::Restart(id())));
    world.lane.push_back(Mail::Request(ChildRequest::Delete(id())));
    world.serve();
    let restarting = [
        RequestOutcome::Restart(Err(RestartChildError::Restarting { id: id() })),
        RequestOutcome::Delete(Err(DeleteChildError::Restarting { id: id() })),
    ];
    assert_eq!(std::mem::take(&mut world.answers), restarting);

    world.request(ChildRequest::Terminate(id()));
    assert_eq!(world.request(ChildRequest::Delete(id())), RequestOutcome::Delete(Ok(())));
    assert_eq!(world.kids(), "b#2 c#3");
    let error = RestartChildError::NotFound { id: id() };
    assert_eq!(world.request(ChildRequest::Restart(id())), RequestOutcome::Restart(Err(error)));
    let error = DeleteChildError::NotFound { id: id() };
    assert_eq!(world.request(ChildRequest::Delete(id())), RequestOutcome::Delete(Err(error)));
}

/// In a group its process is removed before it is started again.
#[test]
fn s8_a_member_of_a_group_that_fails_to_start_again_is_restarting_too() {
    for strategy in [Strategy::OneForOne, Strategy::OneForAll, Strategy::RestForOne] {
        let mut world = abc(strategy);
        world.outcomes("a", &[StartOutcome::Fail]);
        world.crashes("a");
        let id = || "a".into();
        for request in [ChildRequest::Restart(id()), ChildRequest::Delete(id()), start("a")] {
            world.lane.push_back(Mail::Request(request));
        }
        world.serve();
        let refused = [
            RequestOutcome::Restart(Err(RestartChildError::Restarting { id: id() })),
            RequestOutcome::Delete(Err(DeleteChildError::Restarting { id: id() })),
            RequestOutcome::Start(Err(StartChildError::AlreadyPresent { id: id() })),
        ];
        assert_eq!(world.answers, refused, "{strategy}");
        assert!(world.kids().starts_with("a#"), "and it is tried again behind them");
    }
}

#[test]
fn s8_a_dynamic_child_is_terminated_by_pid_only() {
    let mut world = simple(RestartType::Transient, 2);
    let id = "d".into();
    let answer =
        RequestOutcome::Terminate(Err(TerminateChildError::SimpleOneForOne { id: "d".into() }));
    assert_eq!(world.request(ChildRequest::Terminate(id)), answer);
    let answer =
        RequestOutcome::Restart(Err(RestartChildError::SimpleOneForOne { id: "d".into() }));
    assert_eq!(world.request(ChildRequest::Restart("d".into())), answer);
    let answer = RequestOutcome::Delete(Err(DeleteChildError::SimpleOneForOne { id: "d".into() }));
    assert_eq!(world.request(ChildRequest::Delete("d".into())), answer);

    let first = Pid::local(1, 0);
    for alive in [true, false] {
        let answer = world.request(ChildRequest::TerminatePid { pid: first, alive });
        assert_eq!(answer, RequestOutcome::Terminate(Ok(())));
    }
    assert_eq!((world.log().as_str(), world.kids().as_str()), ("stop d", "d#2"));
    let stranger = ChildRequest::TerminatePid { pid: Pid::local(9, 0), alive: true };
    let error = TerminateChildError::NotFound { child: "<0.9.0>".into() };
    assert_eq!(world.request(stranger), RequestOutcome::Terminate(Err(error)));
}

#[test]
fn s8_a_dynamic_child_without_a_process_is_removed() {
    let mut world = simple(RestartType::Transient, 2);
    world.dies("d", Reason::Normal);
    world.outcomes("d", &[StartOutcome::Ignore, StartOutcome::Fail, StartOutcome::Ignore]);
    assert_eq!(
        world.request(ChildRequest::Start(transient("d"), ())),
        RequestOutcome::Start(Ok(None)),
        "ignored by start_child"
    );
    world.request(ChildRequest::Start(transient("d"), ()));
    assert_eq!(world.kids(), "d#1");
    world.crashes("d");
    world.serve();
    assert_eq!((world.kids().as_str(), world.ended), ("", None), "ignored in a restart");
}

#[test]
fn s6_a_dynamic_child_that_is_restarting_is_cancelled_by_its_last_pid() {
    let mut world = simple(RestartType::Permanent, 2);
    world.outcomes("d", &[StartOutcome::Fail, StartOutcome::Fail]);
    let pid = world.crashes("d");
    world.serve_one();
    world.serve_one();
    assert_eq!(world.kids(), "d#1 d:restarting");
    world.lane.push_front(Mail::Request(ChildRequest::TerminatePid { pid, alive: false }));
    world.serve();
    assert_eq!((world.log().as_str(), world.kids().as_str()), ("d fails, d fails", "d#1"));
    assert_eq!(world.answers, [RequestOutcome::Terminate(Ok(()))]);
}

#[test]
fn s8_a_temporary_dynamic_child_does_not_keep_its_arguments() {
    for (restart, kept) in [(RestartType::Temporary, false), (RestartType::Transient, true)] {
        let world = simple(restart, 1);
        let (_, child) = world.plan.children().iter().next().unwrap();
        assert_eq!(child.start.is_some(), kept);
    }
}

// -- S9: stale and strange exits

#[test]
fn s9_an_end_requested_by_the_supervisor_causes_no_restart() {
    let mut world = abc(Strategy::OneForOne);
    world.request(ChildRequest::Terminate("a".into()));
    world.serve();
    assert_eq!((world.log().as_str(), world.plan.restarts()), ("stop a", 0));
}

#[test]
fn s9_a_child_that_died_and_was_then_terminated_is_not_restarted() {
    let mut world = abc(Strategy::RestForOne);
    world.crashes("a");
    world.crashes("c");
    world.serve();
    assert_eq!(world.log(), "stop c, stop b, start a, start b, start c");
    assert_eq!(world.plan.restarts(), 1, "the death of c was noticed when it was stopped");
}

#[test]
fn s9_exits_of_unknown_processes_and_of_earlier_incarnations_are_ignored() {
    let mut world = abc(Strategy::OneForAll);
    let old = world.crashes("a");
    world.serve();
    world.log();
    for pid in [old, Pid::local(99, 0)] {
        world.lane.push_back(Mail::Exit(pid, Reason::error("boom")));
    }
    world.serve();
    assert_eq!((world.log().as_str(), world.plan.restarts()), ("", 1));
}
