//! Why no worker has taken a message: the reason that all of them share.
//!
//! A worker that is a mailbox is full or has ended. One that is a pool has reasons of its own, which
//! the outer pool passes on:
//!
//! | the workers, beside those that have ended | the pool |
//! |---|---|
//! | none | `NoWorkers` |
//! | all are limited by a rate | `RateLimited`, with the shortest time |
//! | all are drained | `Draining` |
//! | all have no workers | `NoWorkers` |
//! | any are full, or they have different reasons | `Full` |

use super::patience::Patience;
use krarup_gen::{Pid, SendError};
use std::time::Duration;

/// The reason of the workers that were asked so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorkersRefusal {
    /// All have ended.
    Ended,
    RateLimited(Duration),
    Draining,
    NoWorkers,
    Full,
}

impl WorkersRefusal {
    /// The reason of one worker.
    pub(super) fn of<T>(error: &SendError<T>) -> Self {
        match error {
            SendError::NoProcess { .. } => WorkersRefusal::Ended,
            SendError::RateLimited { retry_after, .. } => WorkersRefusal::RateLimited(*retry_after),
            SendError::Draining { .. } => WorkersRefusal::Draining,
            SendError::NoWorkers { .. } => WorkersRefusal::NoWorkers,
            _ => WorkersRefusal::Full,
        }
    }

    /// The reason of both.
    pub(super) fn and(self, other: Self) -> Self {
        match (self, other) {
            (WorkersRefusal::Ended, one) | (one, WorkersRefusal::Ended) => one,
            (WorkersRefusal::RateLimited(one), WorkersRefusal::RateLimited(other)) => {
                WorkersRefusal::RateLimited(one.min(other))
            }
            (one, other) if one == other => one,
            _ => WorkersRefusal::Full,
        }
    }

    /// The same for a sender of this patience. One that is ready to wait waits for whatever a
    /// living worker lacks, as for room.
    pub(super) fn to(self, patience: Patience) -> Self {
        match (self, patience) {
            (WorkersRefusal::Ended, _) | (_, Patience::Hurried) => self,
            (_, Patience::Waits) => WorkersRefusal::Full,
        }
    }

    /// The error of the pool.
    pub(super) fn error<T>(self, message: T, to: Pid) -> SendError<T> {
        match self {
            WorkersRefusal::Ended | WorkersRefusal::NoWorkers => {
                SendError::NoWorkers { message, to }
            }
            WorkersRefusal::RateLimited(retry_after) => {
                SendError::RateLimited { message, to, retry_after }
            }
            WorkersRefusal::Draining => SendError::Draining { message, to },
            WorkersRefusal::Full => SendError::Full { message, to },
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn workers_refuse_for_the_reason_that_they_share() {
        let rate = |seconds| WorkersRefusal::RateLimited(Duration::from_secs(seconds));
        let all = [
            WorkersRefusal::Ended,
            rate(2),
            WorkersRefusal::Draining,
            WorkersRefusal::NoWorkers,
            WorkersRefusal::Full,
        ];
        for one in all {
            assert_eq!((one.and(one), one.and(WorkersRefusal::Ended)), (one, one));
            assert_eq!(WorkersRefusal::Ended.and(one), one);
            for other in all {
                assert_eq!(one.and(other), other.and(one));
                if one != other && ![one, other].contains(&WorkersRefusal::Ended) {
                    assert_eq!(one.and(other), WorkersRefusal::Full, "{one:?} {other:?}");
                }
            }
        }
        assert_eq!((rate(2).and(rate(1)), rate(1).and(rate(2))), (rate(1), rate(1)));
        assert_eq!(rate(2).to(Patience::Waits), WorkersRefusal::Full);
        assert_eq!(rate(2).to(Patience::Hurried), rate(2));
        assert_eq!(WorkersRefusal::Ended.to(Patience::Waits), WorkersRefusal::Ended);
    }
}
