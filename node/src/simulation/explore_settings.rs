//! What the environment says about explorations, and why one runs nothing.
//!
//! Variables, not settings in code: a test that failed is run again unchanged. One that cannot be meant is
//! told, because a search that is not the wanted one looks like it.

use crate::simulation::schedule::{Schedule, ScheduleError};
use crate::simulation::seed_file;
use crate::simulation::shrinking::MOST_RUNS;
use std::env;
use std::ops::Range;
use std::path::PathBuf;

/// The variable with a schedule.
const SCHEDULE: &str = "KRARUP_SCHEDULE";
/// The variable with the most runs of a search.
const SHRINK: &str = "KRARUP_SHRINK";

pub(crate) struct ExploreSettings {
    /// The folder for files of failing seeds.
    pub(crate) folder: Option<PathBuf>,
    /// The most runs of a search.
    pub(crate) most_runs: u32,
    /// A schedule to run instead of the seeds.
    pub(crate) schedule: Option<Schedule>,
}

impl ExploreSettings {
    pub(crate) fn of_environment() -> Result<Self, NothingExplored> {
        let text = |variable| env::var_os(variable).map(|text| text.to_string_lossy().into_owned());
        Self::read(seed_file::wanted(), text(SCHEDULE), text(SHRINK))
    }

    /// A variable that is empty is not set.
    fn read(
        folder: Option<PathBuf>,
        schedule: Option<String>,
        most_runs: Option<String>,
    ) -> Result<Self, NothingExplored> {
        let schedule = schedule.filter(|text| !text.is_empty()).map(|text| text.parse());
        let most_runs = most_runs.filter(|text| !text.is_empty());
        let most_runs = most_runs.map(|text| text.parse().map_err(|_| NothingExplored::Runs(text)));
        Ok(ExploreSettings {
            folder,
            most_runs: most_runs.transpose()?.unwrap_or(MOST_RUNS),
            schedule: schedule.transpose().map_err(NothingExplored::Schedule)?,
        })
    }
}

/// Why an exploration runs nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NothingExplored {
    #[error("the range of seeds {}..{} is empty", .0.start, .0.end)]
    EmptyRange(Range<u64>),
    #[error("{SCHEDULE}: {0}")]
    Schedule(ScheduleError),
    #[error("{SHRINK}: {0:?} is not a number of runs (expected a whole number, 0 for no search)")]
    Runs(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(schedule: &str, most_runs: &str) -> Result<(Option<String>, u32), String> {
        let text = |text: &str| Some(text.to_owned());
        let read = ExploreSettings::read(None, text(schedule), text(most_runs));
        let read = read.map_err(|error| error.to_string())?;
        Ok((read.schedule.map(|schedule| schedule.to_string()), read.most_runs))
    }

    #[test]
    fn y4_a_variable_of_an_exploration_that_cannot_be_meant_is_an_error() {
        assert_eq!(read("", ""), Ok((None, MOST_RUNS)));
        assert_eq!(read("7.1.60:s3=p14", "0"), Ok((Some("7.1.60:s3=p14".to_owned()), 0)));
        assert_eq!(read("", "17"), Ok((None, 17)));
        for text in ["-1", "1.5", "many", " ", "4294967296"] {
            let error = read("", text).unwrap_err();
            let told = format!("KRARUP_SHRINK: {text:?} is not a number of runs");
            assert!(error.starts_with(&told), "{error}");
        }
        let error = read("7", "0").unwrap_err();
        assert!(error.starts_with("KRARUP_SCHEDULE: \"7\" is not a schedule"), "{error}");
    }
}
