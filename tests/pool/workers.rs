//! How a pool's process keeps its workers: exit signals, starts that take long or fail, and what
//! is left when it has ended (rules P4 to P7, B1).

use crate::pool_support::{Job, PoolAddress, inspect, numbers, seconds, workers};
use crate::support::{Act, Guard, Log, Puppet, boom, simulations};
use krarup::behavior::behavior_fn;
use krarup::mailbox::Overflow;
use krarup::pool::{Discarded, PoolBehavior, PoolContext, PoolState, ResizeError, Resized};
use krarup::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

type Puppets = Address<Act, PoolCommand>;

fn puppets(sim: &Simulation, count: usize, log: &Log) -> Puppets {
    let log = log.clone();
    sim.spawn(move || Pool::new(count, move || Puppet::new("worker", &log))).wait().unwrap()
}

/// Has a worker send its pool this many exit signals, and then end like this.
fn signal(pool: &Puppets, count: usize, end: Result) {
    let to = pool.pid();
    let act = Act::new(move |ctx| {
        (0..count).for_each(|_| ctx.exit(to, boom()));
        end
    });
    pool.send(act).unwrap();
}

#[test]
fn p4_an_exit_signal_of_a_living_worker_is_not_its_end() {
    for sim in simulations(20) {
        let pool = puppets(&sim, 1, &Log::new());
        let before = pool.workers().wait().unwrap();
        (0..3).for_each(|_| signal(&pool, 1, Ok(())));
        sim.run_until_idle();
        assert_eq!(pool.workers().wait().unwrap(), before);
        assert_eq!(pool.info().links, before);
        assert_eq!((sim.stats().processes, pool.statistics().wait().unwrap().restarts), (2, 0));
    }
}

#[test]
fn p4_exit_signals_of_a_worker_that_has_been_replaced_are_stale() {
    for sim in simulations(100) {
        let pool = puppets(&sim, 2, &Log::new());
        signal(&pool, 3, Err(boom()));
        sim.run_until_idle();
        assert!(pool.is_alive());
        let numbers = pool.statistics().wait().unwrap();
        assert_eq!((numbers.restarts, numbers.workers, sim.stats().processes), (1, 2, 3));
    }
}

#[test]
fn p5_exit_signals_of_a_removed_worker_that_still_works_change_nothing() {
    for sim in simulations(50) {
        let log = Log::new();
        let noted = log.clone();
        let slow = move || {
            let log = noted.clone();
            behavior_fn(move |mut ctx: Context<Pid>| async move {
                while let krarup::behavior::Received::Message(pool) = ctx.receive().await {
                    ctx.sleep(seconds(1)).await;
                    ctx.exit(pool, boom());
                    log.note("done");
                }
                Ok(())
            })
        };
        let pool = sim.spawn(move || Pool::new(1, slow)).wait().unwrap();
        (0..3).for_each(|_| pool.send(pool.pid()).unwrap());
        sim.run_until_idle();
        pool.remove_workers(1).wait().unwrap();
        // The pool ends when its last worker has: signals on the way are not that.
        pool.finish();
        sim.advance(crate::pool_support::millis(2_500));
        assert!(pool.is_alive());
        sim.advance(seconds(10));
        assert_eq!(log.take(), ["done"; 3]);
        assert_eq!(sim.stats().processes, 0);
    }
}

#[test]
fn p5_exit_signals_of_a_removed_worker_that_has_ended_are_stale() {
    for sim in simulations(50) {
        let slow = || {
            behavior_fn(|mut ctx: Context<Pid>| async move {
                let krarup::behavior::Received::Message(pool) = ctx.receive().await else {
                    return Ok(());
                };
                ctx.sleep(seconds(1)).await;
                (0..3).for_each(|_| ctx.exit(pool, boom()));
                Err(boom())
            })
        };
        let pool = sim.spawn(move || Pool::new(2, slow)).wait().unwrap();
        pool.send(pool.pid()).unwrap();
        sim.run_until_idle();
        assert_eq!(pool.workers().wait().unwrap().len(), 2);
        // The one that is busy is the next again when the other has had its turn.
        let busy = pool.workers().wait().unwrap()[1];
        assert_eq!(pool.remove_workers(2).wait().unwrap().size, 0);
        sim.run_until_idle();
        assert!(sim.is_alive(busy));
        sim.advance(seconds(2));
        assert!(pool.is_alive());
        assert_eq!((pool.info().links, sim.stats().processes), (vec![], 1));
    }
}

/// A worker whose later starts take time, or fail.
struct Slow {
    started: Arc<AtomicU32>,
    at_once: u32,
    time: std::time::Duration,
}

impl Actor for Slow {
    type Message = Job;

    async fn init(&mut self, ctx: &mut Context<Job>) -> Result {
        if self.started.fetch_add(1, Ordering::Relaxed) >= self.at_once {
            ctx.sleep(self.time).await;
        }
        Ok(())
    }

    async fn handle_message(&mut self, ctx: &mut Context<Job>, job: Job) -> Result {
        match job {
            Job::Who(reply) => reply.send(ctx.pid()),
            Job::End(reason) => return Err(reason),
            _ => {}
        }
        Ok(())
    }
}

fn slow(at_once: u32, time: u64) -> impl Fn() -> Slow + Send + Sync + 'static {
    let started = Arc::new(AtomicU32::new(0));
    move || Slow { started: Arc::clone(&started), at_once, time: seconds(time) }
}

#[test]
fn p4_a_pool_serves_while_a_replacement_initialises() {
    for sim in simulations(20) {
        let pool: PoolAddress = sim.spawn(|| Pool::new(2, slow(2, 4))).wait().unwrap();
        let before = pool.workers().wait().unwrap();
        pool.send(Job::End(boom())).unwrap();
        sim.run_until_idle();
        let now = sim.now();
        assert_eq!(inspect(&pool).number("workers"), Some(1));
        assert_eq!(numbers(&pool).workers, 1);
        assert_eq!(pool.workers().wait().unwrap().len(), 2);
        assert_eq!(pool.remove_workers(0).wait().unwrap().size, 2);
        assert_eq!(pool.call(Job::Who).wait(), Ok(before[1]));
        assert_eq!(sim.now(), now);
        // Another end is heard meanwhile, and its replacement starts at the same time.
        sim.advance(seconds(2));
        pool.send(Job::End(boom())).unwrap();
        sim.advance(seconds(3));
        assert_eq!(numbers(&pool).workers, 1);
        sim.advance(seconds(1));
        assert_eq!((numbers(&pool).workers, numbers(&pool).restarts), (2, 2));
    }
}

#[test]
fn p7_a_stop_during_a_start_ends_the_worker_that_starts_too() {
    for sim in simulations(20) {
        let pool: PoolAddress = sim.spawn(|| Pool::new(2, slow(2, 60))).wait().unwrap();
        pool.send(Job::End(boom())).unwrap();
        sim.run_until_idle();
        let before = sim.now();
        pool.stop().wait().unwrap();
        assert_eq!((sim.now(), sim.stats().processes), (before, 0));
    }
}

#[test]
fn p7_a_pool_that_is_stopped_in_its_own_start_ends_all_that_it_has_started() {
    for sim in simulations(20) {
        let pool: PoolAddress = sim.spawn(|| Pool::new(3, slow(1, 3))).start().unwrap();
        sim.run_until_idle();
        let asked = sim.now();
        assert_eq!(inspect(&pool).number("workers"), Some(1), "it answers meanwhile");
        pool.stop().wait().unwrap();
        assert_eq!((sim.stats().processes, sim.now()), (0, asked));
    }
}

#[test]
fn p4_each_place_has_a_back_off_of_its_own() {
    struct Frail(Log, Arc<AtomicBool>);
    impl Actor for Frail {
        type Message = Job;
        async fn init(&mut self, ctx: &mut Context<Job>) -> Result {
            self.0.note(ctx.now());
            if self.1.load(Ordering::Relaxed) { Err(boom()) } else { Ok(()) }
        }
        async fn handle_message(&mut self, _: &mut Context<Job>, job: Job) -> Result {
            if let Job::End(reason) = job { Err(reason) } else { Ok(()) }
        }
    }
    for sim in simulations(10) {
        let (log, fails) = (Log::new(), Arc::new(AtomicBool::new(false)));
        let (noted, failing) = (log.clone(), Arc::clone(&fails));
        let factory = move || Frail(noted.clone(), Arc::clone(&failing));
        let pool = move || Pool::new(3, factory).back_off(seconds(1), seconds(4));
        let pool: PoolAddress = sim.spawn(pool).wait().unwrap();
        log.take();
        fails.store(true, Ordering::Relaxed);
        (0..3).for_each(|_| pool.send(Job::End(boom())).unwrap());
        sim.run_until_idle();
        assert_eq!(log.take(), ["0ns"; 3], "each place once");
        sim.advance(seconds(12));
        let tries = ["1s", "1s", "1s", "3s", "3s", "3s", "7s", "7s", "7s", "11s", "11s", "11s"];
        assert_eq!(log.take(), tries);
        fails.store(false, Ordering::Relaxed);
        sim.advance(seconds(4));
        assert_eq!((log.take().len(), numbers(&pool).workers, numbers(&pool).restarts), (3, 3, 3));
    }
}

/// Says in `terminate` what the numbers of its pool are.
struct StatisticsAtEnd(Log);

impl PoolBehavior for StatisticsAtEnd {
    type Job = Job;
    type Command = ();

    async fn handle_command(&mut self, _: &mut PoolContext<'_, Job, ()>, (): ()) -> Result {
        Ok(())
    }

    async fn terminate(&mut self, pool: &mut PoolContext<'_, Job, ()>, _: &Reason) {
        let numbers = pool.statistics();
        let (places, drained) = (numbers.places, numbers.draining);
        self.0.note(format!("{places} {} {} {drained}", numbers.workers, numbers.waiting));
    }
}

#[test]
fn p6_the_numbers_of_a_pool_that_ends_with_workers_missing_are_right() {
    for sim in simulations(10) {
        let log = Log::new();
        let noted = log.clone();
        let pool = move || Pool::new(2, slow(2, 60)).behavior(StatisticsAtEnd(noted));
        let pool = sim.spawn(pool).wait().unwrap();
        pool.send(Job::End(boom())).unwrap();
        sim.run_until_idle();
        pool.stop().wait().unwrap();
        assert_eq!(log.take(), ["0 0 0 false"]);
        // Nor has it a place whose worker was given up.
        let (noted, jobs) = (log.clone(), Log::new());
        let (made, worker) = (AtomicU32::new(0), workers(&jobs));
        let factory = move || {
            assert!(made.fetch_add(1, Ordering::Relaxed) < 2, "there are no more");
            worker()
        };
        let pool =
            move || Pool::new(2, factory).stuck_limit(seconds(3)).behavior(StatisticsAtEnd(noted));
        let pool = sim.spawn(pool).wait().unwrap();
        pool.send(Job::Hang).unwrap();
        sim.advance(seconds(3));
        let numbers = pool.statistics().wait().unwrap();
        assert_eq!((numbers.places, numbers.workers, numbers.stuck), (2, 1, 1));
        pool.stop().wait().unwrap();
        assert_eq!(log.take(), ["0 0 0 false"]);
    }
}

#[test]
fn p13_a_job_that_is_moved_keeps_the_time_at_which_it_was_accepted() {
    for sim in simulations(10) {
        let log = Log::new();
        let discarded = log.clone();
        let started = Arc::new(AtomicU32::new(0));
        let noted = log.clone();
        // One worker can be replaced by none for a while.
        let factory = move || {
            let fails = started.fetch_add(1, Ordering::Relaxed) >= 2;
            let log = noted.clone();
            behavior_fn(move |mut ctx: Context<Job>| async move {
                if fails {
                    return Err(boom());
                }
                while let krarup::behavior::Received::Message(job) = ctx.receive().await {
                    match job {
                        Job::Slow(n, time) => {
                            ctx.sleep(time).await;
                            log.note(format!("done {n}"));
                        }
                        Job::End(reason) => return Err(reason),
                        _ => {}
                    }
                }
                Ok(())
            })
        };
        let elastic = krarup::pool::Elastic::between(2, 2).every(crate::pool_support::millis(100));
        let pool = move || {
            Pool::new(2, factory).mailbox(9).elastic(elastic).time_to_live(seconds(3)).on_discard(
                move |job, why| {
                    if let (Job::Slow(n, _), Discarded::Expired { .. }) = (job, why) {
                        discarded.note(format!("expired {n}"));
                    }
                },
            )
        };
        let pool: PoolAddress = sim.spawn(pool).wait().unwrap();
        pool.send(Job::Slow(0, seconds(5))).unwrap();
        pool.send(Job::End(boom())).unwrap();
        sim.run_until_idle();
        (1..5).for_each(|n| pool.send(Job::Slow(n, seconds(1))).unwrap());
        sim.advance(seconds(20));
        assert_eq!(log.take(), ["done 0", "expired 1", "expired 2", "expired 3", "expired 4"]);
    }
}

#[test]
fn p7_a_pool_that_has_ended_keeps_nothing_of_its_users() {
    type End = fn(&Simulation, &PoolAddress);
    let ends: [End; 3] = [
        |_, pool| pool.stop().wait().unwrap(),
        |sim, pool| sim.kill(pool.pid()),
        |sim, pool| sim.exit(pool.pid(), boom()),
    ];
    for end in ends {
        let sim = Simulation::new(1);
        let (log, jobs) = (Log::new(), Log::new());
        let guard = |what: &str| Guard::new(&log, what);
        let (key, limit, tell) = (guard("routing"), guard("time to live"), guard("on discard"));
        let (factory, made) = (guard("factory"), workers(&jobs));
        let other = sim
            .spawn(|| {
                behavior_fn(|mut ctx: Context<krarup::mailbox::Diverted<Job>>| async move {
                    loop {
                        ctx.receive().await;
                    }
                })
            })
            .start()
            .unwrap();
        let pool = move || {
            let factory = move || {
                let _kept = &factory;
                made()
            };
            let key = move |_: &Job| {
                let _kept = &key;
                1_u64
            };
            let limit = move |_: &Job| {
                let _kept = &limit;
                None
            };
            let tell = move |_: Job, _| {
                let _kept = &tell;
            };
            Pool::new(2, factory)
                .mailbox(1)
                .overflow(Overflow::divert(other.recipient(), "full"))
                .routing(krarup::pool::ByKey::new(key))
                .time_to_live_of(limit)
                .on_discard(tell)
        };
        let pool: PoolAddress = sim.spawn(pool).wait().unwrap();
        pool.send(Job::Note(1)).unwrap();
        sim.run_until_idle();
        end(&sim, &pool);
        sim.run_until_idle();
        assert_eq!(log.take_sorted(), ["factory", "on discard", "routing", "time to live"]);
        assert!(matches!(
            pool.send(Job::Note(1)),
            Err(SendError::NoProcess { to, .. }) if to == pool.pid()
        ));
    }
}

/// What a pool that is not at work says to who would resize it.
fn refused(pool: Pid, state: PoolState) -> Result<Resized, ResizeError> {
    Err(ResizeError::NotRunning { pool, state })
}

#[test]
fn p5_resizing_a_pool_that_is_not_running_is_an_error_that_names_the_state() {
    for sim in simulations(10) {
        // Started at once but for the last, and ended in the order of their jobs.
        let pool: PoolAddress = sim.spawn(|| Pool::new(2, slow(1, 3))).start().unwrap();
        let pid = pool.pid();
        sim.run_until_idle();
        let resizes = |state| {
            assert_eq!(pool.add_workers(1).wait(), refused(pid, state));
            assert_eq!(pool.remove_workers(1).wait(), refused(pid, state));
        };
        resizes(PoolState::Starting);
        sim.advance(seconds(3));
        assert_eq!(pool.remove_workers(1).wait().unwrap(), Resized { size: 1, changed: 1 });
        pool.drain().wait().unwrap();
        resizes(PoolState::Draining);
        pool.reopen().wait().unwrap();
        // The pool finishes: it has a worker that has not ended.
        pool.send(Job::Slow(1, seconds(1))).unwrap();
        sim.run_until_idle();
        pool.finish();
        let mut added = pool.add_workers(1).into_future();
        assert!(crate::support::poll_once(&mut added).is_pending());
        sim.advance(seconds(1));
        assert!(matches!(
            crate::support::poll_once(&mut added),
            std::task::Poll::Ready(Err(ResizeError::NotRunning { .. } | ResizeError::Call(_)))
        ));
        sim.advance(seconds(9));
        assert_eq!(sim.stats().processes, 0);
        resizes(PoolState::Terminated);
    }
}

#[test]
fn p5_resizing_a_finishing_pool_is_an_error() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let factory = workers(&log);
    let pool: PoolAddress = sim.spawn(move || Pool::new(1, factory)).wait().unwrap();
    pool.send(Job::Slow(1, seconds(3))).unwrap();
    sim.run_until_idle();
    pool.finish();
    sim.advance(seconds(1));
    assert_eq!(pool.add_workers(1).wait(), refused(pool.pid(), PoolState::Stopping));
    assert_eq!(pool.remove_workers(1).wait(), refused(pool.pid(), PoolState::Stopping));
    sim.advance(seconds(2));
    assert_eq!((log.lines().len(), sim.stats().processes), (1, 0));
}

#[test]
fn p5_a_failed_add_reports_how_many_started_and_why_the_next_did_not() {
    struct Third(Arc<AtomicU32>);
    impl Actor for Third {
        type Message = Job;
        async fn init(&mut self, ctx: &mut Context<Job>) -> Result {
            ctx.sleep(seconds(1)).await;
            if self.0.fetch_add(1, Ordering::Relaxed) == 3 { Err(boom()) } else { Ok(()) }
        }
        async fn handle_message(&mut self, _: &mut Context<Job>, _: Job) -> Result {
            Ok(())
        }
    }
    for sim in simulations(10) {
        let started = Arc::new(AtomicU32::new(0));
        let factory = move || Third(Arc::clone(&started));
        let pool: PoolAddress = sim.spawn(move || Pool::new(1, factory)).wait().unwrap();
        let resized = Resized { size: 3, changed: 2 };
        let error = SpawnError::Init(boom());
        let failed = Err(ResizeError::NotStarted { asked: 4, resized, error });
        assert_eq!(pool.add_workers(4).wait(), failed);
        // Two who ask are served one after the other.
        let mut first = pool.add_workers(2).into_future();
        let mut second = pool.add_workers(1).into_future();
        assert!(crate::support::poll_once(&mut first).is_pending());
        assert!(crate::support::poll_once(&mut second).is_pending());
        sim.advance(seconds(3));
        let done = |size, changed| std::task::Poll::Ready(Ok(Resized { size, changed }));
        assert_eq!(crate::support::poll_once(&mut first), done(5, 2));
        assert_eq!(crate::support::poll_once(&mut second), done(6, 1));
        let many = pool.add_workers(usize::MAX).wait().unwrap_err();
        assert!(matches!(many, ResizeError::TooMany { size: 6, asked: usize::MAX, .. }), "{many}");
        assert_eq!((numbers(&pool).places, sim.stats().processes), (6, 7));
    }
}

#[test]
fn p5_a_place_that_is_removed_while_its_replacement_starts_is_not_filled() {
    for sim in simulations(10) {
        let pool: PoolAddress = sim.spawn(|| Pool::new(2, slow(2, 2))).wait().unwrap();
        pool.send(Job::End(boom())).unwrap();
        sim.run_until_idle();
        assert_eq!(pool.remove_workers(1).wait().unwrap(), Resized { size: 1, changed: 1 });
        sim.advance(seconds(3));
        assert_eq!((numbers(&pool).places, numbers(&pool).restarts), (1, 0));
        assert_eq!(sim.stats().processes, 2);
    }
}

#[test]
fn p4_a_worker_that_does_not_initialise_in_time_is_killed_and_its_start_has_failed() {
    for sim in simulations(10) {
        let pool = || Pool::new(1, slow(1, 60)).init_timeout(seconds(2)).intensity(3, seconds(60));
        let pool: PoolAddress = sim.spawn(pool).wait().unwrap();
        let late = pool.add_workers(1).wait();
        let resized = Resized { size: 1, changed: 0 };
        let error = SpawnError::Timeout(seconds(2));
        assert_eq!(late, Err(ResizeError::NotStarted { asked: 1, resized, error }));
        assert_eq!((sim.now().as_nanos(), sim.stats().processes), (2_000_000_000, 2));
        let late = sim.spawn(|| Pool::new(1, slow(0, 60)).init_timeout(seconds(2))).wait();
        let SpawnError::Init(reason) = late.unwrap_err() else { panic!("its start has failed") };
        assert_eq!(reason.downcast_ref(), Some(&SpawnError::Timeout(seconds(2))));
        assert_eq!(sim.stats().processes, 2);
    }
}

#[test]
fn p4_replacements_beyond_the_concurrent_limit_all_start() {
    for sim in simulations(5) {
        let pool: PoolAddress = sim.spawn(|| Pool::new(40, slow(40, 1))).wait().unwrap();
        (0..40).for_each(|_| pool.send(Job::End(boom())).unwrap());
        sim.run_until_idle();
        assert_eq!((numbers(&pool).workers, sim.stats().processes), (0, 17));
        sim.advance(seconds(3));
        assert_eq!((numbers(&pool).workers, numbers(&pool).restarts), (40, 40));
    }
}

#[test]
fn p4_a_worker_that_ends_as_soon_as_it_has_started_is_replaced() {
    for sim in simulations(100) {
        let started = Arc::new(AtomicU32::new(0));
        let factory = move || {
            let hasty = started.fetch_add(1, Ordering::Relaxed) == 2;
            behavior_fn(move |mut ctx: Context<Job>| async move {
                ctx.initialised();
                if hasty {
                    return Err(boom());
                }
                loop {
                    if let krarup::behavior::Received::Message(Job::End(reason)) =
                        ctx.receive().await
                    {
                        return Err(reason);
                    }
                }
            })
        };
        let pool: PoolAddress = sim.spawn(move || Pool::new(2, factory)).wait().unwrap();
        pool.send(Job::End(boom())).unwrap();
        sim.run_until_idle();
        let numbers = numbers(&pool);
        assert_eq!((numbers.workers, numbers.restarts, sim.stats().processes), (2, 2, 3));
    }
}

/// A worker whose starts block their thread from the second on, until the channel is closed.
fn blocking() -> (std::sync::mpsc::Sender<()>, impl Fn() -> Slow + Send + Sync + 'static) {
    let (blocks, free) = std::sync::mpsc::channel::<()>();
    let free = std::sync::Mutex::new(free);
    let started = Arc::new(AtomicU32::new(0));
    let factory = move || {
        if started.fetch_add(1, Ordering::Relaxed) >= 1 {
            let _ = free.lock().unwrap().recv();
        }
        Slow { started: Arc::new(AtomicU32::new(0)), at_once: 9, time: seconds(0) }
    };
    (blocks, factory)
}

#[test]
fn p4_a_worker_that_never_gives_its_thread_back_does_not_hold_up_its_pool() {
    let node = Node::builder("p4").workers(3).start().unwrap();
    let (blocks, factory) = blocking();
    let pool = move || Pool::new(1, factory).init_timeout(crate::pool_support::millis(100));
    let pool: PoolAddress = node.spawn(pool).wait().unwrap();
    let error = pool.add_workers(1).wait().unwrap_err();
    assert!(matches!(error, ResizeError::NotStarted { error: SpawnError::Timeout(_), .. }));
    assert_eq!(numbers(&pool).workers, 1);
    assert_eq!(pool.info().links, pool.workers().wait().unwrap(), "no process has it any more");
    assert!(pool.call(Job::Who).wait().is_ok());
    // What it does when it has its thread back is nobody's business.
    drop(blocks);
    // On a busy machine the next may be late too.
    let added = loop {
        if let Ok(resized) = pool.add_workers(1).wait() {
            break resized.size;
        }
    };
    assert_eq!((added, pool.is_alive()), (2, true));
    node.stop().wait().unwrap();
}

#[test]
fn p4_a_worker_that_never_gives_its_thread_back_does_not_hold_up_the_start_of_its_pool() {
    let node = Node::builder("p4").workers(2).start().unwrap();
    let (blocks, free) = std::sync::mpsc::channel::<()>();
    let free = std::sync::Mutex::new(free);
    let factory = move || {
        let _ = free.lock().unwrap().recv();
        Slow { started: Arc::new(AtomicU32::new(0)), at_once: 9, time: seconds(0) }
    };
    let pool = move || Pool::new(1, factory).init_timeout(crate::pool_support::millis(10));
    let failed = node.spawn(pool).wait().unwrap_err();
    assert!(matches!(failed, SpawnError::Init(_)), "{failed}");
    drop(blocks);
    node.stop().wait().unwrap();
}

#[test]
fn m6_a_hundred_thousand_senders_in_line_are_served_in_their_order() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let noted = log.clone();
    let factory = move || {
        let log = noted.clone();
        behavior_fn(move |mut ctx: Context<u32>| async move {
            while let krarup::behavior::Received::Message(n) = ctx.receive().await {
                ctx.sleep(seconds(1)).await;
                log.note(n);
            }
            Ok(())
        })
    };
    let pool = sim.spawn(move || Pool::new(1, factory).mailbox(1)).wait().unwrap();
    pool.send(0).unwrap();
    sim.run_until_idle();
    pool.send(1).unwrap();
    let mut waits: Vec<_> =
        (2..100_002).map(|n| Box::pin(pool.send_or_wait(n).into_future())).collect();
    waits.iter_mut().for_each(|wait| assert!(crate::support::poll_once(wait).is_pending()));
    // All but the first, the last and one in between give up, the last ones first.
    let mut kept: Vec<_> = [100_000 - 1, 50_000, 0].map(|at| waits.remove(at)).into();
    while waits.pop().is_some() {}
    sim.advance(seconds(1));
    assert!(crate::support::poll_once(&mut kept[2]).is_ready());
    sim.advance(seconds(1));
    assert!(crate::support::poll_once(&mut kept[1]).is_ready());
    assert!(crate::support::poll_once(&mut kept[0]).is_pending());
    sim.advance(seconds(1));
    assert!(crate::support::poll_once(&mut kept[0]).is_ready());
    sim.advance(seconds(9));
    assert_eq!(log.take(), ["0", "1", "2", "50002", "100001"]);
}

#[test]
fn p12_a_worker_that_is_stuck_when_it_is_removed_is_killed_and_not_replaced() {
    for sim in simulations(10) {
        let factory = workers(&Log::new());
        let pool = move || Pool::new(2, factory).mailbox(5).stuck_limit(seconds(3));
        let pool: PoolAddress = sim.spawn(pool).wait().unwrap();
        pool.send(Job::Hang).unwrap();
        sim.run_until_idle();
        pool.send(Job::Note(1)).unwrap();
        assert_eq!(pool.workers().wait().unwrap().len(), 2);
        // The one that hangs is the next again.
        assert_eq!(pool.remove_workers(1).wait().unwrap().size, 1);
        let mut drained = pool.drain().into_future();
        assert!(crate::support::poll_once(&mut drained).is_pending());
        sim.advance(seconds(4));
        assert_eq!(crate::support::poll_once(&mut drained), std::task::Poll::Ready(Ok(())));
        let numbers = numbers(&pool);
        assert_eq!((numbers.stuck, numbers.restarts, numbers.workers), (1, 0, 1));
        assert_eq!(sim.stats().processes, 2);
    }
}

#[test]
fn m6_a_waiter_is_refused_when_the_last_place_of_an_ended_worker_is_removed() {
    for sim in simulations(10) {
        let pool: PoolAddress = sim.spawn(|| Pool::new(1, slow(1, 60)).mailbox(1)).wait().unwrap();
        pool.send(Job::End(boom())).unwrap();
        let mut wait = pool.send_or_wait(Job::Note(1)).into_future();
        assert!(crate::support::poll_once(&mut wait).is_pending());
        sim.run_until_idle();
        assert!(crate::support::poll_once(&mut wait).is_pending(), "there will be a replacement");
        assert_eq!(pool.remove_workers(1).wait().unwrap(), Resized { size: 0, changed: 1 });
        sim.run_until_idle();
        let heard = crate::support::poll_once(&mut wait);
        assert!(
            matches!(heard, std::task::Poll::Ready(Err(SendError::NoWorkers { .. }))),
            "{heard:?}"
        );
    }
}

/// Notes the ends of workers.
struct Ends(Log);

impl PoolBehavior for Ends {
    type Job = Pid;
    type Command = ();

    async fn handle_command(&mut self, _: &mut PoolContext<'_, Pid, ()>, (): ()) -> Result {
        Ok(())
    }

    async fn handle_worker_exit(
        &mut self,
        _: &mut PoolContext<'_, Pid, ()>,
        exit: &Exit,
    ) -> Result {
        self.0.note(&exit.reason);
        Ok(())
    }
}

#[test]
fn p4_a_worker_that_has_sent_signals_before_it_ended_has_ended_once() {
    for sim in simulations(20) {
        let (log, started) = (Log::new(), Arc::new(AtomicU32::new(0)));
        let slow = move || {
            let late = started.fetch_add(1, Ordering::Relaxed) > 0;
            behavior_fn(move |mut ctx: Context<Pid>| async move {
                if late {
                    ctx.sleep(seconds(1)).await;
                }
                ctx.initialised();
                if let krarup::behavior::Received::Message(pool) = ctx.receive().await {
                    (0..3).for_each(|_| ctx.exit(pool, boom()));
                    return Err(Reason::error("its end"));
                }
                Ok(())
            })
        };
        let ends = Ends(log.clone());
        let pool = move || Pool::new(1, slow).intensity(1, seconds(60)).behavior(ends);
        let pool = sim.spawn(pool).wait().unwrap();
        pool.send(pool.pid()).unwrap();
        sim.run_until_idle();
        assert_eq!((log.take().len(), sim.stats().processes), (1, 2));
        sim.advance(seconds(1));
        let numbers = pool.statistics().wait().unwrap();
        assert_eq!((numbers.restarts, numbers.workers, sim.stats().processes), (1, 1, 2));
    }
}
