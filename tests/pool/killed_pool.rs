//! The workers of a pool that is killed (rule P7).

use crate::pool_support::{millis, seconds};
use crate::support::{Log, poll_once, simulations};
use krarup::behavior::behavior_fn;
use krarup::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A worker that traps exits and ignores that it is to stop. It initialises unless told not to.
async fn stubborn(mut ctx: Context<u32>, initialises: Arc<AtomicBool>) -> Result {
    ctx.trap_exits(true);
    if !initialises.load(Ordering::Relaxed) {
        std::future::pending::<()>().await;
    }
    ctx.initialised();
    loop {
        ctx.receive().await;
    }
}

fn stubborn_pool(sim: &Simulation) -> (Address<u32, PoolCommand>, Arc<AtomicBool>) {
    let initialises = Arc::new(AtomicBool::new(true));
    let flag = Arc::clone(&initialises);
    let factory = move || {
        let flag = Arc::clone(&flag);
        behavior_fn(move |ctx: Context<u32>| stubborn(ctx, flag))
    };
    let pool = sim.spawn(move || Pool::new(2, factory).init_timeout(seconds(60))).wait().unwrap();
    (pool, initialises)
}

#[test]
fn p7_workers_that_outlive_a_killed_pool_are_killed_after_the_same_time() {
    for sim in simulations(10) {
        let (pool, _) = stubborn_pool(&sim);
        pool.remove_workers(1).wait().unwrap();
        sim.run_until_idle();
        assert_eq!(sim.stats().processes, 3, "the removed one does not end either");
        sim.kill(pool.pid());
        sim.advance(millis(4_999));
        assert_eq!(sim.stats().processes, 2);
        sim.advance(millis(1));
        assert_eq!(sim.stats().processes, 0);
    }
}

#[test]
fn p7_the_timer_of_a_killed_pool_ends_with_its_last_worker() {
    for sim in simulations(10) {
        let (pool, _) = stubborn_pool(&sim);
        let workers = pool.workers().wait().unwrap();
        sim.kill(pool.pid());
        sim.run_until_idle();
        assert_eq!((sim.stats().processes, sim.stats().timers), (2, 1));
        sim.kill(workers[0]);
        sim.run_until_idle();
        assert_eq!((sim.stats().processes, sim.stats().timers), (1, 1));
        sim.kill(workers[1]);
        sim.run_until_idle();
        assert_eq!((sim.stats().processes, sim.stats().timers), (0, 0));
    }
}

#[test]
fn p7_a_worker_that_is_starting_is_killed_at_once_with_its_killed_pool() {
    for (replaces, sim) in [false, true].into_iter().cycle().zip(simulations(10)) {
        let (pool, initialises) = stubborn_pool(&sim);
        initialises.store(false, Ordering::Relaxed);
        let workers = pool.workers().wait().unwrap();
        let mut added = pool.add_workers(1).into_future();
        if replaces {
            sim.kill(workers[0]);
        } else {
            assert!(poll_once(&mut added).is_pending());
        }
        sim.run_until_idle();
        assert_eq!(sim.stats().processes, if replaces { 3 } else { 4 });
        sim.kill(pool.pid());
        sim.run_until_idle();
        let left = if replaces { 1 } else { 2 };
        assert_eq!(sim.stats().processes, left, "those that have started hear of it first");
        sim.advance(seconds(5));
        assert_eq!(sim.stats().processes, 0);
    }
}

#[test]
fn p7_a_pool_that_is_killed_while_it_ends_its_workers_kills_them() {
    for sim in simulations(10) {
        let (pool, _) = stubborn_pool(&sim);
        assert!(poll_once(&mut pool.stop().into_future()).is_pending());
        sim.advance(seconds(1));
        assert_eq!(sim.stats().processes, 3);
        sim.kill(pool.pid());
        sim.run_until_idle();
        assert_eq!(sim.stats().processes, 0);
    }
}

#[test]
fn p7_workers_that_trap_exits_clean_up_after_their_killed_pool() {
    struct Tidy(Log);

    impl Actor for Tidy {
        type Message = u32;

        async fn init(&mut self, ctx: &mut Context<u32>) -> Result {
            ctx.trap_exits(true);
            Ok(())
        }

        async fn handle_message(&mut self, _: &mut Context<u32>, _: u32) -> Result {
            Ok(())
        }

        async fn terminate(&mut self, ctx: &mut Context<u32>, _: &Reason) {
            ctx.sleep(seconds(4)).await;
            self.0.note("tidy");
        }
    }

    for sim in simulations(10) {
        let log = Log::new();
        let noted = log.clone();
        let pool = sim.spawn(move || Pool::new(2, move || Tidy(noted.clone()))).wait().unwrap();
        sim.kill(pool.pid());
        sim.advance(seconds(4));
        assert_eq!((log.lines().len(), sim.stats().processes), (2, 0));
        assert_eq!(sim.stats().timers, 0, "nobody is left to be killed");
    }
}
