//! Very many children (rules S14, S15). A hundred thousand take as long for each.

use crate::support::{Habits, Stage, Worker};
use krarup_gen::Reason;
use krarup_supervisor::{ChildTemplate, Shutdown, Supervisor, SupervisorAddress, SupervisorCalls};
use std::sync::Arc;
use std::time::Duration;

const MANY: usize = 20_000;
const SECOND: Duration = Duration::from_secs(1);

/// Ten of them take this time to end.
const SLOW: usize = 10;

fn many(stage: &Stage, slow: Duration, shutdown: Shutdown) -> SupervisorAddress<String> {
    let shared = stage.shared();
    let make = move |id: String| {
        let is_slow = id.parse().is_ok_and(|number: usize| number.is_multiple_of(MANY / SLOW));
        let habits = Habits { trap: true, slow: is_slow.then_some(slow) };
        Worker::new(&id, Arc::clone(&shared), habits)
    };
    let children = ChildTemplate::worker("one", make).shutdown(shutdown);
    let supervisor =
        stage.supervisor(|| Supervisor::simple_one_for_one(children).max_children(MANY));
    let ids = (0..MANY).map(|number| number.to_string());
    let answers = supervisor.start_children(ids).wait().unwrap();
    assert!(answers.len() == MANY && answers.iter().all(Result::is_ok));
    supervisor
}

/// Ten of the children take a second to end. The stop takes one second, and an inspection in the middle
/// is answered at once.
#[test]
fn s15_the_stop_of_very_many_children_takes_the_time_of_one() {
    let stage = Stage::new();
    let supervisor = many(&stage, SECOND, Shutdown::Timeout(5 * SECOND));
    let before = stage.sim.now();
    let stopped = supervisor.clone();
    let stop = stage.sim.task(async move { stopped.stop().reason(Reason::Shutdown).await });
    let stop = stop.start().unwrap();
    stage.pass(SECOND / 2);
    let inspected = stage.sim.inspect(supervisor.pid()).wait().unwrap();
    assert_eq!(inspected.number("active"), Some(MANY as u64));
    assert_eq!(stage.sim.now() - before, SECOND / 2);
    stop.wait().unwrap().unwrap();
    assert_eq!(stage.sim.now() - before, SECOND);
    assert_eq!(stage.sim.processes(), []);
}

/// Those that do not end by themselves are killed together when their time has passed.
#[test]
fn s15_children_of_many_that_do_not_end_are_killed_together() {
    let stage = Stage::new();
    let supervisor = many(&stage, 100 * SECOND, Shutdown::Timeout(SECOND));
    let before = stage.sim.now();
    supervisor.stop().reason(Reason::Shutdown).wait().unwrap();
    assert_eq!(stage.sim.now() - before, SECOND);
    assert_eq!(stage.sim.processes(), []);
}
