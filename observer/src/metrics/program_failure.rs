//! Why metrics of the program are missing in an answer: counted, and said once.

use crate::limits::PROGRAM_METRICS;
use crate::metrics::program_families::FlawedFamily;
use krarup_act::contain;
use krarup_gen::ThreadError;
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The causes, as metrics name them.
const CAUSES: [&str; 6] = ["error", "family", "panic", "thread", "timeout", "too_large"];
/// The most failures that are logged. Texts of panics can have anything.
const LOGGED: usize = 64;

/// Why metrics of the program are missing in an answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MetricFailure {
    #[error("a collector returned an error")]
    Error,
    #[error("the family {:?} cannot be served: {}", .0.family, .0.flaw)]
    Family(FlawedFamily),
    #[error("a collector panicked: {0}")]
    Panic(String),
    #[error("there is no thread for the collectors: {0}")]
    Thread(ThreadError),
    #[error("the collectors took more than {0:?}")]
    Timeout(Duration),
    #[error("the text has more than {PROGRAM_METRICS} bytes")]
    TooLarge,
}

impl MetricFailure {
    /// Its place among the causes.
    fn cause(&self) -> usize {
        match self {
            MetricFailure::Error => 0,
            MetricFailure::Family(_) => 1,
            MetricFailure::Panic(_) => 2,
            MetricFailure::Thread(_) => 3,
            MetricFailure::Timeout(_) => 4,
            MetricFailure::TooLarge => 5,
        }
    }
}

/// How often metrics of the program were missing.
#[derive(Debug, Default)]
pub(crate) struct MetricFailures {
    counts: [AtomicU64; CAUSES.len()],
    logged: Mutex<BTreeSet<String>>,
}

impl MetricFailures {
    /// Counts a failure, and logs it if it is a new one.
    pub(crate) fn add(&self, failure: &MetricFailure) {
        self.counts[failure.cause()].fetch_add(1, Ordering::Relaxed);
        let text = failure.to_string();
        let is_new = {
            let mut logged = self.logged.lock();
            logged.len() < LOGGED && logged.insert(text.clone())
        };
        if is_new {
            // A subscriber is code of the program.
            let _ = contain(|| {
                tracing::warn!(
                    target: "krarup::observer",
                    cause = CAUSES[failure.cause()], text,
                    "metrics of the program are missing"
                );
            });
        }
    }

    /// How often, by cause.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        CAUSES.into_iter().zip(self.counts.iter().map(|count| count.load(Ordering::Relaxed)))
    }
}
