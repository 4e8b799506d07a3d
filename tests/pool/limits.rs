//! What a pool does beside handing on: the age of jobs, their rate, draining, workers that are
//! stuck, the size, the number of replacements (rules P4, P9 to P13).

use crate::pool_support::{
    Job, PoolAddress, Worker, done, inspect, millis, numbers, occupy, seconds, who, workers,
};
use crate::support::{Log, boom, poll_once, simulations};
use krarup::behavior::behavior_fn;
use krarup::pool::{Discarded, Elastic, PoolError, Rate};
use krarup::prelude::*;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

fn spawn<R>(sim: &Simulation, pool: Pool<Worker, R>) -> PoolAddress
where
    R: krarup::pool::Routing<Job>,
{
    sim.spawn(move || pool).wait().unwrap()
}

#[test]
fn p9_an_expired_job_is_not_done_and_its_call_fails_with_expired() {
    for sim in simulations(10) {
        let log = Log::new();
        let pool = Pool::new(1, workers(&log)).mailbox(9).time_to_live(seconds(3));
        let pool = spawn(&sim, pool);
        let to = pool.workers().wait().unwrap()[0];
        pool.send(Job::Slow(1, seconds(2))).unwrap();
        pool.send(Job::Slow(2, seconds(2))).unwrap();
        let mut call = pool.call(Job::Who).no_timeout().into_future();
        assert!(poll_once(&mut call).is_pending());
        pool.send(Job::Note(3)).unwrap();
        sim.advance(seconds(1));
        // Younger: at the end of the second job it has waited exactly its time.
        pool.send(Job::Note(4)).unwrap();
        sim.advance(seconds(9));
        assert_eq!(
            poll_once(&mut call),
            Poll::Ready(Err(CallError::Expired { to, waited: seconds(4) }))
        );
        assert_eq!(done(&log), [1, 2, 4]);
        let numbers = numbers(&pool);
        assert_eq!((numbers.forwarded, numbers.expired, numbers.lost), (5, 2, 0));
        assert_eq!(sim.stats().dead_letters, 2);
        assert_eq!(inspect(&pool).number("jobs_expired"), Some(2));
        assert!(pool.call(Job::Who).wait().is_ok());
    }
}

#[test]
fn p9_each_job_can_have_its_own_time_to_live() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let limit = |job: &Job| match job {
        Job::Note(n) if *n > 0 => Some(seconds(u64::from(*n))),
        _ => None,
    };
    let pool = spawn(&sim, Pool::new(1, workers(&log)).time_to_live_of(limit));
    occupy(&sim, &pool, seconds(5));
    [0, 3, 4, 5, 6].into_iter().for_each(|n| pool.send(Job::Note(n)).unwrap());
    sim.advance(seconds(10));
    assert_eq!(done(&log), [999, 0, 5, 6]);
}

#[test]
fn p9_discarded_jobs_are_passed_out_with_the_reason() {
    for sim in simulations(10) {
        let log = Log::new();
        let discarded = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&discarded);
        let tell = move |job, why| {
            if let Job::Note(n) = job {
                noted.lock().unwrap().push((n, why));
            } else if let Job::Who(reply) = job {
                reply.fail(CallError::Full { to: Pid::local(7, 0) });
            }
        };
        let pool =
            spawn(&sim, Pool::new(1, workers(&log)).time_to_live(seconds(1)).on_discard(tell));
        occupy(&sim, &pool, seconds(2));
        pool.send(Job::Note(1)).unwrap();
        let mut call = pool.call(Job::Who).into_future();
        assert!(poll_once(&mut call).is_pending());
        sim.advance(seconds(3));
        let expired = Discarded::Expired { waited: seconds(2) };
        assert_eq!(std::mem::take(&mut *discarded.lock().unwrap()), [(1, expired)]);
        assert_eq!(
            poll_once(&mut call),
            Poll::Ready(Err(CallError::Full { to: Pid::local(7, 0) }))
        );
        pool.send(Job::Hang).unwrap();
        sim.run_until_idle();
        pool.send(Job::Note(2)).unwrap();
        sim.kill(pool.workers().wait().unwrap()[0]);
        sim.run_until_idle();
        assert_eq!(*discarded.lock().unwrap(), [(2, Discarded::WorkerEnded)]);
        let numbers = numbers(&pool);
        assert_eq!((numbers.expired, numbers.lost, numbers.crashed), (2, 1, 1));
    }
}

#[test]
fn p9_watched_jobs_come_out_of_batches_stashes_and_bounds_like_any_other() {
    for sim in simulations(10) {
        let log = Log::new();
        let noted = log.clone();
        let factory = move || {
            let log = noted.clone();
            behavior_fn(move |mut ctx: Context<u32>| async move {
                let mut kept = false;
                loop {
                    match ctx.receive().await {
                        krarup::behavior::Received::Message(n) => {
                            if n == 0 && !kept {
                                kept = true;
                                ctx.stash(n)?;
                                continue;
                            }
                            let batch = ctx.take_batch(9);
                            log.note(format!("{n} {batch:?}"));
                            ctx.unstash_all();
                        }
                        krarup::behavior::Received::Finish => return Ok(()),
                        _ => {}
                    }
                }
            })
        };
        let pool = sim.spawn(move || Pool::new(1, factory).mailbox(4).measured()).wait().unwrap();
        assert_eq!((0..9).filter(|n| pool.send(*n).is_ok()).count(), 4);
        sim.run_until_idle();
        // Handled one by one: a batch ends where somebody watches.
        assert_eq!(log.take(), ["1 []", "0 []", "2 []", "3 []"]);
        assert_eq!(pool.waiting(), 0);
    }
}

#[test]
fn p10_no_more_jobs_per_second_than_the_rate_are_accepted() {
    for sim in simulations(5) {
        let log = Log::new();
        let pool = Pool::new(2, workers(&log)).mailbox(50).rate(Rate::per_second(10.0).burst(5));
        let pool = spawn(&sim, pool);
        let burst = |n: u32| (0..n).filter(|n| pool.send(Job::Note(*n)).is_ok()).count();
        assert_eq!(burst(20), 5);
        let refused = pool.send(Job::Note(0)).unwrap_err();
        assert!(matches!(
            refused,
            SendError::RateLimited { retry_after, .. } if retry_after == millis(100)
        ));
        assert_eq!(
            pool.call(Job::Who).wait(),
            Err(CallError::RateLimited { to: pool.pid(), retry_after: millis(100) })
        );
        sim.advance(millis(100));
        assert_eq!(burst(9), 1);
        sim.advance(seconds(10));
        assert_eq!(burst(9), 5);
        let numbers = numbers(&pool);
        assert_eq!((numbers.forwarded, numbers.unhandled, numbers.rate_limited), (11, 29, 29));
        assert_eq!(inspect(&pool).number("messages_rate_limited"), Some(29));
    }
}

#[test]
fn p10_a_waiting_sender_takes_a_token_and_a_job_without_room_takes_none() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let pool = Pool::new(1, workers(&log)).mailbox(1).rate(Rate::per_second(1.0).burst(3));
    let pool = spawn(&sim, pool);
    occupy(&sim, &pool, seconds(5));
    pool.send(Job::Note(1)).unwrap();
    assert!((0..9).all(|_| pool.send(Job::Note(0)).unwrap_err().is_full()));
    let waited = pool.send_or_wait(Job::Note(2)).wait();
    assert!(waited.is_ok());
    assert_eq!(sim.now().as_nanos(), 5_000_000_000);
    sim.run_until_idle();
    (0..3).for_each(|_| pool.send_or_wait(Job::Note(3)).wait().unwrap());
    sim.run_until_idle();
    assert!(matches!(pool.reserve(), Err(SendError::RateLimited { to, .. }) if to == pool.pid()));
    let before = sim.now();
    pool.send_or_wait(Job::Note(4)).wait().unwrap();
    assert_eq!(sim.now() - before, seconds(1));
}

#[test]
fn p11_a_drained_pool_refuses_new_jobs_finishes_accepted_ones_and_reports_when_it_is_empty() {
    for sim in simulations(20) {
        let log = Log::new();
        let pool = spawn(&sim, Pool::new(2, workers(&log)).mailbox(9));
        (0..6).for_each(|n| pool.send(Job::Slow(n, seconds(1))).unwrap());
        let permit = pool.reserve().unwrap();
        let mut drained = pool.drain().into_future();
        assert!(poll_once(&mut drained).is_pending());
        sim.run_until_idle();
        assert!(matches!(
            pool.send(Job::Note(9)),
            Err(SendError::Draining { message: Job::Note(9), to, .. }) if to == pool.pid()
        ));
        assert_eq!(pool.call(Job::Who).wait(), Err(CallError::Draining { to: pool.pid() }));
        assert!(matches!(pool.reserve(), Err(SendError::Draining { to, .. }) if to == pool.pid()));
        let waited = pool.send_or_wait(Job::Note(9)).wait();
        assert!(matches!(waited, Err(SendError::Draining { .. })));
        assert!(numbers(&pool).draining);
        sim.advance(seconds(30));
        assert_eq!(done(&log).len(), 6);
        assert!(poll_once(&mut drained).is_pending(), "a permit is out");
        permit.send(Job::Slow(7, seconds(1)));
        sim.run_until_idle();
        assert!(poll_once(&mut drained).is_pending());
        sim.advance(seconds(1));
        assert_eq!(poll_once(&mut drained), Poll::Ready(Ok(())));
        assert_eq!(done(&log).len(), 7);
        assert_eq!(pool.drain().wait(), Ok(()), "drained it is empty at once");
        assert!(pool.reopen().wait().unwrap() && !pool.reopen().wait().unwrap());
        assert_eq!(who(&pool), pool.workers().wait().unwrap()[1]);
        assert_eq!(numbers(&pool).unhandled, 4);
    }
}

#[test]
fn p11_a_drain_waits_for_removed_workers_and_not_for_ended_ones() {
    for sim in simulations(20) {
        let log = Log::new();
        let pool = spawn(&sim, Pool::new(3, workers(&log)).mailbox(9));
        (0..3).for_each(|n| pool.send(Job::Slow(n, seconds(5))).unwrap());
        (0..3).for_each(|n| pool.send(Job::Slow(n, seconds(5))).unwrap());
        sim.run_until_idle();
        let order = pool.workers().wait().unwrap();
        pool.remove_workers(1).wait().unwrap();
        let mut drained = pool.drain().into_future();
        assert!(poll_once(&mut drained).is_pending());
        sim.run_until_idle();
        sim.kill(order[1]);
        sim.advance(seconds(9));
        assert!(poll_once(&mut drained).is_pending());
        // Replaced while it is drained, but not resized.
        assert_eq!(numbers(&pool).restarts, 1);
        let refused = pool.add_workers(1).wait().unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!("pool {} cannot be resized: it is drained", pool.pid())
        );
        sim.advance(seconds(1));
        assert_eq!(poll_once(&mut drained), Poll::Ready(Ok(())));
        assert_eq!(done(&log).len(), 4);
        pool.reopen().wait().unwrap();
        assert_eq!(pool.add_workers(1).wait().unwrap().size, 3);
        assert_eq!((0..3).map(|_| who(&pool)).collect::<std::collections::BTreeSet<_>>().len(), 3);
    }
}

#[test]
fn p11_a_drain_of_a_pool_that_ends_fails_with_an_error() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let pool = spawn(&sim, Pool::new(1, workers(&log)));
    pool.send(Job::Hang).unwrap();
    let mut drained = pool.drain().into_future();
    assert!(poll_once(&mut drained).is_pending());
    sim.run_until_idle();
    sim.kill(pool.pid());
    sim.run_until_idle();
    assert!(matches!(poll_once(&mut drained), Poll::Ready(Err(_))));
}

#[test]
fn p11_nested_pools_are_drained_to_their_leaves() {
    for sim in simulations(10) {
        let log = Log::new();
        let factory = workers(&log);
        let inner = move || Pool::new(2, factory.clone()).mailbox(2);
        let pool: PoolAddress = sim.spawn(move || Pool::new(2, inner)).wait().unwrap();
        (0..8).for_each(|n| pool.send(Job::Slow(n, seconds(1))).unwrap());
        pool.drain().wait().unwrap();
        assert_eq!(done(&log).len(), 8);
        assert_eq!(sim.now().as_nanos(), 2_000_000_000);
    }
}

#[test]
fn p12_a_worker_that_is_stuck_is_killed_and_replaced_exactly_in_time() {
    for sim in simulations(10) {
        let log = Log::new();
        let pool = spawn(&sim, Pool::new(2, workers(&log)).mailbox(5).stuck_limit(seconds(4)));
        sim.advance(seconds(3));
        let first = pool.workers().wait().unwrap()[0];
        pool.send(Job::Hang).unwrap();
        sim.advance(millis(500));
        // Long, but not too long; and work that goes on for longer, job by job.
        (0..3).for_each(|n| pool.send(Job::Slow(n, millis(3_900))).unwrap());
        sim.advance(millis(3_499));
        assert!(sim.is_alive(first));
        sim.advance(millis(1));
        assert!(!sim.is_alive(first));
        let numbers_then = numbers(&pool);
        assert_eq!((numbers_then.restarts, numbers_then.stuck, numbers_then.workers), (1, 1, 2));
        assert_eq!(inspect(&pool).number("workers_stuck"), Some(1));
        sim.advance(seconds(30));
        assert_eq!(done(&log), [0, 2]);
        // What waited at it went down with it.
        let numbers = numbers(&pool);
        assert_eq!((numbers.lost, numbers.crashed, numbers.stuck), (1, 1, 1));
        assert_eq!(pool.workers().wait().unwrap().len(), 2);
    }
}

#[test]
fn p12_a_worker_that_blocks_its_thread_is_replaced_all_the_same() {
    let node = Node::builder("p12").workers(2).start().unwrap();
    let (blocks, free) = std::sync::mpsc::channel::<()>();
    let free = Arc::new(Mutex::new(free));
    let factory = move || {
        let free = Arc::clone(&free);
        behavior_fn(move |mut ctx: Context<bool>| async move {
            loop {
                match ctx.receive().await {
                    krarup::behavior::Received::Message(true) => drop(free.lock().unwrap().recv()),
                    krarup::behavior::Received::Finish => return Ok(()),
                    _ => {}
                }
            }
        })
    };
    let pool = node.spawn(move || Pool::new(1, factory).stuck_limit(millis(20))).wait().unwrap();
    let first = pool.workers().wait().unwrap()[0];
    pool.send(true).unwrap();
    // Its place is empty until its replacement has started.
    while pool.workers().wait().unwrap().iter().all(|worker| *worker == first) {
        std::thread::yield_now();
    }
    pool.send(false).unwrap();
    drop(blocks);
    pool.drain().wait().unwrap();
    node.stop().wait().unwrap();
}

#[test]
fn p13_an_elastic_pool_grows_with_its_queue_and_shrinks_without_one() {
    for sim in simulations(5) {
        let log = Log::new();
        let elastic = Elastic::between(1, 4).grow_at(2).every(millis(100)).cool_down(seconds(1));
        let pool = spawn(&sim, Pool::new(1, workers(&log)).mailbox(100).elastic(elastic));
        (0..40).for_each(|n| pool.send(Job::Slow(n, seconds(1))).unwrap());
        let size = || numbers(&pool).places;
        sim.advance(millis(99));
        assert_eq!(size(), 1);
        sim.advance(millis(1));
        assert_eq!(size(), 2);
        sim.advance(millis(900));
        assert_eq!(size(), 2, "it cools down");
        sim.advance(millis(100));
        assert_eq!(size(), 3);
        sim.advance(seconds(4));
        assert_eq!(size(), 4, "and never more");
        sim.advance(seconds(60));
        assert_eq!((size(), done(&log).len()), (1, 40), "nothing is lost when it shrinks");
        let inspection = inspect(&pool);
        assert_eq!(
            (inspection.number("workers_min"), inspection.number("workers_max")),
            (Some(1), Some(4))
        );
        // By hand it leaves its range, and comes back by itself.
        pool.add_workers(9).wait().unwrap();
        assert_eq!(size(), 10);
        sim.advance(seconds(2));
        assert!(size() <= 4);
        pool.remove_workers(99).wait().unwrap();
        sim.advance(seconds(2));
        assert_eq!(size(), 1);
    }
}

#[test]
fn p13_new_workers_take_over_waiting_jobs_of_old_ones() {
    for watched in [false, true] {
        for sim in simulations(10) {
            let log = Log::new();
            let elastic = Elastic::between(1, 4).grow_at(2).step(3).every(millis(500));
            let pool = Pool::new(1, workers(&log)).mailbox(40).elastic(elastic);
            let pool = spawn(&sim, if watched { pool.stuck_limit(seconds(90)) } else { pool });
            (0..40).for_each(|n| pool.send(Job::Slow(n, seconds(1))).unwrap());
            sim.advance(seconds(12));
            let mut handled = done(&log);
            assert_eq!(handled.len(), 40, "40 s of work, for four");
            handled.sort_unstable();
            assert_eq!(handled, (0..40).collect::<Vec<_>>());
            let numbers = numbers(&pool);
            assert_eq!((numbers.forwarded, numbers.unhandled, numbers.restarts), (40, 0, 0));
            assert_eq!(sim.stats().dead_letters, 0);
        }
    }
}

#[test]
fn c5_an_elastic_pool_worker_may_call_the_caller_of_a_moved_job() {
    enum Ask {
        Back(Address<Reply<()>>, Reply<()>),
        Slow(Address<Reply<()>>),
    }
    struct Convert(Address<Reply<()>>, Reply<()>);
    impl From<Convert> for Ask {
        fn from(Convert(who, reply): Convert) -> Self {
            Ask::Back(who, reply)
        }
    }
    struct Calls(Log);
    impl Actor for Calls {
        type Message = Ask;
        async fn handle_message(&mut self, ctx: &mut Context<Ask>, ask: Ask) -> Result {
            let (who, reply) = match ask {
                Ask::Slow(who) => {
                    ctx.sleep(seconds(3)).await;
                    (who, None)
                }
                Ask::Back(who, reply) => (who, Some(reply)),
            };
            let called = who.call(|reply| reply).timeout(seconds(1)).await;
            self.0.note(matches!(called, Err(CallError::Deadlock(_))));
            ctx.sleep(seconds(3)).await;
            if let Some(reply) = reply {
                reply.send(());
            }
            Ok(())
        }
    }
    for converted in [false, true] {
        let sim = Simulation::new(1);
        let elastic = Elastic::between(1, 2).grow_at(1).every(seconds(1));
        let log = Log::new();
        let noted = log.clone();
        let factory = move || Calls(noted.clone());
        let pool = sim.spawn(move || Pool::new(1, factory).elastic(elastic)).wait().unwrap();
        let asks = behavior_fn(move |ctx: Context<Reply<()>>| async move {
            let myself = ctx.address();
            // The worker that is given the job first calls later, when another has it.
            pool.send(Ask::Slow(myself.clone())).map_err(|_| boom())?;
            let to = pool;
            if converted {
                let convert = move |reply| Convert(myself, reply);
                to.recipient::<Convert>().call(convert).timeout(seconds(60)).await?;
            } else {
                to.call(move |reply| Ask::Back(myself, reply)).no_timeout().await?;
            }
            Ok(())
        });
        let asking = sim.spawn(move || asks).start().unwrap();
        let end = asking.watch();
        sim.advance(seconds(9));
        assert_eq!(end.wait().unwrap().reason, Reason::Normal);
        assert_eq!(log.take(), ["false", "false"]);
    }
}

#[test]
fn p13_an_elastic_pool_does_not_let_busy_workers_go() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let elastic = Elastic::between(1, 3).cool_down(Duration::ZERO);
    let pool = spawn(&sim, Pool::new(3, workers(&log)).elastic(elastic));
    (0..3).for_each(|n| pool.send(Job::Slow(n, seconds(10))).unwrap());
    sim.advance(seconds(9));
    assert_eq!(numbers(&pool).places, 3);
    sim.advance(seconds(2));
    assert_eq!(numbers(&pool).places, 1);
}

#[test]
fn p4_more_replacements_than_allowed_end_the_pool_with_an_abnormal_reason() {
    for sim in simulations(10) {
        let log = Log::new();
        let pool = spawn(&sim, Pool::new(2, workers(&log)).intensity(3, seconds(10)));
        let end = pool.watch();
        let crash = || {
            pool.send(Job::End(boom())).unwrap();
            sim.run_until_idle();
        };
        (0..3).for_each(|_| crash());
        assert_eq!(numbers(&pool).restarts, 3);
        // An entry exactly as old as the period still counts.
        sim.advance(seconds(10) + Duration::from_nanos(1));
        (0..3).for_each(|_| crash());
        assert!(pool.is_alive());
        crash();
        let reason = end.wait().unwrap().reason;
        let error = PoolError::TooManyReplacements { replacements: 3, period: seconds(10) };
        assert!(reason.is_abnormal());
        assert_eq!(reason.to_string(), Reason::from(error).to_string());
        assert_eq!(sim.stats().processes, 0);
    }
}

#[test]
fn p4_failing_replacements_are_tried_with_the_back_off_that_was_set_and_each_try_counts() {
    struct Frail(Log);
    impl Actor for Frail {
        type Message = Job;
        async fn init(&mut self, ctx: &mut Context<Job>) -> Result {
            self.0.note(ctx.now().as_nanos() / 1_000_000_000);
            if self.0.lines().len() > 1 { Err(boom()) } else { Ok(()) }
        }
        async fn handle_message(&mut self, _: &mut Context<Job>, _: Job) -> Result {
            Err(boom())
        }
    }
    let sim = Simulation::new(1);
    let log = Log::new();
    let noted = log.clone();
    let pool = sim
        .spawn(move || {
            Pool::new(1, move || Frail(noted.clone()))
                .back_off(seconds(1), seconds(4))
                .intensity(6, seconds(100))
        })
        .wait()
        .unwrap();
    let end = pool.watch();
    pool.send(Job::Note(0)).unwrap();
    assert!(end.wait().unwrap().reason.is_abnormal());
    assert_eq!(log.take(), ["0", "0", "1", "3", "7", "11", "15"]);
}

#[test]
fn p6_latencies_are_measured_exactly_and_only_if_configured() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let pool = spawn(&sim, Pool::new(1, workers(&log)).measured().report_every(seconds(5)));
    (0..4).for_each(|n| pool.send(Job::Slow(n, seconds(2))).unwrap());
    sim.advance(seconds(20));
    let numbers_of = numbers(&pool);
    let (wait, service) = (numbers_of.wait.unwrap(), numbers_of.service.unwrap());
    assert_eq!((wait.count, wait.max, wait.mean), (4, seconds(6), seconds(3)));
    assert_eq!((service.count, service.max, service.mean), (4, seconds(2), seconds(2)));
    assert!(wait.p50 >= seconds(2) && wait.p50 <= millis(2_130));
    assert_eq!(service.p99, seconds(2));
    let inspection = inspect(&pool);
    assert!(inspection.value("wait").is_some() && inspection.value("service").is_some());
    let plain = spawn(&sim, Pool::new(1, workers(&log)));
    assert_eq!((numbers(&plain).wait, numbers(&plain).service), (None, None));
    assert!(inspect(&plain).value("wait").is_none());
}

#[test]
fn b1_invalid_limits_are_typed_errors_and_nothing_is_started() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let new = |size| Pool::new(size, workers(&log)).mailbox(4);
    let error = |pool: Pool<Worker>| match sim.spawn(move || pool).wait().unwrap_err() {
        SpawnError::Init(reason) => reason.to_string(),
        other => panic!("{other}"),
    };
    let zero = Duration::ZERO;
    let cases: Vec<(Pool<Worker>, PoolError)> = vec![
        (new(0), PoolError::NoWorkers),
        (new(1).mailbox(0), PoolError::ZeroMailbox),
        (new(1).rate(Rate::per_second(0.0)), PoolError::Rate(0.0)),
        (new(1).rate(Rate::per_second(-3.5)), PoolError::Rate(-3.5)),
        (new(1).rate(Rate::per_second(1.0).burst(0)), PoolError::ZeroBurst),
        (new(1).time_to_live(zero), PoolError::ZeroTimeToLive),
        (new(1).stuck_limit(zero), PoolError::ZeroStuckLimit),
        (new(1).report_every(zero), PoolError::ZeroReportPeriod),
        (new(1).intensity(1, zero), PoolError::ZeroPeriod),
        (new(1).back_off(zero, zero), PoolError::BackOff { first: zero, most: zero }),
        (
            new(1).back_off(seconds(2), seconds(1)),
            PoolError::BackOff { first: seconds(2), most: seconds(1) },
        ),
        (new(1).elastic(Elastic::between(0, 3)), PoolError::ElasticRange { min: 0, max: 3 }),
        (new(1).elastic(Elastic::between(3, 2)), PoolError::ElasticRange { min: 3, max: 2 }),
        (
            new(5).elastic(Elastic::between(1, 4)),
            PoolError::ElasticSize { size: 5, min: 1, max: 4 },
        ),
        (
            new(1).elastic(Elastic::between(1, 4).grow_at(2).shrink_at(2)),
            PoolError::ElasticThresholds { grow_at: 2, shrink_at: 2 },
        ),
        (
            new(1).elastic(Elastic::between(1, 4).step(0)),
            PoolError::ElasticStep { step: 0, every: millis(100) },
        ),
        (
            new(1).elastic(Elastic::between(1, 4).every(zero)),
            PoolError::ElasticStep { step: 1, every: zero },
        ),
    ];
    for (pool, expected) in cases {
        assert_eq!(error(pool), Reason::from(expected).to_string());
        assert_eq!(sim.stats().processes, 0);
    }
}

#[test]
fn p9_a_job_that_has_waited_too_long_leaves_its_room_to_the_next() {
    let (sim, log) = (Simulation::new(1), Log::new());
    let pool = Pool::new(1, workers(&log)).mailbox(2).time_to_live(seconds(1));
    let pool = spawn(&sim, pool);
    for _ in 0..3 {
        pool.send(Job::Slow(1, seconds(5))).unwrap();
        sim.run_until_idle();
        pool.send(Job::Note(2)).unwrap();
        pool.send(Job::Note(3)).unwrap();
        assert!(pool.send(Job::Note(4)).unwrap_err().is_full());
        sim.advance(seconds(9));
    }
    assert_eq!(done(&log), [1, 1, 1]);
    assert_eq!(numbers(&pool).expired, 6);
}
