//! The errors of flight recorders and traces.

use crate::{Pid, RecordedItem, TraceLimits};
use std::time::Duration;

/// A flight recorder was to keep more items than it can.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot record {items} items: at most {most}", most = RecordedItem::MOST)]
#[non_exhaustive]
pub struct TooManyRecorded {
    /// The items.
    pub items: usize,
}

impl TooManyRecorded {
    /// Checks a number of items.
    ///
    /// # Errors
    /// It is above [`RecordedItem::MOST`].
    pub const fn check(items: usize) -> Result<(), TooManyRecorded> {
        if items > RecordedItem::MOST { Err(TooManyRecorded { items }) } else { Ok(()) }
    }
}

/// The error of recording the items of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The process has ended or never existed.
    #[error("{0} has ended or never existed")]
    NoProcess(Pid),
    /// Too many items.
    #[error(transparent)]
    TooMany(#[from] TooManyRecorded),
}

/// The error of tracing a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The process has ended or never existed.
    #[error("{0} has ended or never existed")]
    NoProcess(Pid),
    /// No items, or too many.
    #[error("cannot trace {0} items: 1 to {most}", most = TraceLimits::MOST_ITEMS)]
    Items(usize),
    /// No time, or too long a time.
    #[error("cannot trace for {0:?}: above 0 s, at most {most:?}", most = TraceLimits::MOST_TIME)]
    Time(Duration),
}

impl TraceError {
    /// Checks the limits of a trace.
    ///
    /// # Errors
    /// [`TraceError::Items`] and [`TraceError::Time`].
    pub fn check(limits: TraceLimits) -> Result<(), TraceError> {
        let TraceLimits { items, time } = limits;
        if !(1..=TraceLimits::MOST_ITEMS).contains(&items) {
            return Err(TraceError::Items(items));
        }
        if time.is_zero() || time > TraceLimits::MOST_TIME {
            return Err(TraceError::Time(time));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b1_errors_of_recorders_and_traces_name_the_value_and_the_bounds() {
        let pid = Pid::local(7, 1);
        assert_eq!(TooManyRecorded::check(256), Ok(()));
        let too_many = RecordError::from(TooManyRecorded::check(257).unwrap_err());
        assert_eq!(too_many.to_string(), "cannot record 257 items: at most 256");
        assert_eq!(RecordError::NoProcess(pid).to_string(), "<0.7.0> has ended or never existed");
        assert_eq!(TraceError::NoProcess(pid).to_string(), "<0.7.0> has ended or never existed");
        let second = Duration::from_secs(1);
        let check = |items, time| TraceError::check(TraceLimits { items, time });
        assert_eq!(check(1, second), Ok(()));
        assert_eq!(check(TraceLimits::MOST_ITEMS, TraceLimits::MOST_TIME), Ok(()));
        let error = |items, time| check(items, time).unwrap_err().to_string();
        assert_eq!(error(0, second), "cannot trace 0 items: 1 to 1048576");
        assert_eq!(error(1 << 21, second), "cannot trace 2097152 items: 1 to 1048576");
        assert_eq!(error(1, Duration::ZERO), "cannot trace for 0ns: above 0 s, at most 86400s");
        assert!(check(1, TraceLimits::MOST_TIME + second).is_err());
    }
}
