//! The only code that reads the system's clocks (rules T2 and T6).
//!
//! A node has two times. Its own is monotonic and begins with it; timers follow it. The wall
//! time is a date, and somebody may set it at any moment; no timer follows it. A simulation
//! has both: its wall time moves with its virtual time, from the date at which it was last set.

use krarup_gen::Timestamp;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// A node's time: real or virtual.
#[derive(Debug)]
pub(crate) enum Clock {
    /// The time since the node started.
    Real(Instant),
    Virtual(VirtualClock),
}

/// The time of a simulation.
#[derive(Debug)]
pub(crate) struct VirtualClock {
    /// In nanoseconds; advanced by the simulation alone.
    now: AtomicU64,
    wall: Mutex<WallSetting>,
}

/// When the wall time was set, and to what.
#[derive(Clone, Copy, Debug)]
struct WallSetting {
    at: Timestamp,
    wall: SystemTime,
}

/// The seconds from 1970-01-01 to 2000-01-01, 00:00 UTC, at which simulations begin.
const YEAR_2000: Duration = Duration::from_secs(946_684_800);

impl Clock {
    pub(crate) fn real() -> Self {
        Clock::Real(Instant::now())
    }

    pub(crate) fn simulated() -> Self {
        let wall = WallSetting { at: Timestamp::ZERO, wall: SystemTime::UNIX_EPOCH + YEAR_2000 };
        Clock::Virtual(VirtualClock { now: AtomicU64::new(0), wall: Mutex::new(wall) })
    }

    #[inline]
    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_nanos(match self {
            Clock::Real(start) => u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX),
            Clock::Virtual(clock) => clock.now.load(Ordering::Acquire),
        })
    }

    /// The wall time (rule T6). In a simulation it stands still at the end of what a
    /// [`SystemTime`] can be.
    pub(crate) fn wall_time(&self) -> SystemTime {
        match self {
            Clock::Real(_) => SystemTime::now(),
            Clock::Virtual(clock) => {
                let WallSetting { at, wall } = *clock.wall.lock();
                wall.checked_add(self.now().since(at)).unwrap_or(wall)
            }
        }
    }

    /// Sets the wall time of a simulation. Has no effect on the system's.
    pub(crate) fn set_wall_time(&self, wall: SystemTime) {
        if let Clock::Virtual(clock) = self {
            *clock.wall.lock() = WallSetting { at: self.now(), wall };
        }
    }

    /// Advances virtual time, never backwards. Has no effect on real time.
    pub(crate) fn advance_to(&self, to: Timestamp) {
        if let Clock::Virtual(clock) = self {
            clock.now.fetch_max(to.as_nanos(), Ordering::AcqRel);
        }
    }
}
