//! What a pool says and counts when it refuses a message (rules P2, P6).

use crate::pool_support::{Job, PoolAddress, numbers, workers};
use crate::support::{Log, simulations};
use krarup::pool::{Broadcast, ByKey};
use krarup::prelude::*;

#[test]
fn p6_room_that_is_refused_to_whoever_would_wait_is_counted_once() {
    for sim in simulations(5) {
        let factory = workers(&Log::new());
        let by_key = move || Pool::new(1, factory).mailbox(1).routing(ByKey::new(|_: &Job| 0));
        let pool: PoolAddress = sim.spawn(by_key).wait().unwrap();
        pool.send(Job::Hang).unwrap();
        sim.run_until_idle();
        pool.send(Job::Hang).unwrap();
        for refused in 1..4 {
            assert!(pool.reserve_or_wait().wait().unwrap_err().is_full());
            let numbers = numbers(&pool);
            assert_eq!((numbers.forwarded, numbers.unhandled), (2, refused));
        }

        let worker = || krarup::behavior::behavior_fn(|_: Context<u32>| std::future::pending());
        let broadcast = move || Pool::new(2, worker).mailbox(1).routing(Broadcast);
        let pool = sim.spawn(broadcast).wait().unwrap();
        pool.send(1).unwrap();
        for refused in 1..4 {
            assert!(pool.reserve_or_wait().wait().unwrap_err().is_full());
            let numbers = pool.statistics().wait().unwrap();
            assert_eq!((numbers.forwarded, numbers.unhandled), (1, refused));
        }
    }
}

/// A pool of two pools of one worker with room for ten, and the inner pools
