//! What a cron reports of its jobs (rules T8, T10, T11, X8).

use crate::one_line::OneLine;
use std::fmt;
use std::time::SystemTime;

/// A run of a job that failed, was missed, or was left out (rule X8).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CronEvent {
    /// The name of the job.
    pub job: String,
    /// What happened.
    pub what: CronTrouble,
}

impl CronEvent {
    /// Creates a record. For crons.
    pub fn new(job: impl Into<String>, what: CronTrouble) -> Self {
        CronEvent { job: job.into(), what }
    }
}

/// What happened to runs of a job. The dates are those at which the runs were due.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CronTrouble {
    /// A run has failed with this reason.
    Failed {
        /// The text of the reason.
        reason: String,
    },
    /// A run was left out, because an earlier one of the job goes on.
    LeftOut {
        /// When it was due.
        due: RunDate,
    },
    /// Runs were missed.
    Missed {
        /// How many were counted.
        runs: u64,
        /// Whether there were more: after 1000 in a row, those that no run makes up for are not
        /// counted (rule T10).
        more: bool,
        /// When the last of them was due.
        last: RunDate,
    },
}

/// A date at which a run was due, with its text in the time zone of the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDate {
    /// The date.
    pub at: SystemTime,
    /// The same date in the time zone of the job.
    pub text: String,
}

impl fmt::Display for RunDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for CronTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CronTrouble::Failed { reason } => write!(f, "run failed: {}", OneLine(reason)),
            CronTrouble::LeftOut { due } => write!(f, "run of {due} left out: one goes on"),
            CronTrouble::Missed { runs, more, last } => {
                let at_least = if *more { "at least " } else { "" };
                write!(f, "{at_least}{runs} missed, the last of {last}")
            }
        }
    }
}
