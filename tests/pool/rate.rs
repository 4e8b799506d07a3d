//! How many jobs pools take in a second, and what becomes of the tokens of what is not done (rule
//! P10).

use crate::pool_support::{Job, PoolAddress, done, millis, numbers, seconds, workers};
use crate::support::{Log, poll_once, simulations};
use krarup::pool::{ByKey, Rate};
use krarup::prelude::*;
use std::task::Poll;

/// A pool with 3 tokens, of which one comes back in an hour.
fn rated(sim: &Simulation, log: &Log) -> PoolAddress {
    let factory = workers(log);
    let rate = Rate::per_second(1.0 / 3_600.0).burst(3);
    sim.spawn(move || Pool::new(1, factory).mailbox(1).rate(rate)).wait().unwrap()
}

#[test]
fn p10_room_that_is_refused_or_given_back_gives_its_token_back() {
    for sim in simulations(5) {
        let log = Log::new();
        let pool = rated(&sim, &log);
        pool.send(Job::Slow(1, seconds(1))).unwrap();
        sim.run_until_idle();
        pool.send(Job::Note(2)).unwrap();
        (0..9).for_each(|_| assert!(pool.reserve().unwrap_err().is_full()));
        sim.advance(seconds(1));
        for _ in 0..9 {
            drop(pool.reserve().unwrap());
        }
        pool.send(Job::Note(3)).unwrap();
        assert!(matches!(pool.send(Job::Note(4)), Err(SendError::RateLimited { .. })));
        assert!(matches!(pool.reserve(), Err(SendError::RateLimited { .. })));
        let numbers = numbers(&pool);
        assert_eq!((numbers.forwarded, numbers.unhandled, numbers.rate_limited), (3, 11, 2));
    }
}

#[test]
fn p10_a_waiter_that_gives_up_returns_its_token() {
    for sim in simulations(5) {
        let log = Log::new();
        let pool = rated(&sim, &log);
        pool.send(Job::Slow(1, seconds(5))).unwrap();
        sim.run_until_idle();
        pool.send(Job::Note(2)).unwrap();
        for _ in 0..9 {
            let late = pool.send_or_wait(Job::Note(0)).timeout(millis(1)).wait().unwrap_err();
            assert!(matches!(late, SendError::Timeout { .. }));
        }
        sim.advance(seconds(5));
        pool.send(Job::Note(3)).unwrap();
        assert!(matches!(pool.send(Job::Note(4)), Err(SendError::RateLimited { .. })));
        sim.run_until_idle();
        assert_eq!(done(&log), [1, 2, 3]);
    }
}

#[test]
fn p10_room_that_came_and_was_not_used_gives_one_token_back() {
    for sim in simulations(5) {
        let log = Log::new();
        let pool = rated(&sim, &log);
        pool.send(Job::Slow(1, seconds(5))).unwrap();
        sim.run_until_idle();
        pool.send(Job::Note(2)).unwrap();
        for turn in 0..3 {
            let mut wait = pool.send_or_wait(Job::Note(0)).into_future();
            assert!(poll_once(&mut wait).is_pending());
            // The last one gives up when it has room, and does not know yet.
            if turn == 2 {
                sim.advance(seconds(5));
            }
            drop(wait);
        }
        sim.run_until_idle();
        assert_eq!(pool.waiting(), 0);
        pool.send(Job::Note(3)).unwrap();
        sim.run_until_idle();
        assert!(matches!(pool.send(Job::Note(4)), Err(SendError::RateLimited { .. })));
        let numbers = numbers(&pool);
        assert_eq!((numbers.forwarded, numbers.unhandled), (3, 4));
        sim.run_until_idle();
        assert_eq!(done(&log), [1, 2, 3]);
    }
}

#[test]
fn p10_a_waiter_for_the_rate_takes_one_token_when_served_and_none_if_it_gives_up() {
    for sim in simulations(5) {
        let log = Log::new();
        let factory = workers(&log);
        let rate = Rate::per_second(1.0).burst(2);
        let pool = move || Pool::new(1, factory).mailbox(9).rate(rate);
        let pool: PoolAddress = sim.spawn(pool).wait().unwrap();
        (0..2).for_each(|n| pool.send(Job::Note(n)).unwrap());
        // None is there, so those that give up can have taken none.
        for _ in 0..3 {
            let late = pool.send_or_wait(Job::Note(9)).timeout(millis(100)).wait().unwrap_err();
            assert!(matches!(late, SendError::Timeout { .. }));
        }
        assert!(matches!(pool.send(Job::Note(9)), Err(SendError::RateLimited { .. })));
        let mut waits: Vec<_> =
            (2..4).map(|n| pool.send_or_wait(Job::Note(n)).into_future()).collect();
        assert!(waits.iter_mut().all(|wait| poll_once(wait).is_pending()));
        sim.advance(millis(699));
        assert!(waits.iter_mut().all(|wait| poll_once(wait).is_pending()));
        sim.advance(millis(1));
        waits.retain_mut(|wait| poll_once(wait).is_pending());
        assert_eq!(waits.len(), 1, "one token, for one of them");
        assert!(matches!(pool.send(Job::Note(9)), Err(SendError::RateLimited { .. })));
        sim.advance(seconds(1));
        assert!(poll_once(&mut waits[0]).is_ready());
        let refused = pool.send(Job::Note(9)).unwrap_err();
        assert!(
            matches!(refused, SendError::RateLimited { retry_after, .. } if retry_after == seconds(1))
        );
        sim.run_until_idle();
        assert_eq!(done(&log), [0, 1, 2, 3]);
        let numbers = numbers(&pool);
        assert_eq!((numbers.forwarded, numbers.unhandled, numbers.rate_limited), (4, 6, 3));
    }
}

#[test]
fn p10_a_job_refused_for_another_reason_takes_no_token() {
    for sim in simulations(5) {
        let log = Log::new();
        let pool = rated(&sim, &log);
        pool.drain().wait().unwrap();
        let refused = || {
            assert!(pool.send(Job::Note(0)).is_err() && pool.reserve().is_err());
            assert!(pool.send_or_wait(Job::Note(0)).wait().is_err());
        };
        (0..3).for_each(|_| refused());
        pool.reopen().wait().unwrap();
        let worker = pool.workers().wait().unwrap()[0];
        sim.kill(worker);
        while sim.is_alive(worker) {
            sim.step();
        }
        (0..3).for_each(|_| refused());
        pool.remove_workers(1).wait().unwrap();
        (0..3).for_each(|_| refused());
        pool.add_workers(1).wait().unwrap();
        for number in 1..4 {
            pool.send(Job::Note(number)).unwrap();
            sim.run_until_idle();
        }
        assert!(matches!(pool.send(Job::Note(4)), Err(SendError::RateLimited { .. })));
        assert_eq!((numbers(&pool).unhandled, numbers(&pool).rate_limited), (28, 1));
        assert_eq!(done(&log), [1, 2, 3]);
    }
}

#[test]
fn p10_a_waiter_at_a_pool_of_pools_takes_a_token_of_the_inner_pool() {
    let rate = Rate::per_second(1.0).burst(2);
    for (keyed, sim) in
        [false, true].into_iter().flat_map(|keyed| simulations(5).map(move |sim| (keyed, sim)))
    {
        let log = Log::new();
        let factory = workers(&log);
        let inner = move || Pool::new(2, factory.clone()).mailbox(5).rate(rate);
        let pool: PoolAddress = if keyed {
            sim.spawn(move || Pool::new(1, inner).routing(ByKey::new(|_: &Job| 0))).wait().unwrap()
        } else {
            sim.spawn(move || Pool::new(1, inner)).wait().unwrap()
        };
        let mut waits: Vec<_> =
            (0..7).map(|n| pool.send_or_wait(Job::Note(n)).into_future()).collect();
        waits.retain_mut(|wait| poll_once(wait).is_pending());
        assert_eq!(waits.len(), 5, "there were two tokens");
        sim.advance(millis(999));
        waits.retain_mut(|wait| poll_once(wait).is_pending());
        assert_eq!(waits.len(), 5);
        for left in [4, 3, 2] {
            sim.advance(millis(1));
            waits.retain_mut(|wait| poll_once(wait).is_pending());
            assert_eq!(waits.len(), left, "one for each second");
            sim.advance(millis(999));
        }
        // One that has room and does not use it gives it back, with the token.
        sim.advance(millis(1));
        drop(waits.remove(0));
        pool.send(Job::Note(5)).unwrap();
        assert!(poll_once(&mut waits[0]).is_pending());
        sim.advance(seconds(1));
        assert!(poll_once(&mut waits[0]).is_ready());
        sim.advance(seconds(9));
        let mut all = done(&log);
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2, 3, 4, 5, 6]);
        (7..9).for_each(|n| pool.send(Job::Note(n)).unwrap());
        let more = pool.send(Job::Note(9));
        assert!(matches!(more, Err(SendError::RateLimited { .. })), "no token was lost or made");
    }
}

#[test]
fn p10_a_waiter_for_an_inner_token_waits_while_the_inner_pool_is_drained() {
    for sim in simulations(5) {
        let (log, inside) = (Log::new(), Log::new());
        let (factory, inside_too) = (workers(&log), inside.clone());
        let inner = move || {
            let pool = Pool::new(1, factory.clone()).mailbox(5).rate(Rate::per_second(1.0));
            inside_too.note("made");
            pool
        };
        let pool: PoolAddress = sim.spawn(move || Pool::new(1, inner)).wait().unwrap();
        let within: PoolAddress =
            sim.address_of(pool.workers().wait().unwrap()[0]).expect("it is a pool of jobs");
        pool.send(Job::Note(0)).unwrap();
        let mut wait = pool.send_or_wait(Job::Note(1)).into_future();
        assert!(poll_once(&mut wait).is_pending());
        sim.run_until_idle();
        within.drain().wait().unwrap();
        sim.advance(seconds(5));
        assert!(poll_once(&mut wait).is_pending());
        within.reopen().wait().unwrap();
        sim.run_until_idle();
        assert!(poll_once(&mut wait).is_ready());
        sim.run_until_idle();
        assert_eq!((done(&log), inside.lines().len()), (vec![0, 1], 1));
    }
}

#[test]
fn p10_a_pool_that_ends_leaves_no_timer_of_senders_that_waited_for_a_token() {
    let ends: [fn(&Simulation, &PoolAddress, Pid); 3] = [
        |sim, pool, _| sim.kill(pool.pid()),
        |_, pool, _| drop(poll_once(&mut pool.stop().into_future())),
        |sim, _, inner| sim.kill(inner),
    ];
    for (end, sim) in ends.into_iter().cycle().zip(simulations(9)) {
        let log = Log::new();
        let factory = workers(&log);
        let rate = Rate::per_second(1.0 / 3_600.0);
        let inner = move || Pool::new(1, factory.clone()).mailbox(5).rate(rate);
        let pool: PoolAddress = sim.spawn(move || Pool::new(1, inner)).wait().unwrap();
        pool.send(Job::Note(0)).unwrap();
        let mut wait = pool.send_or_wait(Job::Note(1)).into_future();
        assert!(poll_once(&mut wait).is_pending());
        sim.run_until_idle();
        assert_eq!(sim.stats().timers, 1, "an hour from now there is a token");
        let inner = pool.workers().wait().unwrap()[0];
        end(&sim, &pool, inner);
        sim.run_until_idle();
        // The replacement has a token of its own.
        let told = poll_once(&mut wait);
        assert_eq!(matches!(told, Poll::Ready(Ok(()))), pool.is_alive());
        assert!(told.is_ready());
        // So long a pool that was killed may wait for an inner pool.
        sim.advance(seconds(5));
        assert_eq!(sim.stats().timers, 0);
    }
}
