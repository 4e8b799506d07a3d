//! Applications over seeds, with faults: nothing is ever half done (rule A14).

use crate::application_support::{Say, app, state};
use crate::support::Log;
use krarup::application::{Application, ApplicationState, Mode, StartApplicationError};
use krarup::prelude::*;
use krarup::testing::{Fault, Faults};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

async fn phase(ctx: Context<()>) -> Result {
    ctx.sleep(SECOND).await;
    Ok(())
}

/// Three that need each other, with a phase and a process that is left behind.
fn three(log: &Log, mode: Mode) -> [Application; 3] {
    let leave = |ctx: Context<()>| async move {
        let top: Address<Say> = ctx.lookup("b")?;
        top.call(Say::Leave).await?;
        Ok(())
    };
    [
        app("c", log).needs("b").phase("slow", phase).mode(mode),
        app("b", log).needs("a").phase("leave", leave),
        app("a", log),
    ]
}

/// No application is in the middle of anything, and nobody of one that has ended lives.
fn check_rest(sim: &Simulation, told: &str) {
    for one in sim.applications() {
        let rests = matches!(
            one.state,
            ApplicationState::Loaded | ApplicationState::Running | ApplicationState::Ended(_)
        );
        assert!(rests, "{told}: {one}\n{}", sim.last_steps());
        let living = sim
            .processes()
            .into_iter()
            .filter_map(|pid| sim.process_info(pid)?.application)
            .filter(|application| *application == one.name)
            .count();
        assert_eq!(living, one.processes, "{told}: {one}");
        assert_eq!(living > 0, one.state == ApplicationState::Running, "{told}: {one}");
    }
}

#[test]
fn a14_a_start_with_faults_is_done_or_taken_back() {
    let (mut failed, mut done) = (0, 0);
    for seed in 0..400 {
        let log = Log::new();
        let sim = Simulation::with_throughput(seed, 1);
        sim.declare_applications(three(&log, Mode::Temporary)).unwrap();
        sim.faults(Faults::new().kill_one_in(20).fail_init_one_in(20).at_most(3));
        let outcome = sim.start_application("c").wait();
        sim.faults(Faults::new());
        // A top process may be killed after its start: what has begun is finished.
        sim.advance(60 * SECOND);
        check_rest(&sim, "after the start");
        match outcome {
            Ok(_) => done += 1,
            Err(StartApplicationError::Failed { .. } | StartApplicationError::NeedEnded { .. }) => {
                failed += 1;
                for name in ["a", "b", "c"] {
                    let alive = state(&sim, name).is_alive();
                    assert!(!alive, "seed {seed}: {name} {:?}", state(&sim, name));
                }
            }
            Err(other) => panic!("seed {seed}: {other}"),
        }
        assert!(!sim.is_stopping());
    }
    assert!(failed > 50 && done > 50, "{failed} {done}");
}

#[test]
fn a14_a_stop_with_faults_is_done() {
    for seed in 0..300 {
        let log = Log::new();
        let sim = Simulation::with_throughput(seed, 1);
        sim.declare_applications(three(&log, Mode::Permanent)).unwrap();
        sim.start_applications().unwrap();
        // The top processes are spared: their own end is another rule's.
        let tops = sim.applications().into_iter().filter_map(|one| one.top);
        let faults = Faults::new().kill_one_in(4).at_most(5);
        sim.faults(tops.fold(faults, Faults::spare));
        let stopped = sim.stop_application("a").with_dependents().wait();
        assert_eq!(stopped, Ok(()), "seed {seed}\n{}", sim.last_steps());
        sim.faults(Faults::new());
        sim.run_until_idle();
        check_rest(&sim, "after the stop");
        assert!(sim.applications().iter().all(|one| !one.state.is_alive()));
        assert!(!sim.is_stopping(), "seed {seed}: a stop by request stops no node");
    }
}

#[test]
fn a14_a_start_against_a_stop_leaves_one_that_runs_or_has_ended() {
    let (mut ran, mut ended) = (0, 0);
    for seed in 0..500 {
        let log = Log::new();
        let sim = Simulation::with_throughput(seed, 1);
        sim.declare_applications(three(&log, Mode::Permanent)).unwrap();
        let nodes = [sim.node().clone(), sim.node().clone(), sim.node().clone()];
        let [one, two, three] = nodes;
        let start = sim.task(async move { one.start_application("c").await }).start().unwrap();
        let stop = sim.task(async move { two.stop_application("b").with_dependents().await });
        let stop = stop.start().unwrap();
        let again = sim.task(async move { three.start_application("b").await }).start().unwrap();
        let (start, stop) = (start.wait().unwrap(), stop.wait().unwrap());
        let again = again.wait().unwrap();
        sim.advance(10 * SECOND);
        check_rest(&sim, "after the race");
        assert!(!sim.is_stopping(), "seed {seed}: {start:?} {stop:?} {again:?}");
        match state(&sim, "c") {
            ApplicationState::Running => ran += 1,
            _ => ended += 1,
        }
        // One that runs has what it needs.
        if state(&sim, "c") == ApplicationState::Running {
            assert_eq!(state(&sim, "b"), ApplicationState::Running, "seed {seed}");
        }
        if state(&sim, "b") == ApplicationState::Running {
            assert_eq!(state(&sim, "a"), ApplicationState::Running, "seed {seed}");
        }
    }
    assert!(ran > 20 && ended > 20, "{ran} {ended}");
}

#[test]
fn a14_a_killed_keeper_is_replaced_and_the_modes_still_hold() {
    for seed in 0..100 {
        for reason in [Reason::Normal, Reason::error("crash")] {
            let log = Log::new();
            let sim = Simulation::with_throughput(seed, 1);
            sim.declare_applications(three(&log, Mode::Transient)).unwrap();
            sim.start_applications().unwrap();
            let keepers = || {
                let all = sim.processes().into_iter().filter_map(|pid| sim.process_info(pid));
                all.filter(|it| it.behavior.to_string().starts_with("application c"))
                    .map(|it| it.pid)
            };
            let keeper: Vec<_> = keepers().collect();
            assert_eq!(keeper.len(), 1);
            let top: Address<Say> = sim.lookup("c").unwrap();
            // Either may be first, and the keeper may be killed while it takes down.
            sim.faults(Faults::new().at_step(sim.choose(40) as u64, Fault::Kill, keeper[0]));
            sim.kill(keeper[0]);
            top.send(Say::End(reason.clone())).unwrap();
            for _ in 0..sim.choose(6) {
                sim.step();
            }
            keepers().for_each(|keeper| sim.kill(keeper));
            sim.run_until_idle();
            assert_eq!(state(&sim, "c"), ApplicationState::Ended(reason.clone()), "seed {seed}");
            assert_eq!(sim.is_stopping(), !reason.is_normal(), "seed {seed} {reason}");
        }
    }
}

#[test]
fn a14_the_node_stops_with_its_applications_whatever_is_killed() {
    for seed in 0..300 {
        let log = Log::new();
        let sim = Simulation::with_throughput(seed, 1);
        sim.declare_applications(three(&log, Mode::Permanent)).unwrap();
        sim.start_applications().unwrap();
        sim.faults(Faults::new().kill_one_in(5).at_most(4).only("c"));
        sim.stop().wait().unwrap();
        assert!(sim.applications().iter().all(|one| !one.state.is_alive()), "seed {seed}");
        assert_eq!(sim.applications().iter().map(|one| one.processes).sum::<usize>(), 0);
    }
}

#[test]
fn a14_a_service_whose_keeper_was_replaced_is_asked_to_stop_and_not_killed() {
    for seed in 0..100 {
        let log = Log::new();
        let sim = Simulation::with_throughput(seed, 1);
        let service = app("s", &log).on_stop(phase).service();
        sim.declare_applications([service, app("a", &log)]).unwrap();
        sim.start_applications().unwrap();
        let keeper = sim.processes().into_iter().find(|pid| {
            let info = sim.process_info(*pid);
            info.is_some_and(|info| info.behavior.to_string().starts_with("application s"))
        });
        // The process that replaces it is newer than the service.
        sim.kill(keeper.unwrap());
        sim.run_until_idle();
        log.take();
        sim.stop().wait().unwrap();
        assert_eq!(log.take(), ["end a shutdown", "end s shutdown"], "seed {seed}");
    }
}
