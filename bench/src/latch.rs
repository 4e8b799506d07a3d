//! The end signal of a workload.

use crate::failure::WorkloadFailure;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// How long a workload may take before its messages count as lost.
const PATIENCE: Duration = Duration::from_secs(120);

/// Counts down to zero and then wakes the thread that made it.
#[derive(Clone)]
pub(crate) struct Latch {
    shared: Arc<LatchState>,
}

struct LatchState {
    left: AtomicU64,
    waiter: Thread,
}

impl Latch {
    /// Makes a latch that opens after this many signals.
    pub(crate) fn new(signals: u64) -> Self {
        let shared = LatchState { left: AtomicU64::new(signals), waiter: thread::current() };
        Latch { shared: Arc::new(shared) }
    }

    /// Sends one signal.
    pub(crate) fn count_down(&self) {
        if self.shared.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.shared.waiter.unpark();
        }
    }

    /// Waits for the last signal. Only for the thread that made the latch.
    pub(crate) fn wait(&self) -> Result<(), WorkloadFailure> {
        let begin = Instant::now();
        loop {
            let left = self.shared.left.load(Ordering::Acquire);
            if left == 0 {
                return Ok(());
            }
            let Some(patience) = PATIENCE.checked_sub(begin.elapsed()) else {
                return Err(WorkloadFailure::Timeout { left, seconds: PATIENCE.as_secs() });
            };
            thread::park_timeout(patience);
        }
    }

    /// Measures the time from the call of `start` to the last signal.
    pub(crate) fn time(
        &self,
        start: impl FnOnce() -> Result<(), WorkloadFailure>,
    ) -> Result<Duration, WorkloadFailure> {
        let begin = Instant::now();
        start()?;
        self.wait()?;
        Ok(begin.elapsed())
    }
}
