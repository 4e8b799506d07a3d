//! Agents: rules J13 and J14.

use crate::support::simulations;
use krarup::prelude::*;
use krarup::{Agent, AgentAddress};
use std::collections::BTreeMap;
use std::time::Duration;

fn counter(sim: &Simulation) -> AgentAddress<u32> {
    sim.spawn(|| Agent::new(|| 40)).name("counter").wait().unwrap()
}

#[test]
fn j13_an_agent_runs_functions_on_its_value_one_at_a_time_in_order() {
    for sim in simulations(20) {
        let counter = counter(&sim);
        assert_eq!(counter.get(|count| *count).wait(), Ok(40));
        counter.cast(|count| *count += 1).unwrap();
        assert_eq!(counter.update(|count| *count *= 2).wait(), Ok(()));
        let before = counter.get_and_update(|count| std::mem::replace(count, 7));
        assert_eq!(before.timeout(Duration::from_secs(1)).wait(), Ok(82));
        assert_eq!(counter.get(|count| *count).wait(), Ok(7));
    }
}

#[test]
fn j13_processes_use_an_agent_together_and_no_change_is_lost() {
    for sim in simulations(50) {
        let counter = counter(&sim);
        for _ in 0..10 {
            let counter = counter.clone();
            sim.task(async move {
                for _ in 0..10 {
                    counter.update(|count| *count += 1).await.unwrap();
                }
            })
            .start()
            .unwrap()
            .detach();
        }
        sim.run_until_idle();
        assert_eq!(counter.get(|count| *count).wait(), Ok(140));
    }
}

#[test]
fn j13_a_function_that_panics_ends_the_agent_and_fails_its_call_with_the_place() {
    for sim in simulations(20) {
        let counter = counter(&sim);
        let error = counter.get(|_| -> u32 { panic!("planned") }).wait().unwrap_err();
        let CallError::Terminated { reason, .. } = &error else { panic!("{error}") };
        assert!(reason.to_string().contains("tests/process/agents.rs:"), "{reason}");
        assert!(!sim.is_alive(counter.pid()));
        assert!(matches!(counter.get(|count| *count).wait(), Err(CallError::NoProcess { .. })));
        assert!(counter.cast(|_| ()).is_err());
    }
}

#[test]
fn j13_an_init_that_panics_fails_the_spawn() {
    let sim = Simulation::new(1);
    let error = sim.spawn(|| Agent::new(|| -> u32 { panic!("planned") })).wait().unwrap_err();
    assert!(matches!(error, SpawnError::Init(Reason::Panic(_))), "{error}");
}

#[test]
fn j14_an_agent_is_a_child_of_a_supervisor_with_a_name_and_a_fresh_value_after_a_restart() {
    for sim in simulations(20) {
        sim.spawn(|| {
            let spec = ChildSpec::worker("counter", || Agent::new(|| 40_u32)).name("counter");
            Supervisor::one_for_one().child(spec)
        })
        .wait()
        .unwrap();
        let counter = || -> AgentAddress<u32> { sim.lookup("counter").unwrap() };
        let first = counter();
        assert_eq!(first.update(|count| *count += 1).wait(), Ok(()));
        assert!(first.update(|_| panic!("planned")).wait().is_err());
        sim.run_until_idle();
        let second = counter();
        assert_ne!(first.pid(), second.pid());
        assert_eq!(second.get(|count| *count).wait(), Ok(40));
    }
}

#[test]
fn j14_an_agent_has_a_bound_as_every_process() {
    let sim = Simulation::new(1);
    let counter = sim.spawn(|| Agent::new(|| 0_u32)).mailbox(2).wait().unwrap();
    assert!(counter.cast(|count| *count += 1).is_ok());
    assert!(counter.cast(|count| *count += 1).is_ok());
    assert!(counter.cast(|count| *count += 1).is_err(), "full");
    sim.run_until_idle();
    assert_eq!(counter.get(|count| *count).wait(), Ok(2));
}

#[test]
fn j14_an_agent_shows_its_value_only_if_that_was_asked_for() {
    let sim = Simulation::new(1);
    let init = || BTreeMap::from([("a", 1)]);
    let shown = sim.spawn(move || Agent::new(init).inspected()).wait().unwrap();
    let inspection = sim.inspect(shown.pid()).wait().unwrap();
    assert_eq!(inspection.to_string(), "value={\"a\": 1}");
    let hidden = sim.spawn(move || Agent::new(init)).wait().unwrap();
    assert_eq!(sim.inspect(hidden.pid()).wait().unwrap().to_string(), "");
}
