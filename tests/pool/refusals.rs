//! What a pool says and counts when it refuses a message (rules P2, P6).

use crate::pool_support::{Job, PoolAddress, numbers, seconds, workers};
use crate::support::{Log, simulations};
use krarup::pool::{Broadcast, ByKey, Choice, Rate, Routing, Workers};
use krarup::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

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

/// A pool of two pools of one worker with room for ten, and the inner pools. The first inner pool has
/// a token each second, and the second one in two, if they have a rate.
fn nested(sim: &Simulation, rated: bool) -> (PoolAddress, [PoolAddress; 2]) {
    let factory = workers(&Log::new());
    let made = std::sync::atomic::AtomicU32::new(1);
    let inner = move || {
        let pool = Pool::new(1, factory.clone()).mailbox(10);
        let number = made.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        if rated { pool.rate(Rate::per_second(1.0 / f64::from(number))) } else { pool }
    };
    let outer: PoolAddress = sim.spawn(move || Pool::new(2, inner)).wait().unwrap();
    let inner = outer.workers().wait().unwrap();
    let inner = [0, 1].map(|index| sim.address_of(inner[index]).unwrap());
    (outer, inner)
}

#[test]
fn p2_a_pool_of_pools_refuses_with_the_reason_of_all_of_them() {
    for sim in simulations(5) {
        let (outer, inner) = nested(&sim, false);
        let sends = || outer.send(Job::Note(1)).map_err(SendError::without_message);
        let room = || outer.reserve().map(drop);
        let to = outer.pid();
        inner[0].remove_workers(1).wait().unwrap();
        assert_eq!(sends(), Ok(()), "the other has workers");
        inner[1].remove_workers(1).wait().unwrap();
        let none = Err(SendError::NoWorkers { message: (), to });
        assert_eq!((sends(), room()), (none.clone(), none));
        inner[0].drain().wait().unwrap();
        let full = Err(SendError::Full { message: (), to });
        assert_eq!((sends(), room()), (full.clone(), full), "they have different reasons");
        inner[1].drain().wait().unwrap();
        let draining = Err(SendError::Draining { message: (), to });
        assert_eq!((sends(), room()), (draining.clone(), draining));
        assert_eq!(
            outer.call(Job::Who).wait(),
            Err(CallError::Draining { to }),
            "a call hears of it too"
        );
        let numbers = numbers(&outer);
        assert_eq!((numbers.forwarded, numbers.unhandled, numbers.rate_limited), (1, 7, 0));
    }
}

#[test]
fn p10_a_pool_of_rated_pools_says_when_the_first_of_them_has_a_token() {
    for sim in simulations(5) {
        let (outer, _) = nested(&sim, true);
        let to = outer.pid();
        (0..2).for_each(|_| outer.send(Job::Note(1)).unwrap());
        let limited = |seconds_more| SendError::RateLimited {
            message: (),
            to,
            retry_after: seconds(seconds_more),
        };
        let sends = || outer.send(Job::Note(1)).map_err(SendError::without_message);
        assert_eq!(sends(), Err(limited(1)));
        assert_eq!(outer.reserve().map(drop), Err(limited(1)));
        sim.advance(seconds(1));
        assert_eq!(sends(), Ok(()));
        assert_eq!(sends(), Err(limited(1)), "now the second is the first of them");
        let numbers = numbers(&outer);
        assert_eq!((numbers.forwarded, numbers.unhandled, numbers.rate_limited), (3, 3, 3));
    }
}

/// Panics for the number 7.
struct Superstitious;

impl Routing<Job> for Superstitious {
    fn hint(&self, job: &Job) -> u64 {
        u64::from(matches!(job, Job::Note(7)))
    }

    fn choose(&self, hint: u64, _: &Workers<'_>) -> Choice<Job> {
        assert!(hint == 0, "a choice panics");
        Choice::After(0)
    }
}

#[test]
fn p6_a_message_whose_user_code_panics_is_unhandled_and_takes_no_token() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let rate = Rate::per_second(1.0 / 3_600.0).burst(2);
    for chooses in [true, false] {
        for rated in [true, false] {
            let factory = workers(&log);
            let pool: PoolAddress = if chooses {
                let pool = Pool::new(1, factory).routing(Superstitious);
                sim.spawn(move || if rated { pool.rate(rate) } else { pool }).wait().unwrap()
            } else {
                let pool = Pool::new(1, factory).time_to_live_of(|job| {
                    assert!(!matches!(job, Job::Note(7)), "a time to live panics");
                    None
                });
                sim.spawn(move || if rated { pool.rate(rate) } else { pool }).wait().unwrap()
            };
            for _ in 0..3 {
                assert!(catch_unwind(AssertUnwindSafe(|| pool.send(Job::Note(7)))).is_err());
            }
            (0..2).for_each(|number| pool.send(Job::Note(number)).unwrap());
            assert_eq!(pool.send(Job::Note(9)).is_err(), rated);
            sim.run_until_idle();
            let numbers = numbers(&pool);
            let forwarded = if rated { 2 } else { 3 };
            assert_eq!((numbers.forwarded, numbers.received()), (forwarded, 6));
            assert_eq!(numbers.waiting, 0);
        }
    }
}
