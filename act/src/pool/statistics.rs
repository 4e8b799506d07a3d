//! What a pool says of itself.

use super::histogram::Latency;
use krarup_gen::{Inspection, Value};

/// The numbers of a pool at one moment (rule P6). `forwarded + unhandled` is all that was sent
/// to it, at any moment and under any load.
///
/// | a message | counted as |
/// |---|---|
/// | a worker has it, or will: room is reserved for it | forwarded |
/// | of these: waited for longer than its time to live | forwarded, expired |
/// | of these: its worker ended before it was begun; or with it in hand | forwarded, lost; forwarded, crashed |
/// | went back to its sender: `Full`, `NoWorkers`, `Draining` | unhandled |
/// | went back to its sender: `RateLimited` | unhandled, rate limited |
/// | all workers are full: diverted, or dropped | unhandled, diverted; unhandled |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolStatistics {
    /// Workers configured.
    pub pool_size: usize,
    /// Places in the rotation now.
    pub places: usize,
    /// Of these, with a living worker.
    pub workers: usize,
    /// Messages that wait at the workers now.
    pub waiting: usize,
    /// Workers that were replaced.
    pub restarts: u64,
    /// Of these, killed because they were stuck.
    pub stuck: u64,
    /// Messages that a worker has got.
    pub forwarded: u64,
    /// Messages that no worker has got.
    pub unhandled: u64,
    /// Of these, refused because too many came in a second.
    pub rate_limited: u64,
    /// Of these, diverted to the fallback.
    pub diverted: u64,
    /// Jobs that waited for longer than their time to live.
    pub expired: u64,
    /// Jobs that waited at a worker when it ended; known where jobs are watched.
    pub lost: u64,
    /// Jobs that a worker had in hand when it ended; known where jobs are watched.
    pub crashed: u64,
    /// Whether the pool is drained.
    pub draining: bool,
    /// How long jobs waited, if that is measured.
    pub wait: Option<Latency>,
    /// How long jobs took, if that is measured.
    pub service: Option<Latency>,
}

impl PoolStatistics {
    /// All that was sent to the pool.
    #[must_use]
    pub const fn received(&self) -> u64 {
        self.forwarded + self.unhandled
    }
}

/// A latency for an inspection.
pub(super) fn inspected(latency: &Latency) -> Value {
    let Latency { count, mean, p50, p90, p99, max } = *latency;
    let record = Inspection::new().with("count", count).with("mean", mean);
    record.with("p50", p50).with("p90", p90).with("p99", p99).with("max", max).into()
}
