//! The command line.

use lexopt::{Arg, Parser, ValueExt};
use std::ops::RangeInclusive;
use std::time::Duration;

/// What `--help` prints.
pub(crate) const HELP: &str = "\
Storms on a tree of processes, and accounts for everything afterwards.

Usage: soak [--minutes N] [--seconds N] [--seed N] [--processes N]

  --minutes N    how long, 0 to 10080; with --seconds, both together
  --seconds N    how long, 0 to 604800 (10, if neither is given)
  --seed N       what the threads do comes from it (1)
  --processes N  processes in the crowds, beside those that have names, 0 to 1000000 (500)
  --help         print this

Exit code 0: nothing is lost. 1: something is, and it is printed. 2: a bad command line.
";

pub(crate) struct Options {
    pub(crate) time: Duration,
    pub(crate) seed: u64,
    pub(crate) processes: usize,
}

impl Options {
    /// Returns how long a storm lasts between two rests. Even a short run has several of each.
    pub(crate) fn round(&self) -> Duration {
        (self.time / 5).clamp(Duration::from_millis(200), Duration::from_secs(10))
    }

    /// Whether the run is long enough to print its progress after every round.
    pub(crate) fn is_long(&self) -> bool {
        self.time > Duration::from_secs(20)
    }
}

/// What the command line asks for.
pub(crate) enum Asked {
    Run(Options),
    Help,
}

/// Reads the command line; an error names the flag and the value.
pub(crate) fn parse(mut parser: Parser) -> Result<Asked, lexopt::Error> {
    let mut options = Options { time: Duration::ZERO, seed: 1, processes: 500 };
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Long("minutes") => {
                let minutes = number(&mut parser, "minutes", 0..=10_080)?;
                options.time += Duration::from_secs(60 * minutes);
            }
            Arg::Long("seconds") => {
                let seconds = number(&mut parser, "seconds", 0..=604_800)?;
                options.time += Duration::from_secs(seconds);
            }
            Arg::Long("seed") => options.seed = number(&mut parser, "seed", 0..=u64::MAX)?,
            Arg::Long("processes") => {
                let processes = number(&mut parser, "processes", 0..=1_000_000)?;
                options.processes = usize::try_from(processes).unwrap_or(usize::MAX);
            }
            Arg::Long("help") => return Ok(Asked::Help),
            other => return Err(other.unexpected()),
        }
    }
    if options.time.is_zero() {
        options.time = Duration::from_secs(10);
    }
    Ok(Asked::Run(options))
}

fn number(
    parser: &mut Parser,
    flag: &str,
    range: RangeInclusive<u64>,
) -> Result<u64, lexopt::Error> {
    let text = parser.value()?.string()?;
    let number = text.parse().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| {
        let (least, most) = range.into_inner();
        format!("--{flag} {text:?} is no number from {least} to {most}").into()
    })
}
