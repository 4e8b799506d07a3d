//! The times of a job that its pool watches.

use krarup_gen::Timestamp;

/// When a watched job was accepted, and when its time to live is over.
#[derive(Clone, Copy)]
pub(super) struct JobTimes {
    pub(super) accepted: Timestamp,
    pub(super) due: Timestamp,
}
