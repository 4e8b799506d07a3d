//! Functions that run when a process has handled what it has accepted: rule M13.

use crate::support::{Log, simulations};
use krarup::prelude::*;
use std::sync::mpsc;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// Notes each message when it is done, a second after it was begun.
struct Slow(Log);

impl Actor for Slow {
    type Message = &'static str;

    async fn handle_message(
        &mut self,
        ctx: &mut Context<&'static str>,
        name: &'static str,
    ) -> Result {
        ctx.sleep(SECOND).await;
        self.0.note(name);
        Ok(())
    }
}

fn slow(sim: &Simulation, log: &Log) -> Address<&'static str> {
    let log = log.clone();
    sim.spawn(move || Slow(log)).wait().unwrap()
}

#[test]
fn m13_a_function_runs_behind_what_was_accepted_and_before_what_follows() {
    for sim in simulations(20) {
        let log = Log::new();
        let slow = slow(&sim, &log);
        slow.send("first").unwrap();
        slow.send("second").unwrap();
        let noting = log.clone();
        slow.when_handled(move || noting.note("handled"));
        slow.send("third").unwrap();
        sim.advance(SECOND / 2);
        assert_eq!(log.take(), [""; 0], "the first is in progress");
        sim.advance(SECOND);
        assert_eq!(log.take(), ["first"]);
        sim.advance(SECOND);
        assert_eq!(log.take(), ["second", "handled"]);
        sim.advance(SECOND);
        assert_eq!(log.take(), ["third"]);
    }
}

#[test]
fn m13_a_function_for_an_idle_process_runs_at_once_and_in_order() {
    for sim in simulations(20) {
        let log = Log::new();
        let slow = slow(&sim, &log);
        for name in ["one", "two"] {
            let noting = log.clone();
            slow.when_handled(move || noting.note(name));
        }
        sim.run_until_idle();
        assert_eq!(log.take(), ["one", "two"]);
    }
}

#[test]
fn m13_a_function_runs_once_when_its_process_ends_or_has_ended() {
    for sim in simulations(20) {
        let log = Log::new();
        let slow = slow(&sim, &log);
        slow.send("never done").unwrap();
        let noting = log.clone();
        slow.when_handled(move || noting.note("lost"));
        sim.run_until_idle();
        assert_eq!(log.take(), [""; 0]);
        sim.kill(slow.pid());
        sim.run_until_idle();
        assert_eq!(log.take(), ["lost"]);
        assert!(!slow.is_alive());
        let noting = log.clone();
        slow.when_handled(move || noting.note("at once"));
        assert_eq!(log.take(), ["at once"]);
    }
}

#[test]
fn m13_a_function_needs_no_room_and_its_panic_ends_nobody() {
    for sim in simulations(20) {
        let log = Log::new();
        let noting = log.clone();
        let slow = sim.spawn(move || Slow(noting)).mailbox(1).wait().unwrap();
        slow.send("taken").unwrap();
        sim.run_until_idle();
        slow.send("waits").unwrap();
        assert!(slow.send("no room").is_err());
        slow.when_handled(|| panic!("of a user"));
        let noting = log.clone();
        slow.when_handled(move || noting.note("handled"));
        sim.advance(2 * SECOND);
        assert_eq!(log.take(), ["taken", "waits", "handled"]);
        assert!(slow.is_alive());
    }
}

#[test]
fn m13_a_function_at_a_pool_waits_for_the_jobs_of_all_workers() {
    for sim in simulations(20) {
        let log = Log::new();
        let noting = log.clone();
        let pool = sim.spawn(move || Pool::new(2, move || Slow(noting.clone()))).wait().unwrap();
        pool.send("left").unwrap();
        pool.send("right").unwrap();
        let noting = log.clone();
        pool.when_handled(move || noting.note("handled"));
        sim.advance(SECOND / 2);
        assert_eq!(log.take(), [""; 0]);
        sim.advance(SECOND);
        assert_eq!(log.take().last().map(String::as_str), Some("handled"));
    }
}

#[test]
fn m13_a_function_runs_behind_what_its_own_thread_has_sent() {
    let node = Node::builder("handled@localhost").workers(2).start().unwrap();
    let echo =
        krarup::behavior::behavior_fn(|mut ctx: Context<(u32, mpsc::Sender<u32>)>| async move {
            while let krarup::behavior::Received::Message((number, to)) = ctx.receive().await {
                let _ = to.send(number);
            }
            Ok(())
        });
    let echo = node.spawn(|| echo).start().unwrap();
    let (to, numbers) = mpsc::channel();
    for number in 0..1_000 {
        echo.send((2 * number, to.clone())).unwrap();
        let to = to.clone();
        echo.when_handled(move || {
            let _ = to.send(2 * number + 1);
        });
    }
    drop(to);
    assert!(numbers.iter().eq(0..2_000));
    node.stop().wait().unwrap();
}
