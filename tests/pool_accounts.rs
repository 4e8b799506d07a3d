//! What a pool owes after something did not go straight: tokens, turns, keys, drains, times (rules
//! P1, P8 to P11).

mod pool_support;
mod support;

use krarup::prelude::*;
use krarup::{ByKey, Discarded, Rate};
use pool_support::{Job, PoolAddress, done, millis, numbers, occupy, seconds, who, workers};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use support::{Log, poll_once, simulations};

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
fn p10_who_gives_up_waiting_gives_its_token_back() {
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
fn p10_who_waits_for_the_rate_takes_one_token_then_and_none_if_it_gives_up_before() {
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
fn p10_what_is_refused_for_another_reason_takes_no_token() {
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
fn p1_after_a_full_or_a_dead_worker_the_turn_is_that_of_the_one_after_the_taker() {
    for sim in simulations(20) {
        let log = Log::new();
        let factory = workers(&log);
        let pool: PoolAddress = sim.spawn(move || Pool::new(4, factory).mailbox(1)).wait().unwrap();
        let order = pool.workers().wait().unwrap();
        // The first has one in hand and one that waits: it is full when its turn comes.
        pool.send(Job::Slow(1, seconds(9))).unwrap();
        sim.run_until_idle();
        let others = [who(&pool), who(&pool), who(&pool)];
        assert_eq!(others, order[1..]);
        pool.send(Job::Note(2)).unwrap();
        assert_eq!([who(&pool), who(&pool), who(&pool)], others);
        assert_eq!([who(&pool), who(&pool)], others[..2], "the one that is full is passed over");
        assert_eq!(pool.workers().wait().unwrap()[0], others[2]);
        assert_eq!(who(&pool), others[2]);
        // The second is dead, and nobody knows yet.
        sim.kill(others[0]);
        while sim.is_alive(others[0]) {
            sim.step();
        }
        pool.send(Job::Slow(3, millis(1))).unwrap();
        assert_eq!(sim.process_info(others[1]).map(|info| info.main), Some(1));
        assert_eq!(pool.workers().wait().unwrap()[0], others[2]);
    }
}

#[test]
fn p1_the_rotation_goes_on_round_a_worker_that_was_given_up_and_a_place_that_was_removed() {
    for sim in simulations(20) {
        let log = Log::new();
        let fails = Arc::new(AtomicBool::new(false));
        let (failing, factory) = (Arc::clone(&fails), workers(&log));
        let factory = move || {
            assert!(!failing.load(Ordering::Relaxed), "the factory fails");
            factory()
        };
        let pool = move || Pool::new(3, factory).mailbox(5).stuck_limit(seconds(2));
        let pool: PoolAddress = sim.spawn(pool).wait().unwrap();
        let order = pool.workers().wait().unwrap();
        fails.store(true, Ordering::Relaxed);
        assert_eq!(who(&pool), order[0]);
        pool.send(Job::Hang).unwrap();
        sim.advance(seconds(3));
        // The second is given up: the third was next and is.
        assert_eq!(pool.workers().wait().unwrap(), [order[2], order[0]]);
        assert_eq!([who(&pool), who(&pool), who(&pool)], [order[2], order[0], order[2]]);
        // The place that has nobody goes first.
        assert_eq!(pool.remove_workers(1).wait().unwrap().size, 2);
        assert_eq!([who(&pool), who(&pool), who(&pool)], [order[0], order[2], order[0]]);
        fails.store(false, Ordering::Relaxed);
        sim.advance(seconds(60));
        assert_eq!((numbers(&pool).workers, numbers(&pool).restarts), (2, 0));
    }
}

#[test]
fn p1_the_rotation_goes_on_when_the_place_of_a_dead_worker_is_removed() {
    for sim in simulations(10) {
        let log = Log::new();
        let fails = Arc::new(AtomicBool::new(false));
        let (failing, factory) = (Arc::clone(&fails), workers(&log));
        let factory = move || {
            assert!(!failing.load(Ordering::Relaxed), "the factory fails");
            factory()
        };
        let pool: PoolAddress = sim.spawn(move || Pool::new(3, factory).mailbox(1)).wait().unwrap();
        let order = pool.workers().wait().unwrap();
        fails.store(true, Ordering::Relaxed);
        assert_eq!(who(&pool), order[0]);
        sim.kill(order[0]);
        sim.run_until_idle();
        assert_eq!(pool.remove_workers(1).wait().unwrap().size, 2);
        assert_eq!([who(&pool), who(&pool), who(&pool)], [order[1], order[2], order[1]]);
        // With the last of them goes whoever waits.
        assert_eq!(pool.remove_workers(1).wait().unwrap().size, 1);
        pool.send(Job::Hang).unwrap();
        sim.run_until_idle();
        pool.send(Job::Note(1)).unwrap();
        let mut wait = pool.send_or_wait(Job::Note(2)).into_future();
        assert!(poll_once(&mut wait).is_pending());
        sim.kill(order[1]);
        sim.run_until_idle();
        assert!(poll_once(&mut wait).is_pending(), "its place may be filled");
        assert_eq!(pool.remove_workers(1).wait().unwrap().size, 0);
        assert!(matches!(poll_once(&mut wait), Poll::Ready(Err(SendError::NoWorkers(_)))));
    }
}

/// What a pool that routes by key is given.
struct Keyed(u64, Reply<Pid>);

struct Clerk;

impl Actor for Clerk {
    type Message = Keyed;

    async fn handle_message(&mut self, ctx: &mut Context<Keyed>, job: Keyed) -> Result {
        job.1.send(ctx.pid());
        Ok(())
    }
}

#[test]
fn p8_a_permit_is_used_at_the_worker_of_its_key_and_its_other_rooms_are_free_again() {
    for sim in simulations(5) {
        let pool = || Pool::new(4, || Clerk).mailbox(2).routing(ByKey::new(|job: &Keyed| job.0));
        let pool: Address<Keyed, PoolCommand> = sim.spawn(pool).wait().unwrap();
        for key in 0..40 {
            let owner = pool.call(|reply| Keyed(key, reply)).wait().unwrap();
            let permit = pool.reserve().unwrap();
            assert_eq!(pool.waiting(), 4, "room at each");
            drop(permit);
            assert_eq!(pool.waiting(), 0);
            let permit = pool.reserve().unwrap();
            let (reply, answered) = token(&sim);
            permit.send(Keyed(key, reply));
            assert_eq!(pool.waiting(), 1);
            sim.run_until_idle();
            assert_eq!(answered(), Some(owner));
        }
    }
}

/// A reply token, and what it was answered with.
fn token(sim: &Simulation) -> (Reply<Pid>, impl Fn() -> Option<Pid> + use<>) {
    type Slot<T> = Arc<std::sync::Mutex<Option<T>>>;
    struct Gives(Slot<Reply<Pid>>);
    impl Actor for Gives {
        type Message = Reply<Pid>;
        async fn handle_message(
            &mut self,
            _: &mut Context<Reply<Pid>>,
            reply: Reply<Pid>,
        ) -> Result {
            *self.0.lock().unwrap() = Some(reply);
            Ok(())
        }
    }
    let (given, answer) = (Slot::default(), Slot::default());
    let (gives, told) = (Arc::clone(&given), Arc::clone(&answer));
    let giver = sim.spawn(move || Gives(gives)).wait().unwrap();
    let asks = krarup::behavior_fn(move |_: Context<()>| async move {
        let pid = giver.call(|reply| reply).await?;
        *told.lock().unwrap() = Some(pid);
        Ok(())
    });
    sim.spawn(move || asks).start().unwrap();
    sim.run_until_idle();
    let reply = given.lock().unwrap().take().unwrap();
    (reply, move || *answer.lock().unwrap())
}

#[test]
fn p11_a_drain_waits_for_the_longest_job_though_its_worker_was_removed() {
    for sim in simulations(10) {
        let log = Log::new();
        let factory = workers(&log);
        let pool: PoolAddress = sim.spawn(move || Pool::new(3, factory)).wait().unwrap();
        pool.send(Job::Slow(1, seconds(9))).unwrap();
        (2..4).for_each(|n| pool.send(Job::Slow(n, seconds(1))).unwrap());
        sim.run_until_idle();
        // The next is the one with the long job.
        pool.remove_workers(1).wait().unwrap();
        let mut drained = pool.drain();
        assert!(poll_once(&mut drained).is_pending());
        sim.advance(millis(8_999));
        assert!(poll_once(&mut drained).is_pending());
        sim.advance(millis(1));
        assert_eq!(poll_once(&mut drained), Poll::Ready(Ok(())));
        assert_eq!((done(&log).len(), done(&log)[2]), (3, 1));
    }
}

#[test]
fn p11_a_drain_waits_for_a_message_whose_room_went_down_with_its_worker() {
    for sim in simulations(20) {
        let log = Log::new();
        let factory = workers(&log);
        let pool: PoolAddress = sim.spawn(move || Pool::new(2, factory).mailbox(1)).wait().unwrap();
        let order = pool.workers().wait().unwrap();
        let permit = pool.reserve().unwrap();
        sim.kill(order[0]);
        sim.run_until_idle();
        occupy(&sim, &pool, seconds(5));
        (1..3).for_each(|n| pool.send(Job::Slow(n, seconds(1))).unwrap());
        let mut drained = pool.drain();
        assert!(poll_once(&mut drained).is_pending());
        sim.run_until_idle();
        // All are full: it stands in line, and takes the first room there is.
        permit.send(Job::Slow(3, seconds(20)));
        assert_eq!(pool.waiting(), 3);
        sim.advance(seconds(10));
        assert!(poll_once(&mut drained).is_pending(), "it is not done");
        assert!(matches!(pool.send(Job::Note(9)), Err(SendError::Draining(_))));
        sim.advance(seconds(20));
        assert_eq!(poll_once(&mut drained), Poll::Ready(Ok(())));
        let mut all = done(&log);
        all.sort_unstable();
        assert_eq!(all, [1, 2, 3, 999, 999]);
    }
}

#[test]
fn p9_a_message_whose_room_is_gone_keeps_the_time_at_which_it_was_accepted() {
    for sim in simulations(10) {
        let (log, gone) = (Log::new(), Log::new());
        let (factory, told) = (workers(&log), gone.clone());
        let pool = move || {
            let tell = move |job, why| {
                if let (Job::Note(n), Discarded::Expired { waited }) = (job, why) {
                    told.note(format!("{n} after {waited:?}"));
                }
            };
            Pool::new(1, factory).mailbox(1).time_to_live(seconds(3)).on_discard(tell)
        };
        let pool: PoolAddress = sim.spawn(pool).wait().unwrap();
        let permit = pool.reserve().unwrap();
        sim.kill(pool.workers().wait().unwrap()[0]);
        sim.run_until_idle();
        pool.send(Job::Slow(1, seconds(2))).unwrap();
        sim.run_until_idle();
        pool.send(Job::Slow(2, seconds(2))).unwrap();
        permit.send(Job::Note(7));
        sim.advance(seconds(9));
        assert_eq!(done(&log), [1, 2]);
        assert_eq!(gone.take(), ["7 after 4s"]);
    }
}

#[test]
fn p9_a_job_in_reserved_room_ages_and_is_measured_like_any_other() {
    for sim in simulations(5) {
        let (log, gone) = (Log::new(), Log::new());
        let (factory, told) = (workers(&log), gone.clone());
        let pool = move || {
            let tell = move |job, why| {
                if let (Job::Note(n), Discarded::Expired { waited }) = (job, why) {
                    told.note(format!("{n} after {waited:?}"));
                }
            };
            Pool::new(2, factory).mailbox(2).time_to_live(seconds(3)).on_discard(tell).measured()
        };
        let pool: PoolAddress = sim.spawn(pool).wait().unwrap();
        occupy(&sim, &pool, seconds(4));
        // Its time counts from when it is sent: the permit may be old.
        let [early, late, elsewhere] = [(); 3].map(|()| pool.reserve().unwrap());
        sim.advance(millis(500));
        early.send(Job::Note(1));
        sim.advance(seconds(1));
        late.send(Job::Note(2));
        // The worker of the third is replaced, and another has room.
        let holder = pool.workers().wait().unwrap()[1];
        sim.kill(holder);
        while sim.is_alive(holder) {
            sim.step();
        }
        elsewhere.send(Job::Note(3));
        sim.advance(seconds(9));
        let numbers = numbers(&pool);
        assert_eq!(numbers.forwarded, 5);
        assert_eq!(numbers.wait.unwrap().count + numbers.lost, 5);
        let mut all = [done(&log).len() as u64, numbers.expired, numbers.lost, numbers.crashed];
        all.sort_unstable();
        assert_eq!(all.iter().sum::<u64>(), 5, "{numbers:?}");
        assert_eq!(gone.count("1 after 3.5s") + gone.count("3 after 2.5s"), gone.lines().len());
    }
}

#[test]
fn p2_room_at_a_removed_worker_is_no_room_of_the_pool() {
    for sim in simulations(20) {
        let log = Log::new();
        let factory = workers(&log);
        let pool: PoolAddress = sim.spawn(move || Pool::new(2, factory).mailbox(1)).wait().unwrap();
        let first = pool.workers().wait().unwrap()[0];
        pool.send(Job::Slow(1, seconds(1))).unwrap();
        pool.send(Job::Slow(2, seconds(9))).unwrap();
        sim.run_until_idle();
        (3..5).for_each(|n| pool.send(Job::Slow(n, seconds(5))).unwrap());
        let mut wait = pool.send_or_wait(Job::Note(5)).into_future();
        assert!(poll_once(&mut wait).is_pending());
        assert_eq!(pool.remove_workers(1).wait().unwrap().size, 1);
        assert!(sim.is_alive(first));
        // The removed one has room now, for nobody: the pool has one worker, and that is full.
        sim.advance(seconds(2));
        assert_eq!(pool.waiting(), 1);
        assert!(poll_once(&mut wait).is_pending());
        sim.advance(seconds(7));
        assert!(poll_once(&mut wait).is_ready());
        sim.advance(seconds(20));
        assert_eq!(done(&log).len(), 5);
        assert_eq!(sim.stats().dead_letters, 0);
    }
}
