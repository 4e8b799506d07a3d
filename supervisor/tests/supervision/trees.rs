//! Supervisors under supervisors: escalation, parents that end, orphans.

use crate::support::{Do, Habits, Stage, Start, Worker, children_text};
use krarup_act::{Context, Received, behavior_fn};
use krarup_gen::{Exit, Reason};
use krarup_supervisor::{
    AutoShutdown, ChildSpec, ChildTemplate, RestartType, Shutdown, Supervisor, SupervisorAddress,
    SupervisorCalls,
};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

/// A supervisor registered as "inner", over workers a and b.
fn inner(stage: &Stage, intensity: u32) -> ChildSpec {
    let (a, b) = (stage.child("a"), stage.child("b"));
    ChildSpec::supervisor("inner", move || {
        Supervisor::one_for_one().intensity(intensity, HOUR).child(a.clone()).child(b.clone())
    })
    .name("inner")
}

fn inner_address(stage: &Stage) -> SupervisorAddress {
    stage.sim.lookup("inner").expect("an inner supervisor")
}

#[test]
fn s5_a_permanent_inner_supervisor_that_gives_up_is_restarted() {
    let stage = Stage::new();
    let (inner, c) = (inner(&stage, 0), stage.child("c"));
    let supervisor = stage.supervisor(|| Supervisor::one_for_all().child(inner).child(c));
    stage.crash("a");
    assert_eq!(stage.log(), "(boom) a, stop b, stop c, start a, start b, start c");
    assert_eq!(children_text(&supervisor), "inner c");
    stage.crash("c");
    assert!(!supervisor.is_alive());
    assert_eq!(stage.log(), "(boom) c, stop b, stop a");
    assert_eq!(stage.sim.processes(), []);
}

#[test]
fn s5_a_transient_inner_supervisor_that_gives_up_is_not_restarted() {
    let stage = Stage::new();
    let inner = inner(&stage, 0).restart(RestartType::Transient);
    let supervisor = stage.supervisor(|| Supervisor::one_for_one().child(inner));
    stage.crash("a");
    assert_eq!(children_text(&supervisor), "inner:undefined");
}

#[test]
fn s1_auto_shutdown_cascades_through_a_significant_supervisor() {
    let stage = Stage::new();
    let any = AutoShutdown::AnySignificant;
    let a = stage.child("a").restart(RestartType::Temporary).significant(true);
    let inner = ChildSpec::supervisor("inner", move || {
        Supervisor::one_for_one().auto_shutdown(any).child(a.clone())
    });
    let inner = inner.restart(RestartType::Transient).significant(true);
    let b = stage.child("b");
    let supervisor = stage
        .supervisor(move || Supervisor::one_for_one().auto_shutdown(any).child(b).child(inner));
    stage.tell("a", Do::End(Reason::Normal));
    assert!(!supervisor.is_alive());
    assert_eq!(stage.log(), "(normal) a, stop b");
}

#[test]
fn s6_an_inner_supervisor_that_fails_to_start_again_is_tried_again() {
    let stage = Stage::new();
    let inner = inner(&stage, 0);
    let supervisor = stage.supervisor(|| Supervisor::one_for_one().intensity(5, HOUR).child(inner));
    stage.plan("b", &[Start::Fail]);
    stage.crash("a");
    assert_eq!(stage.log(), "(boom) a, stop b, start a, fail b, stop a, start a, start b");
    assert_eq!(children_text(&supervisor), "inner");
    assert_eq!(children_text(&inner_address(&stage)), "a b");
}

/// As in OTP, a killed supervisor runs no code of its own, and its children are notified through
/// their links. Plain children end with it, children that trap exits run `terminate`, and
/// supervisors end their own children.
#[test]
fn d3_the_children_of_a_killed_supervisor_end_and_a_new_tree_takes_their_place() {
    let stage = Stage::new();
    let shared = stage.shared();
    let trap = Habits { trap: true, slow: None };
    // Without names: the old and the new children live side by side for a while.
    let worker = move |id: &'static str, habits| {
        let shared = shared.clone();
        ChildSpec::worker(id, move || Worker::new(id, shared.clone(), habits))
    };
    let lowest = {
        let worker = worker.clone();
        ChildSpec::supervisor("lowest", move || Supervisor::one_for_one().child(worker("c", trap)))
    };
    let inner = ChildSpec::supervisor("inner", move || {
        Supervisor::one_for_one()
            .child(worker("a", Habits::default()))
            .child(worker("b", trap))
            .child(lowest.clone())
    });
    let supervisor = stage.supervisor(|| Supervisor::one_for_one().child(inner.name("inner")));
    let (old, before) = (stage.pid("inner"), stage.sim.processes());
    stage.sim.kill(old);
    stage.sim.run_until_idle();
    let log = stage.log();
    for event in ["(killed) b", "stop c", "start a", "start b", "start c"] {
        assert!(log.contains(event), "{event} in {log}");
    }
    assert_ne!(stage.pid("inner"), old);
    let survivors: Vec<_> = before.into_iter().filter(|pid| stage.sim.is_alive(*pid)).collect();
    assert_eq!(survivors, [supervisor.pid()]);
}

#[test]
fn l3_a_supervisor_ends_with_its_linked_parent_for_every_reason() {
    for reason in [Reason::Normal, Reason::Shutdown, Reason::error("gone")] {
        let stage = Stage::new();
        let a = stage.child("a");
        let last = reason.clone();
        let parent = stage.sim.spawn(move || {
            behavior_fn(move |mut ctx: Context<()>| async move {
                let supervisor = ctx
                    .spawn(|| Supervisor::one_for_one().child(a))
                    .name("supervisor")
                    .link()
                    .await?;
                ctx.initialised();
                ctx.receive().await;
                drop(supervisor);
                Err(last)
            })
        });
        let parent = parent.wait().unwrap();
        let supervisor: SupervisorAddress = stage.sim.lookup("supervisor").unwrap();
        parent.send(()).unwrap();
        assert_eq!(supervisor.watch().wait().unwrap().reason, reason);
        assert_eq!(stage.log(), "start a, stop a");
    }
}

#[test]
fn l3_a_supervisor_obeys_its_parents_signal() {
    let stage = Stage::new();
    let a = stage.child("a");
    let parent = behavior_fn(move |mut ctx: Context<()>| async move {
        ctx.trap_exits(true);
        let supervisor = ctx.spawn(|| Supervisor::one_for_one().child(a)).link().await?;
        ctx.exit(supervisor.pid(), Reason::error("over"));
        match ctx.receive().await {
            Received::Exit(Exit { pid, reason }) => {
                assert_eq!((pid, &reason), (supervisor.pid(), &Reason::error("over")));
                Ok(())
            }
            other => panic!("{other:?}"),
        }
    });
    let parent = stage.sim.spawn(|| parent).start().unwrap();
    assert_eq!(parent.watch().wait().unwrap().reason, Reason::Normal);
    assert_eq!(stage.log(), "start a, stop a");
}

#[test]
fn s7_a_supervisor_that_is_killed_brutally_takes_its_children_along() {
    let stage = Stage::new();
    let inner = inner(&stage, 0).shutdown(Shutdown::BrutalKill);
    let supervisor = stage.supervisor(|| Supervisor::one_for_one().child(inner));
    supervisor.terminate_child("inner").wait().unwrap();
    stage.sim.run_until_idle();
    assert_eq!(children_text(&supervisor), "inner:undefined");
    assert_eq!(stage.sim.processes(), [supervisor.pid()]);
}

/// Any behaviour can be a child: here a bare process, and a supervisor with a template.
#[test]
fn s1_children_are_of_any_behaviour() {
    let stage = Stage::new();
    let shared = stage.shared();
    let bare = ChildSpec::worker("bare", || {
        behavior_fn(|mut ctx: Context<u8>| async move {
            loop {
                if let Received::Message(0) = ctx.receive().await {
                    return Err(Reason::error("zero"));
                }
            }
        })
    });
    let dynamic = ChildSpec::supervisor("dynamic", move || {
        let shared = shared.clone();
        Supervisor::simple_one_for_one(ChildTemplate::worker("w", move |id: String| {
            Worker::new(&id, shared.clone(), Habits::default())
        }))
    });
    let supervisor = stage.supervisor(|| {
        Supervisor::one_for_one().child(bare.name("bare")).child(dynamic.name("dynamic"))
    });
    let dynamic: SupervisorAddress<String> = stage.sim.lookup("dynamic").unwrap();
    dynamic.start_child("d".to_owned()).wait().unwrap();
    let bare = stage.sim.lookup::<u8, u8>("bare").unwrap();
    bare.send(0).unwrap();
    stage.sim.run_until_idle();
    assert_ne!(stage.pid("bare"), bare.pid());
    supervisor.stop().wait().unwrap();
    assert_eq!(stage.log(), "start d, stop d");
    assert_eq!(stage.sim.processes(), []);
}

/// The old children are still ending when new ones are spawned with their names.
#[test]
fn n3_a_tree_with_names_survives_the_death_of_any_of_its_supervisors() {
    for seed in 0..100 {
        let stage = Stage::with_seed(seed);
        let (a, b) = (stage.child("a"), stage.child_with("b", SLOW));
        let lowest = ChildSpec::supervisor("lowest", move || {
            Supervisor::one_for_all().child(a.clone()).child(b.clone())
        });
        let (c, lowest) = (stage.child("c"), lowest.name("lowest"));
        let inner = ChildSpec::supervisor("inner", move || {
            Supervisor::one_for_one().child(c.clone()).child(lowest.clone())
        });
        let inner = inner.name("inner");
        // The default intensity allows one restart, and no failed try besides it.
        let supervisor = stage.supervisor(|| Supervisor::one_for_one().child(inner));
        for killed in ["inner", "lowest"] {
            stage.sim.kill(stage.pid(killed));
            stage.pass(Duration::from_secs(60));
            for id in ["a", "b", "c", "lowest", "inner"] {
                assert!(stage.sim.whereis(id).is_some(), "{id} after {killed}, seed {seed}");
            }
        }
        let restarts = supervisor.inspect().wait().unwrap();
        assert_eq!(restarts.number("restarts"), Some(1));
        assert_eq!(stage.sim.processes().len(), 6);
    }
}

const SLOW: Habits = Habits { trap: true, slow: Some(Duration::from_secs(1)) };

#[test]
fn n3_an_orphan_that_never_ends_is_not_waited_for_for_ever() {
    let limits = [
        (Shutdown::Timeout(Duration::from_secs(3)), 3),
        (Shutdown::BrutalKill, 5),
        (Shutdown::Infinity, 5),
    ];
    for (shutdown, seconds) in limits {
        let stage = Stage::new();
        let forever = Habits { trap: true, slow: Some(HOUR) };
        let a = stage.child_with("a", forever).shutdown(shutdown);
        let inner =
            ChildSpec::supervisor("inner", move || Supervisor::one_for_one().child(a.clone()));
        let inner = inner.name("inner");
        let supervisor = stage.supervisor(|| Supervisor::one_for_one().child(inner));
        stage.sim.kill(stage.pid("inner"));
        stage.pass(Duration::from_millis(seconds * 1000 - 1));
        assert!(supervisor.is_alive(), "it waits for the name: {shutdown}");
        stage.pass(Duration::from_millis(1));
        assert!(!supervisor.is_alive(), "a second try would exceed the limit");
    }
}

#[test]
fn n3_a_name_that_belongs_to_no_orphan_is_not_waited_for() {
    for has_parent in [false, true] {
        let stage = Stage::new();
        let holder = || {
            behavior_fn(|mut ctx: Context<()>| async move {
                ctx.register("a")?;
                ctx.initialised();
                ctx.receive().await;
                Ok(())
            })
        };
        if has_parent {
            let parent = behavior_fn(move |mut ctx: Context<()>| async move {
                let child = ctx.spawn(holder).await?;
                ctx.initialised();
                ctx.receive().await;
                drop(child);
                Ok(())
            });
            stage.start(|| parent).unwrap();
        } else {
            stage.start(holder).unwrap();
        }
        let a = stage.child("a");
        let error = stage.start(|| Supervisor::one_for_one().child(a)).unwrap_err();
        assert!(error.to_string().contains("name a is taken by"), "{error}");
        assert_eq!(stage.sim.now().as_nanos(), 0);
    }
}
