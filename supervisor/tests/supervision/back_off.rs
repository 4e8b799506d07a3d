//! Restarts that wait (rule S10).

use crate::support::{Stage, Start, children_text};
use krarup_gen::SpawnError;
use krarup_supervisor::{
    BackOff, BackOffError, ChildState, DeleteChildError, RestartChildError, SpecError, Supervisor,
    SupervisorAddress, SupervisorCalls,
};
use std::future::IntoFuture;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);

fn back_off() -> BackOff {
    BackOff::new(2 * SECOND, 8 * SECOND)
}

/// Child a has a back-off, child b has none.
fn ab(stage: &Stage, empty: Supervisor) -> SupervisorAddress {
    let (a, b) = (stage.child("a").back_off(back_off()), stage.child("b"));
    stage.supervisor(|| empty.intensity(100, HOUR).child(a).child(b))
}

#[test]
fn s10_each_restart_waits_longer_until_the_child_has_run_for_a_while() {
    let stage = Stage::new();
    ab(&stage, Supervisor::one_for_one());
    for wait in [2_u32, 4, 8, 8] {
        stage.crash("a");
        assert_eq!(stage.log(), "(boom) a");
        let nearly = Duration::from_nanos(1_000_000_000 * u64::from(wait) - 1);
        stage.pass(nearly);
        assert_eq!(stage.log(), "", "{wait}");
        stage.pass(Duration::from_nanos(1));
        assert_eq!(stage.log(), "start a", "{wait}");
    }
    stage.pass(8 * SECOND);
    stage.crash("a");
    stage.pass(2 * SECOND);
    assert_eq!(stage.log(), "(boom) a, start a");
}

#[test]
fn s10_a_restart_that_fails_waits_too() {
    let stage = Stage::new();
    ab(&stage, Supervisor::one_for_one());
    stage.plan("a", &[Start::Fail, Start::Panic]);
    stage.crash("a");
    for (wait, came) in [(2, "(boom) a, fail a"), (4, "panic a"), (8, "start a")] {
        stage.pass(wait * SECOND);
        assert_eq!(stage.log(), came);
    }
}

#[test]
fn s10_the_supervisor_serves_everything_else_while_a_child_waits() {
    let stage = Stage::new();
    let supervisor = ab(&stage, Supervisor::one_for_one());
    stage.crash("a");
    stage.log();
    assert_eq!(children_text(&supervisor), "a:restarting b");
    assert_eq!(supervisor.count_children().wait().unwrap().active, 1);
    let restarting = RestartChildError::Restarting { id: "a".into() };
    assert_eq!(supervisor.restart_child("a").wait(), Err(restarting));
    let restarting = DeleteChildError::Restarting { id: "a".into() };
    assert_eq!(supervisor.delete_child("a").wait(), Err(restarting));
    supervisor.start_child(stage.child("c")).wait().unwrap();
    stage.crash("b");
    assert_eq!(stage.log(), "start c, (boom) b, start b");
    supervisor.terminate_child("a").wait().unwrap();
    stage.pass(HOUR);
    assert_eq!(
        (stage.log().as_str(), children_text(&supervisor).as_str()),
        ("", "a:undefined b c")
    );
    supervisor.restart_child("a").wait().unwrap();
    assert_eq!(stage.log(), "start a");
}

#[test]
fn s10_a_supervisor_whose_child_waits_stops_at_once() {
    let stage = Stage::new();
    let supervisor = ab(&stage, Supervisor::one_for_one());
    stage.crash("a");
    let before = stage.sim.now();
    supervisor.stop().wait().unwrap();
    assert_eq!(stage.log(), "(boom) a, stop b");
    assert_eq!(stage.sim.now(), before);
    assert_eq!(stage.sim.stats().timers, 0);
}

#[test]
fn s10_a_group_is_stopped_and_waits_together() {
    let stage = Stage::new();
    let supervisor = ab(&stage, Supervisor::one_for_all());
    stage.crash("a");
    assert_eq!(stage.log(), "(boom) a, stop b");
    assert_eq!(children_text(&supervisor), "a:restarting b:undefined");
    stage.pass(2 * SECOND);
    assert_eq!(stage.log(), "start a, start b");
}

#[test]
fn s10_a_child_that_waits_waits_no_more_when_its_group_is_stopped_for_one_before_it() {
    let stage = Stage::new();
    let wait = |id, time| stage.child(id).back_off(BackOff::new(time, time));
    let (a, b) = (wait("a", 5 * SECOND), wait("b", 2 * SECOND));
    let supervisor =
        stage.supervisor(|| Supervisor::rest_for_one().intensity(9, HOUR).child(a).child(b));
    stage.log();
    stage.crash("b");
    stage.pass(SECOND);
    stage.crash("a");
    assert_eq!(children_text(&supervisor), "a:restarting b:undefined");
    stage.log();
    // The wait of b is over, but not that of a, on which b depends.
    stage.pass(4 * SECOND);
    assert_eq!(stage.log(), "");
    stage.pass(SECOND);
    assert_eq!(stage.log(), "start a, start b");
}

#[test]
fn s10_restarts_that_wait_still_count() {
    let stage = Stage::new();
    let a = stage.child("a").back_off(BackOff::new(SECOND, SECOND));
    let supervisor = stage.supervisor(|| Supervisor::one_for_one().intensity(2, HOUR).child(a));
    for _ in 0..2 {
        stage.crash("a");
        stage.pass(SECOND);
    }
    stage.crash("a");
    assert!(supervisor.is_alive());
    stage.pass(SECOND);
    assert!(!supervisor.is_alive());
}

#[test]
fn s10_several_children_wait_each_for_its_own_time() {
    let stage = Stage::new();
    let children = ["a", "b", "c"].map(|id| {
        let wait = if id == "b" { SECOND } else { 3 * SECOND };
        stage.child(id).back_off(BackOff::new(wait, wait))
    });
    stage.supervisor(|| {
        children.into_iter().fold(Supervisor::one_for_one().intensity(9, HOUR), Supervisor::child)
    });
    ["a", "b", "c"].iter().for_each(|id| stage.crash(id));
    stage.log();
    stage.pass(SECOND);
    assert_eq!(stage.log(), "start b");
    stage.pass(2 * SECOND);
    assert_eq!(stage.log(), "start a, start c");
}

#[test]
fn s10_items_held_during_a_start_are_served_while_another_child_waits() {
    let stage = Stage::new();
    let (a, b) = (stage.child("a").back_off(BackOff::new(HOUR, HOUR)), stage.child("b"));
    let supervisor =
        stage.supervisor(|| Supervisor::one_for_one().intensity(9, HOUR).child(a).child(b));
    stage.crash("a");
    stage.plan("b", &[Start::WellLate(SECOND)]);
    stage.crash("b");
    let mut asked = supervisor.count_children().into_future();
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(asked.as_mut().poll(&mut cx).is_pending());
    stage.sim.run_until_idle();
    stage.pass(SECOND);
    let std::task::Poll::Ready(Ok(counts)) = asked.as_mut().poll(&mut cx) else {
        panic!("no answer")
    };
    assert_eq!((counts.specs, counts.active), (2, 1));
}

#[test]
fn s10_the_same_seed_gives_the_same_jitter() {
    let waits = |seed: u64| {
        let stage = Stage::with_seed(seed);
        let a = stage.child("a").back_off(back_off().jitter(0.5).reset_after(HOUR));
        stage.supervisor(|| Supervisor::one_for_one().intensity(100, HOUR).child(a));
        let mut waits = Vec::new();
        for _ in 0..8 {
            stage.crash("a");
            let began = stage.sim.now();
            while stage.sim.whereis("a").is_none() {
                stage.pass(Duration::from_millis(1));
            }
            waits.push(stage.sim.now() - began);
        }
        waits
    };
    let once = waits(7);
    assert_eq!(once, waits(7));
    assert_ne!(once, waits(8));
    for (wait, longest) in once.iter().zip([2, 4, 8, 8, 8, 8, 8, 8]) {
        assert!(*wait <= longest * SECOND && *wait >= longest * SECOND / 2, "{once:?}");
    }
    let mut different = once[2..].to_vec();
    different.sort();
    different.dedup();
    assert!(different.len() > 3, "{once:?}");
}

#[test]
fn s10_get_childspec_and_which_children_show_the_back_off() {
    let stage = Stage::new();
    let supervisor = ab(&stage, Supervisor::one_for_one());
    let spec = supervisor.get_childspec("a").wait().unwrap();
    assert_eq!((spec.back_off, spec.in_place), (Some(back_off()), false));
    stage.crash("a");
    let children = supervisor.which_children().wait().unwrap();
    assert_eq!(children[1].state, ChildState::Restarting);
}

#[test]
fn b1_a_back_off_without_meaning_starts_nothing() {
    let stage = Stage::new();
    let child = || stage.child("a").back_off(back_off().jitter(1.5));
    let error = SpecError::BackOff { id: "a".into(), error: BackOffError::Jitter(1.5) };
    let bad = child();
    let Err(SpawnError::Init(reason)) = stage.start(|| Supervisor::one_for_one().child(bad)) else {
        panic!("a supervisor that cannot be")
    };
    assert_eq!(reason.downcast_ref::<SpecError>(), Some(&error));
    let supervisor = stage.supervisor(Supervisor::one_for_one);
    assert_eq!(supervisor.start_child(child()).wait(), Err(error.into()));
    assert_eq!(stage.log(), "");
}
