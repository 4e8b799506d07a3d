//! The numbers of a pool, in the log too, and that its reports hold nothing up (rules P4, P6).

use crate::pool_support::{Job, PoolAddress, millis, numbers, seconds, workers};
use crate::support::journal::Journal;
use crate::support::{Log, boom, simulations};
use krarup::behavior::behavior_fn;
use krarup::mailbox::Overflow;
use krarup::observe::Inspection;
use krarup::pool::{Elastic, PoolBehavior, PoolContext, Rate};
use krarup::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn p6_a_pool_reports_its_statistics_at_its_interval_only_if_enabled() {
    let journal = Log::new();
    let numbers = journal.clone();
    let told = Journal::new(
        |event| event.target() == "krarup" && event.fields().field("forwarded").is_some(),
        move |fields| {
            let known = ["forwarded", "unhandled", "waiting", "service_p99"];
            for (name, value) in fields.iter().filter(|(name, _)| known.contains(name)) {
                numbers.note(format!("{name}={value}"));
            }
        },
    );
    tracing::subscriber::with_default(told, || {
        for sim in simulations(2) {
            let log = Log::new();
            let (loud, silent) = (workers(&log), workers(&log));
            let pool: PoolAddress = sim
                .spawn(move || {
                    let pool = Pool::new(1, loud).mailbox(2).measured();
                    // It looks for one that is stuck at other times.
                    pool.stuck_limit(seconds(45)).report_every(seconds(60))
                })
                .wait()
                .unwrap();
            let other: PoolAddress = sim.spawn(move || Pool::new(1, silent)).wait().unwrap();
            other.send(Job::Note(0)).unwrap();
            let taken = (0..5).filter(|n| pool.send(Job::Slow(*n, seconds(40))).is_ok()).count();
            assert_eq!(taken, 2);
            sim.advance(seconds(59));
            assert_eq!(journal.lines().len(), 0);
            sim.advance(seconds(1));
            let first = ["waiting=0", "forwarded=2", "unhandled=3", "service_p99=40s"];
            assert_eq!(journal.take(), first);
            sim.advance(seconds(120));
            assert_eq!(journal.take().len(), 8);
        }
    });
}

/// A worker whose start can be made to fail, and is noted in the log.
struct Frail(Log, Arc<AtomicBool>);

impl Actor for Frail {
    type Message = Job;

    async fn init(&mut self, ctx: &mut Context<Job>) -> Result {
        self.0.note(ctx.now());
        if self.1.load(Ordering::Relaxed) { Err(boom()) } else { Ok(()) }
    }

    async fn handle_message(&mut self, ctx: &mut Context<Job>, job: Job) -> Result {
        match job {
            Job::Slow(_, time) => ctx.sleep(time).await,
            Job::End(reason) => return Err(reason),
            Job::Hang => std::future::pending().await,
            _ => {}
        }
        Ok(())
    }
}

/// Has a journal of the reports of all pools, with the names and values of all fields.
fn reported(during: impl FnOnce(&Log)) {
    let journal = Log::new();
    let noted = journal.clone();
    let told = Journal::new(
        |event| event.target() == "krarup" && event.fields().field("forwarded").is_some(),
        move |fields| {
            let fields = fields.iter().filter(|(name, _)| !["pool", "message"].contains(name));
            let fields: Vec<_> = fields.map(|(name, value)| format!("{name}={value}")).collect();
            noted.note(fields.join(" "));
        },
    );
    tracing::subscriber::with_default(told, || during(&journal));
}

#[test]
#[allow(clippy::too_many_lines, reason = "one history, and every number of it")]
fn p6_each_number_is_its_own_in_the_statistics_the_inspection_and_the_report() {
    reported(|journal| {
        let sim = Simulation::new(1);
        let fails = Arc::new(AtomicBool::new(false));
        let failing = Arc::clone(&fails);
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
            Pool::new(2, move || Frail(Log::new(), Arc::clone(&failing)))
                .mailbox(3)
                .measured()
                .rate(Rate::per_second(1.0 / 36_000.0).burst(25))
                .overflow(Overflow::divert(other.recipient(), "full"))
                .time_to_live(seconds(10))
                .stuck_limit(seconds(20))
                .report_every(seconds(50))
        };
        let pool: PoolAddress = sim.spawn(pool).wait().unwrap();
        let first = crate::pool_support::inspect(&pool);
        let items = ["workers_stuck", "jobs_expired", "jobs_lost", "jobs_crashed"];
        let items = items.into_iter().chain(["messages_diverted", "messages_rate_limited"]);
        items.for_each(|item| assert_eq!(first.number(item), Some(0), "{item}"));
        let send = |count, job: fn() -> Job| {
            for _ in 0..count {
                pool.send(job()).unwrap();
            }
            sim.run_until_idle();
        };
        (0..3).for_each(|_| send(1, || Job::End(boom())));
        // Both hang; what waits at them is lost with them, and more than that is diverted.
        send(2, || Job::Hang);
        send(6, || Job::Note(0));
        send(4, || Job::Note(0));
        sim.advance(seconds(20));
        sim.kill(pool.workers().wait().unwrap()[0]);
        sim.run_until_idle();
        // The last of these has waited for too long.
        send(1, || Job::Slow(0, seconds(15)));
        send(2, || Job::Note(0));
        sim.advance(seconds(15));
        pool.add_workers(3).wait().unwrap();
        fails.store(true, Ordering::Relaxed);
        sim.kill(pool.workers().wait().unwrap()[0]);
        sim.advance(seconds(14));
        // Four are left: each has one in hand, and seven wait.
        send(4, || Job::Slow(0, seconds(9)));
        send(7, || Job::Note(0));
        assert!((0..13).all(|_| pool.send(Job::Note(0)).is_err()));
        let numbers = numbers(&pool);
        let (wait, service) = (numbers.wait.unwrap(), numbers.service.unwrap());
        let counts = [
            ("workers", 4),
            ("waiting", 7),
            ("restarts", 6),
            ("forwarded", 25),
            ("unhandled", 17),
            ("rate_limited", 13),
            ("diverted", 4),
            ("expired", 1),
            ("lost", 6),
            ("crashed", 5),
        ];
        let measured = [
            ("wait_p50", wait.p50),
            ("wait_p99", wait.p99),
            ("service_p50", service.p50),
            ("service_p99", service.p99),
        ];
        let counts_said: Vec<_> = counts.iter().map(|(name, n)| format!("{name}={n}")).collect();
        let measured: Vec<_> = measured.iter().map(|(name, t)| format!("{name}={t:?}")).collect();
        sim.advance(seconds(1));
        assert_eq!(journal.take(), [[counts_said, measured].concat().join(" ")]);
        let of_statistics = [
            numbers.workers as u64,
            numbers.waiting as u64,
            numbers.restarts,
            numbers.forwarded,
            numbers.unhandled,
            numbers.rate_limited,
            numbers.diverted,
            numbers.expired,
            numbers.lost,
            numbers.crashed,
        ];
        assert_eq!(of_statistics, counts.map(|(_, count)| count));
        assert_eq!((numbers.pool_size, numbers.places, numbers.stuck), (2, 5, 2));
        assert_eq!((wait.count, service.count, numbers.received()), (11, 2, 42));
        let inspection = crate::pool_support::inspect(&pool);
        let items = [
            ("pool_size", 2),
            ("workers", 4),
            ("worker_mailbox_size", 3),
            ("worker_restarts", 6),
            ("messages_forwarded", 25),
            ("messages_unhandled", 17),
            ("waiting", 7),
            ("messages_rate_limited", 13),
            ("messages_diverted", 4),
            ("jobs_expired", 1),
            ("jobs_lost", 6),
            ("jobs_crashed", 5),
            ("workers_stuck", 2),
        ];
        for (item, number) in items {
            assert_eq!(inspection.number(item), Some(number), "{item}");
        }
        assert_eq!(inspection.number("draining"), None);
    });
}

#[test]
fn p6_the_latencies_of_a_report_and_of_an_inspection_are_those_of_the_statistics() {
    reported(|journal| {
        let sim = Simulation::new(1);
        let factory = workers(&Log::new());
        let pool = move || Pool::new(1, factory).measured().report_every(seconds(200));
        let pool: PoolAddress = sim.spawn(pool).wait().unwrap();
        // They wait for 0, 10, 19, .. s, and take 10, 9, 8, .. s.
        (1..=10).rev().for_each(|n| pool.send(Job::Slow(0, seconds(n))).unwrap());
        sim.advance(seconds(199));
        let numbers = numbers(&pool);
        let (wait, service) = (numbers.wait.unwrap(), numbers.service.unwrap());
        assert_eq!((wait.count, wait.mean, wait.max), (10, seconds(33), seconds(54)));
        assert_eq!((service.count, service.mean, service.max), (10, millis(5_500), seconds(10)));
        let exact = [(wait.p50, 34), (wait.p90, 52), (service.p50, 5), (service.p90, 9)];
        for (quantile, exact) in exact {
            let exact = seconds(exact);
            assert!(quantile >= exact && quantile <= exact + exact / 16, "{quantile:?}");
        }
        assert_eq!((wait.p99, service.p99), (seconds(54), seconds(10)));
        let said = crate::pool_support::inspect(&pool);
        for (item, of) in [("wait", wait), ("service", service)] {
            let [mean, p50, p90, p99, max] = [of.mean, of.p50, of.p90, of.p99, of.max];
            let record = Inspection::new().with("count", of.count).with("mean", mean);
            let record = record.with("p50", p50).with("p90", p90).with("p99", p99).with("max", max);
            assert_eq!(said.value(item), Some(&record.into()));
        }
        sim.advance(seconds(1));
        let times = [
            ("wait_p50", wait.p50),
            ("wait_p99", wait.p99),
            ("service_p50", service.p50),
            ("service_p99", service.p99),
        ];
        let report = journal.take().concat();
        for (name, time) in times {
            assert!(report.split(' ').any(|field| field == format!("{name}={time:?}")), "{report}");
        }
    });
}

#[test]
fn p4_a_back_off_is_kept_while_reports_are_made_and_workers_are_looked_at() {
    reported(|journal| {
        for sim in simulations(3) {
            let (log, fails) = (Log::new(), Arc::new(AtomicBool::new(false)));
            let (noted, failing) = (log.clone(), Arc::clone(&fails));
            let elastic = Elastic::between(2, 2).every(millis(300));
            let pool = move || {
                Pool::new(2, move || Frail(noted.clone(), Arc::clone(&failing)))
                    .back_off(seconds(2), seconds(8))
                    .report_every(millis(500))
                    .stuck_limit(millis(700))
                    .elastic(elastic)
            };
            let pool: PoolAddress = sim.spawn(pool).wait().unwrap();
            log.take();
            fails.store(true, Ordering::Relaxed);
            pool.send(Job::End(boom())).unwrap();
            sim.advance(seconds(13));
            assert_eq!(log.take(), ["0ns", "2s", "6s"], "not before its time");
            assert_eq!(journal.take().len(), 26, "and all reports are made meanwhile");
            // Nor is one that is stuck left alone, and it has a back-off of its own.
            pool.send(Job::Hang).unwrap();
            sim.advance(millis(1_500));
            assert_eq!(log.take(), ["13.7s", "14s"]);
            assert_eq!((numbers(&pool).stuck, numbers(&pool).workers), (1, 0));
            fails.store(false, Ordering::Relaxed);
            sim.advance(seconds(30));
            assert_eq!(log.take(), ["15.7s", "22s"]);
            assert_eq!((numbers(&pool).workers, numbers(&pool).restarts), (2, 2));
            // A place that fails anew begins with the first delay again.
            fails.store(true, Ordering::Relaxed);
            pool.send(Job::End(boom())).unwrap();
            sim.advance(seconds(3));
            assert_eq!(log.take(), ["44.5s", "46.5s"]);
            // Nor does a try wait for a report.
            let (log, fails) = (Log::new(), Arc::new(AtomicBool::new(false)));
            let (noted, failing) = (log.clone(), Arc::clone(&fails));
            let pool = move || {
                Pool::new(1, move || Frail(noted.clone(), Arc::clone(&failing)))
                    .back_off(seconds(1), seconds(9))
                    .report_every(seconds(60))
                    .stuck_limit(seconds(60))
            };
            let pool: PoolAddress = sim.spawn(pool).wait().unwrap();
            fails.store(true, Ordering::Relaxed);
            pool.send(Job::End(boom())).unwrap();
            log.take();
            sim.advance(seconds(8));
            assert_eq!(log.take().len(), 4);
            journal.take();
        }
    });
}

#[test]
fn p12_a_worker_that_ended_during_a_job_is_not_stuck() {
    for sim in simulations(5) {
        let fails = Arc::new(AtomicBool::new(false));
        let failing = Arc::clone(&fails);
        let factory = move || Frail(Log::new(), Arc::clone(&failing));
        let pool = Pool::new(1, factory).stuck_limit(seconds(5));
        let pool = pool.back_off(seconds(60), seconds(60));
        let pool: PoolAddress = sim.spawn(move || pool).wait().unwrap();
        fails.store(true, Ordering::Relaxed);
        pool.send(Job::End(boom())).unwrap();
        sim.advance(seconds(59));
        let of = |pool| {
            let numbers = numbers(pool);
            (numbers.places, numbers.workers, numbers.restarts, numbers.stuck, numbers.crashed)
        };
        assert_eq!(of(&pool), (1, 0, 0, 0, 1));
        fails.store(false, Ordering::Relaxed);
        sim.advance(seconds(1));
        assert_eq!(of(&pool), (1, 1, 1, 0, 1));
    }
}

/// Always has something to do.
struct Busy;

impl PoolBehavior for Busy {
    type Job = Job;
    type Command = ();

    async fn handle_command(&mut self, pool: &mut PoolContext<'_, Job, ()>, (): ()) -> Result {
        pool.address().command(())?;
        pool.sleep(millis(100)).await;
        Ok(())
    }
}

#[test]
fn p12_periodic_work_happens_under_a_flood_of_commands() {
    for sim in simulations(5) {
        let factory = workers(&Log::new());
        let pool = move || Pool::new(1, factory).stuck_limit(seconds(2)).behavior(Busy);
        let pool = sim.spawn(pool).wait().unwrap();
        pool.send(Job::Hang).unwrap();
        pool.command(()).unwrap();
        sim.advance(seconds(3));
        let numbers = pool.statistics().wait().unwrap();
        assert_eq!((numbers.stuck, numbers.restarts, numbers.workers), (1, 1, 1));
    }
}

/// Notes which workers have ended, and why.
struct Hears(Log);

impl PoolBehavior for Hears {
    type Job = ();
    type Command = ();

    async fn handle_command(&mut self, _: &mut PoolContext<'_, (), ()>, (): ()) -> Result {
        Ok(())
    }

    async fn handle_worker_exit(&mut self, _: &mut PoolContext<'_, (), ()>, exit: &Exit) -> Result {
        self.0.note(&exit.reason);
        Ok(())
    }

    async fn handle_exit(&mut self, _: &mut PoolContext<'_, (), ()>, _: Exit) -> Result {
        self.0.note("of another");
        Ok(())
    }
}

#[test]
fn p14_a_signal_of_a_worker_that_was_given_up_and_blocks_its_thread_is_not_its_end() {
    let node = Node::builder("p14").workers(2).start().unwrap();
    let (log, (to, told)) = (Log::new(), std::sync::mpsc::channel::<Pid>());
    let (signalled, signals) = std::sync::mpsc::channel();
    let told = Arc::new(std::sync::Mutex::new(told));
    let factory = move || {
        let (told, signalled) = (Arc::clone(&told), signalled.clone());
        behavior_fn(move |mut ctx: Context<()>| async move {
            ctx.receive().await;
            let next = || told.lock().unwrap().recv();
            if let Ok(pool) = next() {
                ctx.exit(pool, boom());
                signalled.send(()).unwrap();
                let _ = next();
            }
            std::future::pending::<Result>().await
        })
    };
    let hears = Hears(log.clone());
    let pool = move || Pool::new(1, factory).stuck_limit(millis(20)).behavior(hears);
    let pool = node.spawn(pool).wait().unwrap();
    pool.send(()).unwrap();
    while pool.statistics().wait().unwrap().stuck == 0 {
        std::thread::yield_now();
    }
    to.send(pool.pid()).unwrap();
    signals.recv().unwrap();
    // The pool hears of signals in their order: when it has heard of this one it knows the other.
    let to_pool = pool.pid();
    let other = behavior_fn(move |ctx: Context<()>| async move {
        ctx.exit(to_pool, boom());
        Ok(())
    });
    node.spawn(move || other).start().unwrap();
    while log.lines().is_empty() {
        std::thread::yield_now();
    }
    let early = log.take();
    drop(to);
    assert_eq!(early, ["of another"], "it has sent a signal, and has not ended");
    while log.lines().is_empty() {
        std::thread::yield_now();
    }
    assert_eq!(log.take(), ["killed"]);
    node.stop().wait().unwrap();
}

#[test]
fn p13_an_elastic_pool_logs_only_changes_of_its_size() {
    let journal = Log::new();
    let noted = journal.clone();
    let told = Journal::new(
        |event| event.target() == "krarup" && event.fields().field("change").is_some(),
        move |fields| {
            let wanted = ["size", "waiting", "change"];
            let fields = fields.iter().filter(|(name, _)| wanted.contains(name));
            let fields: Vec<_> = fields.map(|(name, value)| format!("{name}={value}")).collect();
            noted.note(fields.join(" "));
        },
    );
    tracing::subscriber::with_default(told, || {
        for sim in simulations(2) {
            let factory = workers(&Log::new());
            let elastic = Elastic::between(1, 3).grow_at(2).step(2).every(seconds(1));
            let elastic = elastic.cool_down(seconds(0));
            let pool: PoolAddress =
                sim.spawn(move || Pool::new(1, factory).elastic(elastic)).wait().unwrap();
            pool.send(Job::Slow(1, millis(2_500))).unwrap();
            sim.advance(millis(1_500));
            assert_eq!(journal.take(), [""; 0]);
            (0..2).for_each(|n| pool.send(Job::Slow(n, millis(100))).unwrap());
            sim.advance(seconds(1));
            assert_eq!(journal.take(), ["size=1 waiting=2 change=Grow(2)"]);
            sim.advance(millis(400));
            assert_eq!(journal.take(), [""; 0]);
            sim.advance(seconds(1));
            assert_eq!(journal.take(), ["size=3 waiting=0 change=Shrink(2)"]);
            sim.advance(seconds(9));
            assert_eq!(journal.take(), [""; 0]);
        }
    });
}
