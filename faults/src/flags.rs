//! The arguments of the tool.

use lexopt::prelude::*;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The arguments of one run.
pub(crate) struct FaultFlags {
    /// Only faults with this in their name, file or area; empty: all.
    pub(crate) filter: String,
    /// How many of them the seed selects; `None`: all.
    pub(crate) sample: Option<usize>,
    /// The seed of the sample; by default the day.
    pub(crate) seed: String,
    /// A list, or a folder of lists, instead of those of the workspace.
    pub(crate) from: Option<PathBuf>,
    /// A file of mutants instead of a list.
    pub(crate) mutants: Option<PathBuf>,
    /// The tests that must catch each fault, instead of those in the list; empty: those in the
    /// list.
    pub(crate) by: String,
    /// Only print the selected faults.
    pub(crate) list: bool,
    /// Only check that each fault fits its file and compiles.
    pub(crate) check: bool,
    /// How long a test may run before it counts as hanging because of the fault.
    pub(crate) patience: Duration,
    /// How many tests run at a time.
    pub(crate) jobs: usize,
}

const USAGE: &str = "faults [--sample COUNT [--seed TEXT]] [--from PATH | --mutants FILE] [--by TESTS] [--list | --check] [--patience SECONDS] [--jobs COUNT] [FILTER]";

impl FaultFlags {
    pub(crate) fn parse() -> Result<Self, lexopt::Error> {
        let mut flags = FaultFlags {
            filter: String::new(),
            sample: None,
            seed: today(),
            from: None,
            mutants: None,
            by: String::new(),
            list: false,
            check: false,
            patience: Duration::from_secs(60),
            jobs: std::thread::available_parallelism().map_or(2, usize::from),
        };
        let mut arguments = lexopt::Parser::from_env();
        while let Some(argument) = arguments.next()? {
            match argument {
                Long("sample") => flags.sample = Some(arguments.value()?.parse()?),
                Long("seed") => flags.seed = arguments.value()?.string()?,
                Long("from") => flags.from = Some(arguments.value()?.into()),
                Long("mutants") => flags.mutants = Some(arguments.value()?.into()),
                Long("by") => flags.by = arguments.value()?.string()?,
                Long("list") => flags.list = true,
                Long("check") => flags.check = true,
                Long("patience") => {
                    flags.patience = Duration::from_secs(arguments.value()?.parse()?);
                }
                Long("jobs") => flags.jobs = arguments.value()?.parse::<usize>()?.max(1),
                Long("help") => {
                    println!("{USAGE}");
                    std::process::exit(0);
                }
                Value(filter) if flags.filter.is_empty() => flags.filter = filter.string()?,
                other => return Err(other.unexpected()),
            }
        }
        Ok(flags)
    }
}

/// The number of the day since 1970, in UTC.
fn today() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("day {}", now.as_secs() / 86_400)
}
