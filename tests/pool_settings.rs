//! Every number and every time that a pool can be given, at its ends: it is refused with an error
//! that names it, or it has a meaning, and the pool works (rule B1).

mod pool_support;
mod support;

use krarup::prelude::*;
use krarup::{Elastic, PoolError, Rate};
use pool_support::{Job, PoolAddress, Worker, millis, numbers, seconds, workers};
use std::time::Duration;
use support::{Log, boom};

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
    let _ = support::poll_once(&mut wait);
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
fn b1_a_setting_at_its_end_has_a_meaning() {
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
