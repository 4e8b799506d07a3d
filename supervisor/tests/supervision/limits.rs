//! Every number and time that a supervisor and a child can be given, at its limits (rule B1):
//! either a typed error before anything is started, or a defined behaviour.

use crate::support::{Habits, Stage, Worker};
use krarup_gen::{Reason, SpawnError};
use krarup_supervisor::{
    BackOff, BackOffError, ChildSpec, ChildTemplate, Shutdown, SpecError, StartChildError,
    Supervisor, SupervisorCalls,
};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const NANO: Duration = Duration::from_nanos(1);
const MAX: Duration = Duration::MAX;

/// Times from zero to the longest.
const TIMES: [Duration; 6] = [
    Duration::ZERO,
    NANO,
    SECOND,
    Duration::from_secs(u64::MAX),
    Duration::from_nanos(u64::MAX),
    MAX,
];

fn refused(error: SpawnError) -> SpecError {
    let SpawnError::Init(reason) = error else { panic!("{error}") };
    reason.downcast_ref::<SpecError>().expect("a SpecError").clone()
}

/// Starts the supervisor, crashes its child twice, and stops.
fn works(stage: &Stage, supervisor: Supervisor) {
    let supervisor = stage.start(|| supervisor).unwrap();
    for _ in 0..2 {
        if stage.sim.whereis("a").is_some() {
            stage.crash("a");
        }
        stage.pass(SECOND);
    }
    let _ = supervisor.stop().wait();
    // Without a grace period the supervisor does not wait for a killed child.
    stage.sim.run_until_idle();
    assert_eq!((stage.sim.processes(), stage.sim.stats().timers), (vec![], 0));
}

#[test]
fn b1_a_supervisor_with_any_intensity_period_and_grace_works_or_is_refused() {
    for restarts in [0, 1, u32::MAX] {
        for period in TIMES {
            for grace in TIMES {
                let stage = Stage::new();
                let supervisor = Supervisor::one_for_all()
                    .intensity(restarts, period)
                    .kill_grace(grace)
                    .child(stage.child("a").shutdown(Shutdown::BrutalKill));
                if period.is_zero() {
                    assert_eq!(
                        refused(stage.start(|| supervisor).unwrap_err()),
                        SpecError::ZeroPeriod
                    );
                    assert_eq!((stage.log().as_str(), stage.sim.stats().spawned), ("", 1));
                } else {
                    works(&stage, supervisor);
                }
            }
        }
    }
}

#[test]
fn b1_a_child_with_any_shutdown_and_init_time_works() {
    for time in TIMES {
        let stage = Stage::new();
        let slow = Habits { trap: true, slow: Some(SECOND) };
        works(&stage, Supervisor::one_for_one().child(stage.child_with("a", slow).shutdown(time)));
        let stage = Stage::new();
        let child = stage.child("a").init_timeout(time);
        if time.is_zero() {
            let SpawnError::Init(reason) =
                stage.start(|| Supervisor::one_for_one().child(child)).unwrap_err()
            else {
                panic!("started")
            };
            assert!(reason.to_string().contains("init did not return within 0ns"), "{reason}");
        } else {
            works(&stage, Supervisor::one_for_one().child(child));
        }
    }
}

#[test]
fn b1_a_child_with_any_back_off_works_or_is_refused() {
    for min in TIMES {
        for max in TIMES {
            for reset in TIMES {
                for jitter in [0.0, 1.0, -f64::MIN_POSITIVE, 1.0 + f64::EPSILON, f64::NAN] {
                    let stage = Stage::new();
                    let back_off = BackOff::new(min, max).jitter(jitter).reset_after(reset);
                    let child = stage.child("a").back_off(back_off);
                    let supervisor = Supervisor::one_for_one().intensity(9, MAX).child(child);
                    let is_bad = min.is_zero()
                        || max < min
                        || !(0.0..=1.0).contains(&jitter)
                        || reset.is_zero();
                    if is_bad {
                        let error = refused(stage.start(|| supervisor).unwrap_err());
                        let SpecError::BackOff { error, .. } = error else { panic!("{error}") };
                        let named = match error {
                            BackOffError::ZeroMin => min.is_zero(),
                            BackOffError::MaxUnderMin { .. } => max < min,
                            BackOffError::Jitter(_) => !(0.0..=1.0).contains(&jitter),
                            BackOffError::ZeroReset => reset.is_zero(),
                            _ => false,
                        };
                        assert!(named, "{error}");
                        assert_eq!(stage.log(), "");
                    } else {
                        works(&stage, supervisor);
                    }
                }
            }
        }
    }
}

#[test]
fn b1_a_child_with_a_mailbox_of_nothing_is_refused_before_any_is_started() {
    let stage = Stage::new();
    let zero = SpecError::ZeroMailbox { id: "b".into() };
    let (a, b) = (stage.child("a"), stage.child("b").mailbox(0));
    let again = b.clone();
    let tree = || Supervisor::one_for_one().child(a).child(b);
    assert_eq!(refused(stage.start(tree).unwrap_err()), zero);
    assert_eq!(stage.log(), "");
    let shared = stage.shared();
    let worker =
        move |id: String| Worker::new(&id, std::sync::Arc::clone(&shared), Habits::default());
    let template = ChildTemplate::worker("b", worker).mailbox(0);
    let dynamic = || Supervisor::simple_one_for_one(template);
    assert_eq!(refused(stage.start(dynamic).unwrap_err()), zero);
    let supervisor = stage.supervisor(Supervisor::one_for_one);
    assert_eq!(supervisor.start_child(again).wait(), Err(StartChildError::BadSpec(zero)));
    // A bound that no memory could fill has no effect.
    let large = stage.child("c").mailbox(usize::MAX);
    supervisor.start_child(large).wait().unwrap();
    stage.crash("c");
    assert_eq!(supervisor.count_children().wait().unwrap().active, 1);
}

#[test]
fn b1_a_request_with_any_time_is_answered_or_times_out() {
    for time in TIMES {
        let stage = Stage::new();
        let supervisor = stage.supervisor(Supervisor::one_for_one);
        let count = supervisor.count_children().timeout(time).wait();
        assert_eq!(count.is_ok(), !time.is_zero(), "{time:?}: {count:?}");
        let stop = supervisor.stop().reason(Reason::Shutdown).timeout(time).wait();
        assert_eq!(stop.is_ok(), !time.is_zero(), "{time:?}: {stop:?}");
        stage.sim.run_until_idle();
        assert_eq!((stage.sim.processes(), stage.sim.stats().timers), (vec![], 0));
    }
}

#[test]
fn b1_a_child_spec_of_any_id_works() {
    for id in ["", "\0", "\u{1F600}", &"x".repeat(100_000)] {
        let stage = Stage::new();
        let child = ChildSpec::worker(id, stage.factory("a", Habits::default())).name("a");
        works(&stage, Supervisor::one_for_one().intensity(9, SECOND).child(child));
    }
}

#[test]
fn the_parts_of_a_supervisor_implement_debug() {
    let stage = Stage::new();
    let (spec, shared) = (stage.child("a"), stage.shared());
    assert!(format!("{spec:?}").starts_with("ChildSpec(ChildRules { id: \"a\""), "{spec:?}");
    let template = ChildTemplate::worker("b", move |id: String| {
        Worker::new(&id, std::sync::Arc::clone(&shared), Habits::default())
    });
    let shown = format!("{template:?}");
    assert!(shown.starts_with("ChildTemplate(ChildRules { id: \"b\""), "{shown}");
    let supervisor = Supervisor::rest_for_one().intensity(7, SECOND).child(spec);
    let shown = format!("{supervisor:?}");
    for part in ["strategy: RestForOne", "intensity: 7", "period: 1s", "children: [\"a\"]"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let supervisor = stage.supervisor(|| supervisor);
    let shown = format!("{:?}", supervisor.count_children().timeout(SECOND));
    assert_eq!(shown, "SupervisorCall { timeout: Some(1s), .. }");
}
