//! Counts as floats, and the time that something takes.

use crate::failure::ClusterFailure;
use std::time::{Duration, Instant};

/// Converts a count to a float. Exact up to 2^53, which is more than any workload counts.
#[expect(clippy::cast_precision_loss, reason = "exact up to 2^53")]
pub(crate) fn as_f64(count: u64) -> f64 {
    count as f64
}

/// The time that an act takes.
pub(crate) fn timed<T>(
    act: impl FnOnce() -> Result<T, ClusterFailure>,
) -> Result<Duration, ClusterFailure> {
    let began = Instant::now();
    act()?;
    Ok(began.elapsed())
}
