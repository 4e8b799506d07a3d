//! Distributions of durations.

use std::time::Duration;

/// The distribution of the times for which the jobs of a pool waited, or ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Latency {
    /// How many times were measured.
    pub count: u64,
    /// The sum of the times.
    pub sum: Duration,
    /// The mean.
    pub mean: Duration,
    /// Half of the jobs took at most this long. Quantiles are at most a 16th too long, never
    /// too short.
    pub p50: Duration,
    /// 90 of 100 jobs took at most this long.
    pub p90: Duration,
    /// 99 of 100 jobs took at most this long.
    pub p99: Duration,
    /// The longest time.
    pub max: Duration,
    /// How many jobs took at most as long as the bound of the same place in
    /// [`Latency::BOUNDS`]. A time that is up to a 16th shorter than a bound may be counted as
    /// longer.
    pub at_most: [u64; Latency::BOUNDS.len()],
}

impl Latency {
    /// The bounds of [`Latency::at_most`], from 0.1 ms to 10 s.
    pub const BOUNDS: [Duration; 16] = [
        Duration::from_micros(100),
        Duration::from_micros(250),
        Duration::from_micros(500),
        Duration::from_millis(1),
        Duration::from_micros(2500),
        Duration::from_millis(5),
        Duration::from_millis(10),
        Duration::from_millis(25),
        Duration::from_millis(50),
        Duration::from_millis(100),
        Duration::from_millis(250),
        Duration::from_millis(500),
        Duration::from_secs(1),
        Duration::from_millis(2500),
        Duration::from_secs(5),
        Duration::from_secs(10),
    ];

    /// Returns the distribution after `fill`. For pools.
    #[must_use]
    pub fn with(mut self, fill: impl FnOnce(&mut Self)) -> Self {
        fill(&mut self);
        self
    }
}
