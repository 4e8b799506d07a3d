//! What becomes of a message when the room that was kept for it is gone: that of a key goes to the
//! worker of its key (rules P4, P8).

use crate::pool_support::{Job, PoolAddress, Worker, numbers, seconds, workers};
use crate::support::{Act, Log, Puppet, poll_once, simulations};
use krarup::behavior::{Received, behavior_fn};
use krarup::observe::DeadLetter;
use krarup::pool::ByKey;
use krarup::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

/// The key of a job is the last digit of its number.
fn key(job: &Job) -> u32 {
    match job {
        Job::Note(number) | Job::Slow(number, _) => number % 10,
        _ => 0,
    }
}

/// A pool of three by key whose workers cannot start while this says so.
fn keyed(
    sim: &Simulation,
    log: &Log,
    set: impl FnOnce(Pool<Worker, ByKey<Job>>) -> Pool<Worker, ByKey<Job>> + Send + 'static,
) -> (PoolAddress, Arc<AtomicBool>) {
    let fails = Arc::new(AtomicBool::new(false));
    let (failing, factory) = (Arc::clone(&fails), workers(log));
    let factory = move || {
        assert!(!failing.load(Ordering::Relaxed), "the factory fails");
        factory()
    };
    let pool = move || {
        let pool = Pool::new(3, factory).mailbox(3).routing(ByKey::new(key));
        set(pool.back_off(seconds(1), seconds(1)))
    };
    (sim.spawn(pool).wait().unwrap(), fails)
}

/// The worker that has this key now.
fn owner(sim: &Simulation, pool: &PoolAddress, log: &Log, key: u32) -> Pid {
    pool.send(Job::Note(key)).unwrap();
    sim.run_until_idle();
    let did = log.take().pop().unwrap();
    let is_owner = |worker: &Pid| did == format!("{worker} {key}");
    pool.workers().wait().unwrap().into_iter().find(is_owner).unwrap()
}

/// What a worker has noted if it has done these.
fn by(worker: Pid, numbers: &[u32]) -> Vec<String> {
    numbers.iter().map(|number| format!("{worker} {number}")).collect()
}

#[test]
fn p8_a_message_whose_room_was_lost_waits_at_the_worker_of_its_key() {
    for (drained, sim) in [false, true].into_iter().cycle().zip(simulations(10)) {
        let log = Log::new();
        let (pool, _) = keyed(&sim, &log, |pool| pool);
        let permits = [(); 2].map(|()| pool.reserve().unwrap());
        sim.kill(owner(&sim, &pool, &log, 5));
        sim.run_until_idle();
        // Its replacement is full, and the others have nothing to do.
        let new = owner(&sim, &pool, &log, 5);
        pool.send(Job::Slow(5, seconds(9))).unwrap();
        sim.run_until_idle();
        [15, 25, 35].into_iter().for_each(|n| pool.send(Job::Note(n)).unwrap());
        if drained {
            drop(poll_once(&mut pool.drain().into_future()));
            sim.run_until_idle();
        }
        for (permit, n) in permits.into_iter().zip([45, 55]) {
            permit.send(Job::Note(n));
        }
        sim.advance(seconds(8));
        assert_eq!((log.lines().len(), pool.waiting()), (0, 5));
        sim.advance(seconds(1));
        assert_eq!(log.take(), by(new, &[5, 15, 25, 35, 45, 55]));
        assert_eq!((numbers(&pool).forwarded, sim.stats().dead_letters), (8, 0));
    }
}

#[test]
fn p8_a_message_whose_worker_is_missing_waits_for_the_replacement() {
    for (stuck, sim) in [false, true].into_iter().cycle().zip(simulations(10)) {
        let log = Log::new();
        let (pool, fails) = keyed(&sim, &log, |pool| pool.stuck_limit(seconds(60)));
        let old = owner(&sim, &pool, &log, 5);
        let other = (0..5).find(|key| owner(&sim, &pool, &log, *key) != old).unwrap();
        let permits = [(); 3].map(|()| pool.reserve().unwrap());
        let [first, elsewhere, last] = permits;
        // Its end is heard of before its place can be filled; or it is given up.
        fails.store(true, Ordering::Relaxed);
        if stuck {
            drop(elsewhere);
            pool.send(Job::Slow(5, seconds(99))).unwrap();
            sim.advance(seconds(60));
            first.send(Job::Slow(15, seconds(1)));
        } else {
            sim.kill(old);
            sim.run_until_idle();
            first.send(Job::Slow(15, seconds(1)));
            elsewhere.send(Job::Note(other));
            sim.run_until_idle();
            assert_eq!(log.take().len(), 1, "another key is not held up");
        }
        last.send(Job::Note(25));
        assert!(matches!(
            pool.send(Job::Note(35)),
            Err(SendError::NoWorkers { to, .. }) if to == pool.pid()
        ));
        sim.run_until_idle();
        assert_eq!((log.lines().len(), pool.waiting()), (0, 2), "no other worker handles them");
        let mut wait = pool.send_or_wait(Job::Note(45)).into_future();
        let heard = poll_once(&mut wait);
        assert!(matches!(heard, Poll::Ready(Err(SendError::NoWorkers { .. }))), "{heard:?}");
        fails.store(false, Ordering::Relaxed);
        sim.advance(seconds(2));
        let done = log.take();
        assert_eq!(done, by(owner(&sim, &pool, &log, 5), &[15, 25]));
    }
}

#[test]
fn p8_a_message_that_waits_for_its_key_follows_the_key() {
    for sim in simulations(10) {
        let log = Log::new();
        let (pool, _) = keyed(&sim, &log, |pool| pool);
        let first = pool.workers().wait().unwrap()[0];
        let key = (0..10).find(|key| owner(&sim, &pool, &log, *key) == first).unwrap();
        let permit = pool.reserve().unwrap();
        sim.kill(first);
        sim.run_until_idle();
        pool.send(Job::Slow(key, seconds(9))).unwrap();
        sim.run_until_idle();
        (1..4).for_each(|n| pool.send(Job::Slow(n * 10 + key, seconds(1))).unwrap());
        permit.send(Job::Note(90 + key));
        sim.run_until_idle();
        assert_eq!((log.lines().len(), pool.waiting()), (0, 4));
        // That worker is removed: others have its keys now.
        pool.remove_workers(1).wait().unwrap();
        sim.run_until_idle();
        let done = log.take();
        assert_eq!(done, by(owner(&sim, &pool, &log, key), &[90 + key]));
    }
}

#[test]
fn p8_messages_of_a_key_whose_room_was_lost_keep_their_order() {
    for sim in simulations(10) {
        let log = Log::new();
        let named = log.clone();
        let puppets = move || Puppet::new("worker", &named);
        let routing = ByKey::new(|_: &Act| 0);
        let pool = move || Pool::new(2, puppets).mailbox(2).routing(routing);
        let pool: Address<Act, PoolCommand> = sim.spawn(pool).wait().unwrap();
        let [early, late] = [(); 2].map(|()| pool.reserve().unwrap());
        // All are of one key, and so of one worker.
        pool.workers().wait().unwrap().into_iter().for_each(|worker| sim.kill(worker));
        sim.run_until_idle();
        log.take();
        let notes = |number: u32| {
            let log = log.clone();
            Act::new(move |_| {
                log.note(number);
                Ok(())
            })
        };
        // There is room while the first is in hand, for which one stands in line.
        let (first, last) = (notes(1), notes(4));
        let sends = Act::new(move |_| {
            late.send(last);
            Ok(())
        });
        pool.send(sends).unwrap_or_else(|_| panic!("there is room for two"));
        pool.send(first).unwrap_or_else(|_| panic!("there is room for two"));
        early.send(notes(3));
        assert_eq!(pool.waiting(), 3);
        sim.run_until_idle();
        assert_eq!(log.take(), ["1", "3", "4"]);
    }
}

#[test]
fn p8_a_sender_that_waits_at_a_pool_of_keyed_pools_sends_to_the_worker_of_its_key() {
    for sim in simulations(10) {
        let log = Log::new();
        let factory = workers(&log);
        let inner = move || Pool::new(2, factory.clone()).mailbox(1).routing(ByKey::new(key));
        let outer: PoolAddress = sim.spawn(move || Pool::new(1, inner)).wait().unwrap();
        let inner: PoolAddress = sim.address_of(outer.workers().wait().unwrap()[0]).unwrap();
        let busy = owner(&sim, &inner, &log, 5);
        let other = (0..5).find(|key| owner(&sim, &inner, &log, *key) != busy).unwrap();
        for (key, time) in [(5, 9), (other, 1)] {
            outer.send(Job::Slow(key, seconds(time))).unwrap();
            sim.run_until_idle();
            outer.send(Job::Note(10 + key)).unwrap();
        }
        let mut wait = outer.send_or_wait(Job::Note(25)).into_future();
        assert!(poll_once(&mut wait).is_pending());
        // The other worker has room, and gives it to whoever waits, whatever that will send.
        sim.advance(seconds(1));
        assert!(matches!(poll_once(&mut wait), Poll::Ready(Ok(()))));
        sim.advance(seconds(7));
        assert_eq!((log.take().len(), outer.waiting()), (2, 2));
        sim.advance(seconds(1));
        assert_eq!(log.take(), by(busy, &[5, 15, 25]));
    }
}

#[test]
fn p4_a_message_whose_pool_has_ended_is_a_dead_letter_of_its_sender() {
    for sim in simulations(5) {
        let letters = Log::new();
        let noted = letters.clone();
        let hears = behavior_fn(move |mut ctx: Context<DeadLetter>| async move {
            while let Received::Message(letter) = ctx.receive().await {
                noted.note(format!("{:?} {:?} {}", letter.cause, letter.from, letter.to));
            }
            Ok(())
        });
        let hears = sim.spawn(move || hears).start().unwrap();
        sim.subscribe_dead_letters(hears.recipient());
        let (pool, _) = keyed(&sim, &Log::new(), |pool| pool);
        let permit = pool.reserve().unwrap();
        let sender = behavior_fn(move |mut ctx: Context<()>| async move {
            ctx.receive().await;
            permit.send(Job::Note(1));
            ctx.receive().await;
            Ok(())
        });
        let sender = sim.spawn(move || sender).start().unwrap();
        pool.stop().wait().unwrap();
        sim.run_until_idle();
        letters.take();
        sender.send(()).unwrap();
        sim.run_until_idle();
        let letter = format!("Unhandled Some({:?}) {}", sender.pid(), pool.pid());
        assert_eq!(letters.take(), [letter]);
    }
}

#[test]
fn p11_a_drain_of_a_pool_without_workers_discards_what_no_worker_will_take() {
    for (drained, sim) in [false, true].into_iter().cycle().zip(simulations(10)) {
        let (log, discarded) = (Log::new(), Log::new());
        let noted = discarded.clone();
        let (pool, _) = keyed(&sim, &log, move |pool| {
            pool.on_discard(move |job, why| noted.note(format!("{} {why:?}", key(&job))))
        });
        let permits = [(); 2].map(|()| pool.reserve().unwrap());
        pool.remove_workers(3).wait().unwrap();
        sim.run_until_idle();
        let mut drain = pool.drain().into_future();
        if drained {
            assert!(poll_once(&mut drain).is_pending());
            sim.run_until_idle();
        }
        let [first, last] = permits;
        first.send(Job::Note(1));
        if !drained {
            assert_eq!(pool.waiting(), 1, "a worker may be added");
            assert!(poll_once(&mut drain).is_pending());
        }
        sim.run_until_idle();
        assert!(poll_once(&mut drain).is_pending(), "a permit is out");
        last.send(Job::Note(2));
        assert_eq!(poll_once(&mut drain), Poll::Ready(Ok(())));
        assert_eq!(
            (discarded.take(), log.lines().len()),
            (vec!["1 WorkerEnded".to_owned(), "2 WorkerEnded".to_owned()], 0)
        );
        let numbers = numbers(&pool);
        assert_eq!((numbers.forwarded, numbers.lost, numbers.waiting), (2, 2, 0));
        assert_eq!(sim.stats().dead_letters, 2);
        // It can be used again.
        assert_eq!(pool.reopen().wait(), Ok(true));
        pool.add_workers(1).wait().unwrap();
        pool.send(Job::Note(3)).unwrap();
        sim.run_until_idle();
        assert_eq!(log.lines().len(), 1);
    }
}

#[test]
fn p9_an_accepted_message_that_waits_when_its_pool_ends_is_passed_out() {
    for sim in simulations(10) {
        let discarded = Log::new();
        let noted = discarded.clone();
        let (pool, _) = keyed(&sim, &Log::new(), move |pool| {
            pool.on_discard(move |job, why| noted.note(format!("{} {why:?}", key(&job))))
        });
        let permit = pool.reserve().unwrap();
        pool.remove_workers(3).wait().unwrap();
        sim.run_until_idle();
        permit.send(Job::Note(9));
        assert_eq!((pool.waiting(), sim.stats().dead_letters), (1, 0));
        pool.stop().wait().unwrap();
        assert_eq!(
            (discarded.take(), sim.stats().dead_letters),
            (vec!["9 WorkerEnded".to_owned()], 1)
        );
    }
}
