//! The delay of a child's restarts (rule S10).

use krarup_gen::Timestamp;
use std::time::Duration;

/// A delay of restarts that grows with every failure, so that a service on which a child depends
/// has time to recover, and does not get all its clients back at once.
///
/// The first wait is `min`; each following one is twice as long, up to `max`. `jitter` is the
/// random part of a wait: with 0.2, a wait of 10 s lasts from 8 to 10 s. A child that has run
/// well for a while starts with `min` again.
///
/// While a child waits it is `restarting`, and its supervisor serves everything else. In a group
/// restart the group has been stopped and waits with it. The restart is counted when it is made
/// (rule S5).
///
/// ```
/// # use krarup_act::{Actor, Context};
/// # use krarup_gen::Result;
/// # use krarup_supervisor::{BackOff, ChildSpec};
/// # use std::time::Duration;
/// # #[derive(Default)]
/// # struct Client;
/// # impl Actor for Client {
/// #     type Message = ();
/// #     async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
/// #         Ok(())
/// #     }
/// # }
/// let back_off = BackOff::new(Duration::from_millis(100), Duration::from_secs(30)).jitter(0.2);
/// let client = ChildSpec::worker("client", Client::default).back_off(back_off);
/// # let _ = client;
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct BackOff {
    min: Duration,
    max: Duration,
    jitter: f64,
    /// `None` means `max`.
    reset_after: Option<Duration>,
}

/// An invalid back-off; found when the supervisor, or the child, starts.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BackOffError {
    /// The first wait is zero, and so would be all others.
    #[error("a back-off that begins with 0 s never waits")]
    ZeroMin,
    /// The longest wait is shorter than the first.
    #[error("a back-off from {min:?} cannot end at {max:?}")]
    MaxUnderMin {
        /// The first wait.
        min: Duration,
        /// The longest wait.
        max: Duration,
    },
    /// The jitter is not between 0 and 1.
    #[error("a jitter of {0} is not within 0 and 1")]
    Jitter(f64),
    /// The back-off is reset after no time, and so would never grow.
    #[error("a back-off that is reset after 0 s never grows")]
    ZeroReset,
}

impl BackOff {
    /// Returns a back-off with waits from `min` to `max`, without jitter.
    #[must_use]
    pub const fn new(min: Duration, max: Duration) -> Self {
        BackOff { min, max, jitter: 0.0, reset_after: None }
    }

    /// Sets the random part of each wait, from 0 to 1.
    #[must_use]
    pub const fn jitter(mut self, jitter: f64) -> Self {
        self.jitter = jitter;
        self
    }

    /// Sets how long a child must have run since its last restart to start with `min` again. The
    /// default is `max`.
    #[must_use]
    pub const fn reset_after(mut self, quiet: Duration) -> Self {
        self.reset_after = Some(quiet);
        self
    }

    pub(crate) fn check(&self) -> Result<(), BackOffError> {
        let BackOff { min, max, jitter, reset_after } = *self;
        if min.is_zero() {
            Err(BackOffError::ZeroMin)
        } else if max < min {
            Err(BackOffError::MaxUnderMin { min, max })
        } else if !(0.0..=1.0).contains(&jitter) {
            Err(BackOffError::Jitter(jitter))
        } else if reset_after.is_some_and(|quiet| quiet.is_zero()) {
            Err(BackOffError::ZeroReset)
        } else {
            Ok(())
        }
    }

    /// The wait, shortened by the random part.
    fn shortened(&self, longest: Duration, random: u64) -> Duration {
        // A fraction holds 53 bits.
        #[allow(clippy::cast_precision_loss, reason = "no more bits than it holds")]
        let fraction = (random >> 11) as f64 / (1_u64 << 53) as f64;
        let seconds = longest.as_secs_f64() * (1.0 - self.jitter * fraction);
        // As a fraction, the longest duration is rounded up to a value that is not a duration.
        Duration::try_from_secs_f64(seconds).unwrap_or(longest).min(longest)
    }
}

/// The failures of a child in close succession.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FailureStreak {
    /// The last wait, before the jitter.
    longest: Option<Duration>,
    /// When that wait was over.
    due: Timestamp,
}

impl FailureStreak {
    /// Records one more failure. Returns how long the child waits.
    pub(crate) fn lengthen(&mut self, back_off: &BackOff, now: Timestamp, random: u64) -> Duration {
        let quiet = back_off.reset_after.unwrap_or(back_off.max);
        let longest = match self.longest {
            Some(last) if now.since(self.due) < quiet => last.saturating_mul(2).min(back_off.max),
            _ => back_off.min,
        };
        let wait = back_off.shortened(longest, random);
        *self = FailureStreak { longest: Some(longest), due: now + wait };
        wait
    }

    /// Whether the last wait is over.
    pub(crate) fn is_over(&self, now: Timestamp) -> bool {
        self.due <= now
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn at(time: u64) -> Timestamp {
        Timestamp::ZERO + seconds(time)
    }

    #[test]
    fn s10_waits_double_from_min_to_max() {
        let back_off = BackOff::new(seconds(3), seconds(20));
        let mut streak = FailureStreak::default();
        let mut now = at(100);
        let mut waits = Vec::new();
        for _ in 0..6 {
            let wait = streak.lengthen(&back_off, now, u64::MAX);
            assert!(!streak.is_over(now) && streak.is_over(now + wait));
            now = now + wait;
            waits.push(wait.as_secs());
        }
        assert_eq!(waits, [3, 6, 12, 20, 20, 20]);
    }

    #[test]
    fn s10_a_quiet_time_begins_the_waits_anew() {
        let back_off = BackOff::new(seconds(1), seconds(8));
        for (back_off, quiet) in [(back_off, 8), (back_off.reset_after(seconds(3)), 3)] {
            let mut streak = FailureStreak::default();
            assert_eq!(streak.lengthen(&back_off, at(10), 0), seconds(1));
            // It ran from 11 on, which was not long enough.
            assert_eq!(streak.lengthen(&back_off, at(10 + quiet), 0), seconds(2));
            assert_eq!(streak.lengthen(&back_off, at(12 + 2 * quiet), 0), seconds(1));
        }
    }

    #[test]
    fn s10_the_quiet_time_begins_when_the_wait_is_over_that_chance_has_shortened() {
        let back_off = BackOff::new(seconds(8), seconds(64)).jitter(0.5);
        for random in [0, u64::MAX / 2, u64::MAX] {
            let first = FailureStreak::default().lengthen(&back_off, at(10), random);
            let end = at(10) + first + seconds(64);
            for (now, anew) in [(end, true), (Timestamp::from_nanos(end.as_nanos() - 1), false)] {
                let mut streak = FailureStreak::default();
                streak.lengthen(&back_off, at(10), random);
                assert_eq!(streak.lengthen(&back_off, now, random) == first, anew, "{random}");
            }
        }
    }

    #[test]
    fn b1_a_back_off_without_meaning_is_refused() {
        let good = BackOff::new(seconds(1), seconds(1));
        assert_eq!(good.jitter(1.0).reset_after(Duration::MAX).check(), Ok(()));
        assert_eq!(good.jitter(0.0).check(), Ok(()));
        let none = BackOff::new(Duration::ZERO, seconds(1));
        assert_eq!(none.check(), Err(BackOffError::ZeroMin));
        let (min, max) = (seconds(2), seconds(1));
        let backwards = BackOff::new(min, max).check();
        assert_eq!(backwards, Err(BackOffError::MaxUnderMin { min, max }));
        for jitter in [-0.1, 1.1, f64::INFINITY] {
            assert_eq!(good.jitter(jitter).check(), Err(BackOffError::Jitter(jitter)));
        }
        assert!(matches!(good.jitter(f64::NAN).check(), Err(BackOffError::Jitter(_))));
        let zero = good.reset_after(Duration::ZERO).check();
        assert_eq!(zero, Err(BackOffError::ZeroReset));
    }

    #[test]
    fn s10_endless_waits_are_legal() {
        let endless = BackOff::new(Duration::MAX, Duration::MAX);
        for (jitter, random) in [(0.0, 0), (0.0, u64::MAX), (1.0, 0), (0.5, u64::MAX)] {
            let mut streak = FailureStreak::default();
            let wait = streak.lengthen(&endless.jitter(jitter), Timestamp::ZERO, random);
            assert!(wait >= Duration::MAX / 3, "{wait:?}");
        }
    }

    proptest! {
        #[test]
        fn s10_chance_takes_at_most_its_part_of_a_wait(
            min in 1_u64..1_000_000_000_000,
            more in 0_u64..1_000_000_000_000,
            jitter in 0.0_f64..=1.0,
            randoms in prop::collection::vec(any::<u64>(), 1..20),
        ) {
            let (min, max) = (Duration::from_nanos(min), Duration::from_nanos(min + more));
            let back_off = BackOff::new(min, max).jitter(jitter);
            let mut streak = FailureStreak::default();
            let mut longest = min;
            let mut now = Timestamp::ZERO;
            for random in randoms {
                let wait = streak.lengthen(&back_off, now, random);
                prop_assert!(wait <= longest, "{:?} of {:?}", wait, longest);
                let least = longest.mul_f64(1.0 - jitter).saturating_sub(Duration::from_micros(1));
                prop_assert!(wait >= least, "{:?} of {:?}", wait, longest);
                now = now + wait;
                longest = (longest * 2).min(max);
            }
        }
    }
}
