//! The counters of a pool.

use krarup_gen::{Inspection, Latency, Value};

/// The counters of a pool at one moment (rule P6).
///
/// `forwarded + unhandled` is the number of all messages sent to it, at any moment and under
/// any load.
///
/// | a message | counted as |
/// |---|---|
/// | a worker has it, or will: room is reserved for it | forwarded |
/// | of these: it waited longer than its time to live | forwarded, expired |
/// | of these: its worker ended before the message was begun, or none was left | forwarded, lost |
/// | of these: its worker ended while handling it | forwarded, crashed |
/// | returned to its sender: `Full`, `NoWorkers`, `Draining` | unhandled |
/// | returned to its sender: `RateLimited` | unhandled, rate limited |
/// | all workers are full: diverted | unhandled, diverted |
/// | all workers are full: dropped | unhandled |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct PoolStatistics {
    /// How many workers are configured.
    pub pool_size: usize,
    /// How many places are in the rotation now.
    pub places: usize,
    /// How many of these places have a living worker.
    pub workers: usize,
    /// How many accepted messages wait now. Reserved room counts, at each worker where it is.
    pub waiting: usize,
    /// How many workers were replaced.
    pub restarts: u64,
    /// How many workers were killed because they were stuck.
    pub stuck: u64,
    /// How many messages were given to a worker.
    pub forwarded: u64,
    /// How many messages were not given to a worker.
    pub unhandled: u64,
    /// How many of these were refused by the rate limit, or by those of all inner pools.
    pub rate_limited: u64,
    /// How many of these were diverted to the fallback.
    pub diverted: u64,
    /// How many jobs waited longer than their time to live.
    pub expired: u64,
    /// How many jobs waited at a worker when it ended, or for one when there was none any more. Counted
    /// only if jobs are watched.
    pub lost: u64,
    /// How many jobs a worker was handling when it ended. Counted only if jobs are watched.
    pub crashed: u64,
    /// Whether the pool is drained.
    pub draining: bool,
    /// How long jobs waited, if that is measured.
    pub wait: Option<Latency>,
    /// How long jobs ran, if that is measured.
    pub service: Option<Latency>,
}

impl PoolStatistics {
    /// Returns the number of all messages sent to the pool.
    #[must_use]
    pub const fn received(&self) -> u64 {
        self.forwarded + self.unhandled
    }
}

/// Formats a latency for an inspection.
pub(super) fn inspected(latency: &Latency) -> Value {
    let Latency { count, mean, p50, p90, p99, max, .. } = *latency;
    let record = Inspection::new().with("count", count).with("mean", mean);
    record.with("p50", p50).with("p90", p90).with("p99", p99).with("max", max).into()
}
