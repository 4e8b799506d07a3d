//! The plan, rule by rule.

use super::world::{
    Mail, Outcome, World, child, flags, permanent, significant, temporary, transient,
    with_auto_shutdown,
};
use crate::action::{Answer, Ending, Request};
use crate::error::{
    DeleteChildError, FailedToStartChild, RestartChildError, SpecError, StartChildError,
    TerminateChildError,
};
use crate::spec::{AutoShutdown, Flags, RestartType, Shutdown, Strategy};
use krarup_gen::{Pid, Reason};
use std::time::Duration;

fn abc(strategy: Strategy) -> World {
    World::running(flags(strategy), &[permanent("a"), permanent("b"), permanent("c")])
}

fn simple(restart: RestartType, count: usize) -> World {
    let mut world = World::running(flags(Strategy::SimpleOneForOne), &[]);
    for _ in 0..count {
        world.request(Request::Start(child("d", restart), ()));
    }
    world.log();
    world
}

fn start(id: &str) -> Request<()> {
    Request::Start(permanent(id), ())
}

// -- S2, S3: start and stop

#[test]
fn s2_children_start_in_order() {
    let mut world =
        World::new(flags(Strategy::OneForOne), &[permanent("a"), transient("b"), temporary("c")]);
    world.begin();
    assert_eq!(world.log(), "start a, start b, start c");
    assert_eq!(world.kids(), "a#1 b#2 c#3");
}

#[test]
fn s2_a_failing_start_stops_those_already_started_in_reverse() {
    let children = [permanent("a"), temporary("b"), permanent("c"), permanent("d")];
    let mut world = World::new(flags(Strategy::OneForOne), &children);
    world.outcomes("c", &[Outcome::Fail]);
    world.begin();
    assert_eq!(
        world.log(),
        "start a, start b, c fails, stop b, stop a, \
         end shutdown: child \"c\" failed to start: no"
    );
    assert_eq!(world.ending(), Some(&Ending::StartFailed("c".into())));
    let ended = world.ended.unwrap();
    assert!(!ended.is_abnormal());
    let detail = ended.downcast_ref::<FailedToStartChild>().unwrap();
    assert_eq!((detail.id.as_str(), &detail.reason), ("c", &Reason::error("no")));
}

#[test]
fn s2_ignore_leaves_the_slot_empty_and_drops_a_temporary_child() {
    let mut world =
        World::new(flags(Strategy::OneForOne), &[permanent("a"), temporary("b"), permanent("c")]);
    world.outcomes("a", &[Outcome::Ignore]);
    world.outcomes("b", &[Outcome::Ignore]);
    world.begin();
    assert_eq!(world.log(), "a ignores, b ignores, start c");
    assert_eq!(world.kids(), "a:undefined c#1");
}

#[test]
fn s3_children_stop_in_reverse_start_order_and_then_the_supervisor_ends() {
    let brutal = crate::spec::ChildRules { shutdown: Some(Shutdown::BrutalKill), ..permanent("b") };
    let mut world =
        World::running(flags(Strategy::OneForOne), &[permanent("a"), brutal, permanent("c")]);
    world.lane.push_back(Mail::Stop(Reason::error("over")));
    world.serve();
    assert_eq!(world.log(), "stop c, kill b, stop a, end over");
    assert_eq!(world.ending(), Some(&Ending::Told));
}

#[test]
fn s3_dynamic_children_are_stopped_together() {
    let mut world = simple(RestartType::Permanent, 3);
    world.lane.push_back(Mail::Stop(Reason::Shutdown));
    world.serve();
    assert_eq!(world.log(), "stop together 1 2 3, end shutdown");
}

// -- S1, S4: who is restarted

#[test]
fn s1_one_for_one_restarts_the_one_in_its_place() {
    let mut world = abc(Strategy::OneForOne);
    world.crashes("b");
    world.serve();
    assert_eq!(world.log(), "start b");
    assert_eq!(world.kids(), "a#1 b#4 c#3");
}

#[test]
fn s1_rest_for_one_restarts_it_and_those_after_it() {
    let mut world = abc(Strategy::RestForOne);
    world.crashes("b");
    world.serve();
    assert_eq!(world.log(), "stop c, start b, start c");
    assert_eq!(world.kids(), "a#1 b#4 c#5");
}

#[test]
fn s1_one_for_all_restarts_all() {
    let mut world = abc(Strategy::OneForAll);
    world.crashes("b");
    world.serve();
    assert_eq!(world.log(), "stop c, stop a, start a, start b, start c");
}

#[test]
fn s1_a_group_restart_drops_temporary_members() {
    let children = [permanent("a"), temporary("b"), permanent("c"), temporary("d")];
    let mut world = World::running(flags(Strategy::RestForOne), &children);
    world.crashes("c");
    world.serve();
    assert_eq!(world.log(), "stop d, start c");
    assert_eq!(world.kids(), "a#1 b#2 c#5");
}

#[test]
fn s4_only_abnormal_ends_restart_a_transient_child() {
    for reason in [Reason::Normal, Reason::Shutdown, Reason::shutdown("done")] {
        let mut world = World::running(flags(Strategy::OneForAll), &[transient("a")]);
        world.dies("a", reason);
        world.serve();
        assert_eq!((world.log().as_str(), world.kids().as_str()), ("", "a:undefined"));
    }
    for reason in [Reason::error("boom"), Reason::Killed, Reason::Kill, Reason::NoProcess] {
        let mut world = World::running(flags(Strategy::OneForAll), &[transient("a")]);
        world.dies("a", reason);
        world.serve();
        assert_eq!(world.log(), "start a");
    }
}

#[test]
fn s4_a_permanent_child_is_restarted_whatever_the_reason() {
    for reason in [Reason::Normal, Reason::Shutdown, Reason::Killed, Reason::error("boom")] {
        let mut world = abc(Strategy::OneForOne);
        world.dies("a", reason);
        world.serve();
        assert_eq!(world.log(), "start a");
    }
}

#[test]
fn s4_a_temporary_child_is_never_restarted_and_its_spec_goes_with_it() {
    for reason in [Reason::Normal, Reason::error("boom")] {
        let mut world =
            World::running(flags(Strategy::OneForAll), &[temporary("a"), permanent("b")]);
        world.dies("a", reason);
        world.serve();
        assert_eq!((world.log().as_str(), world.kids().as_str()), ("", "b#2"));
    }
}

// -- S5: intensity

#[test]
fn s5_the_restart_over_intensity_ends_the_supervisor() {
    for strategy in [Strategy::OneForOne, Strategy::OneForAll, Strategy::RestForOne] {
        let flags = Flags { intensity: 0, ..Flags::new(strategy) };
        let mut world = World::running(flags, &[permanent("a"), permanent("b"), permanent("c")]);
        world.crashes("b");
        world.serve();
        assert_eq!(world.log(), "stop c, stop a, end shutdown", "{strategy}");
        assert_eq!(world.ending(), Some(&Ending::RestartIntensity("b".into())));
        assert!(matches!(world.ended, Some(Reason::Shutdown)));
    }
}

#[test]
fn s5_a_group_restart_counts_once() {
    let flags = Flags { intensity: 1, ..Flags::new(Strategy::OneForAll) };
    let mut world = World::running(flags, &[permanent("a"), permanent("b"), permanent("c")]);
    world.crashes("a");
    world.serve();
    assert_eq!((world.plan.restarts(), world.ended.is_none()), (1, true));
    world.crashes("c");
    world.serve();
    assert!(world.ended.is_some());
}

#[test]
fn s5_restarts_are_forgotten_once_they_are_older_than_the_period() {
    let mut world = World::running(Flags::new(Strategy::OneForOne), &[permanent("a")]);
    for _ in 0..20 {
        world.crashes("a");
        world.serve();
        world.pass(Duration::from_millis(5001));
    }
    assert!(world.ended.is_none());
    assert_eq!(world.plan.restarts(), 20);
    world.pass(Duration::from_secs(60));
    world.crashes("a");
    world.serve();
    world.pass(Duration::from_secs(5));
    world.crashes("a");
    world.serve();
    assert!(world.ended.is_some(), "an entry exactly as old as the period counts");
}

#[test]
fn s5_ends_without_a_restart_and_requests_do_not_count() {
    let flags = Flags { intensity: 0, ..Flags::new(Strategy::OneForOne) };
    let mut world = World::running(flags, &[transient("a"), temporary("b"), permanent("c")]);
    world.dies("a", Reason::Normal);
    world.crashes("b");
    world.serve();
    world.request(Request::Restart("a".into()));
    world.request(Request::Terminate("c".into()));
    world.request(Request::Restart("c".into()));
    assert_eq!((world.plan.restarts(), world.ended.is_none()), (0, true));
}

// -- S6: failing restarts

#[test]
fn s6_a_failed_restart_is_tried_again_behind_the_mail_that_waits() {
    let mut world = abc(Strategy::OneForOne);
    world.outcomes("a", &[Outcome::Fail, Outcome::Fail]);
    world.crashes("a");
    world.crashes("b");
    world.serve_one();
    assert_eq!((world.log().as_str(), world.kids().as_str()), ("a fails", "a:restarting b#2 c#3"));
    world.serve_one();
    assert_eq!(world.log(), "start b");
    world.serve();
    assert_eq!(world.log(), "a fails, start a");
    assert_eq!(world.plan.restarts(), 4, "each try counts");
}

#[test]
fn s6_tries_end_at_the_intensity() {
    let flags = Flags { intensity: 3, ..Flags::new(Strategy::OneForOne) };
    let mut world = World::running(flags, &[permanent("a"), permanent("b")]);
    world.outcomes("a", &[Outcome::Fail; 9]);
    world.crashes("a");
    world.serve();
    assert_eq!(world.log(), "a fails, a fails, a fails, stop b, end shutdown");
}

#[test]
fn s6_terminate_child_cancels_the_retry() {
    let mut world = abc(Strategy::OneForOne);
    world.outcomes("a", &[Outcome::Fail]);
    world.crashes("a");
    world.lane.push_back(Mail::Request(Request::Terminate("a".into())));
    world.serve();
    assert_eq!(world.log(), "a fails");
    assert_eq!(world.answers, [Answer::Terminate(Ok(()))]);
    assert_eq!(world.kids(), "a:undefined b#2 c#3");
}

#[test]
fn s6_a_stop_is_obeyed_between_tries() {
    let mut world = abc(Strategy::RestForOne);
    world.outcomes("b", &[Outcome::Fail; 9]);
    world.crashes("b");
    world.lane.push_back(Mail::Stop(Reason::Shutdown));
    world.serve();
    assert_eq!(world.log(), "stop c, b fails, stop a, end shutdown");
}

#[test]
fn s6_rest_for_one_tries_again_from_the_child_that_failed() {
    let mut world = abc(Strategy::RestForOne);
    world.outcomes("b", &[Outcome::Fail]);
    world.crashes("a");
    world.serve_one();
    assert_eq!(world.log(), "stop c, stop b, start a, b fails");
    assert_eq!(world.kids(), "a#4 b:restarting c:undefined");
    world.serve();
    assert_eq!(world.log(), "start b, start c");
    assert_eq!(world.plan.restarts(), 2);
}

#[test]
fn s6_one_for_all_tries_again_from_the_start() {
    let mut world = abc(Strategy::OneForAll);
    world.outcomes("b", &[Outcome::Fail]);
    world.crashes("a");
    world.serve();
    assert_eq!(world.log(), "stop c, stop b, start a, b fails, stop a, start a, start b, start c");
}

#[test]
fn s6_a_group_restart_starts_members_that_had_no_process() {
    let children = [permanent("a"), transient("b"), transient("c"), permanent("d")];
    let mut world = World::new(flags(Strategy::OneForAll), &children);
    world.outcomes("d", &[Outcome::Ignore]);
    world.begin();
    world.dies("b", Reason::Normal);
    world.request(Request::Terminate("c".into()));
    assert_eq!(world.kids(), "a#1 b:undefined c:undefined d:undefined");
    world.log();
    world.crashes("a");
    world.serve();
    assert_eq!(world.log(), "start a, start b, start c, start d");
}

#[test]
fn s6_another_restart_that_starts_the_child_makes_its_retry_void() {
    let mut world = abc(Strategy::OneForAll);
    world.outcomes("b", &[Outcome::Fail]);
    world.crashes("c");
    world.serve_one();
    world.log();
    world.crashes("a");
    // The death of a had been waiting when b failed.
    world.lane.rotate_right(1);
    world.serve();
    assert_eq!(world.log(), "start a, start b, start c");
    assert_eq!(world.plan.restarts(), 2);
}

// -- S8: requests

#[test]
fn s8_start_child_adds_the_last_child() {
    let mut world = abc(Strategy::RestForOne);
    assert_eq!(world.request(start("d")), Answer::Start(Ok(Some(world.pid("d")))));
    world.lane.push_back(Mail::Stop(Reason::Shutdown));
    world.serve();
    assert_eq!(world.log(), "start d, stop d, stop c, stop b, stop a, end shutdown");
}

#[test]
fn s8_start_child_refuses_a_known_id() {
    let mut world = abc(Strategy::OneForOne);
    let (id, pid) = ("a".into(), world.pid("a"));
    let error = StartChildError::AlreadyStarted { id, pid };
    assert_eq!(world.request(start("a")), Answer::Start(Err(error)));
    world.request(Request::Terminate("a".into()));
    let error = StartChildError::AlreadyPresent { id: "a".into() };
    assert_eq!(world.request(start("a")), Answer::Start(Err(error)));
}

#[test]
fn s8_start_child_checks_the_spec_first() {
    let mut world = abc(Strategy::OneForOne);
    let bad = SpecError::SignificantWithoutAutoShutdown { id: "a".into() };
    let request = Request::Start(significant(transient("a")), ());
    let answer = Answer::Start(Err(StartChildError::BadSpec(bad)));
    assert_eq!(world.request(request), answer);
}

#[test]
fn s8_a_failed_start_child_leaves_no_spec_and_a_failed_restart_child_keeps_it() {
    let mut world = abc(Strategy::OneForOne);
    world.outcomes("d", &[Outcome::Fail]);
    let (id, reason) = ("d".into(), Reason::error("no"));
    let error = StartChildError::Failed { id, reason };
    assert_eq!(world.request(start("d")), Answer::Start(Err(error)));
    assert_eq!(world.kids(), "a#1 b#2 c#3");

    world.request(Request::Terminate("a".into()));
    world.outcomes("a", &[Outcome::Fail]);
    let (id, reason) = ("a".into(), Reason::error("no"));
    let error = RestartChildError::Failed { id, reason };
    assert_eq!(world.request(Request::Restart("a".into())), Answer::Restart(Err(error)));
    assert_eq!(world.kids(), "a:undefined b#2 c#3");
    assert!(world.lane.is_empty() || world.plan.restarts() == 0, "it is not tried again");
}

#[test]
fn s8_start_child_that_is_ignored_keeps_the_spec_unless_temporary() {
    let mut world = World::running(flags(Strategy::OneForOne), &[]);
    world.outcomes("a", &[Outcome::Ignore]);
    world.outcomes("b", &[Outcome::Ignore]);
    assert_eq!(world.request(start("a")), Answer::Start(Ok(None)));
    assert_eq!(world.request(Request::Start(temporary("b"), ())), Answer::Start(Ok(None)));
    assert_eq!(world.kids(), "a:undefined");
}

#[test]
fn s8_terminate_child_keeps_the_spec_unless_temporary() {
    let mut world = World::running(flags(Strategy::OneForAll), &[permanent("a"), temporary("b")]);
    for _ in 0..2 {
        let answer = world.request(Request::Terminate("a".into()));
        assert_eq!(answer, Answer::Terminate(Ok(())));
    }
    assert_eq!(world.request(Request::Terminate("b".into())), Answer::Terminate(Ok(())));
    assert_eq!((world.log().as_str(), world.kids().as_str()), ("stop a, stop b", "a:undefined"));
    let error = TerminateChildError::NotFound { child: "\"b\"".into() };
    assert_eq!(world.request(Request::Terminate("b".into())), Answer::Terminate(Err(error)));
}

#[test]
fn s8_restart_child_and_delete_child_want_a_child_without_a_process() {
    let mut world = abc(Strategy::OneForOne);
    let (id, pid) = (|| "a".into(), world.pid("a"));
    let error = RestartChildError::Running { id: id(), pid };
    assert_eq!(world.request(Request::Restart(id())), Answer::Restart(Err(error)));
    let error = DeleteChildError::Running { id: id(), pid };
    assert_eq!(world.request(Request::Delete(id())), Answer::Delete(Err(error)));

    world.outcomes("a", &[Outcome::Fail]);
    world.crashes("a");
    world.lane.push_back(Mail::Request(Request::Restart(id())));
    world.lane.push_back(Mail::Request(Request::Delete(id())));
    world.serve();
    let restarting = [
        Answer::Restart(Err(RestartChildError::Restarting { id: id() })),
        Answer::Delete(Err(DeleteChildError::Restarting { id: id() })),
    ];
    assert_eq!(std::mem::take(&mut world.answers), restarting);

    world.request(Request::Terminate(id()));
    assert_eq!(world.request(Request::Delete(id())), Answer::Delete(Ok(())));
    assert_eq!(world.kids(), "b#2 c#3");
    let error = RestartChildError::NotFound { id: id() };
    assert_eq!(world.request(Request::Restart(id())), Answer::Restart(Err(error)));
    let error = DeleteChildError::NotFound { id: id() };
    assert_eq!(world.request(Request::Delete(id())), Answer::Delete(Err(error)));
}

#[test]
fn s8_a_dynamic_child_is_terminated_by_pid_only() {
    let mut world = simple(RestartType::Transient, 2);
    let id = "d".into();
    let answer = Answer::Terminate(Err(TerminateChildError::SimpleOneForOne));
    assert_eq!(world.request(Request::Terminate(id)), answer);
    let answer = Answer::Restart(Err(RestartChildError::SimpleOneForOne));
    assert_eq!(world.request(Request::Restart("d".into())), answer);
    let answer = Answer::Delete(Err(DeleteChildError::SimpleOneForOne));
    assert_eq!(world.request(Request::Delete("d".into())), answer);

    let first = Pid::local(1, 0);
    for alive in [true, false] {
        let answer = world.request(Request::TerminatePid { pid: first, alive });
        assert_eq!(answer, Answer::Terminate(Ok(())));
    }
    assert_eq!((world.log().as_str(), world.kids().as_str()), ("stop d", "d#2"));
    let stranger = Request::TerminatePid { pid: Pid::local(9, 0), alive: true };
    let error = TerminateChildError::NotFound { child: "<0.9.0>".into() };
    assert_eq!(world.request(stranger), Answer::Terminate(Err(error)));
}

#[test]
fn s8_a_dynamic_child_without_a_process_is_gone() {
    let mut world = simple(RestartType::Transient, 2);
    world.dies("d", Reason::Normal);
    world.outcomes("d", &[Outcome::Ignore, Outcome::Fail, Outcome::Ignore]);
    assert_eq!(
        world.request(Request::Start(transient("d"), ())),
        Answer::Start(Ok(None)),
        "ignored by start_child"
    );
    world.request(Request::Start(transient("d"), ()));
    assert_eq!(world.kids(), "d#1");
    world.crashes("d");
    world.serve();
    assert_eq!((world.kids().as_str(), world.ended), ("", None), "ignored in a restart");
}

#[test]
fn s6_a_dynamic_child_that_is_restarting_is_cancelled_by_its_last_pid() {
    let mut world = simple(RestartType::Permanent, 2);
    world.outcomes("d", &[Outcome::Fail, Outcome::Fail]);
    let pid = world.crashes("d");
    world.serve_one();
    world.serve_one();
    assert_eq!(world.kids(), "d#1 d:restarting");
    world.lane.push_front(Mail::Request(Request::TerminatePid { pid, alive: false }));
    world.serve();
    assert_eq!((world.log().as_str(), world.kids().as_str()), ("d fails, d fails", "d#1"));
    assert_eq!(world.answers, [Answer::Terminate(Ok(()))]);
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
fn s9_an_end_asked_for_by_the_supervisor_is_no_restart() {
    let mut world = abc(Strategy::OneForOne);
    world.request(Request::Terminate("a".into()));
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
fn s9_exits_of_strangers_and_of_earlier_incarnations_are_ignored() {
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

// -- S1: significant children

#[test]
fn s1_any_significant_child_that_ends_by_itself_ends_the_supervisor() {
    let flags = with_auto_shutdown(Strategy::OneForOne, AutoShutdown::AnySignificant);
    let children = [significant(transient("a")), significant(temporary("b")), permanent("c")];
    let mut world = World::running(flags, &children);
    world.crashes("a");
    world.serve();
    assert_eq!(world.log(), "start a", "a restart is no end");
    world.crashes("b");
    world.serve();
    assert_eq!(world.log(), "stop c, stop a, end shutdown");
    assert_eq!(world.ending(), Some(&Ending::AutoShutdown("b".into())));
}

#[test]
fn s1_all_significant_children_must_have_ended() {
    let flags = with_auto_shutdown(Strategy::OneForOne, AutoShutdown::AllSignificant);
    let children = [significant(transient("a")), significant(transient("b")), transient("c")];
    let mut world = World::running(flags, &children);
    world.dies("c", Reason::Normal);
    world.dies("a", Reason::Normal);
    world.serve();
    assert!(world.ended.is_none());
    world.dies("b", Reason::Shutdown);
    world.serve();
    assert!(matches!(world.ended, Some(Reason::Shutdown)));
}

#[test]
fn s1_a_significant_child_that_is_restarting_holds_the_supervisor_up() {
    let flags = with_auto_shutdown(Strategy::OneForOne, AutoShutdown::AllSignificant);
    let mut world =
        World::running(flags, &[significant(transient("a")), significant(transient("b"))]);
    world.outcomes("a", &[Outcome::Fail]);
    world.crashes("a");
    world.dies("b", Reason::Normal);
    world.serve();
    assert!(world.ended.is_none());
    assert_eq!(world.kids(), "a#3 b:undefined");
}

#[test]
fn s1_terminate_child_and_group_restarts_do_not_shut_down() {
    let flags = with_auto_shutdown(Strategy::OneForAll, AutoShutdown::AnySignificant);
    let children = [significant(temporary("a")), significant(transient("b")), permanent("c")];
    let mut world = World::running(flags, &children);
    world.crashes("c");
    world.serve();
    assert_eq!(world.kids(), "b#4 c#5");
    world.request(Request::Terminate("b".into()));
    assert!(world.ended.is_none());
}
