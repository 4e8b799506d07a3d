//! The settings of a pool, and which values are invalid.

use super::elastic::Elastic;
use super::job_watch::OnDiscard;
use super::rate::{InvalidRate, Rate};
use super::shared::TimeToLive;
use crate::mailbox::overflow::Overflow;
use std::time::Duration;

/// The first and the longest delay between two attempts to start a replacement; doubled each
/// time.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));

/// How long a worker may take to initialise.
const INIT_TIMEOUT: Duration = Duration::from_secs(5);
/// More workers than this are a mistake: a routing may examine each of them.
pub(super) const MOST_WORKERS: usize = 1 << 20;
/// The shortest time that a pool keeps, so that it does not check itself more often.
const SHORTEST: Duration = Duration::from_millis(1);

/// An invalid setting of a pool, or the reason of a pool that gave up.
///
/// The spawn fails with it before anything has been started, except for
/// [`PoolError::TooManyReplacements`].
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PoolError {
    /// A pool of no workers.
    #[error("a pool cannot start with 0 workers")]
    NoWorkers,
    /// A pool of more workers than the limit.
    #[error("a pool of {workers} workers exceeds the limit of {most}")]
    TooManyWorkers {
        /// How many workers there are at the start, or at most in an elastic pool.
        workers: usize,
        /// The most workers that a pool can have.
        most: usize,
    },
    /// The pool's own mailbox was bounded, but it holds no jobs.
    /// [`Pool::mailbox`](crate::Pool::mailbox) sets the bound of the workers.
    #[error(
        "a mailbox bound of {0} was set on the pool itself; use Pool::mailbox to bound its workers"
    )]
    MailboxOfPool(usize),
    /// A mailbox bound of 0.
    #[error("a worker mailbox bound of 0 would refuse every message")]
    ZeroMailbox,
    /// An overflow rule for a pool whose workers have no bound.
    #[error("an overflow rule needs a mailbox bound: set Pool::mailbox")]
    OverflowWithoutBound,
    /// An overflow rule that drops the oldest message. The messages are in many mailboxes, so
    /// the oldest is not known.
    #[error("a pool cannot drop the oldest message: each worker has its own mailbox")]
    DropOldest,
    /// A rate that is not between 10⁻⁹ and 10⁹.
    #[error("a rate of {0} jobs per second is not between 1e-9 and 1e9")]
    Rate(f64),
    /// A rate with a burst of 0.
    #[error("a burst of 0 jobs would refuse every message")]
    ZeroBurst,
    /// A burst that the rate takes longer to fill than the clock of a node lasts.
    #[error("a burst of {burst} jobs takes over 292 years to fill at {jobs} jobs per second")]
    LongBurst {
        /// Jobs per second.
        jobs: f64,
        /// Jobs at once.
        burst: u32,
    },
    /// A time to live of zero.
    #[error("a time to live of 0 s would discard every job that waits")]
    ZeroTimeToLive,
    /// A stuck limit of zero.
    #[error("a stuck limit of 0 s would kill every worker")]
    ZeroStuckLimit,
    /// An init timeout of zero.
    #[error("an init timeout of 0 s would kill every worker")]
    ZeroInitTimeout,
    /// A report period of zero.
    #[error("a pool cannot report every 0 s")]
    ZeroReportPeriod,
    /// An intensity with a period of zero.
    #[error("a replacement period of 0 s would never count a replacement")]
    ZeroPeriod,
    /// A back-off whose first delay is zero or longer than the last.
    #[error(
        "invalid back-off from {first:?} to {most:?}: the first delay must be above zero and at most the last"
    )]
    BackOff {
        /// The first delay.
        first: Duration,
        /// The last delay.
        most: Duration,
    },
    /// An elastic pool with a minimum of 0, or a maximum below the minimum.
    #[error(
        "invalid elastic range of {min} to {max} workers: the minimum must be at least 1 and at most the maximum"
    )]
    ElasticRange {
        /// The minimum number of workers.
        min: usize,
        /// The maximum number of workers.
        max: usize,
    },
    /// An initial size outside the range of the elastic pool.
    #[error("a pool size of {size} is outside the elastic range of {min} to {max}")]
    ElasticSize {
        /// The number of workers at the start.
        size: usize,
        /// The minimum number of workers.
        min: usize,
        /// The maximum number of workers.
        max: usize,
    },
    /// An elastic pool that would grow and shrink at the same length of its queue.
    #[error("an elastic pool cannot grow at {grow_at} waiting messages and shrink at {shrink_at}")]
    ElasticThresholds {
        /// It grows at this many messages for each worker.
        grow_at: usize,
        /// It shrinks at this many.
        shrink_at: usize,
    },
    /// An elastic pool that changes by 0 workers, or checks every 0 s.
    #[error("an elastic pool cannot change by {step} workers every {every:?}")]
    ElasticStep {
        /// By how many workers it changes.
        step: usize,
        /// How often it checks its size.
        every: Duration,
    },
    /// More workers had to be replaced than the intensity allows. The pool has ended with this
    /// reason.
    #[error("more than {replacements} replacements within {period:?}")]
    TooManyReplacements {
        /// How many replacements are allowed.
        replacements: u32,
        /// The period in which they are counted.
        period: Duration,
    },
}

pub(super) struct PoolSettings<M> {
    pub(super) size: usize,
    pub(super) mailbox: Option<usize>,
    pub(super) overflow: Overflow<M>,
    pub(super) rate: Option<Rate>,
    pub(super) time_to_live: Option<TimeToLive<M>>,
    /// Whether a time to live of zero was set.
    pub(super) dead_at_once: bool,
    pub(super) on_discard: Option<OnDiscard<M>>,
    pub(super) measured: bool,
    pub(super) report: Option<Duration>,
    pub(super) stuck: Option<Duration>,
    pub(super) init_timeout: Duration,
    pub(super) elastic: Option<Elastic>,
    pub(super) intensity: Option<(u32, Duration)>,
    pub(super) back_off: (Duration, Duration),
}

impl<M> PoolSettings<M> {
    pub(super) fn new(size: usize) -> Self {
        PoolSettings {
            size,
            mailbox: None,
            overflow: Overflow::Refuse,
            rate: None,
            time_to_live: None,
            dead_at_once: false,
            on_discard: None,
            measured: false,
            report: None,
            stuck: None,
            init_timeout: INIT_TIMEOUT,
            elastic: None,
            intensity: None,
            back_off: BACK_OFF,
        }
    }

    /// Whether any setting needs to watch the jobs on their way.
    pub(super) fn watches(&self) -> bool {
        self.time_to_live.is_some()
            || self.on_discard.is_some()
            || self.measured
            || self.stuck.is_some()
    }

    /// Checks the settings before anything is started (rule B1).
    pub(super) fn check(&self) -> Result<(), PoolError> {
        let zero = |period: Option<Duration>| period.is_some_and(|period| period.is_zero());
        let (first, most) = self.back_off;
        let error = if self.size == 0 {
            PoolError::NoWorkers
        } else if self.size > MOST_WORKERS {
            PoolError::TooManyWorkers { workers: self.size, most: MOST_WORKERS }
        } else if self.mailbox == Some(0) {
            PoolError::ZeroMailbox
        } else if matches!(self.overflow, Overflow::DropOldest) {
            PoolError::DropOldest
        } else if self.mailbox.is_none() && !matches!(self.overflow, Overflow::Refuse) {
            PoolError::OverflowWithoutBound
        } else if self.dead_at_once {
            PoolError::ZeroTimeToLive
        } else if zero(self.stuck) {
            PoolError::ZeroStuckLimit
        } else if self.init_timeout.is_zero() {
            PoolError::ZeroInitTimeout
        } else if zero(self.report) {
            PoolError::ZeroReportPeriod
        } else if zero(self.intensity.map(|(_, period)| period)) {
            PoolError::ZeroPeriod
        } else if first.is_zero() || most < first {
            PoolError::BackOff { first, most }
        } else {
            match self.rate.map_or(Ok(()), Rate::check) {
                Err(InvalidRate::Jobs(jobs)) => PoolError::Rate(jobs),
                Err(InvalidRate::NoBurst) => PoolError::ZeroBurst,
                Err(InvalidRate::LongBurst(jobs, burst)) => PoolError::LongBurst { jobs, burst },
                Ok(()) => {
                    return self.elastic.map_or(Ok(()), |elastic| self.check_elastic(elastic));
                }
            }
        };
        Err(error)
    }

    /// Returns the same settings, with every time raised to the shortest that a pool keeps.
    pub(super) fn rounded(mut self) -> Self {
        let round = |time: &mut Duration| *time = (*time).max(SHORTEST);
        let (first, most) = &mut self.back_off;
        let always = [first, most, &mut self.init_timeout];
        let chosen = [&mut self.report, &mut self.stuck].into_iter().flatten();
        let looks = self.elastic.as_mut().map(|elastic| &mut elastic.every);
        always.into_iter().chain(chosen).chain(looks).for_each(round);
        self
    }

    fn check_elastic(&self, elastic: Elastic) -> Result<(), PoolError> {
        let Elastic { min, max, grow_at, shrink_at, step, every, .. } = elastic;
        let size = self.size;
        if min == 0 || max < min {
            return Err(PoolError::ElasticRange { min, max });
        }
        if max > MOST_WORKERS {
            return Err(PoolError::TooManyWorkers { workers: max, most: MOST_WORKERS });
        }
        if !(min..=max).contains(&size) {
            return Err(PoolError::ElasticSize { size, min, max });
        }
        if grow_at <= shrink_at {
            return Err(PoolError::ElasticThresholds { grow_at, shrink_at });
        }
        if step == 0 || every.is_zero() {
            return Err(PoolError::ElasticStep { step, every });
        }
        Ok(())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn settings(set: impl FnOnce(&mut PoolSettings<u8>)) -> PoolSettings<u8> {
        let mut settings = PoolSettings::new(2);
        set(&mut settings);
        settings
    }

    #[test]
    fn times_are_raised_to_the_shortest_and_longer_ones_are_kept() {
        let short = Duration::from_nanos(1);
        let elastic = Elastic::between(1, 2).every(short).cool_down(short);
        let all = |time| {
            let settings = settings(|settings| {
                settings.back_off = (time, time);
                settings.init_timeout = time;
                settings.report = Some(time);
                settings.stuck = Some(time);
                settings.intensity = Some((1, time));
                settings.elastic = Some(elastic.every(time));
            });
            let settings = settings.rounded();
            let (first, most) = settings.back_off;
            let chosen = [settings.report, settings.stuck].map(Option::unwrap_or_default);
            let elastic = settings.elastic.unwrap_or(elastic);
            let kept = [settings.intensity.unwrap_or_default().1, elastic.cool_down];
            (vec![first, most, settings.init_timeout, chosen[0], chosen[1], elastic.every], kept)
        };
        assert_eq!(all(short), (vec![SHORTEST; 6], [short; 2]));
        let long = Duration::from_secs(9);
        assert_eq!(all(long), (vec![long; 6], [long, short]));
        let none = settings(|_| {}).rounded();
        assert_eq!((none.report, none.stuck, none.elastic), (None, None, None));
    }

    #[test]
    fn jobs_are_watched_if_any_setting_needs_it() {
        let watches = |set: fn(&mut PoolSettings<u8>)| settings(set).watches();
        assert!(watches(|settings| settings.time_to_live = Some(std::sync::Arc::new(|_| None))));
        assert!(watches(|settings| settings.on_discard = Some(std::sync::Arc::new(|_, _| {}))));
        assert!(watches(|settings| settings.measured = true));
        assert!(watches(|settings| settings.stuck = Some(SHORTEST)));
        assert!(!watches(|settings| {
            settings.mailbox = Some(1);
            settings.report = Some(SHORTEST);
            settings.elastic = Some(Elastic::between(1, 2));
        }));
    }

    #[test]
    fn a_pool_can_have_the_maximum_of_workers_and_no_more() {
        let of = |size| settings(|settings| settings.size = size).check();
        let most = MOST_WORKERS;
        assert_eq!((of(most), of(1)), (Ok(()), Ok(())));
        assert_eq!(of(most + 1), Err(PoolError::TooManyWorkers { workers: most + 1, most }));
        let elastic = |min, max| {
            settings(|settings| settings.elastic = Some(Elastic::between(min, max))).check()
        };
        assert_eq!((elastic(1, most), elastic(2, 2)), (Ok(()), Ok(())));
        let workers = most + 1;
        assert_eq!(elastic(1, workers), Err(PoolError::TooManyWorkers { workers, most }));
        assert_eq!(elastic(1, 1), Err(PoolError::ElasticSize { size: 2, min: 1, max: 1 }));
        let thresholds = |grow_at, shrink_at| {
            let elastic = Elastic::between(1, 2).grow_at(grow_at).shrink_at(shrink_at);
            settings(|settings| settings.elastic = Some(elastic)).check()
        };
        assert_eq!(thresholds(1, 0), Ok(()));
        let error = PoolError::ElasticThresholds { grow_at: 0, shrink_at: 0 };
        assert_eq!(thresholds(0, 0), Err(error));
    }

    #[test]
    fn each_invalid_setting_has_an_error_text() {
        let zero = Duration::ZERO;
        let said = [
            (PoolError::NoWorkers, "a pool cannot start with 0 workers"),
            (
                PoolError::TooManyWorkers { workers: 9, most: 8 },
                "a pool of 9 workers exceeds the limit of 8",
            ),
            (
                PoolError::MailboxOfPool(5),
                "a mailbox bound of 5 was set on the pool itself; use Pool::mailbox to bound its workers",
            ),
            (PoolError::ZeroMailbox, "a worker mailbox bound of 0 would refuse every message"),
            (
                PoolError::OverflowWithoutBound,
                "an overflow rule needs a mailbox bound: set Pool::mailbox",
            ),
            (
                PoolError::DropOldest,
                "a pool cannot drop the oldest message: each worker has its own mailbox",
            ),
            (PoolError::ZeroBurst, "a burst of 0 jobs would refuse every message"),
            (PoolError::ZeroTimeToLive, "a time to live of 0 s would discard every job that waits"),
            (PoolError::ZeroStuckLimit, "a stuck limit of 0 s would kill every worker"),
            (PoolError::ZeroInitTimeout, "an init timeout of 0 s would kill every worker"),
            (PoolError::ZeroReportPeriod, "a pool cannot report every 0 s"),
            (PoolError::ZeroPeriod, "a replacement period of 0 s would never count a replacement"),
            (PoolError::Rate(0.5), "a rate of 0.5 jobs per second is not between 1e-9 and 1e9"),
            (
                PoolError::LongBurst { jobs: 0.25, burst: 7 },
                "a burst of 7 jobs takes over 292 years to fill at 0.25 jobs per second",
            ),
            (
                PoolError::BackOff { first: Duration::from_secs(2), most: zero },
                "invalid back-off from 2s to 0ns: the first delay must be above zero and at most the last",
            ),
            (
                PoolError::ElasticRange { min: 3, max: 2 },
                "invalid elastic range of 3 to 2 workers: the minimum must be at least 1 and at most the maximum",
            ),
            (
                PoolError::ElasticSize { size: 5, min: 1, max: 4 },
                "a pool size of 5 is outside the elastic range of 1 to 4",
            ),
            (
                PoolError::ElasticThresholds { grow_at: 1, shrink_at: 2 },
                "an elastic pool cannot grow at 1 waiting messages and shrink at 2",
            ),
            (
                PoolError::ElasticStep { step: 0, every: Duration::from_secs(1) },
                "an elastic pool cannot change by 0 workers every 1s",
            ),
            (
                PoolError::TooManyReplacements { replacements: 3, period: Duration::from_secs(5) },
                "more than 3 replacements within 5s",
            ),
        ];
        for (error, words) in said {
            assert_eq!(error.to_string(), words);
        }
    }
}
