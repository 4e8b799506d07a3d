//! The rate limit of a pool.

use krarup_gen::Timestamp;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How many jobs a pool accepts per second: a token bucket.
///
/// Tokens are added at a steady rate, and each job takes one. The bucket holds `burst` tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    per_second: f64,
    burst: u32,
}

impl Rate {
    /// Creates a rate of `jobs` per second, from 10⁻⁹ to 10⁹, with a burst of 1.
    #[must_use]
    pub fn per_second(jobs: f64) -> Self {
        Rate { per_second: jobs, burst: 1 }
    }

    /// Sets how many jobs may come at once after a pause, at least 1. The rate must fill the
    /// burst within 292 years.
    #[must_use]
    pub fn burst(mut self, jobs: u32) -> Self {
        self.burst = jobs;
        self
    }

    /// Checks the rate. Returns what is wrong with it.
    pub(super) fn check(self) -> Result<(), InvalidRate> {
        if !(1e-9..=1e9).contains(&self.per_second) {
            return Err(InvalidRate::Jobs(self.per_second));
        }
        if self.burst == 0 {
            return Err(InvalidRate::NoBurst);
        }
        // So no time that the bucket computes lies beyond the end of time, where all times are
        // equal.
        match self.interval().checked_mul(u64::from(self.burst)) {
            Some(all) if all <= u64::MAX / 2 => Ok(()),
            _ => Err(InvalidRate::LongBurst(self.per_second, self.burst)),
        }
    }

    /// Nanoseconds between two tokens, for a rate in range. Rounded up, because one nanosecond
    /// less would be a higher rate.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 1 to 1e18, for rates that were checked"
    )]
    fn interval(self) -> u64 {
        (1e9 / self.per_second).ceil() as u64
    }
}

/// An invalid rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum InvalidRate {
    Jobs(f64),
    NoBurst,
    LongBurst(f64, u32),
}

/// The tokens, stored as one point in time: when the bucket would be full again if no token
/// were taken (the generic cell rate algorithm). So taking a token moves that point in one
/// atomic step, and no tokens have to be added.
pub(super) struct Bucket {
    full_at: AtomicU64,
    /// Nanoseconds per token.
    interval: u64,
    /// Nanoseconds for all tokens but one.
    slack: u64,
}

impl Bucket {
    /// Makes a full bucket for a rate that was checked.
    pub(super) fn new(rate: Rate) -> Self {
        let interval = rate.interval();
        let slack = interval.saturating_mul(u64::from(rate.burst) - 1);
        Bucket { full_at: AtomicU64::new(0), interval, slack }
    }

    /// Takes a token. If there is none, returns how long until there is one.
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

    /// Returns a token that was not used.
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
    fn an_invalid_rate_is_refused() {
        let tiny = [f64::MIN_POSITIVE, 5e-324, 1e-20, 0.9e-9];
        for jobs in [0.0, -0.0, -1.0, f64::NAN, f64::INFINITY, 1e10].into_iter().chain(tiny) {
            assert!(Rate::per_second(jobs).check().is_err(), "{jobs}");
        }
        assert_eq!(Rate::per_second(1.0).burst(0).check(), Err(InvalidRate::NoBurst));
        assert_eq!(Rate::per_second(0.001).check(), Ok(()));
        assert_eq!(Rate::per_second(1e-9).burst(10).check(), Err(InvalidRate::LongBurst(1e-9, 10)));
        assert_eq!(Rate::per_second(1e-9).burst(9).check(), Ok(()));
        assert_eq!(Rate::per_second(1e9).burst(u32::MAX).check(), Ok(()));
    }

    #[test]
    fn a_rate_between_two_nanoseconds_is_not_exceeded() {
        let bucket = Bucket::new(Rate::per_second(7e8));
        let taken = (0..1_000).filter(|now| bucket.take(Timestamp::from_nanos(*now)).is_ok());
        assert!(taken.count() <= 700);
    }

    #[test]
    fn the_slowest_rate_and_the_longest_burst_count_their_tokens() {
        let end = Timestamp::from_nanos(u64::MAX / 2);
        for now in [Timestamp::ZERO, end] {
            let bucket = Bucket::new(Rate::per_second(1e-9).burst(9));
            assert_eq!((0..20).filter(|_| bucket.take(now).is_ok()).count(), 9);
            bucket.give_back();
            assert_eq!((0..20).filter(|_| bucket.take(now).is_ok()).count(), 1);
        }
    }
}
