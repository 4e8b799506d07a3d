//! Requests to a supervisor, and ends that are not its children's, rule by rule.

use super::model::{
    Mail, PlanModel, StartOutcome, child, flags, permanent, significant, temporary, transient,
};
use crate::action::{ChildRequest, RequestOutcome};
use crate::error::{
    DeleteChildError, RestartChildError, SpecError, StartChildError, TerminateChildError,
};
use crate::spec::{RestartType, Strategy};
use krarup_gen::{Pid, Reason};

fn abc(strategy: Strategy) -> PlanModel {
    PlanModel::running(flags(strategy), &[permanent("a"), permanent("b"), permanent("c")])
}

fn simple(restart: RestartType, count: usize) -> PlanModel {
    let mut model = PlanModel::running(flags(Strategy::SimpleOneForOne), &[]);
    for _ in 0..count {
        model.request(ChildRequest::Start(child("d", restart), ()));
    }
    model.log();
    model
}

fn start(id: &str) -> ChildRequest<()> {
    ChildRequest::Start(permanent(id), ())
}

// -- S8: requests

#[test]
fn s8_start_child_adds_the_last_child() {
    let mut model = abc(Strategy::RestForOne);
    assert_eq!(model.request(start("d")), RequestOutcome::Start(Ok(Some(model.pid("d")))));
    model.lane.push_back(Mail::Stop(Reason::Shutdown));
    model.serve();
    assert_eq!(model.log(), "start d, stop d, stop c, stop b, stop a, end shutdown");
}

#[test]
fn s8_start_child_refuses_a_known_id() {
    let mut model = abc(Strategy::OneForOne);
    let (id, pid) = ("a".into(), model.pid("a"));
    let error = StartChildError::AlreadyStarted { id, pid };
    assert_eq!(model.request(start("a")), RequestOutcome::Start(Err(error)));
    model.request(ChildRequest::Terminate("a".into()));
    let error = StartChildError::AlreadyPresent { id: "a".into() };
    assert_eq!(model.request(start("a")), RequestOutcome::Start(Err(error)));
}

#[test]
fn s8_start_child_checks_the_spec_first() {
    let mut model = abc(Strategy::OneForOne);
    let bad = SpecError::SignificantWithoutAutoShutdown { id: "a".into() };
    let request = ChildRequest::Start(significant(transient("a")), ());
    let answer = RequestOutcome::Start(Err(StartChildError::BadSpec(bad)));
    assert_eq!(model.request(request), answer);
}

#[test]
fn s8_a_failed_start_child_leaves_no_spec_and_a_failed_restart_child_keeps_it() {
    let mut model = abc(Strategy::OneForOne);
    model.outcomes("d", &[StartOutcome::Fail]);
    let (id, reason) = ("d".into(), Reason::error("no"));
    let error = StartChildError::Failed { id, reason };
    assert_eq!(model.request(start("d")), RequestOutcome::Start(Err(error)));
    assert_eq!(model.children_text(), "a#1 b#2 c#3");

    model.request(ChildRequest::Terminate("a".into()));
    model.outcomes("a", &[StartOutcome::Fail]);
    let (id, reason) = ("a".into(), Reason::error("no"));
    let error = RestartChildError::Failed { id, reason };
    assert_eq!(
        model.request(ChildRequest::Restart("a".into())),
        RequestOutcome::Restart(Err(error))
    );
    assert_eq!(model.children_text(), "a:undefined b#2 c#3");
    assert!(model.lane.is_empty() || model.plan.restarts() == 0, "it is not tried again");
}

#[test]
fn s8_start_child_that_is_ignored_keeps_the_spec_unless_temporary() {
    let mut model = PlanModel::running(flags(Strategy::OneForOne), &[]);
    model.outcomes("a", &[StartOutcome::Ignore]);
    model.outcomes("b", &[StartOutcome::Ignore]);
    assert_eq!(model.request(start("a")), RequestOutcome::Start(Ok(None)));
    assert_eq!(
        model.request(ChildRequest::Start(temporary("b"), ())),
        RequestOutcome::Start(Ok(None))
    );
    assert_eq!(model.children_text(), "a:undefined");
}

#[test]
fn s8_terminate_child_keeps_the_spec_unless_temporary() {
    let mut model =
        PlanModel::running(flags(Strategy::OneForAll), &[permanent("a"), temporary("b")]);
    for _ in 0..2 {
        let answer = model.request(ChildRequest::Terminate("a".into()));
        assert_eq!(answer, RequestOutcome::Terminate(Ok(())));
    }
    assert_eq!(
        model.request(ChildRequest::Terminate("b".into())),
        RequestOutcome::Terminate(Ok(()))
    );
    assert_eq!(
        (model.log().as_str(), model.children_text().as_str()),
        ("stop a, stop b", "a:undefined")
    );
    let error = TerminateChildError::NotFound { child: "\"b\"".into() };
    assert_eq!(
        model.request(ChildRequest::Terminate("b".into())),
        RequestOutcome::Terminate(Err(error))
    );
}

#[test]
fn s8_restart_child_and_delete_child_need_a_child_without_a_process() {
    let mut model = abc(Strategy::OneForOne);
    let (id, pid) = (|| "a".into(), model.pid("a"));
    let error = RestartChildError::Running { id: id(), pid };
    assert_eq!(model.request(ChildRequest::Restart(id())), RequestOutcome::Restart(Err(error)));
    let error = DeleteChildError::Running { id: id(), pid };
    assert_eq!(model.request(ChildRequest::Delete(id())), RequestOutcome::Delete(Err(error)));

    model.outcomes("a", &[StartOutcome::Fail]);
    model.crashes("a");
    model.lane.push_back(Mail::Request(ChildRequest::Restart(id())));
    model.lane.push_back(Mail::Request(ChildRequest::Delete(id())));
    model.serve();
    let restarting = [
        RequestOutcome::Restart(Err(RestartChildError::Restarting { id: id() })),
        RequestOutcome::Delete(Err(DeleteChildError::Restarting { id: id() })),
    ];
    assert_eq!(std::mem::take(&mut model.answers), restarting);

    model.request(ChildRequest::Terminate(id()));
    assert_eq!(model.request(ChildRequest::Delete(id())), RequestOutcome::Delete(Ok(())));
    assert_eq!(model.children_text(), "b#2 c#3");
    let error = RestartChildError::NotFound { id: id() };
    assert_eq!(model.request(ChildRequest::Restart(id())), RequestOutcome::Restart(Err(error)));
    let error = DeleteChildError::NotFound { id: id() };
    assert_eq!(model.request(ChildRequest::Delete(id())), RequestOutcome::Delete(Err(error)));
}

/// In a group its process is removed before it is started again.
#[test]
fn s8_a_member_of_a_group_that_fails_to_start_again_is_restarting_too() {
    for strategy in [Strategy::OneForOne, Strategy::OneForAll, Strategy::RestForOne] {
        let mut model = abc(strategy);
        model.outcomes("a", &[StartOutcome::Fail]);
        model.crashes("a");
        let id = || "a".into();
        for request in [ChildRequest::Restart(id()), ChildRequest::Delete(id()), start("a")] {
            model.lane.push_back(Mail::Request(request));
        }
        model.serve();
        let refused = [
            RequestOutcome::Restart(Err(RestartChildError::Restarting { id: id() })),
            RequestOutcome::Delete(Err(DeleteChildError::Restarting { id: id() })),
            RequestOutcome::Start(Err(StartChildError::AlreadyPresent { id: id() })),
        ];
        assert_eq!(model.answers, refused, "{strategy}");
        assert!(model.children_text().starts_with("a#"), "and it is tried again behind them");
    }
}

#[test]
fn s8_a_dynamic_child_is_terminated_by_pid_only() {
    let mut model = simple(RestartType::Transient, 2);
    let id = "d".into();
    let answer =
        RequestOutcome::Terminate(Err(TerminateChildError::SimpleOneForOne { id: "d".into() }));
    assert_eq!(model.request(ChildRequest::Terminate(id)), answer);
    let answer =
        RequestOutcome::Restart(Err(RestartChildError::SimpleOneForOne { id: "d".into() }));
    assert_eq!(model.request(ChildRequest::Restart("d".into())), answer);
    let answer = RequestOutcome::Delete(Err(DeleteChildError::SimpleOneForOne { id: "d".into() }));
    assert_eq!(model.request(ChildRequest::Delete("d".into())), answer);

    let first = Pid::local(1, 0);
    for alive in [true, false] {
        let answer = model.request(ChildRequest::TerminatePid { pid: first, alive });
        assert_eq!(answer, RequestOutcome::Terminate(Ok(())));
    }
    assert_eq!((model.log().as_str(), model.children_text().as_str()), ("stop d", "d#2"));
    let stranger = ChildRequest::TerminatePid { pid: Pid::local(9, 0), alive: true };
    let error = TerminateChildError::NotFound { child: "<0.9.0>".into() };
    assert_eq!(model.request(stranger), RequestOutcome::Terminate(Err(error)));
}

#[test]
fn s8_a_dynamic_child_without_a_process_is_removed() {
    let mut model = simple(RestartType::Transient, 2);
    model.dies("d", Reason::Normal);
    model.outcomes("d", &[StartOutcome::Ignore, StartOutcome::Fail, StartOutcome::Ignore]);
    assert_eq!(
        model.request(ChildRequest::Start(transient("d"), ())),
        RequestOutcome::Start(Ok(None)),
        "ignored by start_child"
    );
    model.request(ChildRequest::Start(transient("d"), ()));
    assert_eq!(model.children_text(), "d#1");
    model.crashes("d");
    model.serve();
    assert_eq!((model.children_text().as_str(), model.ended), ("", None), "ignored in a restart");
}

#[test]
fn s6_a_dynamic_child_that_is_restarting_is_cancelled_by_its_last_pid() {
    let mut model = simple(RestartType::Permanent, 2);
    model.outcomes("d", &[StartOutcome::Fail, StartOutcome::Fail]);
    let pid = model.crashes("d");
    model.serve_one();
    model.serve_one();
    assert_eq!(model.children_text(), "d#1 d:restarting");
    model.lane.push_front(Mail::Request(ChildRequest::TerminatePid { pid, alive: false }));
    model.serve();
    assert_eq!((model.log().as_str(), model.children_text().as_str()), ("d fails, d fails", "d#1"));
    assert_eq!(model.answers, [RequestOutcome::Terminate(Ok(()))]);
}

#[test]
fn s8_a_temporary_dynamic_child_does_not_keep_its_arguments() {
    for (restart, kept) in [(RestartType::Temporary, false), (RestartType::Transient, true)] {
        let model = simple(restart, 1);
        let (_, child) = model.plan.children().iter().next().unwrap();
        assert_eq!(child.start.is_some(), kept);
    }
}

// -- S9: stale and strange exits

#[test]
fn s9_an_end_requested_by_the_supervisor_causes_no_restart() {
    let mut model = abc(Strategy::OneForOne);
    model.request(ChildRequest::Terminate("a".into()));
    model.serve();
    assert_eq!((model.log().as_str(), model.plan.restarts()), ("stop a", 0));
}

#[test]
fn s9_a_child_that_died_and_was_then_terminated_is_not_restarted() {
    let mut model = abc(Strategy::RestForOne);
    model.crashes("a");
    model.crashes("c");
    model.serve();
    assert_eq!(model.log(), "stop c, stop b, start a, start b, start c");
    assert_eq!(model.plan.restarts(), 1, "the death of c was noticed when it was stopped");
}

#[test]
fn s9_exits_of_unknown_processes_and_of_earlier_incarnations_are_ignored() {
    let mut model = abc(Strategy::OneForAll);
    let old = model.crashes("a");
    model.serve();
    model.log();
    for pid in [old, Pid::local(99, 0)] {
        model.lane.push_back(Mail::Exit(pid, Reason::error("boom")));
    }
    model.serve();
    assert_eq!((model.log().as_str(), model.plan.restarts()), ("", 1));
}
