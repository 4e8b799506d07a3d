//! The command line.

use super::soaker::SoakDice;
use lexopt::{Arg, Parser, ValueExt};
use std::time::Duration;

/// What `--help` prints.
pub(crate) const HELP: &str = "\
Uses a node of OTP that is killed and started again at random, and accounts for everything.

Usage: cluster_soak [--seconds N] [--seed N] [--every N]

  --seconds N  how long, 1 to 604800 (3600)
  --seed N     when the node ends, and how, comes from it (1)
  --every N    a line each so many seconds (10)
  --help       print this

Exit code 0: nothing is lost, or there is no erl. 1: something is, and it is printed. 2: a bad
command line.
";

pub(crate) struct SoakOptions {
    pub(crate) time: Duration,
    pub(crate) seed: u64,
    pub(crate) every: Duration,
}

impl SoakOptions {
    /// How long the node of OTP lives this time.
    pub(crate) fn life(&self, dice: &mut SoakDice) -> Duration {
        let most = if self.time < Duration::from_secs(60) { 1_500 } else { 10_000 };
        Duration::from_millis(500 + dice.below(most) as u64)
    }
}

/// Reads the command line; `None` if help is asked for.
pub(crate) fn parse(mut parser: Parser) -> Result<Option<SoakOptions>, lexopt::Error> {
    let (time, every) = (Duration::from_secs(3600), Duration::from_secs(10));
    let mut options = SoakOptions { time, seed: 1, every };
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Long("seconds") => options.time = seconds(&mut parser)?,
            Arg::Long("every") => options.every = seconds(&mut parser)?,
            Arg::Long("seed") => options.seed = parser.value()?.parse()?,
            Arg::Long("help") => return Ok(None),
            other => return Err(other.unexpected()),
        }
    }
    Ok(Some(options))
}

fn seconds(parser: &mut Parser) -> Result<Duration, lexopt::Error> {
    let text = parser.value()?.string()?;
    let seconds = text.parse().ok().filter(|seconds| (1..=604_800).contains(seconds));
    let seconds = seconds.ok_or_else(|| format!("{text:?} is no number from 1 to 604800"))?;
    Ok(Duration::from_secs(seconds))
}
