//! How many jobs a pool takes in a second.

use krarup_gen::Timestamp;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How many jobs a pool takes in a second: a token bucket. Tokens come at a steady rate and
/// each job takes one; as many as `burst` can lie ready.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    per_second: f64,
    burst: u32,
}

impl Rate {
    /// So many jobs in a second, more than 0 and at most 10⁹, one at a time: a burst of 1.
    #[must_use]
    pub fn per_second(jobs: f64) -> Self {
        Rate { per_second: jobs, burst: 1 }
    }

    /// As many jobs as this may come at once after a pause, at least 1.
    #[must_use]
    pub fn burst(mut self, jobs: u32) -> Self {
        self.burst = jobs;
        self
    }

    /// Whether there is such a rate; what is wrong with it.
    pub(super) fn check(self) -> Result<(), BadRate> {
        if !(self.per_second > 0.0 && self.per_second <= 1e9) {
            return Err(BadRate::Jobs(self.per_second));
        }
        if self.burst == 0 { Err(BadRate::NoBurst) } else { Ok(()) }
    }
}

/// A rate that cannot be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum BadRate {
    Jobs(f64),
    NoBurst,
}

/// The tokens, as one point in time: when the bucket will be full again if nothing is taken
/// (the generic cell rate algorithm). So to take one is to move that point, in one atomic
/// step, and no tokens have to be put in.
pub(super) struct Bucket {
    full_at: AtomicU64,
    /// Nanoseconds for one token.
    interval: u64,
    /// Nanoseconds for all tokens but one.
    slack: u64,
}

impl Bucket {
    /// A full bucket, for a rate that was checked.
    pub(super) fn new(rate: Rate) -> Self {
        let interval = Duration::from_secs_f64(1.0 / rate.per_second).as_nanos();
        let interval = u64::try_from(interval).unwrap_or(u64::MAX).max(1);
        let slack = interval.saturating_mul(u64::from(rate.burst) - 1);
        Bucket { full_at: AtomicU64::new(0), interval, slack }
    }

    /// Takes a token; how long until there is one, if there is none now.
    pub(super) fn take(&self, now: Timestamp) -> Result<(), Duration> {
        let now = now.as_nanos();
        let taken = self.full_at.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |full_at| {
            let full_at = full_at.max(now);
            let fits = full_at - now <= self.slack;
            fits.then(|| full_at.saturating_add(self.interval))
        });
        match taken {
            Ok(_) => Ok(()),
            Err(full_at) => Err(Duration::from_nanos(full_at - now - self.slack)),
        }
    }

    /// Puts a token back that was taken for nothing.
    pub(super) fn give_back(&self) {
        self.full_at.fetch_sub(self.interval, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn a_full_bucket_has_its_burst_and_then_one_token_in_each_interval() {
        let bucket = Bucket::new(Rate::per_second(10.0).burst(3));
        let taken = |now| (0..9).take_while(|_| bucket.take(at(now)).is_ok()).count();
        assert_eq!(taken(0), 3);
        assert_eq!(bucket.take(at(40)), Err(Duration::from_millis(60)));
        assert_eq!((taken(99), taken(100), taken(100)), (0, 1, 0));
        assert_eq!(taken(300), 2);
        assert_eq!(taken(60_000), 3);
    }

    #[test]
    fn a_token_that_is_given_back_is_there_again() {
        let bucket = Bucket::new(Rate::per_second(1.0));
        assert_eq!(bucket.take(at(5_000)), Ok(()));
        bucket.give_back();
        assert_eq!(bucket.take(at(5_000)), Ok(()));
        assert_eq!(bucket.take(at(5_000)), Err(Duration::from_secs(1)));
    }

    #[test]
    fn a_rate_without_meaning_is_refused() {
        for jobs in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e10] {
            assert!(Rate::per_second(jobs).check().is_err(), "{jobs}");
        }
        assert_eq!(Rate::per_second(1.0).burst(0).check(), Err(BadRate::NoBurst));
        assert_eq!(Rate::per_second(0.001).check(), Ok(()));
    }
}
