//! Points in a node's time.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

/// A point in a node's monotonic time: nanoseconds since the node started.
///
/// In a simulation the time is virtual (rule T2).
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The start of the node.
    pub const ZERO: Timestamp = Timestamp(0);
    /// The end of time, 584 years after the start. Additions saturate here.
    pub const MAX: Timestamp = Timestamp(u64::MAX);

    /// Returns the point `nanos` nanoseconds after the start of the node.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Timestamp(nanos)
    }

    /// Returns the nanoseconds since the start of the node.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns the time from `earlier` to this point; zero if `earlier` is not earlier. It is what
    /// `duration_since` of [`Instant`](std::time::Instant) is, and what `-` gives.
    #[doc(alias = "duration_since")]
    #[must_use]
    pub const fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Timestamp {
    type Output = Timestamp;

    /// Adds a duration. Saturates at [`Timestamp::MAX`], so `Duration::MAX` means "never".
    fn add(self, by: Duration) -> Timestamp {
        Timestamp(self.0.saturating_add(u64::try_from(by.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl Sub for Timestamp {
    type Output = Duration;

    fn sub(self, earlier: Timestamp) -> Duration {
        self.since(earlier)
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&Duration::from_nanos(self.0), f)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t2_time_neither_wraps_nor_runs_backwards() {
        let (second, soon) = (Duration::from_secs(1), Timestamp::from_nanos(5));
        assert_eq!(Timestamp::ZERO + second, Timestamp::from_nanos(1_000_000_000));
        assert_eq!(Timestamp::MAX + second, Timestamp::MAX);
        assert_eq!(soon + Duration::MAX, Timestamp::MAX);
        // More than 64 bits of nanoseconds; truncated to 64 bits it would be short.
        assert_eq!(soon + Duration::from_secs(1 << 40), Timestamp::MAX);
        assert_eq!((soon + second).since(soon), second);
        assert_eq!(soon + second - soon, second);
        assert_eq!(
            (soon.since(soon + second), soon - (soon + second)),
            (Duration::ZERO, Duration::ZERO)
        );
        assert_eq!((soon + second).as_nanos(), 1_000_000_005);
        assert_eq!(format!("{soon} {soon:?}"), "5ns 5ns");
    }
}
