//! The only code that reads the system clock (rule T2).

use krarup_gen::Timestamp;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// A node's time: real or virtual.
#[derive(Debug)]
pub(crate) enum Clock {
    /// The time since the node started.
    Real(Instant),
    /// In nanoseconds; advanced by the simulation alone.
    Virtual(AtomicU64),
}

impl Clock {
    pub(crate) fn real() -> Self {
        Clock::Real(Instant::now())
    }

    pub(crate) fn simulated() -> Self {
        Clock::Virtual(AtomicU64::new(0))
    }

    #[inline]
    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_nanos(match self {
            Clock::Real(start) => u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX),
            Clock::Virtual(now) => now.load(Ordering::Acquire),
        })
    }

    /// Advances virtual time, never backwards. Has no effect on real time.
    pub(crate) fn advance_to(&self, to: Timestamp) {
        if let Clock::Virtual(now) = self {
            now.fetch_max(to.as_nanos(), Ordering::AcqRel);
        }
    }
}
