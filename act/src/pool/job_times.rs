//! The times of a job that its pool watches.

use krarup_gen::Timestamp;

/// The time at which a watched job was accepted, and the end of its time to live.
#[derive(Clone, Copy)]
pub(super) struct JobTimes {
    pub(super) accepted: Timestamp,
    pub(super) due: Timestamp,
}
