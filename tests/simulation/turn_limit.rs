//! Runs that would never rest.

use krarup::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// What a busy process is told.
#[derive(Debug)]
enum Work {
    /// Sends itself the next, for ever.
    Turn,
    /// Ticks once a second, for ever.
    Tick,
    /// How often it has ticked.
    Ticks(Reply<u32>),
    /// Is never answered.
    Ask(Reply<()>),
}

#[derive(Default)]
struct Busy {
    kept: Vec<Reply<()>>,
    ticks: u32,
}

impl Actor for Busy {
    type Message = Work;

    async fn handle_message(&mut self, ctx: &mut Context<Work>, work: Work) -> Result {
        match work {
            Work::Turn => ctx.address().send(Work::Turn)?,
            Work::Tick => {
                self.ticks += 1;
                ctx.send_after(Duration::from_secs(1), Work::Tick);
            }
            Work::Ticks(reply) => reply.send(self.ticks),
            Work::Ask(reply) => self.kept.push(reply),
        }
        Ok(())
    }
}

fn busy(sim: &Simulation) -> Result<Address<Work>> {
    Ok(sim.spawn(Busy::default).name("busy").wait()?)
}

/// The message of a panic.
fn panics(f: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(f)).unwrap_err();
    *panic.downcast::<String>().unwrap()
}

#[test]
fn y7_processes_that_never_rest_fail_their_test_with_the_last_steps() -> Result {
    for run in [
        |sim: &Simulation| {
            sim.run_until_idle();
        },
        |sim: &Simulation| sim.advance(Duration::from_secs(60)),
        |sim: &Simulation| while sim.step().is_some() {},
    ] {
        let sim = Simulation::with_throughput(3, 1);
        sim.turn_limit(100);
        let busy = busy(&sim)?;
        busy.send(Work::Turn)?;
        let said = panics(|| run(&sim));
        let begins = "the simulation does not come to rest: 100 turns, and no time has passed \
                      (Simulation::turn_limit allows more); the last steps of Simulation::with_throughput(3, 1)";
        assert!(said.starts_with(begins), "{said}");
        assert!(said.contains("\"busy\""), "{said}");
        // The process whose turn would have been next is still there, and can be ended.
        sim.turn_limit(1000);
        sim.kill(busy.pid());
        sim.run_until_idle();
        assert!(!busy.is_alive());
    }
    Ok(())
}

#[test]
fn y7_the_turns_count_anew_when_time_passes() -> Result {
    let sim = Simulation::with_throughput(3, 1);
    sim.turn_limit(100);
    let busy = busy(&sim)?;
    busy.send(Work::Tick)?;
    sim.advance(Duration::from_secs(1000));
    assert_eq!(busy.call(Work::Ticks).wait()?, 1001);
    Ok(())
}

#[test]
fn y7_a_wait_for_what_never_comes_beside_a_timer_ends() -> Result {
    let sim = Simulation::new(3);
    sim.turn_limit(100);
    let busy = busy(&sim)?;
    busy.send(Work::Tick)?;
    let begins = "what is waited for has not come after 100 turns";
    let said = panics(|| drop(busy.call(Work::Ask).no_timeout().wait()));
    assert!(said.starts_with(begins), "{said}");
    let said = panics(|| drop(sim.block_on(busy.call(Work::Ask).no_timeout().into_future())));
    assert!(said.starts_with(begins), "{said}");
    // The next wait has as many turns.
    sim.stop().wait()
}

#[test]
fn y7_a_seed_that_never_rests_is_reported() {
    let failing = Simulation::try_explore(0..10, |sim| {
        sim.turn_limit(100);
        busy(sim)?.send(Work::Turn)?;
        sim.run_until_idle();
        Ok(())
    });
    let failing = failing.unwrap_err();
    assert_eq!(failing.seed(), 0);
    assert!(failing.reason().to_string().contains("does not come to rest"), "{failing}");
}
