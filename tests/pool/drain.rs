//! What a drain waits for and what it refuses: permits, messages in line, removed workers, the
//! pools behind a pool (rule P11).

use crate::pool_support::{
    Job, PoolAddress, done, inspect, millis, numbers, occupy, seconds, workers,
};
use crate::support::{Log, poll_once, simulations};
use krarup::behavior::behavior_fn;
use krarup::pool::{Broadcast, ByKey, Resized};
use krarup::prelude::*;
use std::task::Poll;

fn pool(sim: &Simulation, size: usize, mailbox: usize, log: &Log) -> PoolAddress {
    let factory = workers(log);
    sim.spawn(move || Pool::new(size, factory).mailbox(mailbox)).wait().unwrap()
}

/// Kills a worker, and has it replaced.
fn replace(sim: &Simulation, worker: Pid) {
    sim.kill(worker);
    sim.run_until_idle();
}

/// Begins to drain a pool.
macro_rules! drain {
    ($sim:expr, $pool:expr) => {{
        let mut drained = $pool.drain().into_future();
        assert!(poll_once(&mut drained).is_pending());
        $sim.run_until_idle();
        drained
    }};
}

#[test]
fn p11_a_drain_waits_for_a_message_that_waits_in_line_when_it_begins() {
    for sim in simulations(10) {
        let log = Log::new();
        let pool = pool(&sim, 1, 1, &log);
        let permit = pool.reserve().unwrap();
        replace(&sim, pool.workers().wait().unwrap()[0]);
        occupy(&sim, &pool, seconds(5));
        pool.send(Job::Slow(1, seconds(1))).unwrap();
        permit.send(Job::Slow(2, seconds(3)));
        assert_eq!(pool.waiting(), 2);
        let mut drained = drain!(sim, pool);
        sim.advance(millis(8_999));
        assert!(poll_once(&mut drained).is_pending());
        sim.advance(millis(1));
        assert_eq!(poll_once(&mut drained), Poll::Ready(Ok(())));
        assert_eq!(done(&log), [999, 1, 2]);
    }
}

#[test]
fn p11_a_drain_ends_at_its_timeout_and_what_it_began_goes_on() {
    for sim in simulations(10) {
        let log = Log::new();
        let pool = pool(&sim, 1, 9, &log);
        occupy(&sim, &pool, seconds(5));
        pool.send(Job::Slow(1, seconds(3))).unwrap();
        let before = sim.now();
        let late = pool.drain().timeout(seconds(7)).wait().unwrap_err();
        assert!(
            matches!(late, CallError::Timeout { to, limit } if to == pool.pid() && limit == seconds(7)),
            "{late}"
        );
        assert_eq!((sim.now().since(before), done(&log)), (seconds(7), vec![999]));
        // It stays drained, and finishes its jobs: another drain waits for the rest.
        assert!(matches!(pool.send(Job::Slow(2, seconds(1))), Err(SendError::Draining { .. })));
        assert_eq!(pool.drain().timeout(seconds(2)).wait(), Ok(()));
        assert_eq!((sim.now().since(before), done(&log)), (seconds(8), vec![999, 1]));
    }
}

#[test]
fn p11_every_drain_waits_for_the_permits_from_before_it() {
    for sim in simulations(10) {
        let log = Log::new();
        let pool = pool(&sim, 2, 9, &log);
        let oldest = pool.reserve().unwrap();
        let mut first = drain!(sim, pool);
        assert!(pool.reopen().wait().unwrap());
        let between = pool.reserve().unwrap();
        let mut second = drain!(sim, pool);
        assert!(pool.reopen().wait().unwrap());
        let late = pool.reserve().unwrap();
        let mut third = drain!(sim, pool);
        // The first two wait for the oldest; the one from between is none of the first's.
        oldest.send(Job::Slow(1, seconds(2)));
        sim.advance(millis(1_999));
        assert!(poll_once(&mut first).is_pending() && poll_once(&mut second).is_pending());
        sim.advance(millis(1));
        assert_eq!(poll_once(&mut first), Poll::Ready(Ok(())));
        assert!(poll_once(&mut second).is_pending() && poll_once(&mut third).is_pending());
        // Room that is given back is no work.
        drop(between);
        sim.run_until_idle();
        assert_eq!(poll_once(&mut second), Poll::Ready(Ok(())));
        assert!(poll_once(&mut third).is_pending());
        late.send(Job::Slow(2, seconds(1)));
        sim.advance(seconds(1));
        assert_eq!(poll_once(&mut third), Poll::Ready(Ok(())));
        assert_eq!(done(&log), [1, 2]);
        assert_eq!((numbers(&pool).forwarded, numbers(&pool).unhandled), (2, 0));
    }
}

#[test]
fn p11_a_second_drain_ends_with_a_permit_that_is_older_than_the_first() {
    for sim in simulations(10) {
        let log = Log::new();
        let pool = pool(&sim, 1, 9, &log);
        let (one, other) = (pool.reserve().unwrap(), pool.reserve().unwrap());
        let mut first = drain!(sim, pool);
        let mut again = drain!(sim, pool);
        one.send(Job::Slow(1, seconds(1)));
        sim.advance(seconds(2));
        assert!(poll_once(&mut first).is_pending() && poll_once(&mut again).is_pending());
        other.send(Job::Slow(2, seconds(1)));
        sim.advance(millis(999));
        assert!(poll_once(&mut first).is_pending() && poll_once(&mut again).is_pending());
        sim.advance(millis(1));
        assert_eq!(poll_once(&mut first), Poll::Ready(Ok(())));
        assert_eq!(poll_once(&mut again), Poll::Ready(Ok(())));
    }
}

#[test]
fn p11_a_drain_waits_for_an_earlier_message_that_moved_to_another_worker() {
    for sim in simulations(10) {
        let log = Log::new();
        let pool = pool(&sim, 2, 9, &log);
        let permit = pool.reserve().unwrap();
        let mut drained = drain!(sim, pool);
        assert!(pool.reopen().wait().unwrap());
        replace(&sim, permit_holder(&pool));
        // Its room is gone, and others have some.
        permit.send(Job::Slow(1, seconds(5)));
        sim.advance(millis(4_999));
        assert!(poll_once(&mut drained).is_pending(), "it is not done");
        sim.advance(millis(1));
        assert_eq!(poll_once(&mut drained), Poll::Ready(Ok(())));
        assert_eq!(done(&log), [1]);
    }
}

/// The worker of a pool of two that has the room which was reserved last: its turn comes last.
fn permit_holder(pool: &PoolAddress) -> Pid {
    pool.workers().wait().unwrap()[1]
}

#[test]
fn p11_a_drain_waits_for_each_copy_of_a_message_with_a_permit() {
    for sim in simulations(10) {
        let log = Log::new();
        let noted = log.clone();
        let clerk = move || Copies(noted.clone());
        let pool: Address<Copied, PoolCommand> =
            sim.spawn(move || Pool::new(3, clerk).mailbox(2).routing(Broadcast)).wait().unwrap();
        let permit = pool.reserve().unwrap();
        let mut drained = drain!(sim, pool);
        permit.send(Copied(seconds(4)));
        sim.advance(millis(3_999));
        assert!(poll_once(&mut drained).is_pending());
        sim.advance(millis(1));
        assert_eq!(poll_once(&mut drained), Poll::Ready(Ok(())));
        assert_eq!(log.take(), ["done"; 3]);
    }
}

#[derive(Clone)]
struct Copied(std::time::Duration);

struct Copies(Log);

impl Actor for Copies {
    type Message = Copied;

    async fn handle_message(&mut self, ctx: &mut Context<Copied>, job: Copied) -> Result {
        ctx.sleep(job.0).await;
        self.0.note("done");
        Ok(())
    }
}

/// The key of each job is its number.
fn number(job: &Job) -> u32 {
    match job {
        Job::Note(number) | Job::Slow(number, _) => *number,
        _ => 0,
    }
}

#[test]
fn p11_a_drain_refuses_waiting_senders_at_once() {
    for keyed in [false, true] {
        for sim in simulations(10) {
            let log = Log::new();
            let factory = workers(&log);
            let pool = move || Pool::new(2, factory).mailbox(1);
            let pool: PoolAddress = if keyed {
                sim.spawn(move || pool().routing(ByKey::new(number))).wait().unwrap()
            } else {
                sim.spawn(pool).wait().unwrap()
            };
            while pool.send(Job::Slow(1, seconds(5))).is_ok() {
                sim.run_until_idle();
            }
            let mut waits: Vec<_> =
                (0..2).map(|_| pool.send_or_wait(Job::Note(1)).into_future()).collect();
            assert!(waits.iter_mut().all(|wait| poll_once(wait).is_pending()));
            let before = numbers(&pool).unhandled;
            let mut drained = drain!(sim, pool);
            for wait in &mut waits {
                assert!(matches!(
                    poll_once(wait),
                    Poll::Ready(Err(SendError::Draining { message: Job::Note(1), .. }))
                ));
            }
            assert_eq!(numbers(&pool).unhandled, before + 2);
            sim.advance(seconds(20));
            assert_eq!(poll_once(&mut drained), Poll::Ready(Ok(())));
            assert_eq!(log.count(" 1"), done(&log).len());
            assert_eq!(done(&log).len() as u64, numbers(&pool).forwarded);
            // Reopened, it has a line again.
            pool.reopen().wait().unwrap();
            assert!(pool.send_or_wait(Job::Note(1)).wait().is_ok());
        }
    }
}

#[test]
fn p11_a_new_waiter_at_a_drained_pool_is_refused_at_once() {
    for sim in simulations(10) {
        let log = Log::new();
        let pool = pool(&sim, 1, 1, &log);
        let permit = pool.reserve().unwrap();
        replace(&sim, pool.workers().wait().unwrap()[0]);
        occupy(&sim, &pool, seconds(5));
        pool.send(Job::Note(1)).unwrap();
        let mut drained = drain!(sim, pool);
        permit.send(Job::Note(2));
        let mut wait = pool.send_or_wait(Job::Note(3)).into_future();
        assert!(matches!(
            poll_once(&mut wait),
            Poll::Ready(Err(SendError::Draining { message: Job::Note(3), .. }))
        ));
        // With no place for a worker at all it is no better.
        pool.reopen().wait().unwrap();
        assert_eq!(pool.remove_workers(1).wait().unwrap(), Resized { size: 0, changed: 1 });
        assert_eq!(pool.waiting(), 1, "of the removed worker only the line knows");
        let mut wait = pool.send_or_wait(Job::Note(3)).into_future();
        assert!(matches!(
            poll_once(&mut wait),
            Poll::Ready(Err(SendError::NoWorkers { message: Job::Note(3), .. }))
        ));
        // A new worker takes it out of the line.
        sim.advance(seconds(9));
        assert!(poll_once(&mut drained).is_pending());
        pool.add_workers(1).wait().unwrap();
        sim.run_until_idle();
        assert_eq!(poll_once(&mut drained), Poll::Ready(Ok(())));
        assert_eq!(done(&log), [999, 1, 2]);
    }
}

#[test]
fn p11_a_pool_reports_that_it_is_drained_and_serves_again_when_it_is_reopened() {
    for sim in simulations(10) {
        let log = Log::new();
        let pool = pool(&sim, 3, 2, &log);
        let order = pool.workers().wait().unwrap();
        assert!(inspect(&pool).value("draining").is_none() && !numbers(&pool).draining);
        assert!(!pool.reopen().wait().unwrap(), "it is not drained");
        pool.drain().wait().unwrap();
        assert!(inspect(&pool).value("draining").is_some() && numbers(&pool).draining);
        assert_eq!(pool.workers().wait().unwrap(), order, "its workers live on");
        assert_eq!((numbers(&pool).places, numbers(&pool).workers), (3, 3));
        // One that dies meanwhile is replaced in its place.
        replace(&sim, order[1]);
        let now = pool.workers().wait().unwrap();
        assert_eq!((now[0], now[2], numbers(&pool).restarts), (order[0], order[2], 1));
        let refused = [
            pool.send(Job::Note(1)).is_err(),
            pool.reserve().is_err(),
            pool.send_or_wait(Job::Note(1)).wait().is_err(),
        ];
        assert_eq!((refused, numbers(&pool).unhandled), ([true; 3], 3));
        assert!(pool.reopen().wait().unwrap());
        assert!(inspect(&pool).value("draining").is_none() && !numbers(&pool).draining);
        let served: Vec<_> = (0..3).map(|_| crate::pool_support::who(&pool)).collect();
        assert_eq!(served, now);
    }
}

/// A pool of one pool, and that one.
fn nested(sim: &Simulation, size: usize, mailbox: usize, log: &Log) -> [PoolAddress; 2] {
    let factory = workers(log);
    let inner = move || Pool::new(size, factory.clone()).mailbox(mailbox);
    let outer: PoolAddress = sim.spawn(move || Pool::new(1, inner)).wait().unwrap();
    let inner = sim.address_of(outer.workers().wait().unwrap()[0]).unwrap();
    [outer, inner]
}

#[test]
fn p11_a_drain_waits_for_the_removed_workers_of_the_pools_behind_it() {
    for sim in simulations(10) {
        let log = Log::new();
        let [outer, inner] = nested(&sim, 2, 5, &log);
        outer.send(Job::Slow(1, seconds(9))).unwrap();
        outer.send(Job::Slow(2, seconds(1))).unwrap();
        sim.run_until_idle();
        assert_eq!(inner.remove_workers(1).wait().unwrap(), Resized { size: 1, changed: 1 });
        let mut drained = drain!(sim, outer);
        sim.advance(millis(8_999));
        assert!(poll_once(&mut drained).is_pending());
        sim.advance(millis(1));
        assert_eq!(poll_once(&mut drained), Poll::Ready(Ok(())));
        assert_eq!(done(&log), [2, 1]);
    }
}

#[test]
fn p11_a_drain_waits_for_the_lines_of_inner_pools() {
    for before in [false, true] {
        for sim in simulations(10) {
            let log = Log::new();
            let [outer, inner] = nested(&sim, 1, 1, &log);
            let permit = outer.reserve().unwrap();
            replace(&sim, inner.workers().wait().unwrap()[0]);
            occupy(&sim, &inner, seconds(5));
            inner.send(Job::Slow(1, seconds(1))).unwrap();
            let mut drained = if before {
                permit.send(Job::Slow(2, seconds(3)));
                drain!(sim, outer)
            } else {
                let drained = drain!(sim, outer);
                permit.send(Job::Slow(2, seconds(3)));
                drained
            };
            assert_eq!(outer.waiting(), 2);
            sim.advance(millis(8_999));
            assert!(poll_once(&mut drained).is_pending());
            sim.advance(millis(1));
            assert_eq!(poll_once(&mut drained), Poll::Ready(Ok(())));
            assert_eq!(done(&log), [999, 1, 2]);
        }
    }
}

#[test]
fn p11_a_waiter_at_a_pool_of_pools_is_served_when_the_inner_pool_reopens() {
    for empty in [false, true] {
        for sim in simulations(10) {
            let log = Log::new();
            let [outer, inner] = nested(&sim, 1, 1, &log);
            outer.send(Job::Slow(1, seconds(1))).unwrap();
            sim.run_until_idle();
            outer.send(Job::Note(2)).unwrap();
            let mut early = outer.send_or_wait(Job::Note(3)).into_future();
            assert!(poll_once(&mut early).is_pending());
            let closes = || {
                if empty {
                    assert_eq!(inner.remove_workers(1).wait().unwrap().size, 0);
                } else {
                    drop(poll_once(&mut inner.drain().into_future()));
                }
                sim.advance(seconds(9));
            };
            let opens = || {
                if empty {
                    assert_eq!(inner.add_workers(1).wait().unwrap().size, 1);
                } else {
                    assert!(inner.reopen().wait().unwrap());
                }
                sim.run_until_idle();
            };
            closes();
            // Its worker has nothing to do, and takes nothing: the outer pool is not drained.
            let mut late = outer.send_or_wait(Job::Note(4)).into_future();
            assert!(poll_once(&mut late).is_pending());
            sim.run_until_idle();
            assert!(poll_once(&mut early).is_pending() && poll_once(&mut late).is_pending());
            assert_eq!((done(&log), outer.waiting()), (vec![1, 2], 0));
            opens();
            assert!(matches!(poll_once(&mut early), Poll::Ready(Ok(()))));
            sim.run_until_idle();
            assert!(matches!(poll_once(&mut late), Poll::Ready(Ok(()))));
            sim.run_until_idle();
            assert_eq!(done(&log), [1, 2, 3, 4]);
            let numbers = numbers(&inner);
            assert_eq!((numbers.forwarded, numbers.received()), (4, numbers.unhandled + 4));
            // Who waits there itself is served, though nobody waits in the line before it.
            inner.send(Job::Slow(5, seconds(1))).unwrap();
            sim.run_until_idle();
            inner.send(Job::Note(6)).unwrap();
            let mut gone = outer.send_or_wait(Job::Note(0)).into_future();
            let mut direct = inner.send_or_wait(Job::Note(7)).into_future();
            assert!(poll_once(&mut gone).is_pending() && poll_once(&mut direct).is_pending());
            drop(gone);
            sim.advance(seconds(2));
            assert!(matches!(poll_once(&mut direct), Poll::Ready(Ok(()))));
            sim.run_until_idle();
            assert_eq!(done(&log), [1, 2, 3, 4, 5, 6, 7]);
        }
    }
}

#[test]
fn p11_a_worker_that_is_stuck_in_a_drained_pool_is_replaced_and_takes_nothing_before_it_is_reopened()
 {
    for sim in simulations(10) {
        let factory = workers(&Log::new());
        let pool = move || Pool::new(3, factory).mailbox(5).stuck_limit(seconds(3));
        let pool: PoolAddress = sim.spawn(pool).wait().unwrap();
        let before = pool.workers().wait().unwrap();
        pool.send(Job::Hang).unwrap();
        // Its turn is neither the first nor the last.
        pool.send(Job::Note(0)).unwrap();
        sim.run_until_idle();
        let mut drained = drain!(sim, pool);
        sim.advance(millis(2_999));
        assert!(poll_once(&mut drained).is_pending());
        sim.advance(millis(1));
        assert_eq!(poll_once(&mut drained), Poll::Ready(Ok(())));
        assert!(matches!(
            pool.send(Job::Note(1)),
            Err(SendError::Draining { to, .. }) if to == pool.pid()
        ));
        // It stands last.
        let now = pool.workers().wait().unwrap();
        assert_eq!((now.len(), [now[0], now[1]]), (3, [before[2], before[1]]));
        assert!(!before.contains(&now[2]));
        assert!(pool.reopen().wait().unwrap());
        let served: Vec<_> = (0..3).map(|_| crate::pool_support::who(&pool)).collect();
        assert_eq!(served, now);
    }
}

#[test]
fn p11_a_drain_waits_for_permits_from_before_the_one_before_it() {
    for sim in simulations(10) {
        let log = Log::new();
        let pool = pool(&sim, 1, 9, &log);
        let oldest = pool.reserve().unwrap();
        let mut first = drain!(sim, pool);
        assert!(pool.reopen().wait().unwrap());
        let between = pool.reserve().unwrap();
        let mut second = drain!(sim, pool);
        drop(between);
        sim.run_until_idle();
        assert!(poll_once(&mut first).is_pending() && poll_once(&mut second).is_pending());
        oldest.send(Job::Slow(1, seconds(1)));
        sim.advance(millis(999));
        assert!(poll_once(&mut first).is_pending() && poll_once(&mut second).is_pending());
        sim.advance(millis(1));
        for drained in [&mut first, &mut second] {
            assert_eq!(poll_once(drained), Poll::Ready(Ok(())));
        }
    }
}

#[test]
fn p11_a_drain_does_not_wait_for_a_removed_worker_that_blocks_its_thread() {
    let node = Node::builder("p11").workers(2).start().unwrap();
    let (blocks, free) = std::sync::mpsc::channel::<()>();
    let free = std::sync::Arc::new(std::sync::Mutex::new(free));
    let factory = move || {
        let free = std::sync::Arc::clone(&free);
        behavior_fn(move |mut ctx: Context<()>| async move {
            ctx.receive().await;
            let _ = free.lock().unwrap().recv();
            Ok(())
        })
    };
    let pool = node.spawn(move || Pool::new(1, factory).stuck_limit(millis(20))).wait().unwrap();
    pool.send(()).unwrap();
    assert_eq!(pool.remove_workers(1).wait(), Ok(Resized { size: 0, changed: 1 }));
    while pool.statistics().wait().unwrap().stuck == 0 {
        std::thread::yield_now();
    }
    let mut drained = pool.drain().into_future();
    let early = poll_once(&mut drained);
    // The pool has come to what was asked after it.
    pool.statistics().wait().unwrap();
    let drained = if early.is_ready() { early } else { poll_once(&mut drained) };
    drop(blocks);
    assert_eq!(drained, Poll::Ready(Ok(())));
    node.stop().wait().unwrap();
}

#[test]
fn p7_a_drained_pool_that_finishes_or_stops_ends_its_workers_like_any_other() {
    for (finishes, sim) in [true, false].into_iter().cycle().zip(simulations(6)) {
        let log = Log::new();
        let pool = pool(&sim, 2, 9, &log);
        (1..5).for_each(|n| pool.send(Job::Slow(n, seconds(2))).unwrap());
        let mut drained = drain!(sim, pool);
        let workers = pool.workers().wait().unwrap();
        assert!(workers.iter().all(|worker| sim.is_alive(*worker)));
        let mut end = pool.watch().into_future();
        assert!(poll_once(&mut end).is_pending());
        if finishes {
            pool.finish();
        } else {
            assert!(poll_once(&mut pool.stop().into_future()).is_pending());
        }
        while poll_once(&mut end).is_pending() {
            sim.advance(millis(100));
        }
        // Whoever hears of its end finds no worker.
        assert_eq!((sim.stats().processes, pool.is_alive()), (0, false));
        let (mut jobs, over) = (done(&log), poll_once(&mut drained));
        jobs.sort_unstable();
        if finishes {
            assert_eq!((jobs, over), (vec![1, 2, 3, 4], Poll::Ready(Ok(()))));
        } else {
            assert!(jobs.len() < 4 && matches!(over, Poll::Ready(Err(_))), "{jobs:?} {over:?}");
        }
    }
}
