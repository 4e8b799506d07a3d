//! What a cron tells of its jobs.

use std::time::SystemTime;

/// A job of a cron, as [`CronCalls::jobs`](crate::CronCalls::jobs) lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobInfo {
    /// The name.
    pub name: String,
    /// The pattern, or the date of a job that runs once.
    pub pattern: String,
    /// The time zone of the pattern.
    pub zone: String,
    /// When it runs next; `None` while it is paused, and if its time does not come again.
    pub next: Option<SystemTime>,
    /// The time for which it has run last; `None` if it has not run yet. A program that
    /// remembers it gives it to [`Job::since`](crate::Job::since) after its next start.
    pub last: Option<SystemTime>,
    /// How many runs have begun.
    pub runs: u64,
    /// How many runs go on.
    pub running: u64,
    /// How many runs were missed, whether or not they were made up for. It is a least number if more
    /// than 1000 were missed in a row: the rest of those that no run makes up for is not counted.
    pub missed: u64,
    /// How many runs were left out, because an earlier one went on.
    pub skipped: u64,
    /// How many runs have failed.
    pub failures: u64,
    /// Why the last of those has failed.
    pub last_failure: Option<String>,
    /// Whether it is paused.
    pub paused: bool,
}
