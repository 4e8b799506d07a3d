//! The size of an elastic pool over time, and what becomes of the jobs that are moved (rule P13).

use crate::pool_support::{
    Job, PoolAddress, Worker, done, inspect, millis, numbers, seconds, workers,
};
use crate::support::{Log, poll_once, simulations};
use krarup::behavior::{Received, behavior_fn};
use krarup::pool::{Broadcast, ByKey, Choice, Elastic, Routing, Workers};
use krarup::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

fn spawn(sim: &Simulation, pool: Pool<Worker>) -> PoolAddress {
    sim.spawn(move || pool).wait().unwrap()
}

#[test]
fn p13_it_cools_down_after_it_has_shrunk_and_after_it_has_grown() {
    for sim in simulations(5) {
        let log = Log::new();
        let elastic = Elastic::between(1, 3).grow_at(2).every(millis(100)).cool_down(seconds(1));
        let pool = spawn(&sim, Pool::new(3, workers(&log)).elastic(elastic));
        let size = || numbers(&pool).places;
        sim.advance(millis(99));
        assert_eq!(size(), 3, "it has not looked yet");
        sim.advance(millis(1));
        assert_eq!(size(), 2);
        // Much to do, at once: it has just changed.
        (0..20).for_each(|n| pool.send(Job::Slow(n, millis(1_500))).unwrap());
        sim.advance(millis(999));
        assert_eq!(size(), 2);
        sim.advance(millis(1));
        assert_eq!(size(), 3);
        // Nothing to do any more: so it is after it has grown.
        pool.remove_workers(9).wait().unwrap();
        assert_eq!((size(), pool.add_workers(3).wait().unwrap().size), (0, 3));
        sim.advance(millis(999));
        assert_eq!(size(), 3);
        sim.advance(millis(1));
        assert_eq!(size(), 2);
        sim.advance(seconds(1));
        assert_eq!(size(), 1);
        sim.advance(seconds(60));
        assert_eq!((size(), done(&log).len(), numbers(&pool).restarts), (1, 20, 0));
    }
}

#[test]
fn p13_without_a_cool_down_it_changes_each_time_that_it_looks_by_its_step() {
    for sim in simulations(5) {
        let log = Log::new();
        let elastic = Elastic::between(2, 7)
            .grow_at(3)
            .shrink_at(1)
            .step(2)
            .every(seconds(1))
            .cool_down(millis(0));
        let pool = spawn(&sim, Pool::new(2, workers(&log)).elastic(elastic));
        let size = || numbers(&pool).places;
        // One less than three for each that wait.
        (0..7).for_each(|n| pool.send(Job::Slow(n, seconds(60))).unwrap());
        sim.advance(seconds(1));
        assert_eq!((pool.waiting(), size()), (5, 2));
        pool.send(Job::Slow(7, seconds(60))).unwrap();
        sim.advance(seconds(1));
        assert_eq!(size(), 4);
        (8..60).for_each(|n| pool.send(Job::Slow(n, seconds(60))).unwrap());
        sim.advance(seconds(1));
        assert_eq!(size(), 6);
        sim.advance(seconds(1));
        assert_eq!(size(), 7, "its most, though the step is two");
        sim.advance(seconds(9));
        let inspection = inspect(&pool);
        let range = ["workers_min", "workers_max"].map(|item| inspection.number(item));
        assert_eq!((size(), range), (7, [Some(2), Some(7)]));
        sim.advance(seconds(900));
        assert_eq!((size(), done(&log).len()), (2, 60));
    }
}

#[test]
fn p13_manually_added_workers_take_their_share_of_waiting_jobs() {
    for sim in simulations(10) {
        let log = Log::new();
        let elastic = Elastic::between(1, 4).grow_at(1_000).every(millis(500));
        let pool = spawn(&sim, Pool::new(1, workers(&log)).mailbox(40).elastic(elastic));
        (0..40).for_each(|n| pool.send(Job::Slow(n, seconds(1))).unwrap());
        pool.add_workers(3).wait().unwrap();
        sim.advance(seconds(12));
        let mut handled = done(&log);
        handled.sort_unstable();
        assert_eq!(handled, (0..40).collect::<Vec<_>>(), "40 s of work, for four");
        let numbers = numbers(&pool);
        assert_eq!((numbers.forwarded, numbers.unhandled, numbers.restarts), (40, 0, 0));
        assert_eq!((numbers.waiting, sim.stats().dead_letters), (0, 0));
    }
}

#[test]
fn p13_a_moved_job_that_hangs_is_the_fault_of_the_worker_that_has_it() {
    for sim in simulations(10) {
        let log = Log::new();
        let elastic = Elastic::between(1, 2).grow_at(1).every(seconds(1));
        let pool = Pool::new(1, workers(&log)).elastic(elastic).stuck_limit(seconds(5)).measured();
        let pool = spawn(&sim, pool);
        (1..3).for_each(|n| pool.send(Job::Slow(n, seconds(4))).unwrap());
        // The newest, so it is the one that goes to the worker that is added.
        pool.send(Job::Hang).unwrap();
        sim.advance(millis(1_500));
        let order = pool.workers().wait().unwrap();
        assert_eq!((order.len(), pool.waiting()), (2, 2));
        sim.advance(millis(500));
        assert_eq!(pool.waiting(), 1, "it has been moved, and begun");
        let mut drained = pool.drain().into_future();
        assert!(poll_once(&mut drained).is_pending());
        sim.advance(millis(4_999));
        assert_eq!((numbers(&pool).stuck, numbers(&pool).crashed), (0, 0));
        sim.advance(millis(1));
        let now = numbers(&pool);
        assert_eq!((now.stuck, now.restarts, now.crashed, now.lost), (1, 1, 1, 0));
        assert_eq!(order.iter().filter(|worker| sim.is_alive(**worker)).count(), 1);
        assert!(poll_once(&mut drained).is_pending());
        sim.advance(seconds(1));
        assert_eq!(poll_once(&mut drained), Poll::Ready(Ok(())));
        assert_eq!((done(&log), numbers(&pool).stuck), (vec![1, 2], 1));
        assert_eq!((now.forwarded, now.wait.unwrap().count), (3, 3));
    }
}

#[test]
fn p13_a_drained_pool_keeps_its_size_and_changes_again_when_it_is_reopened() {
    for sim in simulations(5) {
        let log = Log::new();
        let elastic = Elastic::between(1, 4).grow_at(1).every(seconds(1)).cool_down(millis(0));
        let pool = spawn(&sim, Pool::new(3, workers(&log)).elastic(elastic));
        let mut drained = pool.drain().into_future();
        assert!(poll_once(&mut drained).is_pending());
        sim.advance(seconds(9));
        assert_eq!((numbers(&pool).places, poll_once(&mut drained)), (3, Poll::Ready(Ok(()))));
        pool.reopen().wait().unwrap();
        sim.advance(seconds(1));
        assert_eq!(numbers(&pool).places, 2);
        (0..9).for_each(|n| pool.send(Job::Slow(n, seconds(20))).unwrap());
        let mut drained = pool.drain().into_future();
        assert!(poll_once(&mut drained).is_pending());
        sim.advance(seconds(9));
        assert_eq!((numbers(&pool).places, pool.waiting()), (2, 7));
        pool.reopen().wait().unwrap();
        sim.advance(seconds(2));
        assert_eq!(numbers(&pool).places, 4);
        sim.advance(seconds(99));
        // What the drain has laid its mark behind is not moved past it.
        assert_eq!((done(&log).len(), poll_once(&mut drained)), (9, Poll::Ready(Ok(()))));
    }
}

#[test]
fn p13_the_jobs_of_a_key_are_not_moved() {
    for sim in simulations(5) {
        let log = Log::new();
        let elastic = Elastic::between(3, 3).every(millis(100));
        let factory = workers(&log);
        let keyed = move || Pool::new(3, factory).elastic(elastic).routing(ByKey::new(|_: &Job| 0));
        let pool: PoolAddress = sim.spawn(keyed).wait().unwrap();
        (0..6).for_each(|n| pool.send(Job::Slow(n, seconds(1))).unwrap());
        sim.advance(seconds(3));
        assert_eq!(done(&log), [0, 1, 2]);
        sim.advance(seconds(3));
        assert_eq!(done(&log), [0, 1, 2, 3, 4, 5]);
    }
}

#[test]
fn p13_a_job_that_is_moved_keeps_its_sender() {
    for sim in simulations(5) {
        let log = Log::new();
        let noted = log.clone();
        let factory = move || {
            let log = noted.clone();
            behavior_fn(move |mut ctx: Context<u32>| async move {
                while let Received::Message(_) = ctx.receive().await {
                    let sender = ctx.sender();
                    ctx.sleep(seconds(1)).await;
                    log.note(sender.expect("a process has sent it"));
                }
                Ok(())
            })
        };
        let elastic = Elastic::between(1, 3).grow_at(1).every(millis(100)).cool_down(seconds(0));
        let pool = sim.spawn(move || Pool::new(1, factory).elastic(elastic)).wait().unwrap();
        let to = pool.clone();
        let sender = sim.spawn(move || {
            behavior_fn(move |mut ctx: Context<()>| async move {
                (0..6).for_each(|n| to.send(n).unwrap());
                while let Received::Message(()) = ctx.receive().await {}
                Ok(())
            })
        });
        let sender = sender.start().unwrap().pid();
        sim.advance(seconds(4));
        assert_eq!(log.take(), vec![sender.to_string(); 6], "three have done the work of one");
    }
}

/// Everything goes to the first, as long as it has room.
struct ToFirst;

impl Routing<Job> for ToFirst {
    fn choose(&self, _: u64, _: &Workers<'_>) -> Choice<Job> {
        Choice::After(0)
    }
}

#[test]
fn p13_an_idle_worker_can_be_removed_while_others_have_a_queue() {
    let sim = Simulation::new(1);
    let factory = workers(&Log::new());
    let elastic = Elastic::between(1, 4).shrink_at(2).step(3).every(millis(100));
    let pool = move || Pool::new(4, factory).elastic(elastic).routing(ToFirst);
    let pool: PoolAddress = sim.spawn(pool).wait().unwrap();
    (0..3).for_each(|n| pool.send(Job::Slow(n, seconds(1))).unwrap());
    sim.advance(millis(100));
    assert_eq!(numbers(&pool).places, 1);
}

#[test]
fn p13_a_copy_stays_with_the_worker_that_it_is_for() {
    for sim in simulations(5) {
        let log = Log::new();
        let (noted, hangs) = (log.clone(), AtomicBool::new(true));
        let factory = move || {
            let (log, hangs) = (noted.clone(), hangs.swap(false, Ordering::Relaxed));
            behavior_fn(move |mut ctx: Context<u32>| async move {
                while let Received::Message(number) = ctx.receive().await {
                    if hangs {
                        std::future::pending::<()>().await;
                    }
                    log.note(number);
                }
                Ok(())
            })
        };
        let elastic = Elastic::between(2, 2).every(millis(100));
        let pool = move || Pool::new(2, factory).elastic(elastic).routing(Broadcast);
        let pool = sim.spawn(pool).wait().unwrap();
        (0..5).for_each(|number| pool.send(number).unwrap());
        sim.advance(seconds(1));
        assert_eq!((done(&log), pool.waiting()), (vec![0, 1, 2, 3, 4], 4));
    }
}

#[test]
fn p11_messages_of_a_drained_elastic_pool_are_not_moved() {
    for sim in simulations(5) {
        let log = Log::new();
        let elastic = Elastic::between(2, 2).every(seconds(1));
        let pool = spawn(&sim, Pool::new(2, workers(&log)).elastic(elastic));
        pool.send(Job::Slow(1, seconds(3))).unwrap();
        pool.send(Job::Note(2)).unwrap();
        pool.send(Job::Slow(3, seconds(10))).unwrap();
        let mut drained = pool.drain().into_future();
        assert!(poll_once(&mut drained).is_pending());
        sim.advance(millis(12_999));
        assert!(poll_once(&mut drained).is_pending(), "it is not done");
        sim.advance(millis(1));
        assert_eq!(poll_once(&mut drained), Poll::Ready(Ok(())));
        assert_eq!(done(&log), [2, 1, 3]);
    }
}

#[test]
fn p13_a_worker_that_does_not_start_is_missed_until_the_pool_looks_again() {
    for sim in simulations(5) {
        let (log, made) = (Log::new(), Arc::new(AtomicUsize::new(0)));
        let (count, factory) = (Arc::clone(&made), workers(&log));
        let factory = move || {
            assert!(!(1..3).contains(&count.fetch_add(1, Ordering::Relaxed)), "the factory fails");
            factory()
        };
        let elastic = Elastic::between(1, 2).grow_at(1).every(seconds(1)).cool_down(seconds(5));
        let pool = spawn(&sim, Pool::new(1, factory).elastic(elastic));
        (0..9).for_each(|n| pool.send(Job::Slow(n, seconds(60))).unwrap());
        let made = || made.load(Ordering::Relaxed);
        // It looks at 1 s, and may change again at 6 s and at 11 s.
        for (until, starts, workers) in [(5, 2, 1), (10, 3, 1), (11, 4, 2)] {
            sim.advance(seconds(until).saturating_sub(Duration::from_nanos(sim.now().as_nanos())));
            assert_eq!((made(), numbers(&pool).workers), (starts, workers), "{until} s");
        }
    }
}
