//! The restart window: how often a process is restarted before its supervisor gives up (rule
//! S5).

use crate::timestamp::Timestamp;
use std::collections::VecDeque;
use std::time::Duration;

/// The restarts of the last `period`, in a sliding window.
///
/// A supervisor, or a process that restarts in place, uses it to decide when to give up.
///
/// Ages are compared in nanoseconds, and an entry exactly `period` old still counts. OTP reads
/// a clock of whole seconds, `monotonic_time(1)`. The two agree where the ages alone determine
/// the result: an entry counts up to `period`, and does not count from `period` plus one second
/// on. In the second between, the result of OTP depends on the fraction of a second at which
/// the restarts happened; here the entry does not count. Restarts at whole seconds, as in the
/// windows recorded from OTP, give OTP's results.
#[derive(Clone, Debug)]
pub struct RestartWindow {
    intensity: u32,
    period: Duration,
    /// The oldest first. Includes the restarts that were refused.
    restarts: VecDeque<Timestamp>,
}

impl RestartWindow {
    /// Creates a window of at most `intensity` restarts within `period`.
    ///
    /// A period of zero would count no restart, so callers that take the period from a user
    /// must refuse zero.
    #[must_use]
    pub fn new(intensity: u32, period: Duration) -> Self {
        RestartWindow { intensity, period, restarts: VecDeque::new() }
    }

    /// Returns how long a restart counts.
    #[must_use]
    pub fn period(&self) -> Duration {
        self.period
    }

    /// Counts a restart, however many children it concerns. Returns whether it is allowed.
    pub fn record(&mut self, now: Timestamp) -> bool {
        let has_room = self.has_room(now);
        self.restarts.push_back(now);
        has_room
    }

    /// Returns whether a restart is allowed now, without counting one.
    pub fn has_room(&mut self, now: Timestamp) -> bool {
        while self.restarts.front().is_some_and(|&oldest| now.since(oldest) > self.period) {
            self.restarts.pop_front();
        }
        self.restarts.len() < self.intensity as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn seconds(seconds: u64) -> Timestamp {
        Timestamp::ZERO + Duration::from_secs(seconds)
    }

    /// Recorded from Erlang/OTP 25: intensity, period in seconds, the seconds at which the one
    /// permanent child ended, and how many of these ends led to a restart. The number is
    /// smaller than that of the ends if the supervisor shut down at the next one.
    const WINDOWS: &[(u32, u64, &[u64], usize)] = &[
        (2, 5, &[2, 3, 9, 15, 16, 17, 23], 5),
        (2, 3, &[5, 6, 7, 7, 7, 9, 10, 12, 16, 17, 18], 2),
        (5, 1, &[3, 3, 4, 4, 5, 6, 8, 8, 9], 9),
        (5, 3, &[3, 5, 7, 7, 10, 14, 16, 17, 19, 21, 22, 22], 12),
        (2, 1, &[0, 1, 1, 1, 3, 4, 5, 6, 7, 8, 10], 2),
        (0, 10, &[13, 24, 35, 46, 46, 47, 57], 0),
        (2, 2, &[2, 2, 4], 2),
        (1, 5, &[7, 9, 12, 13, 15, 15, 21, 22, 28, 31, 36, 42, 48], 1),
        (3, 3, &[1, 5, 8, 9, 9, 13, 15, 17, 18, 19, 19, 20, 20, 21], 10),
        (1, 10, &[8, 19, 19, 19, 30, 31, 33, 34, 35], 2),
        (4, 5, &[5, 11, 12, 12, 12, 12, 12, 14], 5),
        (3, 5, &[2, 4, 10, 14, 16, 18, 20, 22, 27, 29, 31, 31], 11),
    ];

    #[test]
    fn s5_the_window_decides_as_otp_does() {
        for (intensity, period, times, restarts) in WINDOWS {
            let mut window = RestartWindow::new(*intensity, Duration::from_secs(*period));
            let allowed = times.iter().take_while(|&&time| window.record(seconds(time))).count();
            assert_eq!(allowed, *restarts, "intensity {intensity} period {period} {times:?}");
        }
    }

    #[test]
    fn s5_an_entry_exactly_period_old_still_counts() {
        let period = Duration::from_millis(1500);
        for (age, allowed) in [
            (Duration::from_nanos(1_499_999_999), false),
            (period, false),
            (period + Duration::from_nanos(1), true),
        ] {
            let mut window = RestartWindow::new(1, period);
            assert!(window.record(seconds(1)));
            assert_eq!(window.record(seconds(1) + age), allowed, "{age:?}");
        }
    }

    #[test]
    fn s5_checking_the_window_counts_nothing() {
        let mut window = RestartWindow::new(1, Duration::from_secs(5));
        assert!(window.has_room(seconds(1)) && window.has_room(seconds(1)));
        assert!(window.record(seconds(1)));
        assert!(!window.has_room(seconds(6)) && window.has_room(seconds(7)));
    }

    #[test]
    fn s5_an_endless_period_counts_every_restart() {
        let mut window = RestartWindow::new(2, Duration::MAX);
        assert!(window.record(Timestamp::ZERO));
        assert!(window.record(Timestamp::MAX));
        assert!(!window.record(Timestamp::MAX));
    }

    proptest! {
        #[test]
        fn s5_the_window_holds_exactly_the_restarts_within_period(
            intensity in 0_u32..6,
            period in 1_u64..20,
            gaps in prop::collection::vec(0_u64..8, 1..40),
        ) {
            let mut window = RestartWindow::new(intensity, Duration::from_secs(period));
            let mut times = Vec::new();
            for gap in gaps {
                let now = times.last().unwrap_or(&0) + gap;
                times.push(now);
                let within = times.iter().filter(|&&time| time + period >= now).count();
                let allowed = window.record(seconds(now));
                prop_assert_eq!(allowed, within <= intensity as usize);
                if !allowed {
                    break;
                }
            }
        }
    }

    #[test]
    fn s5_a_refused_restart_counts_like_the_others() {
        let mut window = RestartWindow::new(1, Duration::from_secs(5));
        assert_eq!(window.period(), Duration::from_secs(5));
        assert!(window.record(seconds(1)));
        assert!(!window.record(seconds(5)));
        assert!(!window.has_room(seconds(7)), "that at 5 s counts until 10 s");
        assert!(window.has_room(seconds(11)));
    }
}
