//! Workers that start late, or in vain, or do not end: while a pool is resized, finishes, or ends
//! (rules P4, P5, P7, P14).

use crate::pool_support::{Job, PoolAddress, done, millis, numbers, seconds, workers};
use crate::support::journal::Journal;
use crate::support::{Log, boom, poll_once, simulations};
use krarup::behavior::{Received, behavior_fn};
use krarup::observe::Lifecycle;
use krarup::pool::{PoolBehavior, PoolContext, PoolState, ResizeError, Resized};
use krarup::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Poll;

/// A worker that takes 1 s to initialise, but for the first ones; or fails then.
struct Late(bool, Arc<AtomicBool>);

impl Actor for Late {
    type Message = Job;

    async fn init(&mut self, ctx: &mut Context<Job>) -> Result {
        if !self.0 {
            ctx.sleep(seconds(1)).await;
        }
        if self.1.load(Ordering::Relaxed) { Err(boom()) } else { Ok(()) }
    }

    async fn handle_message(&mut self, _: &mut Context<Job>, job: Job) -> Result {
        if let Job::End(reason) = job { Err(reason) } else { Ok(()) }
    }
}

/// A pool of so many whose later workers start late, and what makes them fail.
fn late(sim: &Simulation, size: usize) -> (PoolAddress, Arc<AtomicBool>) {
    let (made, fails) = (AtomicUsize::new(0), Arc::new(AtomicBool::new(false)));
    let failing = Arc::clone(&fails);
    let factory = move || Late(made.fetch_add(1, Ordering::Relaxed) < size, Arc::clone(&failing));
    (sim.spawn(move || Pool::new(size, factory)).wait().unwrap(), fails)
}

#[test]
fn p5_every_pending_add_of_workers_fails_when_the_pool_stops() {
    let ends: [fn(&PoolAddress); 2] =
        [|pool| pool.finish(), |pool| drop(poll_once(&mut pool.stop().into_future()))];
    for end in ends {
        for sim in simulations(5) {
            let (pool, _) = late(&sim, 1);
            let mut asked: Vec<_> = (1..4).map(|n| pool.add_workers(n).into_future()).collect();
            asked.iter_mut().for_each(|asked| assert!(poll_once(asked).is_pending()));
            sim.advance(millis(500));
            assert_eq!(sim.stats().processes, 3, "one starts at a time");
            end(&pool);
            sim.run_until_idle();
            let state = PoolState::Stopping;
            for mut asked in asked {
                let refused = ResizeError::NotRunning { pool: pool.pid(), state };
                assert_eq!(poll_once(&mut asked), Poll::Ready(Err(refused)));
            }
            sim.advance(seconds(9));
            assert_eq!((sim.stats().processes, pool.is_alive()), (0, false));
        }
    }
}

#[test]
fn p5_only_the_request_whose_worker_does_not_start_fails() {
    for sim in simulations(5) {
        let (pool, fails) = late(&sim, 1);
        let mut first = pool.add_workers(3).into_future();
        let mut second = pool.add_workers(2).into_future();
        assert!(poll_once(&mut first).is_pending() && poll_once(&mut second).is_pending());
        let mut third = pool.add_workers(1).into_future();
        assert!(poll_once(&mut third).is_pending());
        sim.advance(seconds(1));
        fails.store(true, Ordering::Relaxed);
        sim.advance(seconds(1));
        fails.store(false, Ordering::Relaxed);
        let (resized, error) = (Resized { size: 2, changed: 1 }, SpawnError::Init(boom()));
        let failed = ResizeError::NotStarted { asked: 3, resized, error };
        assert_eq!(poll_once(&mut first), Poll::Ready(Err(failed)));
        sim.advance(millis(1_999));
        assert!(poll_once(&mut second).is_pending());
        sim.advance(millis(1));
        assert_eq!(poll_once(&mut second), Poll::Ready(Ok(Resized { size: 4, changed: 2 })));
        assert!(poll_once(&mut third).is_pending());
        sim.advance(seconds(1));
        assert_eq!(poll_once(&mut third), Poll::Ready(Ok(Resized { size: 5, changed: 1 })));
    }
}

#[test]
fn p5_workers_that_are_still_to_be_added_count_for_the_most_that_a_pool_can_have() {
    const MOST: usize = 1 << 20;
    let sim = Simulation::new(1);
    let (pool, _) = late(&sim, 1);
    let too_many = |asked, coming| {
        let size = numbers(&pool).places;
        Err(ResizeError::TooMany { size, coming, asked, most: MOST })
    };
    assert_eq!(pool.add_workers(MOST).wait(), too_many(MOST, 0));
    let mut many = pool.add_workers(MOST - 1).into_future();
    assert!(poll_once(&mut many).is_pending());
    assert_eq!(pool.add_workers(1).wait(), too_many(1, MOST - 1));
    sim.advance(seconds(2));
    assert_eq!(numbers(&pool).places, 3);
    assert_eq!(pool.add_workers(1).wait(), too_many(1, MOST - 3));
    assert_eq!(pool.remove_workers(2).wait().unwrap(), Resized { size: 1, changed: 2 });
    assert_eq!(pool.add_workers(3).wait(), too_many(3, MOST - 3));
    let mut more = pool.add_workers(2).into_future();
    assert!(poll_once(&mut more).is_pending());
    sim.run_until_idle();
    assert!(poll_once(&mut more).is_pending(), "there is room for two again");
    pool.stop().wait().unwrap();
    assert_eq!(sim.stats().processes, 0);
}

#[test]
fn p4_replacements_do_not_wait_for_workers_that_are_added_nor_they_for_them() {
    for sim in simulations(5) {
        let (pool, _) = late(&sim, 2);
        let mut added = pool.add_workers(1).into_future();
        assert!(poll_once(&mut added).is_pending());
        sim.advance(millis(250));
        (0..2).for_each(|_| pool.send(Job::End(boom())).unwrap());
        sim.advance(millis(250));
        let mut more = pool.add_workers(1).into_future();
        assert!(poll_once(&mut more).is_pending());
        sim.advance(millis(500));
        assert_eq!(poll_once(&mut added), Poll::Ready(Ok(Resized { size: 3, changed: 1 })));
        assert_eq!(numbers(&pool).workers, 1);
        sim.advance(millis(250));
        assert_eq!((numbers(&pool).workers, numbers(&pool).restarts), (3, 2));
        sim.advance(millis(750));
        assert_eq!(poll_once(&mut more), Poll::Ready(Ok(Resized { size: 4, changed: 1 })));
    }
}

/// A worker that takes 1 s to initialise, but for the first one, and notes how it ends.
struct Ends(bool, Log);

impl Actor for Ends {
    type Message = Job;

    async fn init(&mut self, ctx: &mut Context<Job>) -> Result {
        if !self.0 {
            ctx.sleep(seconds(1)).await;
        }
        Ok(())
    }

    async fn handle_message(&mut self, _: &mut Context<Job>, _: Job) -> Result {
        Ok(())
    }

    async fn terminate(&mut self, _: &mut Context<Job>, reason: &Reason) {
        self.1.note(reason);
    }
}

#[test]
fn p5_a_worker_that_starts_while_its_pool_finishes_ends_like_the_others() {
    for sim in simulations(5) {
        let log = Log::new();
        let (made, noted) = (AtomicUsize::new(0), log.clone());
        let factory = move || Ends(made.fetch_add(1, Ordering::Relaxed) == 0, noted.clone());
        let pool: PoolAddress = sim.spawn(move || Pool::new(1, factory)).wait().unwrap();
        let mut added = pool.add_workers(1).into_future();
        assert!(poll_once(&mut added).is_pending());
        sim.advance(millis(500));
        pool.finish();
        sim.advance(millis(499));
        assert_eq!((pool.is_alive(), log.take()), (true, vec!["normal".to_owned()]));
        sim.advance(millis(1));
        assert_eq!((sim.stats().processes, log.take()), (0, vec!["normal".to_owned()]));
    }
}

#[test]
fn p5_a_worker_that_starts_after_its_place_was_removed_is_removed_too() {
    for (finishes, sim) in [false, true].into_iter().zip(simulations(2)) {
        let log = Log::new();
        let (made, noted) = (AtomicUsize::new(0), log.clone());
        // The replacement takes 2 s to start, and 3 s to end; then it fails.
        let factory = move || {
            let (late, log) = (made.fetch_add(1, Ordering::Relaxed) >= 2, noted.clone());
            behavior_fn(move |mut ctx: Context<Job>| async move {
                if late {
                    ctx.sleep(seconds(2)).await;
                }
                ctx.initialised();
                loop {
                    match ctx.receive().await {
                        Received::Message(Job::End(reason)) => return Err(reason),
                        Received::Finish if late => {
                            ctx.sleep(seconds(3)).await;
                            log.note("late");
                            return Err(boom());
                        }
                        Received::Finish | Received::Stop(_) => return Ok(()),
                        _ => {}
                    }
                }
            })
        };
        let pool: PoolAddress = sim.spawn(move || Pool::new(2, factory)).wait().unwrap();
        pool.send(Job::End(boom())).unwrap();
        sim.run_until_idle();
        let removed = Resized { size: 1, changed: 1 };
        assert_eq!(pool.remove_workers(1).wait(), Ok(removed));
        sim.advance(seconds(3));
        if finishes {
            pool.finish();
        }
        sim.advance(millis(1_999));
        assert_eq!((pool.is_alive(), log.lines().len()), (true, 0));
        sim.advance(millis(1));
        assert_eq!((pool.is_alive(), log.take()), (!finishes, vec!["late".to_owned()]));
        assert_eq!(sim.stats().processes, if finishes { 0 } else { 2 });
    }
}

/// Wants to stop, or fails with a call in hand.
struct Stops;

type StopsPool = Address<Job, PoolCommand<Option<Reply<u32>>>>;

impl PoolBehavior for Stops {
    type Job = Job;
    type Command = Option<Reply<u32>>;

    async fn handle_command(
        &mut self,
        pool: &mut PoolContext<'_, Job, Self::Command>,
        call: Self::Command,
    ) -> Result {
        pool.stop();
        if call.is_some() { Err(boom()) } else { Ok(()) }
    }
}

#[test]
fn p5_a_stop_in_a_callback_cuts_nothing_off_when_the_pool_finishes() {
    for (finishes, sim) in [true, false].into_iter().cycle().zip(simulations(4)) {
        let log = Log::new();
        let factory = workers(&log);
        let pool = sim.spawn(move || Pool::new(1, factory).behavior(Stops)).wait().unwrap();
        let mut end = pool.watch().into_future();
        (1..3).for_each(|n| pool.send(Job::Slow(n, seconds(2))).unwrap());
        sim.run_until_idle();
        if finishes {
            pool.finish();
            sim.run_until_idle();
        }
        pool.command(None).unwrap();
        sim.advance(millis(3_999));
        assert_eq!((pool.is_alive(), log.lines().len()), (finishes, 1));
        sim.advance(millis(1));
        assert_eq!((pool.is_alive(), done(&log).len()), (false, if finishes { 2 } else { 1 }));
        let told = poll_once(&mut end);
        assert!(matches!(told, Poll::Ready(down) if down.reason == Reason::Normal));
    }
}

#[test]
fn p7_a_pool_that_finishes_ends_at_once_when_it_is_stopped_or_a_callback_fails() {
    let ends: [fn(&StopsPool); 2] = [
        |pool| drop(poll_once(&mut pool.stop().reason(boom()).into_future())),
        |pool| drop(poll_once(&mut pool.ask(Some).into_future())),
    ];
    for (end, sim) in ends.into_iter().cycle().zip(simulations(4)) {
        let log = Log::new();
        let factory = workers(&log);
        let pool = sim.spawn(move || Pool::new(1, factory).behavior(Stops)).wait().unwrap();
        let mut ended = pool.watch().into_future();
        assert!(poll_once(&mut ended).is_pending());
        (1..9).for_each(|n| pool.send(Job::Slow(n, seconds(2))).unwrap());
        sim.run_until_idle();
        pool.finish();
        sim.advance(seconds(3));
        assert!(pool.is_alive());
        end(&pool);
        // The job in hand is finished.
        sim.advance(seconds(2));
        assert_eq!((pool.is_alive(), sim.stats().processes), (false, 0));
        let told = poll_once(&mut ended);
        assert!(matches!(&told, Poll::Ready(down) if down.reason == boom()), "{told:?}");
        assert!(done(&log).len() < 4);
    }
}

#[test]
fn p7_a_call_in_progress_fails_when_the_workers_of_an_ending_pool_have_ended() {
    for sim in simulations(5) {
        let factory = workers(&Log::new());
        let pool = sim.spawn(move || Pool::new(1, factory).behavior(Stops)).wait().unwrap();
        pool.send(Job::Slow(1, seconds(2))).unwrap();
        sim.run_until_idle();
        let mut asked = pool.ask(Some).into_future();
        assert!(poll_once(&mut asked).is_pending());
        sim.advance(millis(1_999));
        assert!(pool.is_alive() && poll_once(&mut asked).is_pending());
        sim.advance(millis(1));
        assert_eq!(
            poll_once(&mut asked),
            Poll::Ready(Err(CallError::Terminated { to: pool.pid(), reason: boom() }))
        );
        assert_eq!(sim.stats().processes, 0);
    }
}

/// Notes of whose life it hears, from its init on.
struct Watches(Log);

struct Lived(Lifecycle);

impl From<Lifecycle> for Lived {
    fn from(event: Lifecycle) -> Self {
        Lived(event)
    }
}

impl PoolBehavior for Watches {
    type Job = Job;
    type Command = Lived;

    async fn init(&mut self, pool: &mut PoolContext<'_, Job, Lived>) -> Result {
        pool.watch_lifecycle();
        Ok(())
    }

    async fn handle_command(
        &mut self,
        _: &mut PoolContext<'_, Job, Lived>,
        Lived(event): Lived,
    ) -> Result {
        self.0.note(event.pid());
        Ok(())
    }
}

#[test]
fn p14_a_pool_that_subscribes_in_init_receives_its_workers_and_not_itself() {
    for sim in simulations(5) {
        let log = Log::new();
        let (watches, factory) = (Watches(log.clone()), workers(&Log::new()));
        let pool = sim.spawn(move || Pool::new(2, factory).behavior(watches)).wait().unwrap();
        sim.run_until_idle();
        let [one, other] = pool.workers().wait().unwrap()[..] else { panic!("of two") };
        // Each was spawned, and has initialised.
        assert_eq!(log.take(), [one, one, other, other].map(|worker| worker.to_string()));
    }
}

#[test]
fn p5_adding_no_workers_does_not_wait_for_workers_that_start() {
    for sim in simulations(5) {
        let (pool, _) = late(&sim, 1);
        let mut added = pool.add_workers(2).into_future();
        assert!(poll_once(&mut added).is_pending());
        sim.run_until_idle();
        let begun = sim.now();
        assert_eq!(pool.add_workers(0).wait(), Ok(Resized { size: 1, changed: 0 }));
        assert_eq!(pool.remove_workers(0).wait(), Ok(Resized { size: 1, changed: 0 }));
        assert_eq!(sim.now(), begun);
        sim.advance(seconds(2));
        assert_eq!(poll_once(&mut added), Poll::Ready(Ok(Resized { size: 3, changed: 2 })));
        assert_eq!(pool.add_workers(0).wait(), Ok(Resized { size: 3, changed: 0 }));
        assert_eq!((numbers(&pool).workers, sim.stats().processes), (3, 4));
    }
}

#[test]
fn p4_a_replacement_is_tried_again_in_its_time_while_workers_are_added() {
    for sim in simulations(5) {
        let made = AtomicUsize::new(0);
        let factory = move || {
            let number = made.fetch_add(1, Ordering::Relaxed);
            behavior_fn(move |mut ctx: Context<Job>| async move {
                match number {
                    1 => ctx.sleep(seconds(4)).await,
                    2 => return Err(boom()),
                    _ => {}
                }
                ctx.initialised();
                std::future::pending().await
            })
        };
        let pool = move || Pool::new(1, factory).back_off(seconds(1), seconds(1));
        let pool: PoolAddress = sim.spawn(pool).wait().unwrap();
        let mut added = pool.add_workers(1).into_future();
        assert!(poll_once(&mut added).is_pending());
        sim.run_until_idle();
        sim.kill(pool.workers().wait().unwrap()[0]);
        sim.advance(millis(999));
        assert_eq!((numbers(&pool).workers, numbers(&pool).restarts), (0, 0));
        sim.advance(millis(1));
        assert_eq!((numbers(&pool).workers, numbers(&pool).restarts), (1, 1));
        assert!(poll_once(&mut added).is_pending());
        sim.advance(seconds(3));
        assert_eq!(poll_once(&mut added), Poll::Ready(Ok(Resized { size: 2, changed: 1 })));
    }
}

/// Notes in the end whether that worker lives.
struct Knows(Log, Option<Pid>);

impl PoolBehavior for Knows {
    type Job = Job;
    type Command = Pid;

    async fn handle_command(&mut self, _: &mut PoolContext<'_, Job, Pid>, worker: Pid) -> Result {
        self.1 = Some(worker);
        Ok(())
    }

    async fn terminate(&mut self, pool: &mut PoolContext<'_, Job, Pid>, _: &Reason) {
        let lives = self.1.is_some_and(|worker| pool.is_alive(worker));
        self.0.note(format!("lives: {lives}"));
    }
}

#[test]
fn p7_a_pool_that_ends_waits_for_the_end_of_a_worker_that_was_stuck() {
    // In some of them the pool is stopped after it has killed the worker, and before that ends.
    for sim in simulations(50) {
        let (log, factory) = (Log::new(), workers(&Log::new()));
        let behavior = Knows(log.clone(), None);
        let pool = move || Pool::new(1, factory).stuck_limit(seconds(3)).behavior(behavior);
        let pool = sim.spawn(pool).wait().unwrap();
        pool.send(Job::Hang).unwrap();
        sim.run_until_idle();
        pool.command(pool.workers().wait().unwrap()[0]).unwrap();
        let to = pool.clone();
        let stops = behavior_fn(move |ctx: Context<()>| async move {
            ctx.sleep(seconds(3)).await;
            let _ = to.stop().await;
            Ok(())
        });
        sim.spawn(move || stops).start().unwrap();
        sim.advance(seconds(3));
        assert_eq!(log.take(), ["lives: false"]);
        assert_eq!((pool.is_alive(), sim.stats().processes), (false, 0));
    }
}

#[test]
fn p7_a_pool_that_ends_does_not_wait_again_for_a_worker_that_was_left_behind() {
    let log = Log::new();
    let noted = log.clone();
    let journal = Journal::new(
        |event| *event.level() == tracing::Level::ERROR,
        move |fields| {
            let message = fields.iter().find(|(name, _)| *name == "message");
            noted.note(message.map_or("", |(_, text)| text));
        },
    );
    tracing::subscriber::set_global_default(journal).unwrap();
    let node = Node::builder("p7").workers(3).start().unwrap();
    let (blocks, free) = std::sync::mpsc::channel::<()>();
    let (free, later) = (Arc::new(std::sync::Mutex::new(free)), Arc::new(AtomicBool::new(false)));
    let blocking = Arc::clone(&later);
    let factory = move || {
        if blocking.load(Ordering::Relaxed) {
            let _ = free.lock().unwrap().recv();
        }
        behavior_fn(|mut ctx: Context<Job>| async move {
            ctx.receive().await;
            Ok(())
        })
    };
    // On a busy machine the first may be late too.
    let pool: PoolAddress = loop {
        let factory = factory.clone();
        let pool = move || Pool::new(1, factory).init_timeout(millis(50));
        if let Ok(pool) = node.spawn(pool).wait() {
            break pool;
        }
    };
    later.store(true, Ordering::Relaxed);
    let late = pool.add_workers(1).wait();
    assert!(matches!(late, Err(ResizeError::NotStarted { .. })), "{late:?}");
    let end = pool.watch();
    pool.stop().wait().unwrap();
    assert_eq!(end.wait().unwrap().reason, Reason::Normal);
    drop(blocks);
    node.stop().wait().unwrap();
    assert!(log.count("it is left behind") > 0);
    assert_eq!(log.count("pool ends before a worker"), 0);
}

#[test]
fn p5_a_request_to_add_workers_times_out_after_5_seconds_and_the_pool_continues() {
    for sim in simulations(5) {
        let (pool, _) = late(&sim, 1);
        let mut added = pool.add_workers(7).into_future();
        assert!(poll_once(&mut added).is_pending());
        sim.advance(millis(4_999));
        assert!(poll_once(&mut added).is_pending());
        sim.advance(millis(1));
        let heard = poll_once(&mut added);
        let late = matches!(&heard, Poll::Ready(Err(ResizeError::Call(CallError::Timeout { .. }))));
        assert!(late, "{heard:?}");
        sim.advance(seconds(2));
        assert_eq!((numbers(&pool).places, numbers(&pool).workers), (8, 8));
    }
}
