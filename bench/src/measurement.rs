//! The printed line.

use std::fmt;
use std::time::Duration;

/// A measurement: one line of output.
pub(crate) struct Measurement {
    workload: String,
    messages: u64,
    took: Duration,
    figure: f64,
}

impl Measurement {
    /// Makes a measurement in nanoseconds per message.
    pub(crate) fn of(workload: &str, messages: u64, took: Duration) -> Self {
        let nanoseconds = took.as_secs_f64() * 1e9;
        Self::with_figure(workload, messages, took, nanoseconds / as_f64(messages))
    }

    /// Makes a measurement in another unit.
    pub(crate) fn with_figure(workload: &str, messages: u64, took: Duration, figure: f64) -> Self {
        Measurement { workload: workload.to_owned(), messages, took, figure }
    }

    /// Whether its figure is less than that of another.
    pub(crate) fn is_better_than(&self, other: &Measurement) -> bool {
        self.figure < other.figure
    }
}

impl fmt::Display for Measurement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Measurement { workload, messages, took, figure } = self;
        write!(f, "{workload} krarup {messages} {:.6} {figure:.2}", took.as_secs_f64())
    }
}

/// Converts a count to a float. Exact up to 2^53, which is more than any workload counts.
#[expect(clippy::cast_precision_loss, reason = "exact up to 2^53")]
pub(crate) fn as_f64(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_ends_with_nanoseconds_per_message() {
        let line = Measurement::of("ring", 4_000, Duration::from_millis(1)).to_string();
        assert_eq!(line, "ring krarup 4000 0.001000 250.00");
    }
}
