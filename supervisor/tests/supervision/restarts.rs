//! How a supervisor handles the ends of its children (rules S1, S4, S5, S6, S9).

use crate::support::{Do, Stage, Start, children_text};
use krarup_gen::Reason;
use krarup_supervisor::{
    AutoShutdown, RestartType, Supervisor, SupervisorAddress, SupervisorCalls,
};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

fn abc(stage: &Stage, empty: Supervisor) -> SupervisorAddress {
    let (a, b, c) = (stage.child("a"), stage.child("b"), stage.child("c"));
    stage.supervisor(|| empty.intensity(100, HOUR).child(a).child(b).child(c))
}

#[test]
fn s1_one_for_one_restarts_that_child_alone() {
    let stage = Stage::new();
    let supervisor = abc(&stage, Supervisor::one_for_one());
    let before = stage.pid("b");
    stage.crash("b");
    assert_eq!(stage.log(), "(boom) b, start b");
    assert_ne!(stage.pid("b"), before, "a new process");
    assert_eq!(children_text(&supervisor), "a b c");
}

#[test]
fn s1_rest_for_one_restarts_those_after_it_too() {
    let stage = Stage::new();
    abc(&stage, Supervisor::rest_for_one());
    stage.crash("b");
    assert_eq!(stage.log(), "(boom) b, stop c, start b, start c");
}

#[test]
fn s1_one_for_all_restarts_all() {
    let stage = Stage::new();
    abc(&stage, Supervisor::one_for_all());
    stage.crash("b");
    assert_eq!(stage.log(), "(boom) b, stop c, stop a, start a, start b, start c");
}

#[test]
fn s4_each_restart_type_has_its_own_ends() {
    for (restart, normal, abnormal) in [
        (RestartType::Permanent, "a b", "a b"),
        (RestartType::Transient, "a:undefined b", "a b"),
        (RestartType::Temporary, "b", "b"),
    ] {
        for (reason, expected) in [
            (Reason::Normal, normal),
            (Reason::Shutdown, normal),
            (Reason::shutdown("done"), normal),
            (Reason::error("boom"), abnormal),
            (Reason::Killed, abnormal),
        ] {
            let stage = Stage::new();
            let (a, b) = (stage.child("a").restart(restart), stage.child("b"));
            let supervisor = stage.supervisor(|| Supervisor::one_for_one().child(a).child(b));
            stage.tell("a", Do::End(reason.clone()));
            assert_eq!(children_text(&supervisor), expected, "{restart} {reason}");
        }
    }
}

#[test]
fn d4_a_child_that_panics_is_restarted() {
    let stage = Stage::new();
    abc(&stage, Supervisor::one_for_one());
    stage.tell("a", Do::Panic);
    assert!(stage.log().ends_with("start a"));
}

#[test]
fn s4_a_child_that_is_killed_is_restarted() {
    let stage = Stage::new();
    abc(&stage, Supervisor::one_for_one());
    stage.sim.kill(stage.pid("a"));
    stage.sim.run_until_idle();
    assert_eq!(stage.log(), "start a");
}

#[test]
fn s5_the_restart_over_intensity_ends_the_supervisor_with_shutdown() {
    let stage = Stage::new();
    let (a, b, c) = (stage.child("a"), stage.child("b"), stage.child("c"));
    let supervisor = stage
        .supervisor(|| Supervisor::one_for_one().intensity(1, HOUR).child(a).child(b).child(c));
    stage.crash("b");
    stage.log();
    stage.worker("b").send(Do::Fail).unwrap();
    assert_eq!(supervisor.watch().wait().unwrap().reason, Reason::Shutdown);
    assert_eq!(stage.log(), "(boom) b, stop c, stop a");
    assert_eq!(stage.sim.processes(), []);
}

#[test]
fn s5_the_window_slides_over_virtual_time() {
    let stage = Stage::new();
    let a = stage.child("a");
    let period = Duration::from_secs(10);
    let supervisor =
        stage.supervisor(move || Supervisor::one_for_one().intensity(2, period).child(a));
    for _ in 0..1000 {
        stage.crash("a");
        stage.pass(Duration::from_secs(6));
    }
    assert!(supervisor.is_alive());
    stage.crash("a");
    stage.pass(Duration::from_secs(4));
    stage.crash("a");
    assert!(!supervisor.is_alive(), "the one of 10 s ago still counts");
}

#[test]
fn s6_a_restart_that_fails_is_tried_again_until_it_succeeds() {
    let stage = Stage::new();
    let supervisor = abc(&stage, Supervisor::one_for_one());
    stage.plan("a", &[Start::Fail, Start::Panic, Start::Fail]);
    stage.crash("a");
    assert_eq!(stage.log(), "(boom) a, fail a, panic a, fail a, start a");
    let inspection = supervisor.inspect().wait().unwrap();
    assert_eq!(inspection.number("restarts"), Some(4), "each try counts");
}

#[test]
fn s6_a_child_that_never_starts_again_ends_the_supervisor() {
    let stage = Stage::new();
    let (a, b) = (stage.child("a"), stage.child("b"));
    let supervisor =
        stage.supervisor(|| Supervisor::rest_for_one().intensity(3, HOUR).child(a).child(b));
    stage.plan("b", &[Start::Fail; 10]);
    stage.crash("a");
    assert_eq!(stage.log(), "(boom) a, stop b, start a, fail b, fail b, fail b, stop a");
    assert!(!supervisor.is_alive());
}

/// OTP's `hanging_restart_loop`: between two tries the supervisor serves what waits.
#[test]
fn s6_a_restart_loop_can_be_ended_by_a_request() {
    for empty in [Supervisor::one_for_one(), Supervisor::one_for_all(), Supervisor::rest_for_one()]
    {
        let stage = Stage::new();
        let a = stage.child("a");
        let supervisor = stage.supervisor(|| empty.intensity(u32::MAX, Duration::MAX).child(a));
        stage.plan("a", &vec![Start::Fail; 10_000]);
        stage.worker("a").send(Do::Fail).unwrap();
        while !stage.log().contains("fail a") {
            stage.sim.step();
        }
        assert_eq!(children_text(&supervisor), "a:restarting");
        supervisor.terminate_child("a").wait().unwrap();
        assert_eq!(children_text(&supervisor), "a:undefined");
        supervisor.delete_child("a").wait().unwrap();
        stage.sim.run_until_idle();
        assert_eq!(children_text(&supervisor), "");
    }
}

#[test]
fn s6_a_restart_loop_can_be_ended_by_a_stop() {
    let stage = Stage::new();
    let (a, b) = (stage.child("a"), stage.child("b"));
    let supervisor =
        stage.supervisor(|| Supervisor::one_for_one().intensity(u32::MAX, HOUR).child(a).child(b));
    stage.plan("a", &vec![Start::Fail; 10_000]);
    stage.worker("a").send(Do::Fail).unwrap();
    while !stage.log().contains("fail a") {
        stage.sim.step();
    }
    supervisor.stop().reason(Reason::Shutdown).wait().unwrap();
    assert_eq!(stage.sim.processes(), []);
}

#[test]
fn s6_a_group_restart_starts_members_that_had_no_process() {
    let stage = Stage::new();
    stage.plan("c", &[Start::Ignore]);
    let (a, b, c) = (stage.child("a"), stage.child("b"), stage.child("c"));
    let b = b.restart(RestartType::Transient);
    let supervisor = stage.supervisor(|| Supervisor::one_for_all().child(a).child(b).child(c));
    stage.tell("b", Do::End(Reason::Normal));
    assert_eq!(children_text(&supervisor), "a b:undefined c:undefined");
    stage.log();
    stage.crash("a");
    assert_eq!(stage.log(), "(boom) a, start a, start b, start c");
}

#[test]
fn s9_an_exit_signal_of_an_unknown_process_is_ignored() {
    let stage = Stage::new();
    let supervisor = abc(&stage, Supervisor::one_for_all());
    stage.sim.exit(supervisor.pid(), Reason::error("boom"));
    stage.sim.run_until_idle();
    assert_eq!((stage.log().as_str(), supervisor.is_alive()), ("", true));
}

/// OTP takes such a signal for the child's end, and then has two processes of the child.
#[test]
fn s9_a_signal_that_a_living_child_sends_is_not_its_end() {
    let stage = Stage::new();
    let supervisor = abc(&stage, Supervisor::one_for_one());
    stage.tell("a", Do::Signal(supervisor.pid()));
    assert_eq!((stage.log().as_str(), children_text(&supervisor).as_str()), ("", "a b c"));
}

/// OTP's `child_unlink`.
#[test]
fn s11_a_child_that_unlinks_itself_is_still_ended() {
    let stage = Stage::new();
    let supervisor = abc(&stage, Supervisor::one_for_one());
    stage.tell("b", Do::Unlink(supervisor.pid()));
    supervisor.terminate_child("b").wait().unwrap();
    assert_eq!(stage.log(), "stop b");
    stage.tell("c", Do::Unlink(supervisor.pid()));
    supervisor.stop().wait().unwrap();
    assert_eq!(stage.sim.processes(), []);
}

/// OTP's `sup_stop_race`: children that end by themselves while the supervisor stops.
#[test]
fn s9_children_that_die_while_the_supervisor_stops_are_not_restarted() {
    let stage = Stage::new();
    let supervisor = abc(&stage, Supervisor::one_for_one());
    for id in ["a", "b", "c"] {
        stage.worker(id).send(Do::Fail).unwrap();
    }
    supervisor.stop().wait().unwrap();
    assert!(!stage.log().contains("start"));
    assert_eq!(stage.sim.processes(), []);
}

#[test]
fn s1_a_significant_childs_end_ends_the_supervisor() {
    let stage = Stage::new();
    let a = stage.child("a").restart(RestartType::Transient).significant(true);
    let b = stage.child("b").restart(RestartType::Temporary).significant(true);
    let c = stage.child("c");
    let all = AutoShutdown::AllSignificant;
    let supervisor = stage.supervisor(move || {
        Supervisor::one_for_one().auto_shutdown(all).child(a).child(b).child(c)
    });
    stage.crash("a");
    stage.crash("b");
    assert!(supervisor.is_alive(), "a was restarted");
    stage.log();
    stage.tell("a", Do::End(Reason::Normal));
    assert_eq!(stage.log(), "(normal) a, stop c");
    assert!(!supervisor.is_alive());
}

#[test]
fn s1_only_a_significant_childs_end_ends_the_supervisor() {
    let stage = Stage::new();
    let a = stage.child("a").restart(RestartType::Temporary);
    let b = stage.child("b").restart(RestartType::Transient).significant(true);
    let any = AutoShutdown::AnySignificant;
    let supervisor =
        stage.supervisor(move || Supervisor::one_for_one().auto_shutdown(any).child(a).child(b));
    stage.crash("a");
    stage.crash("b");
    assert!(supervisor.is_alive());
    supervisor.terminate_child("b").wait().unwrap();
    assert_eq!(
        children_text(&supervisor),
        "b:undefined",
        "an end that was asked for is none of these"
    );
    supervisor.restart_child("b").wait().unwrap();
    stage.tell("b", Do::End(Reason::Normal));
    assert!(!supervisor.is_alive());
}

#[test]
fn n3_the_name_moves_to_the_new_incarnation() {
    for seed in 0..50 {
        let stage = Stage::with_seed(seed);
        abc(&stage, Supervisor::one_for_all());
        for _ in 0..5 {
            stage.crash("b");
            for id in ["a", "b", "c"] {
                assert!(stage.worker(id).is_alive());
            }
        }
        assert!(!stage.log().contains("fail"), "no start met its own name");
    }
}
