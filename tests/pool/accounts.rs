//! What a pool owes after something did not go straight: turns, keys, drains, times (rules P1, P2, P5,
//! P7 to P9, P11 to P13).

use crate::pool_support::{
    Job, PoolAddress, done, inspect, millis, numbers, occupy, seconds, who, workers,
};
use crate::support::{Guard, Log, poll_once, simulations};
use krarup::behavior::Received;
use krarup::pool::{ByKey, Discarded, Elastic};
use krarup::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

#[test]
fn p1_after_a_skipped_worker_the_rotation_continues_after_the_taker() {
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
        assert_eq!([who(&pool), who(&pool)], others[..2], "a full worker is passed over");
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
fn p1_the_rotation_continues_past_abandoned_workers_and_removed_places() {
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
fn p1_the_rotation_continues_when_the_place_of_an_ended_worker_is_removed() {
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
        assert!(matches!(poll_once(&mut wait), Poll::Ready(Err(SendError::NoWorkers { .. }))));
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
    let asks = krarup::behavior::behavior_fn(move |_: Context<()>| async move {
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
        let mut drained = pool.drain().into_future();
        assert!(poll_once(&mut drained).is_pending());
        sim.advance(millis(8_999));
        assert!(poll_once(&mut drained).is_pending());
        sim.advance(millis(1));
        assert_eq!(poll_once(&mut drained), Poll::Ready(Ok(())));
        assert_eq!((done(&log).len(), done(&log)[2]), (3, 1));
    }
}

#[test]
fn p11_a_drain_waits_for_a_message_whose_room_was_lost_with_its_worker() {
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
        let mut drained = pool.drain().into_future();
        assert!(poll_once(&mut drained).is_pending());
        sim.run_until_idle();
        // All are full: it stands in line, and takes the first room there is.
        permit.send(Job::Slow(3, seconds(20)));
        assert_eq!(pool.waiting(), 3);
        sim.advance(seconds(10));
        assert!(poll_once(&mut drained).is_pending(), "it is not done");
        assert!(matches!(
            pool.send(Job::Note(9)),
            Err(SendError::Draining { to, .. }) if to == pool.pid()
        ));
        sim.advance(seconds(20));
        assert_eq!(poll_once(&mut drained), Poll::Ready(Ok(())));
        let mut all = done(&log);
        all.sort_unstable();
        assert_eq!(all, [1, 2, 3, 999, 999]);
    }
}

#[test]
fn p9_a_message_whose_room_was_lost_keeps_its_acceptance_time() {
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

/// A worker that traps exits and hears nothing but jobs, though it is asked to finish.
fn deaf(log: &Log) -> impl Fn() -> Deaf + Clone + Send + Sync + 'static {
    let log = log.clone();
    move || Deaf(log.clone())
}

struct Deaf(Log);

impl krarup::behavior::Behavior for Deaf {
    type Message = Job;
    type Command = Job;

    async fn run(self, mut ctx: Context<Job>) -> Result {
        ctx.trap_exits(true);
        ctx.initialised();
        let _guard = Guard::new(&self.0, format!("{} ended", ctx.pid()));
        loop {
            match ctx.receive().await {
                Received::Message(Job::Hang) => std::future::pending().await,
                Received::Message(Job::End(reason)) => return Err(reason),
                _ => {}
            }
        }
    }
}

#[test]
fn p7_removed_workers_that_trap_exits_end_with_their_pool_and_in_its_time() {
    for sim in simulations(10) {
        let log = Log::new();
        let factory = deaf(&log);
        let pool: PoolAddress = sim.spawn(move || Pool::new(4, factory)).wait().unwrap();
        let order = pool.workers().wait().unwrap();
        // One is idle, one has something in hand; two stay.
        pool.send(Job::Note(0)).unwrap();
        pool.send(Job::Hang).unwrap();
        sim.run_until_idle();
        (0..2).for_each(|_| pool.send(Job::Note(0)).unwrap());
        assert_eq!(pool.remove_workers(2).wait().unwrap().size, 2);
        sim.advance(seconds(60));
        assert!(order.iter().all(|worker| sim.is_alive(*worker)), "they receive no notice");
        let before = sim.now();
        let end = pool.watch();
        pool.stop().wait().unwrap();
        // All are asked at the same time, and all are killed when that is over.
        assert_eq!(sim.now() - before, seconds(5));
        assert_eq!(end.wait().unwrap().reason, Reason::Normal);
        let mut ended: Vec<_> = order.iter().map(|worker| format!("{worker} ended")).collect();
        ended.sort();
        assert_eq!(log.take_sorted(), ended, "no process outlives it");
        assert_eq!((sim.stats().processes, sim.stats().timers), (0, 0));
    }
}

#[test]
fn p7_workers_that_end_on_request_delay_no_other() {
    for sim in simulations(10) {
        let log = Log::new();
        let factory = workers(&log);
        let pool: PoolAddress = sim.spawn(move || Pool::new(3, factory)).wait().unwrap();
        // One of them takes 2 s to come to its end, and has been removed.
        pool.send(Job::Slow(1, seconds(2))).unwrap();
        sim.run_until_idle();
        assert_ne!(who(&pool), who(&pool));
        pool.remove_workers(1).wait().unwrap();
        pool.stop().wait().unwrap();
        assert_eq!((sim.now().as_nanos(), sim.stats().processes), (2_000_000_000, 0));
    }
}

#[test]
fn p5_a_pool_finishes_when_the_last_of_its_workers_has() {
    for sim in simulations(10) {
        let log = Log::new();
        let factory = workers(&log);
        let pool: PoolAddress = sim.spawn(move || Pool::new(3, factory)).wait().unwrap();
        (1..4).for_each(|n| pool.send(Job::Slow(n, seconds(3 * u64::from(n)))).unwrap());
        sim.run_until_idle();
        pool.remove_workers(1).wait().unwrap();
        pool.finish();
        sim.advance(millis(8_999));
        assert!(pool.is_alive());
        assert!(matches!(
            pool.send(Job::Note(9)),
            Err(SendError::NoWorkers { to, .. }) if to == pool.pid()
        ));
        sim.advance(millis(1));
        assert_eq!((done(&log).len(), pool.is_alive(), sim.stats().processes), (3, false, 0));
        // One that is stuck is killed, and the pool ends then.
        let factory = workers(&log);
        let pool = move || Pool::new(2, factory).stuck_limit(seconds(4));
        let pool: PoolAddress = sim.spawn(pool).wait().unwrap();
        pool.send(Job::Hang).unwrap();
        sim.run_until_idle();
        pool.finish();
        sim.advance(millis(3_999));
        assert!(pool.is_alive());
        sim.advance(millis(1));
        assert_eq!((pool.is_alive(), sim.stats().processes), (false, 0));
    }
}

#[test]
fn p12_workers_that_are_stuck_at_the_same_time_or_one_after_the_other_all_go_in_time() {
    for sim in simulations(5) {
        let log = Log::new();
        let factory = workers(&log);
        let pool = move || Pool::new(5, factory).stuck_limit(seconds(4));
        let pool: PoolAddress = sim.spawn(pool).wait().unwrap();
        let order = pool.workers().wait().unwrap();
        let alive = || order.iter().map(|worker| sim.is_alive(*worker)).collect::<Vec<_>>();
        // Two at once, one a second later, one two seconds later; the last has nothing.
        (0..2).for_each(|_| pool.send(Job::Hang).unwrap());
        sim.advance(seconds(1));
        pool.send(Job::Hang).unwrap();
        sim.advance(seconds(1));
        pool.send(Job::Hang).unwrap();
        sim.advance(millis(1_999));
        assert_eq!(alive(), [true; 5]);
        sim.advance(millis(1));
        assert_eq!((alive(), numbers(&pool).stuck), (vec![false, false, true, true, true], 2));
        sim.advance(millis(999));
        assert_eq!(numbers(&pool).stuck, 2);
        sim.advance(millis(1));
        assert_eq!((alive(), numbers(&pool).stuck), (vec![false, false, false, true, true], 3));
        sim.advance(seconds(1));
        assert_eq!((alive(), numbers(&pool).stuck), (vec![false, false, false, false, true], 4));
        // Replacements are looked at like any other; and jobs that end in time are no reason.
        (0..5).for_each(|_| pool.send(Job::Slow(0, millis(3_999))).unwrap());
        (0..5).for_each(|_| pool.send(Job::Slow(0, millis(3_999))).unwrap());
        sim.advance(seconds(20));
        assert_eq!((numbers(&pool).stuck, numbers(&pool).restarts), (4, 4));
        (0..5).for_each(|_| pool.send(Job::Hang).unwrap());
        sim.advance(seconds(4));
        assert_eq!((numbers(&pool).stuck, numbers(&pool).workers), (9, 5));
    }
}

#[test]
fn p13_an_elastic_pool_that_is_drained_keeps_its_size_and_adapts_again_when_it_is_reopened() {
    for sim in simulations(5) {
        let log = Log::new();
        let factory = workers(&log);
        let elastic = Elastic::between(1, 4).cool_down(seconds(0)).every(millis(100));
        let pool: PoolAddress =
            sim.spawn(move || Pool::new(3, factory).elastic(elastic)).wait().unwrap();
        pool.drain().wait().unwrap();
        sim.advance(seconds(2));
        assert_eq!((numbers(&pool).places, numbers(&pool).workers), (3, 3));
        pool.reopen().wait().unwrap();
        sim.advance(millis(100));
        assert_eq!(numbers(&pool).places, 2);
        // Full of work when it is drained it does not grow either.
        (0..20).for_each(|n| pool.send(Job::Slow(n, seconds(1))).unwrap());
        let mut drained = pool.drain().into_future();
        assert!(poll_once(&mut drained).is_pending());
        sim.advance(seconds(3));
        assert_eq!(numbers(&pool).places, 2);
        assert_eq!(inspect(&pool).value("draining"), Some(&true.into()));
        // Another that asks waits as long.
        let mut second = pool.drain().into_future();
        assert!(poll_once(&mut second).is_pending());
        sim.advance(millis(6_999));
        assert!(poll_once(&mut drained).is_pending() && poll_once(&mut second).is_pending());
        sim.advance(millis(1));
        assert_eq!((poll_once(&mut drained), done(&log).len()), (Poll::Ready(Ok(())), 20));
        assert_eq!(poll_once(&mut second), Poll::Ready(Ok(())));
        pool.reopen().wait().unwrap();
        assert_eq!(inspect(&pool).value("draining"), None);
    }
}

#[test]
fn p13_workers_that_are_being_added_count_for_the_size_of_an_elastic_pool() {
    for sim in simulations(5) {
        let log = Log::new();
        let started = log.clone();
        let factory = move || {
            started.note("start");
            let first = started.lines().len() == 1;
            krarup::behavior::behavior_fn(move |mut ctx: Context<Job>| async move {
                if !first {
                    ctx.sleep(seconds(1)).await;
                }
                ctx.initialised();
                loop {
                    match ctx.receive().await {
                        Received::Message(Job::Slow(_, time)) => ctx.sleep(time).await,
                        Received::Finish | Received::Stop(_) => return Ok(()),
                        _ => {}
                    }
                }
            })
        };
        let elastic = Elastic::between(1, 3).grow_at(1).cool_down(seconds(0)).every(millis(100));
        let pool = move || Pool::new(1, factory).elastic(elastic);
        let pool: PoolAddress = sim.spawn(pool).wait().unwrap();
        (0..90).for_each(|n| pool.send(Job::Slow(n, seconds(1))).unwrap());
        sim.advance(seconds(6));
        assert_eq!((numbers(&pool).places, log.take().len()), (3, 3), "and never more");
    }
}

#[test]
fn p9_an_on_discard_that_panics_has_no_further_effect() {
    for sim in simulations(5) {
        let log = Log::new();
        let factory = workers(&log);
        let pool = move || {
            let pool = Pool::new(1, factory).time_to_live(seconds(1));
            pool.on_discard(|_: Job, _| panic!("of on_discard"))
        };
        let pool: PoolAddress = sim.spawn(pool).wait().unwrap();
        let worker = pool.workers().wait().unwrap();
        pool.send(Job::Slow(1, seconds(2))).unwrap();
        (2..4).for_each(|n| pool.send(Job::Note(n)).unwrap());
        sim.advance(seconds(2));
        pool.send(Job::Note(4)).unwrap();
        sim.run_until_idle();
        assert_eq!((done(&log), pool.workers().wait().unwrap()), (vec![1, 4], worker.clone()));
        // Nor where its process is torn down.
        pool.send(Job::Hang).unwrap();
        sim.run_until_idle();
        pool.send(Job::Note(5)).unwrap();
        sim.kill(worker[0]);
        sim.run_until_idle();
        let numbers = numbers(&pool);
        assert_eq!(
            (numbers.expired, numbers.lost, numbers.crashed, numbers.restarts),
            (2, 1, 1, 1)
        );
        assert_eq!(who(&pool), pool.workers().wait().unwrap()[0]);
    }
}

/// In a job it takes up and gives back whatever a process may have beside its mailbox.
struct Fidgets;

impl Actor for Fidgets {
    type Message = u32;

    async fn handle_message(&mut self, ctx: &mut Context<u32>, job: u32) -> Result {
        let timer = ctx.send_after(seconds(60), job);
        assert!(ctx.cancel(timer).is_some());
        ctx.set_idle_timeout(Some(seconds(60)));
        ctx.set_idle_timeout(None);
        ctx.unstash_all();
        ctx.hibernate();
        ctx.sleep(seconds(2)).await;
        Ok(())
    }
}

#[test]
fn a_job_is_in_progress_until_it_is_done() {
    for sim in simulations(5) {
        let pool: Address<u32, PoolCommand> =
            sim.spawn(|| Pool::new(1, || Fidgets).measured()).wait().unwrap();
        for job in 0..3 {
            pool.send(job).unwrap();
            sim.advance(seconds(10));
        }
        let numbers = pool.statistics().wait().unwrap();
        assert_eq!((numbers.forwarded, numbers.crashed, numbers.lost), (3, 0, 0));
        let service = numbers.service.unwrap();
        assert_eq!((service.count, service.mean, service.max), (3, seconds(2), seconds(2)));
    }
}
