//! Pools of tens of thousands of workers: what is done for one worker, or for one sender that
//! waits, does not examine all the others. With a step that does, the tests take minutes.

use crate::pool_support::{Job, numbers, seconds, workers};
use crate::support::{Log, poll_once};
use krarup::prelude::*;
use std::collections::BTreeSet;
use std::future::IntoFuture;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const MANY: usize = 20_000;

#[test]
fn p4_all_of_many_workers_end_at_once_and_each_gets_a_replacement() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let factory = workers(&log);
    let pool = sim.spawn(move || Pool::new(MANY, factory)).wait().unwrap();
    let first: BTreeSet<Pid> = pool.workers().wait().unwrap().into_iter().collect();
    for _ in 0..MANY {
        pool.send(Job::End(Reason::Killed)).unwrap();
    }
    sim.run_until_idle();
    let then = pool.workers().wait().unwrap();
    assert_eq!((then.len(), numbers(&pool).restarts), (MANY, MANY as u64));
    assert!(then.iter().all(|pid| !first.contains(pid)), "each place has another worker");
    pool.stop().wait().unwrap();
    assert_eq!(sim.stats().processes, 0);
}

/// Initialises if the flag says so.
struct Reluctant(Arc<AtomicBool>);

impl Actor for Reluctant {
    type Message = u32;

    async fn init(&mut self, _: &mut Context<u32>) -> Result {
        if self.0.load(Ordering::Relaxed) { Ok(()) } else { Err(Reason::error("not now")) }
    }

    async fn handle_message(&mut self, _: &mut Context<u32>, _: u32) -> Result {
        Ok(())
    }
}

#[test]
fn p4_many_places_that_wait_for_another_attempt_do_not_delay_each_other() {
    let sim = Simulation::new(1);
    let may = Arc::new(AtomicBool::new(true));
    let flag = Arc::clone(&may);
    let pool = sim
        .spawn(move || {
            let worker = move || Reluctant(Arc::clone(&flag));
            Pool::new(MANY, worker).back_off(seconds(1), seconds(8))
        })
        .wait()
        .unwrap();
    may.store(false, Ordering::Relaxed);
    pool.workers().wait().unwrap().into_iter().for_each(|pid| sim.kill(pid));
    sim.run_until_idle();
    assert_eq!(pool.statistics().wait().unwrap().workers, 0);
    may.store(true, Ordering::Relaxed);
    sim.advance(seconds(1));
    let numbers = pool.statistics().wait().unwrap();
    assert_eq!((numbers.workers, numbers.restarts), (MANY, MANY as u64));
}

#[test]
fn p5_many_requests_each_add_and_remove_one_worker() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let factory = workers(&log);
    let pool = sim.spawn(move || Pool::new(2, factory)).wait().unwrap();
    let mut adding: Vec<_> = (0..MANY).map(|_| pool.add_workers(1).into_future()).collect();
    assert!(adding.iter_mut().all(|one| poll_once(one).is_pending()));
    // The turn moves on between two additions.
    (0..100).for_each(|number| pool.send(Job::Note(number)).unwrap());
    sim.run_until_idle();
    assert!(adding.iter_mut().all(|one| poll_once(one).is_ready()));
    assert_eq!(pool.workers().wait().unwrap().len(), MANY + 2);
    let mut removing: Vec<_> = (0..MANY).map(|_| pool.remove_workers(1).into_future()).collect();
    assert!(removing.iter_mut().all(|one| poll_once(one).is_pending()));
    sim.run_until_idle();
    assert!(removing.iter_mut().all(|one| poll_once(one).is_ready()));
    assert_eq!((pool.workers().wait().unwrap().len(), sim.stats().processes), (2, 3));
}

#[test]
fn m6_many_senders_wait_for_room_at_many_workers() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let factory = workers(&log);
    let pool = sim.spawn(move || Pool::new(MANY, factory).mailbox(1)).wait().unwrap();
    for _ in 0..MANY {
        pool.send(Job::Slow(0, seconds(1))).unwrap();
    }
    sim.run_until_idle();
    for _ in 0..MANY {
        pool.send(Job::Note(1)).unwrap();
    }
    let waits = (0..MANY).map(|_| pool.send_or_wait(Job::Note(2)).into_future());
    let mut waits: Vec<_> = waits.map(Box::pin).collect();
    assert!(waits.iter_mut().all(|wait| poll_once(wait).is_pending()));
    sim.advance(seconds(1));
    assert!(waits.iter_mut().all(|wait| poll_once(wait).is_ready()));
    sim.run_until_idle();
    assert_eq!(log.lines().len(), 3 * MANY, "each job was done");
}

#[test]
fn p12_many_workers_that_are_stuck_at_once_are_all_replaced() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let factory = workers(&log);
    let pool = sim.spawn(move || Pool::new(MANY, factory).stuck_limit(seconds(1)));
    let pool = pool.wait().unwrap();
    for _ in 0..MANY {
        pool.send(Job::Hang).unwrap();
    }
    sim.advance(seconds(1));
    let numbers = numbers(&pool);
    assert_eq!(
        (numbers.workers, numbers.stuck, numbers.restarts),
        (MANY, MANY as u64, MANY as u64)
    );
}
