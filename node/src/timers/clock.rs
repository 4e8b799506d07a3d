//! The one place where the system clock is read (rule T2).

use krarup_gen::Timestamp;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// A node's time: that of the machine, or virtual.
#[derive(Debug)]
pub(crate) enum Clock {
    /// Time since the node started.
    Real(Instant),
    /// Moved by the simulation alone; nanoseconds.
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

    /// Moves virtual time forward; never back. Real time moves by itself.
    pub(crate) fn advance_to(&self, to: Timestamp) {
        if let Clock::Virtual(now) = self {
            now.fetch_max(to.as_nanos(), Ordering::AcqRel);
        }
    }
}
