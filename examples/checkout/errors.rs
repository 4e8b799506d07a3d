//! What can go wrong at a pool, one type for each operation.

use krarup::{CallError, CannotWait, SpawnError};
use std::time::Duration;

/// A pool cannot work with its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum CheckoutError {
    /// The pool would keep no workers.
    #[error("a pool of 0 workers: its size must be at least 1")]
    ZeroSize,
    /// A worker would have no time to end.
    #[error("a worker has 0 s to end: it must have some time")]
    ZeroShutdown,
}

/// A caller gets no lease.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum LeaseError {
    /// No worker is free, no other may be made, and the caller does not want to wait.
    #[error("none of {workers} workers is free, and no other may be made")]
    Full {
        /// How many workers the pool has.
        workers: usize,
    },
    /// No worker came free in the time that the caller wanted to wait.
    #[error("no worker came free within {limit:?}")]
    Timeout {
        /// The time that it waited.
        limit: Duration,
    },
    /// The worker that was made for this caller could not start.
    #[error("a worker could not be made: {0}")]
    NotMade(#[source] SpawnError),
    /// The pool does not answer: it was stopped, or it has failed.
    #[error("the pool does not answer: {0}")]
    Pool(#[source] CallError),
}

/// A pool is not extended.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ExtendError {
    /// The new worker could not start. The size is what it was.
    #[error("a worker could not be made: {0}")]
    NotMade(#[source] SpawnError),
    /// The pool does not answer.
    #[error("the pool does not answer: {0}")]
    Pool(#[source] CallError),
}

/// A pool does not shrink.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ShrinkError {
    /// A pool keeps at least one worker.
    #[error("the pool has a size of 1: it must be at least 1")]
    LastWorker,
    /// There would be more leases than workers.
    #[error("{leased} workers are leased: a size of {size} cannot become less")]
    Leased {
        /// How many workers are leased, or being made for a caller.
        leased: usize,
        /// The size of the pool.
        size: usize,
    },
    /// The pool does not answer.
    #[error("the pool does not answer: {0}")]
    Pool(#[source] CallError),
}

impl From<CallError> for LeaseError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Timeout { limit, .. } => LeaseError::Timeout { limit },
            error => LeaseError::Pool(error),
        }
    }
}

impl From<CallError> for ExtendError {
    fn from(error: CallError) -> Self {
        ExtendError::Pool(error)
    }
}

impl From<CallError> for ShrinkError {
    fn from(error: CallError) -> Self {
        ShrinkError::Pool(error)
    }
}

/// A process that uses `.wait()` where it must use `.await` gets an error.
macro_rules! cannot_wait {
    ($($error:ident),*) => {
        $(impl From<CannotWait> for $error {
            fn from(cannot: CannotWait) -> Self {
                $error::Pool(cannot.into())
            }
        })*
    };
}

cannot_wait!(LeaseError, ExtendError, ShrinkError);
