//! Room at pools whose workers are pools: room that the line of the outer pool refuses (rules P8,
//! P10).

use crate::pool_support::{Job, PoolAddress, done, millis, numbers, seconds, workers};
use crate::support::{Log, poll_once, simulations};
use krarup::pool::{Choice, Rate, Routing, Workers};
use krarup::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::Poll;

/// The last digit of a job's number is the index of its worker. An endless loop of choices panics.
struct ByDigit(AtomicU32);

impl Routing<Job> for ByDigit {
    fn hint(&self, job: &Job) -> u64 {
        match job {
            Job::Note(number) | Job::Slow(number, _) => u64::from(number % 10),
            _ => 0,
        }
    }

    fn choose(&self, hint: u64, workers: &Workers<'_>) -> Choice<Job> {
        assert!(self.0.fetch_add(1, Ordering::Relaxed) < 100_000, "it chooses for ever");
        Choice::Only(usize::try_from(hint).unwrap() % workers.count())
    }

    fn needs_message(&self) -> bool {
        true
    }
}

#[test]
fn p8_a_message_whose_room_was_lost_waits_at_the_inner_pool_of_its_key() {
    for sim in simulations(10) {
        let log = Log::new();
        let factory = workers(&log);
        let inner = move || Pool::new(1, factory.clone()).mailbox(1);
        let outer = move || Pool::new(2, inner).routing(ByDigit(AtomicU32::new(0)));
        let pool: PoolAddress = sim.spawn(outer).wait().unwrap();
        let permit = pool.reserve().unwrap();
        // The key 2 belongs to a new inner pool, at which no room is reserved.
        pool.add_workers(1).wait().unwrap();
        pool.send(Job::Slow(2, seconds(9))).unwrap();
        sim.run_until_idle();
        pool.send(Job::Note(12)).unwrap();
        assert!(pool.send(Job::Note(22)).unwrap_err().is_full());
        // The other inner pools have room, and cannot use it for this key.
        permit.send(Job::Note(32));
        sim.advance(seconds(8));
        assert_eq!((log.lines().len(), pool.waiting()), (0, 2));
        // Other keys are not held up, and are handled once.
        pool.send(Job::Note(10)).unwrap();
        pool.send(Job::Note(11)).unwrap();
        sim.run_until_idle();
        let mut others = done(&log);
        others.sort_unstable();
        assert_eq!(others, [10, 11]);
        log.take();
        sim.advance(seconds(1));
        assert_eq!((done(&log), pool.waiting()), (vec![2, 12, 32], 0));
        assert_eq!((numbers(&pool).forwarded, sim.stats().dead_letters), (5, 0));
    }
}

#[test]
fn p10_a_sender_at_three_nested_pools_waits_for_a_token_of_the_middle_one() {
    for sim in simulations(10) {
        let log = Log::new();
        let factory = workers(&log);
        let inner = move || Pool::new(1, factory.clone()).mailbox(2);
        let middle = move || Pool::new(1, inner.clone()).rate(Rate::per_second(0.5));
        let outer: PoolAddress = sim.spawn(move || Pool::new(1, middle)).wait().unwrap();
        outer.send(Job::Note(1)).unwrap();
        sim.run_until_idle();
        for number in [2, 3] {
            let mut wait = outer.send_or_wait(Job::Note(number)).into_future();
            assert!(poll_once(&mut wait).is_pending());
            sim.advance(millis(1_999));
            assert!(poll_once(&mut wait).is_pending());
            sim.advance(millis(1));
            assert_eq!(poll_once(&mut wait).map(|sent| sent.is_ok()), Poll::Ready(true));
            sim.run_until_idle();
            assert_eq!(done(&log).last(), Some(&number));
        }
        assert_eq!(numbers(&outer).forwarded, 3);
    }
}

#[test]
fn m6_a_message_in_line_whose_time_to_live_panics_is_lost_alone() {
    for sim in simulations(10) {
        let log = Log::new();
        let panics = Arc::new(AtomicBool::new(false));
        let (factory, panic) = (workers(&log), Arc::clone(&panics));
        let inner = move || {
            let panic = Arc::clone(&panic);
            Pool::new(1, factory.clone()).mailbox(1).time_to_live_of(move |job| {
                let unlucky = matches!(job, Job::Note(7)) && panic.load(Ordering::Relaxed);
                assert!(!unlucky, "a time to live panics");
                None
            })
        };
        let outer: PoolAddress = sim.spawn(move || Pool::new(1, inner)).wait().unwrap();
        let permit = outer.reserve().unwrap();
        sim.kill(outer.workers().wait().unwrap()[0]);
        sim.run_until_idle();
        outer.send(Job::Slow(1, seconds(1))).unwrap();
        sim.run_until_idle();
        outer.send(Job::Note(2)).unwrap();
        // Its worker has ended and the other is full, so it stands in line, and a sender behind it.
        permit.send(Job::Note(7));
        let mut wait = outer.send_or_wait(Job::Note(3)).into_future();
        assert!(poll_once(&mut wait).is_pending());
        panics.store(true, Ordering::Relaxed);
        let letters = sim.stats().dead_letters;
        sim.advance(seconds(1));
        assert!(matches!(poll_once(&mut wait), Poll::Ready(Ok(()))), "it waits beside room");
        sim.run_until_idle();
        // The worker that offered the room is not harmed.
        assert_eq!((done(&log), outer.waiting()), (vec![1, 2, 3], 0));
        assert_eq!((sim.stats().dead_letters - letters, numbers(&outer).restarts), (1, 1));
        let inner: PoolAddress = sim.address_of(outer.workers().wait().unwrap()[0]).unwrap();
        assert_eq!(numbers(&inner).restarts, 0);
    }
}
