//! The errors of a cron: one type per operation (rule T13).

use krarup_gen::{CallError, CannotWait, NameError};

/// Why a job was not added. Nothing has changed, unless the cron did not answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AddJobError {
    /// A job of this cron has the name.
    #[error("there is a job named {name:?}")]
    NameTaken {
        /// The name.
        name: String,
    },
    /// The name is empty, or has more than 255 bytes.
    #[error("job {name:?}: {cause}")]
    InvalidName {
        /// The name.
        name: String,
        /// What is wrong with it.
        #[source]
        cause: NameError,
    },
    /// The job has no work: none of [`Job::send_to`](crate::Job::send_to),
    /// [`Job::spawn`](crate::Job::spawn) and the others was called.
    #[error("job {name:?} has no work")]
    NoWork {
        /// The name of the job.
        name: String,
    },
    /// No process can have the name to which the job sends.
    #[error("job {name:?} sends to {receiver:?}: {cause}")]
    InvalidReceiver {
        /// The name of the job.
        name: String,
        /// The name to which it sends.
        receiver: String,
        /// What is wrong with that.
        #[source]
        cause: NameError,
    },
    /// There is no such zone.
    #[error("job {name:?}: {cause}")]
    UnknownZone {
        /// The name of the job.
        name: String,
        /// The zone.
        #[source]
        cause: UnknownZone,
    },
    /// The text is no pattern.
    #[error("job {name:?}: {pattern:?} is no pattern: {cause}")]
    BadPattern {
        /// The name of the job.
        name: String,
        /// The text.
        pattern: String,
        /// What is wrong with it.
        cause: String,
    },
    /// The time of the pattern never comes, or not any more: `0 0 31 2 *`, or a date that has
    /// passed. A date beyond the year 4999 is not waited for either.
    #[error("job {name:?}: the time of {times} never comes")]
    NeverComes {
        /// The name of the job.
        name: String,
        /// The pattern or the date.
        times: String,
    },
    /// The cron did not answer. After [`CallError::Timeout`] it may still do what it was asked.
    #[error(transparent)]
    Call(#[from] CallError),
}

/// Why an operation on a job was not done. Nothing has changed, unless the cron did not answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// The cron has no job of this name.
    #[error("there is no job named {name:?}")]
    NotFound {
        /// The name.
        name: String,
    },
    /// The cron did not answer. After [`CallError::Timeout`] it may still do what it was asked.
    #[error(transparent)]
    Call(#[from] CallError),
}

/// There is no zone of this name in the database of time zones.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no time zone named {0:?}")]
pub struct UnknownZone(pub String);

impl From<CannotWait> for AddJobError {
    fn from(cause: CannotWait) -> Self {
        AddJobError::Call(cause.into())
    }
}

impl From<CannotWait> for JobError {
    fn from(cause: CannotWait) -> Self {
        JobError::Call(cause.into())
    }
}
