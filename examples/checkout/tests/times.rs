//! What needs virtual time: waits that are exact, workers that start or end slowly.

use super::world::{LONG, World, pool, pool_of, status};
use crate::calls::CheckoutCalls;
use crate::errors::LeaseError;
use crate::status::CheckoutState;
use krarup::prelude::*;
use std::sync::atomic::Ordering;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn simulate(test: impl Fn(&World, &Simulation)) {
    World::simulate(|world| {
        let World::Simulated(sim) = world else { return };
        test(world, sim);
    });
}

#[test]
fn checkout_2_a_caller_waits_for_its_timeout_and_no_longer() {
    simulate(|world, sim| {
        let pool = pool(world, 1, 0);
        let _lease = pool.lease(LONG).wait().unwrap();
        let limit = Duration::from_millis(300);
        let began = sim.now();
        assert_eq!(pool.lease(limit).wait().unwrap_err(), LeaseError::Timeout { limit });
        assert_eq!(sim.now() - began, limit);
    });
}

#[test]
fn checkout_2_a_worker_that_starts_slowly_holds_up_nobody_else() {
    simulate(|world, sim| {
        let pool = pool(world, 1, 2);
        let own = pool.lease(LONG).wait().unwrap();
        pool.staff.init_ms.store(10_000, Ordering::SeqCst);
        let first = world.caller(&pool);
        sim.run_until_idle();
        let second = world.caller(&pool);
        sim.run_until_idle();
        let now = status(&pool);
        assert_eq!((now.state, now.starting, now.waiting), (CheckoutState::Full, 2, 2));
        // A worker that comes back goes to the first, though another is being made for it.
        let began = sim.now();
        drop(own);
        let first = first.wait().unwrap().unwrap();
        assert_eq!(sim.now() - began, Duration::ZERO);
        // The second gets the first that starts; the other one is not needed.
        let second = second.wait().unwrap().unwrap();
        assert_eq!(sim.now() - began, 10 * SECOND);
        world.settle(&pool, 0, 2, 0);
        drop((first, second));
        world.settle(&pool, 1, 0, 0);
    });
}

#[test]
fn checkout_4_there_are_never_more_processes_than_the_pool_may_have() {
    simulate(|world, sim| {
        let pool = pool_of(world, 1, 1, |pool| pool.shutdown(5 * SECOND));
        let (own, more) = (pool.lease(LONG).wait().unwrap(), pool.lease(LONG).wait().unwrap());
        pool.staff.lingers.store(true, Ordering::SeqCst);
        drop(more);
        sim.run_until_idle();
        // One worker has been told to end, and has not: it still counts.
        let now = status(&pool);
        assert_eq!((now.state, now.workers, pool.staff.alive()), (CheckoutState::Full, 1, 2));
        let began = sim.now();
        let next = pool.lease(LONG).wait().unwrap();
        assert_eq!(sim.now() - began, 5 * SECOND, "it was killed when its time was over");
        assert_eq!(pool.staff.alive(), 2);
        drop((own, next));
    });
}

#[test]
fn checkout_6_a_worker_that_is_dead_already_is_not_handed_over() {
    simulate(|world, sim| {
        let pool = pool(world, 2, 0);
        let returned = pool.lease(LONG).wait().unwrap();
        let (dies, ends) = (pool.lease(LONG).wait().unwrap(), returned.pid());
        let dead = dies.pid();
        drop(dies);
        world.settle(&pool, 1, 1, 0);
        // The pool hears of a request and of a lease that is over before it hears of the deaths.
        pool.suspend().wait().unwrap();
        let first = world.caller(&pool);
        sim.run_until_idle();
        let second = world.caller(&pool);
        sim.run_until_idle();
        drop(returned);
        sim.run_until_idle();
        sim.kill(dead);
        sim.kill(ends);
        sim.run_until_idle();
        assert!(pool.resume());
        for caller in [first, second] {
            let lease = caller.wait().unwrap().unwrap();
            assert!(lease.is_alive() && lease.pid() != dead && lease.pid() != ends);
        }
        world.settle(&pool, 2, 0, 0);
    });
}

#[test]
fn checkout_11_a_worker_that_does_not_end_is_killed_when_its_time_is_over() {
    simulate(|world, sim| {
        let pool = pool_of(world, 3, 0, |pool| pool.shutdown(2 * SECOND));
        pool.staff.lingers.store(true, Ordering::SeqCst);
        let began = sim.now();
        pool.stop().wait().unwrap();
        assert_eq!(sim.now() - began, 2 * SECOND, "all at the same time");
        sim.run_until_idle();
        assert_eq!((pool.staff.alive(), pool.staff.take_notes().len()), (0, 0));
    });
}

#[test]
fn checkout_11_who_waits_hears_of_a_stop_at_once_and_a_worker_that_starts_ends_too() {
    simulate(|world, sim| {
        let pool = pool_of(world, 1, 1, |pool| pool.shutdown(2 * SECOND));
        let _own = pool.lease(LONG).wait().unwrap();
        pool.staff.init_ms.store(100_000, Ordering::SeqCst);
        let waiting = world.caller(&pool);
        sim.run_until_idle();
        assert_eq!(status(&pool).starting, 1);
        pool.staff.lingers.store(true, Ordering::SeqCst);
        let (stop, began) = (pool.stop(), sim.now());
        let stopping = world.task(async move { stop.await }).start().unwrap();
        assert!(matches!(waiting.wait().unwrap(), Err(LeaseError::Pool(_))));
        assert_eq!(sim.now() - began, Duration::ZERO);
        stopping.wait().unwrap().unwrap();
        sim.run_until_idle();
        assert_eq!(pool.staff.alive(), 0);
    });
}

#[test]
fn checkout_12_a_caller_that_was_served_meanwhile_does_not_fail_and_who_still_waits_has_one_made() {
    simulate(|world, sim| {
        let pool = pool(world, 1, 1);
        let own = pool.lease(LONG).wait().unwrap();
        pool.staff.init_ms.store(1_000, Ordering::SeqCst);
        pool.staff.fails.store(true, Ordering::SeqCst);
        let first = world.caller(&pool);
        sim.run_until_idle();
        let second = world.caller(&pool);
        sim.run_until_idle();
        // The first is served by a worker that comes back, while one is being made for it.
        drop(own);
        let first = first.wait().unwrap().unwrap();
        // That start fails. It was not the second caller that made it be wanted, so the second
        // does not fail: one is made for it, and fails it a second later.
        let began = sim.now();
        assert!(matches!(second.wait().unwrap(), Err(LeaseError::NotMade(_))));
        assert_eq!(sim.now() - began, 2 * SECOND);
        drop(first);
        world.settle(&pool, 1, 0, 0);
    });
}
