//! A hundred thousand children (rules S14, S15).

mod support;

use krarup_gen::Reason;
use krarup_supervisor::{ChildTemplate, Shutdown, Supervisor, SupervisorAddress, SupervisorCalls};
use std::sync::Arc;
use std::time::Duration;
use support::{Habits, Stage, Worker};

const MANY: usize = 100_000;
const SECOND: Duration = Duration::from_secs(1);

fn many(stage: &Stage, habits: Habits, shutdown: Shutdown) -> SupervisorAddress<String> {
    let shared = stage.shared();
    let make = move |id: String| Worker::new(&id, Arc::clone(&shared), habits);
    let children = ChildTemplate::worker("one", make).shutdown(shutdown);
    let supervisor =
        stage.supervisor(|| Supervisor::simple_one_for_one(children).max_children(MANY));
    let ids = (0..MANY).map(|number| number.to_string());
    let answers = supervisor.start_children(ids).wait().unwrap();
    assert!(answers.len() == MANY && answers.iter().all(Result::is_ok));
    supervisor
}

/// Each child takes a second to end. The stop takes one second, and an inspection in the middle is
/// answered at once.
#[test]
fn s15_the_stop_of_a_hundred_thousand_children_takes_the_time_of_one() {
    let stage = Stage::new();
    let slow = Habits { trap: true, slow: Some(SECOND) };
    let supervisor = many(&stage, slow, Shutdown::Timeout(5 * SECOND));
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

/// None of them ends by itself: they are killed together when their time has passed.
#[test]
fn s15_a_hundred_thousand_that_do_not_end_are_killed_together() {
    let stage = Stage::new();
    let slow = Habits { trap: true, slow: Some(100 * SECOND) };
    let supervisor = many(&stage, slow, Shutdown::Timeout(SECOND));
    let before = stage.sim.now();
    supervisor.stop().reason(Reason::Shutdown).wait().unwrap();
    assert_eq!(stage.sim.now() - before, SECOND);
    assert_eq!(stage.sim.processes(), []);
}
