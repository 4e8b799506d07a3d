//! Starts, stops and restarts, rule by rule.

use super::model::{
    Mail, PlanModel, StartOutcome, child, flags, permanent, significant, temporary, transient,
    with_auto_shutdown,
};
use crate::action::{Action, ChildRequest, EventTime, PlanEvent, RequestOutcome, SupervisorEnd};
use crate::error::FailedToStartChild;
use crate::plan::Plan;
use crate::spec::{AutoShutdown, RestartType, Shutdown, Strategy, SupervisorFlags};
use krarup_gen::{Pid, Reason};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

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

// -- S2, S3: start and stop

#[test]
fn s2_children_start_in_order() {
    let mut model = PlanModel::new(
        flags(Strategy::OneForOne),
        &[permanent("a"), transient("b"), temporary("c")],
    );
    model.begin();
    assert_eq!(model.log(), "start a, start b, start c");
    assert_eq!(model.children_text(), "a#1 b#2 c#3");
}

#[test]
fn s2_a_failing_start_stops_those_already_started_in_reverse() {
    let children = [permanent("a"), temporary("b"), permanent("c"), permanent("d")];
    let mut model = PlanModel::new(flags(Strategy::OneForOne), &children);
    model.outcomes("c", &[StartOutcome::Fail]);
    model.begin();
    assert_eq!(
        model.log(),
        "start a, start b, c fails, stop b, stop a, \
         end shutdown: child \"c\" failed to start: no"
    );
    assert_eq!(model.ending(), Some(&SupervisorEnd::StartFailed("c".into())));
    let ended = model.ended.unwrap();
    assert!(!ended.is_abnormal());
    let detail = ended.downcast_ref::<FailedToStartChild>().unwrap();
    assert_eq!((detail.id.as_str(), &detail.reason), ("c", &Reason::error("no")));
}

#[test]
fn s2_ignore_leaves_the_slot_empty_and_drops_a_temporary_child() {
    let mut model = PlanModel::new(
        flags(Strategy::OneForOne),
        &[permanent("a"), temporary("b"), permanent("c")],
    );
    model.outcomes("a", &[StartOutcome::Ignore]);
    model.outcomes("b", &[StartOutcome::Ignore]);
    model.begin();
    assert_eq!(model.log(), "a ignores, b ignores, start c");
    assert_eq!(model.children_text(), "a:undefined c#1");
}

#[test]
fn s3_children_stop_in_reverse_start_order_and_then_the_supervisor_ends() {
    let brutal = crate::spec::ChildRules { shutdown: Some(Shutdown::BrutalKill), ..permanent("b") };
    let mut model =
        PlanModel::running(flags(Strategy::OneForOne), &[permanent("a"), brutal, permanent("c")]);
    model.lane.push_back(Mail::Stop(Reason::error("over")));
    model.serve();
    assert_eq!(model.log(), "stop c, kill b, stop a, end over");
    assert_eq!(model.ending(), Some(&SupervisorEnd::Told));
}

#[test]
fn s3_dynamic_children_are_stopped_together() {
    let mut model = simple(RestartType::Permanent, 3);
    model.lane.push_back(Mail::Stop(Reason::Shutdown));
    model.serve();
    assert_eq!(model.log(), "stop together 1 2 3, end shutdown");
}

// -- S1, S4: which children are restarted

#[test]
fn s1_one_for_one_restarts_the_one_in_its_place() {
    let mut model = abc(Strategy::OneForOne);
    model.crashes("b");
    model.serve();
    assert_eq!(model.log(), "start b");
    assert_eq!(model.children_text(), "a#1 b#4 c#3");
}

#[test]
fn s1_rest_for_one_restarts_it_and_those_after_it() {
    let mut model = abc(Strategy::RestForOne);
    model.crashes("b");
    model.serve();
    assert_eq!(model.log(), "stop c, start b, start c");
    assert_eq!(model.children_text(), "a#1 b#4 c#5");
}

#[test]
fn s1_one_for_all_restarts_all() {
    let mut model = abc(Strategy::OneForAll);
    model.crashes("b");
    model.serve();
    assert_eq!(model.log(), "stop c, stop a, start a, start b, start c");
}

#[test]
fn s1_a_group_restart_drops_temporary_members() {
    let children = [permanent("a"), temporary("b"), permanent("c"), temporary("d")];
    let mut model = PlanModel::running(flags(Strategy::RestForOne), &children);
    model.crashes("c");
    model.serve();
    assert_eq!(model.log(), "stop d, start c");
    assert_eq!(model.children_text(), "a#1 b#2 c#5");
}

#[test]
fn s4_only_abnormal_ends_restart_a_transient_child() {
    for reason in [Reason::Normal, Reason::Shutdown, Reason::shutdown("done")] {
        let mut model = PlanModel::running(flags(Strategy::OneForAll), &[transient("a")]);
        model.dies("a", reason);
        model.serve();
        assert_eq!((model.log().as_str(), model.children_text().as_str()), ("", "a:undefined"));
    }
    for reason in [Reason::error("boom"), Reason::Killed, Reason::Kill, Reason::NoProcess] {
        let mut model = PlanModel::running(flags(Strategy::OneForAll), &[transient("a")]);
        model.dies("a", reason);
        model.serve();
        assert_eq!(model.log(), "start a");
    }
}

#[test]
fn s4_a_permanent_child_is_restarted_for_every_reason() {
    for reason in [Reason::Normal, Reason::Shutdown, Reason::Killed, Reason::error("boom")] {
        let mut model = abc(Strategy::OneForOne);
        model.dies("a", reason);
        model.serve();
        assert_eq!(model.log(), "start a");
    }
}

#[test]
fn s4_a_temporary_child_is_never_restarted_and_its_spec_is_removed() {
    for reason in [Reason::Normal, Reason::error("boom")] {
        let mut model =
            PlanModel::running(flags(Strategy::OneForAll), &[temporary("a"), permanent("b")]);
        model.dies("a", reason);
        model.serve();
        assert_eq!((model.log().as_str(), model.children_text().as_str()), ("", "b#2"));
    }
}

// -- S5: intensity

#[test]
fn s5_the_restart_over_intensity_ends_the_supervisor() {
    for strategy in [Strategy::OneForOne, Strategy::OneForAll, Strategy::RestForOne] {
        let flags = SupervisorFlags { intensity: 0, ..SupervisorFlags::new(strategy) };
        let mut model =
            PlanModel::running(flags, &[permanent("a"), permanent("b"), permanent("c")]);
        model.crashes("b");
        model.serve();
        assert_eq!(model.log(), "stop c, stop a, end shutdown", "{strategy}");
        assert_eq!(model.ending(), Some(&SupervisorEnd::RestartIntensity("b".into())));
        assert!(matches!(model.ended, Some(Reason::Shutdown)));
    }
}

#[test]
fn s5_a_group_restart_counts_once() {
    let flags = SupervisorFlags { intensity: 1, ..SupervisorFlags::new(Strategy::OneForAll) };
    let mut model = PlanModel::running(flags, &[permanent("a"), permanent("b"), permanent("c")]);
    model.crashes("a");
    model.serve();
    assert_eq!((model.plan.restarts(), model.ended.is_none()), (1, true));
    model.crashes("c");
    model.serve();
    assert!(model.ended.is_some());
}

#[test]
fn s5_restarts_are_forgotten_once_they_are_older_than_the_period() {
    let mut model =
        PlanModel::running(SupervisorFlags::new(Strategy::OneForOne), &[permanent("a")]);
    for _ in 0..20 {
        model.crashes("a");
        model.serve();
        model.pass(Duration::from_millis(5001));
    }
    assert!(model.ended.is_none());
    assert_eq!(model.plan.restarts(), 20);
    model.pass(Duration::from_secs(60));
    model.crashes("a");
    model.serve();
    model.pass(Duration::from_secs(5));
    model.crashes("a");
    model.serve();
    assert!(model.ended.is_some(), "an entry exactly as old as the period counts");
}

#[test]
fn s5_ends_without_a_restart_and_requests_do_not_count() {
    let flags = SupervisorFlags { intensity: 0, ..SupervisorFlags::new(Strategy::OneForOne) };
    let mut model = PlanModel::running(flags, &[transient("a"), temporary("b"), permanent("c")]);
    model.dies("a", Reason::Normal);
    model.crashes("b");
    model.serve();
    model.request(ChildRequest::Restart("a".into()));
    model.request(ChildRequest::Terminate("c".into()));
    model.request(ChildRequest::Restart("c".into()));
    assert_eq!((model.plan.restarts(), model.ended.is_none()), (0, true));
}

// -- S6: failing restarts

#[test]
fn s6_a_failed_restart_is_tried_again_after_the_waiting_messages() {
    let mut model = abc(Strategy::OneForOne);
    model.outcomes("a", &[StartOutcome::Fail, StartOutcome::Fail]);
    model.crashes("a");
    model.crashes("b");
    model.serve_one();
    assert_eq!(
        (model.log().as_str(), model.children_text().as_str()),
        ("a fails", "a:restarting b#2 c#3")
    );
    model.serve_one();
    assert_eq!(model.log(), "start b");
    model.serve();
    assert_eq!(model.log(), "a fails, start a");
    assert_eq!(model.plan.restarts(), 4, "each try counts");
}

#[test]
fn s6_tries_end_at_the_intensity() {
    let flags = SupervisorFlags { intensity: 3, ..SupervisorFlags::new(Strategy::OneForOne) };
    let mut model = PlanModel::running(flags, &[permanent("a"), permanent("b")]);
    model.outcomes("a", &[StartOutcome::Fail; 9]);
    model.crashes("a");
    model.serve();
    assert_eq!(model.log(), "a fails, a fails, a fails, stop b, end shutdown");
}

#[test]
fn s6_terminate_child_cancels_the_retry() {
    let mut model = abc(Strategy::OneForOne);
    model.outcomes("a", &[StartOutcome::Fail]);
    model.crashes("a");
    model.lane.push_back(Mail::Request(ChildRequest::Terminate("a".into())));
    model.serve();
    assert_eq!(model.log(), "a fails");
    assert_eq!(model.answers, [RequestOutcome::Terminate(Ok(()))]);
    assert_eq!(model.children_text(), "a:undefined b#2 c#3");
}

#[test]
fn s6_a_stop_is_obeyed_between_tries() {
    let mut model = abc(Strategy::RestForOne);
    model.outcomes("b", &[StartOutcome::Fail; 9]);
    model.crashes("b");
    model.lane.push_back(Mail::Stop(Reason::Shutdown));
    model.serve();
    assert_eq!(model.log(), "stop c, b fails, stop a, end shutdown");
}

#[test]
fn s6_rest_for_one_tries_again_from_the_child_that_failed() {
    let mut model = abc(Strategy::RestForOne);
    model.outcomes("b", &[StartOutcome::Fail]);
    model.crashes("a");
    model.serve_one();
    assert_eq!(model.log(), "stop c, stop b, start a, b fails");
    assert_eq!(model.children_text(), "a#4 b:restarting c:undefined");
    model.serve();
    assert_eq!(model.log(), "start b, start c");
    assert_eq!(model.plan.restarts(), 2);
}

#[test]
fn s6_one_for_all_tries_again_from_the_start() {
    let mut model = abc(Strategy::OneForAll);
    model.outcomes("b", &[StartOutcome::Fail]);
    model.crashes("a");
    model.serve();
    assert_eq!(model.log(), "stop c, stop b, start a, b fails, stop a, start a, start b, start c");
}

#[test]
fn s6_a_group_restart_starts_members_that_had_no_process() {
    let children = [permanent("a"), transient("b"), transient("c"), permanent("d")];
    let mut model = PlanModel::new(flags(Strategy::OneForAll), &children);
    model.outcomes("d", &[StartOutcome::Ignore]);
    model.begin();
    model.dies("b", Reason::Normal);
    model.request(ChildRequest::Terminate("c".into()));
    assert_eq!(model.children_text(), "a#1 b:undefined c:undefined d:undefined");
    model.log();
    model.crashes("a");
    model.serve();
    assert_eq!(model.log(), "start a, start b, start c, start d");
}

#[test]
fn s6_another_restart_that_starts_the_child_makes_its_retry_void() {
    let mut model = abc(Strategy::OneForAll);
    model.outcomes("b", &[StartOutcome::Fail]);
    model.crashes("c");
    model.serve_one();
    model.log();
    model.crashes("a");
    // The end of a was waiting when b failed.
    model.lane.rotate_right(1);
    model.serve();
    assert_eq!(model.log(), "start a, start b, start c");
    assert_eq!(model.plan.restarts(), 2);
}

#[test]
fn s6_a_group_restart_continues_after_an_ignored_member() {
    for strategy in [Strategy::OneForAll, Strategy::RestForOne] {
        let mut model = abc(strategy);
        model.outcomes("b", &[StartOutcome::Ignore]);
        model.crashes("a");
        model.serve();
        assert_eq!(model.log(), "stop c, stop b, start a, b ignores, start c");
        assert_eq!(model.children_text(), "a#4 b:undefined c#5");
        // The next group restart starts it again.
        model.crashes("a");
        model.serve();
        assert_eq!(model.log(), "stop c, start a, start b, start c");
    }
}

// -- S1: significant children

#[test]
fn s1_children_that_are_not_significant_end_as_they_like() {
    for auto_shutdown in [AutoShutdown::AnySignificant, AutoShutdown::AllSignificant] {
        for strategy in [Strategy::OneForOne, Strategy::OneForAll, Strategy::RestForOne] {
            let flags = with_auto_shutdown(strategy, auto_shutdown);
            let children = [temporary("a"), transient("b"), permanent("c")];
            let mut model = PlanModel::running(flags, &children);
            model.crashes("a");
            model.dies("b", Reason::Normal);
            model.serve();
            assert!(model.ended.is_none() && model.log().is_empty(), "{strategy}");
        }
    }
}

#[test]
fn s1_any_significant_child_that_ends_by_itself_ends_the_supervisor() {
    let flags = with_auto_shutdown(Strategy::OneForOne, AutoShutdown::AnySignificant);
    let children = [significant(transient("a")), significant(temporary("b")), permanent("c")];
    let mut model = PlanModel::running(flags, &children);
    model.crashes("a");
    model.serve();
    assert_eq!(model.log(), "start a", "a restart is no end");
    model.crashes("b");
    model.serve();
    assert_eq!(model.log(), "stop c, stop a, end shutdown");
    assert_eq!(model.ending(), Some(&SupervisorEnd::AutoShutdown("b".into())));
}

#[test]
fn s1_all_significant_children_must_have_ended() {
    let flags = with_auto_shutdown(Strategy::OneForOne, AutoShutdown::AllSignificant);
    let children = [significant(transient("a")), significant(transient("b")), transient("c")];
    let mut model = PlanModel::running(flags, &children);
    model.dies("c", Reason::Normal);
    model.dies("a", Reason::Normal);
    model.serve();
    assert!(model.ended.is_none());
    model.dies("b", Reason::Shutdown);
    model.serve();
    assert!(matches!(model.ended, Some(Reason::Shutdown)));
}

#[test]
fn s1_a_significant_child_that_is_restarting_holds_the_supervisor_up() {
    let flags = with_auto_shutdown(Strategy::OneForOne, AutoShutdown::AllSignificant);
    let mut model =
        PlanModel::running(flags, &[significant(transient("a")), significant(transient("b"))]);
    model.outcomes("a", &[StartOutcome::Fail]);
    model.crashes("a");
    model.dies("b", Reason::Normal);
    model.serve();
    assert!(model.ended.is_none());
    assert_eq!(model.children_text(), "a#3 b:undefined");
}

#[test]
fn s1_terminate_child_and_group_restarts_do_not_shut_down() {
    let flags = with_auto_shutdown(Strategy::OneForAll, AutoShutdown::AnySignificant);
    let children = [significant(temporary("a")), significant(transient("b")), permanent("c")];
    let mut model = PlanModel::running(flags, &children);
    model.crashes("c");
    model.serve();
    assert_eq!(model.children_text(), "b#4 c#5");
    model.request(ChildRequest::Terminate("b".into()));
    assert!(model.ended.is_none());
}

// -- events that must not happen

/// An event that answers no action is an error of the behaviour. It fails a debug assertion, and
/// changes nothing.
#[test]
fn an_event_out_of_turn_changes_nothing() {
    let mut model = PlanModel::new(flags(Strategy::OneForOne), &[permanent("a")]);
    let now = EventTime { now: model.now, random: 0 };
    let untimely = |plan: &mut Plan<()>, event: PlanEvent<()>| {
        let said = catch_unwind(AssertUnwindSafe(|| plan.step(event, now)));
        assert_eq!(said.is_err(), cfg!(debug_assertions));
        assert!(said.is_err() || matches!(said, Ok(None)));
    };
    untimely(&mut model.plan, PlanEvent::Stopped);
    let Some(Action::Start(a)) = model.plan.step(PlanEvent::Begin, now) else { panic!("no start") };
    untimely(&mut model.plan, PlanEvent::Stopped);
    untimely(&mut model.plan, PlanEvent::Stop(Reason::Shutdown));
    assert_eq!(model.plan.step(PlanEvent::Started(Pid::local(1, 0)), now), None);
    assert_eq!(model.children_text(), "a#1");
    let terminate = || PlanEvent::Request(ChildRequest::Terminate("a".into()));
    let stop = model.plan.step(terminate(), now);
    assert!(matches!(stop, Some(Action::Stop { key, .. }) if key == a));
    untimely(&mut model.plan, terminate());
    let done = Some(Action::Reply(RequestOutcome::Terminate(Ok(()))));
    assert_eq!(model.plan.step(PlanEvent::Stopped, now), done);
    assert_eq!(
        model.plan.step(PlanEvent::Stop(Reason::Normal), now),
        Some(Action::End(Reason::Normal))
    );
    // A plan that has ended does nothing, whatever the event.
    assert_eq!(model.plan.step(PlanEvent::Begin, now), None);
    assert_eq!(model.plan.step(PlanEvent::Stopped, now), None);
}
