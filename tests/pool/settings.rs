//! Every number and every time that a pool can be given, at its ends: it is refused with an error
//! that names it, or it has a meaning, and the pool works (rule B1).

use crate::pool_support::{Job, PoolAddress, Worker, millis, numbers, seconds, workers};
use crate::support::{Log, boom};
use krarup::mailbox::Overflow;
use krarup::pool::{
    ByKey, Choice, Elastic, LeastLoaded, PoolBehavior, PoolContext, PoolError, Rate, Routing,
    Workers,
};
use krarup::prelude::*;
use std::time::Duration;

type Configure = Box<dyn Fn(Pool<Worker>) -> Pool<Worker> + Send>;

fn setting(set: impl Fn(Pool<Worker>) -> Pool<Worker> + Send + 'static) -> Configure {
    Box::new(set)
}

/// Spawns a pool of this size with this setting. If there can be such a pool it does all that a
/// pool does.
fn outcome(size: usize, set: Configure) -> Result<(), PoolError> {
    let sim = Simulation::new(1);
    let factory = workers(&Log::new());
    let pool = sim.spawn(move || set(Pool::new(size, factory))).wait();
    let pool: PoolAddress = match pool {
        Ok(pool) => pool,
        Err(SpawnError::Init(reason)) => {
            assert_eq!(sim.stats().processes, 0, "nothing was started");
            return Err(reason.downcast_ref::<PoolError>().expect("a pool's own error").clone());
        }
        Err(error) => panic!("{error}"),
    };
    let _ = pool.send(Job::Slow(1, millis(10)));
    let _ = pool.send(Job::End(boom()));
    sim.run_until_idle();
    for _ in 0..4 {
        let _ = (pool.send(Job::Note(1)), pool.reserve());
    }
    let mut wait = pool.send_or_wait(Job::Note(2)).timeout(millis(50)).into_future();
    let _ = crate::support::poll_once(&mut wait);
    sim.advance(seconds(2));
    if !pool.is_alive() {
        // No replacement was allowed.
        assert_eq!(sim.stats().processes, 0);
        return Ok(());
    }
    let numbers = numbers(&pool);
    assert_eq!(numbers.received(), numbers.forwarded + numbers.unhandled);
    let _ = (pool.add_workers(1).wait(), pool.remove_workers(1).wait());
    sim.advance(millis(20));
    pool.stop().wait().unwrap();
    assert_eq!(sim.stats().processes, 0);
    Ok(())
}

/// Times from the shortest to the longest.
const TIMES: [Duration; 4] =
    [Duration::from_nanos(1), Duration::from_millis(1), Duration::from_secs(1), Duration::MAX];

#[test]
fn b1_extreme_settings_have_a_defined_meaning() {
    let mut settings = vec![
        setting(|pool| pool.mailbox(1)),
        setting(|pool| pool.mailbox(usize::MAX)),
        setting(|pool| pool.rate(Rate::per_second(1e-9))),
        setting(|pool| pool.rate(Rate::per_second(1e-9).burst(9))),
        setting(|pool| pool.rate(Rate::per_second(1e9).burst(u32::MAX))),
        setting(|pool| pool.rate(Rate::per_second(f64::MIN_POSITIVE.max(1.0)))),
        setting(|pool| pool.intensity(0, Duration::MAX)),
        setting(|pool| pool.intensity(u32::MAX, Duration::MAX)),
        setting(|pool| pool.elastic(Elastic::between(1, 1 << 20).step(1))),
        setting(|pool| pool.elastic(Elastic::between(1, 3).grow_at(usize::MAX))),
        setting(|pool| pool.elastic(Elastic::between(1, 3).grow_at(1).step(usize::MAX))),
        setting(|pool| {
            pool.elastic(Elastic::between(1, 3).shrink_at(usize::MAX - 1).grow_at(usize::MAX))
        }),
        setting(|pool| pool.elastic(Elastic::between(1, 3).grow_at(1).cool_down(Duration::ZERO))),
    ];
    for time in TIMES {
        settings.extend([
            setting(move |pool| pool.time_to_live(time)),
            setting(move |pool| pool.time_to_live_of(move |_| Some(time))),
            setting(move |pool| pool.stuck_limit(time)),
            setting(move |pool| pool.init_timeout(time)),
            setting(move |pool| pool.report_every(time)),
            setting(move |pool| pool.intensity(5, time)),
            setting(move |pool| pool.back_off(time, time)),
            setting(move |pool| pool.back_off(time, Duration::MAX)),
            setting(move |pool| pool.elastic(Elastic::between(1, 3).every(time))),
            setting(move |pool| pool.elastic(Elastic::between(1, 3).grow_at(1).cool_down(time))),
        ]);
    }
    settings.push(setting(|pool| pool.time_to_live_of(|_| Some(Duration::ZERO))));
    for (n, set) in settings.into_iter().enumerate() {
        assert_eq!(outcome(2, set), Ok(()), "setting {n}");
    }
    assert_eq!(outcome(1, setting(|pool| pool)), Ok(()));
}

#[test]
fn b1_a_setting_without_meaning_is_an_error_that_names_it() {
    let zero = Duration::ZERO;
    let most = 1 << 20;
    let elastic = |elastic: Elastic| setting(move |pool| pool.elastic(elastic));
    let long = |time: Duration| setting(move |pool| pool.back_off(time, seconds(1)));
    let cases = [
        (setting(|pool| pool.mailbox(0)), PoolError::ZeroMailbox),
        (setting(|pool| pool.rate(Rate::per_second(1.0).burst(0))), PoolError::ZeroBurst),
        (
            setting(|pool| pool.rate(Rate::per_second(1e-9).burst(u32::MAX))),
            PoolError::LongBurst { jobs: 1e-9, burst: u32::MAX },
        ),
        (setting(move |pool| pool.time_to_live(zero)), PoolError::ZeroTimeToLive),
        (setting(move |pool| pool.stuck_limit(zero)), PoolError::ZeroStuckLimit),
        (setting(move |pool| pool.init_timeout(zero)), PoolError::ZeroInitTimeout),
        (setting(move |pool| pool.report_every(zero)), PoolError::ZeroReportPeriod),
        (setting(move |pool| pool.intensity(1, zero)), PoolError::ZeroPeriod),
        (setting(move |pool| pool.intensity(0, zero)), PoolError::ZeroPeriod),
        (long(zero), PoolError::BackOff { first: zero, most: seconds(1) }),
        (long(Duration::MAX), PoolError::BackOff { first: Duration::MAX, most: seconds(1) }),
        (elastic(Elastic::between(0, 3)), PoolError::ElasticRange { min: 0, max: 3 }),
        (elastic(Elastic::between(3, 2)), PoolError::ElasticRange { min: 3, max: 2 }),
        (elastic(Elastic::between(3, 4)), PoolError::ElasticSize { size: 2, min: 3, max: 4 }),
        (
            elastic(Elastic::between(1, usize::MAX)),
            PoolError::TooManyWorkers { workers: usize::MAX, most },
        ),
        (
            elastic(Elastic::between(1, 3).shrink_at(usize::MAX)),
            PoolError::ElasticThresholds { grow_at: 4, shrink_at: usize::MAX },
        ),
        (
            elastic(Elastic::between(1, 3).step(0)),
            PoolError::ElasticStep { step: 0, every: millis(100) },
        ),
        (
            elastic(Elastic::between(1, 3).every(zero)),
            PoolError::ElasticStep { step: 1, every: zero },
        ),
    ];
    for (set, error) in cases {
        assert_eq!(outcome(2, set), Err(error));
    }
    for jobs in [0.0, -0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 5e-324, 1e-20, 1e10] {
        let refused = outcome(2, setting(move |pool| pool.rate(Rate::per_second(jobs))));
        let names = |rate: f64| rate.to_bits() == jobs.to_bits();
        assert!(matches!(refused, Err(PoolError::Rate(rate)) if names(rate)), "{jobs}");
    }
    assert_eq!(outcome(0, setting(|pool| pool)), Err(PoolError::NoWorkers));
    let many = PoolError::TooManyWorkers { workers: usize::MAX, most };
    assert_eq!(outcome(usize::MAX, setting(|pool| pool)), Err(many));
}

#[test]
fn b1_the_last_time_to_live_that_is_set_counts() {
    let zero = Duration::ZERO;
    let of = |time: Duration| move |_: &Job| Some(time);
    let dead = [
        setting(move |pool| pool.time_to_live_of(of(seconds(1))).time_to_live(zero)),
        setting(move |pool| pool.time_to_live(seconds(1)).time_to_live(zero)),
    ];
    for set in dead {
        assert_eq!(outcome(2, set), Err(PoolError::ZeroTimeToLive));
    }
    let alive = [
        setting(move |pool| pool.time_to_live(zero).time_to_live_of(of(seconds(1)))),
        setting(move |pool| pool.time_to_live(zero).time_to_live(seconds(1))),
    ];
    for set in alive {
        assert_eq!(outcome(2, set), Ok(()));
    }
}

/// A behaviour that does nothing.
struct Idle;

impl PoolBehavior for Idle {
    type Job = Job;
    type Command = ();

    async fn handle_command(&mut self, _: &mut PoolContext<'_, Job, ()>, (): ()) -> Result {
        Ok(())
    }
}

#[test]
fn b1_settings_made_before_routing_and_behaviour_are_kept() {
    let sim = Simulation::new(1);
    let factory = workers(&Log::new());
    let pool = move || {
        Pool::new(1, factory)
            .mailbox(2)
            .overflow(Overflow::DropNewest)
            .rate(Rate::per_second(1.0).burst(3))
            .time_to_live(seconds(60))
            .measured()
            .stuck_limit(seconds(5))
            .elastic(Elastic::between(1, 2).grow_at(99))
            .intensity(0, seconds(1))
            .routing(LeastLoaded::new())
            .behavior(Idle)
    };
    let pool = sim.spawn(pool).wait().unwrap();
    pool.send(Job::Hang).unwrap();
    sim.run_until_idle();
    (0..2).for_each(|n| pool.send(Job::Note(n)).unwrap());
    assert!(matches!(pool.send(Job::Note(2)), Err(SendError::RateLimited { .. })));
    sim.advance(seconds(1));
    assert!(pool.send(Job::Note(3)).is_ok());
    assert_eq!((pool.waiting(), sim.stats().dead_letters), (2, 1), "it is dropped");
    let inspection = pool.inspect().wait().unwrap();
    let known = [
        ("worker_mailbox_size", 2),
        ("messages_rate_limited", 1),
        ("jobs_expired", 0),
        ("workers_stuck", 0),
        ("workers_min", 1),
        ("workers_max", 2),
    ];
    for (item, number) in known {
        assert_eq!(inspection.number(item), Some(number), "{item}");
    }
    assert!(inspection.value("wait").is_some() && inspection.value("messages_diverted").is_none());
    let end = pool.watch();
    sim.advance(seconds(4));
    let error = PoolError::TooManyReplacements { replacements: 0, period: seconds(1) };
    assert_eq!(end.wait().unwrap().reason.downcast_ref(), Some(&error));
}

#[test]
fn the_debug_text_of_a_pool_shows_its_size() {
    let pool = Pool::new(3, workers(&Log::new())).mailbox(7);
    assert_eq!(format!("{pool:?}"), "Pool { size: 3, mailbox: Some(7), .. }");
}

/// Notes in the log how what it gets is printed.
struct Printed(Log);

impl Routing<Job> for Printed {
    fn choose(&self, _: u64, workers: &Workers<'_>) -> Choice<Job> {
        self.0.note(format!("{workers:?}"));
        Choice::After(0)
    }
}

impl PoolBehavior for Printed {
    type Job = Job;
    type Command = ();

    async fn handle_command(&mut self, pool: &mut PoolContext<'_, Job, ()>, (): ()) -> Result {
        self.0.note(format!("{pool:?}"));
        Ok(())
    }
}

#[test]
fn the_settings_and_results_of_a_pool_have_a_debug_format() {
    let choices = [Choice::After(3), Choice::Only(4), Choice::Every(Clone::clone), Choice::None];
    let printed: Vec<_> = choices.iter().map(|choice: &Choice<u8>| format!("{choice:?}")).collect();
    assert_eq!(printed, ["After(3)", "Only(4)", "Every(..)", "None"]);
    assert_eq!(format!("{:?}", ByKey::new(|number: &u8| *number)), "ByKey");
    let sim = Simulation::new(1);
    let (log, factory) = (Log::new(), workers(&Log::new()));
    let (routing, behavior) = (Printed(log.clone()), Printed(log.clone()));
    let pool = move || Pool::new(2, factory).routing(routing).behavior(behavior);
    let pool = sim.spawn(pool).wait().unwrap();
    pool.send(Job::Note(1)).unwrap();
    pool.command(()).unwrap();
    sim.run_until_idle();
    let context = format!("PoolContext({})", pool.pid());
    assert_eq!(log.take(), ["Workers { count: 2, .. }".to_owned(), context]);
    assert_eq!(pool.info().behavior.to_string(), "Pool");
}

#[test]
fn b1_a_time_under_a_millisecond_counts_as_one() {
    let sim = Simulation::new(1);
    let factory = workers(&Log::new());
    let pool = move || Pool::new(1, factory).stuck_limit(Duration::from_micros(1));
    let pool: PoolAddress = sim.spawn(pool).wait().unwrap();
    pool.send(Job::Hang).unwrap();
    sim.run_until_idle();
    for _ in 0..9 {
        sim.advance(Duration::from_micros(100));
        assert_eq!(numbers(&pool).stuck, 0);
    }
    sim.advance(millis(1));
    assert_eq!(numbers(&pool).stuck, 1);
}

#[test]
fn b1_a_bound_of_the_mailbox_of_a_pool_itself_is_an_error() {
    let sim = Simulation::new(1);
    let factory = workers(&Log::new());
    let pool = sim.spawn(move || Pool::new(1, factory)).mailbox(5).wait();
    let Err(SpawnError::Init(reason)) = pool else { panic!("it holds no work") };
    assert_eq!(reason.downcast_ref(), Some(&PoolError::MailboxOfPool(5)));
    assert_eq!(sim.stats().processes, 0);
}
