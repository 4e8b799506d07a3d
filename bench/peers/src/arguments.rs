//! The command line.

use crate::side::PeerSide;
use crate::workload::Workload;
use lexopt::{Arg, Parser, ValueExt};

const USAGE: &str = "usage: bench-peers [--rounds N] [--seconds N] [WORKLOAD[=SIZE]]..., or \
                     bench-peers serve WORKLOAD krarup|peer";

pub(crate) struct PeerArguments {
    pub(crate) run: PeerRun,
}

/// What this process does.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PeerRun {
    Compare {
        rounds: u32,
        seconds: u64,
        workloads: Vec<(Workload, usize)>,
    },
    /// It is the server of one side.
    Serve(Workload, PeerSide),
    /// It measures one side within itself.
    Measure(Workload, PeerSide, usize),
}

impl PeerArguments {
    pub(crate) fn from_command_line() -> Result<Self, lexopt::Error> {
        Self::parse(Parser::from_env())
    }

    fn parse(mut parser: Parser) -> Result<Self, lexopt::Error> {
        let (mut rounds, mut seconds, mut words) = (5, 3, Vec::new());
        while let Some(argument) = parser.next()? {
            match argument {
                Arg::Long("rounds") => rounds = parser.value()?.parse()?,
                Arg::Long("seconds") => seconds = parser.value()?.parse()?,
                Arg::Value(word) => words.push(word.string()?),
                other => return Err(other.unexpected()),
            }
        }
        if rounds == 0 || seconds == 0 {
            return Err(format!("--rounds and --seconds are at least 1; {USAGE}").into());
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let run = match words[..] {
            ["serve", workload, side] => PeerRun::Serve(served(workload)?, side_named(side)?),
            ["measure", workload, side, size] => {
                PeerRun::Measure(named(workload)?, side_named(side)?, number(size)?)
            }
            [] => PeerRun::Compare { rounds, seconds, workloads: Workload::all() },
            _ => {
                let mut workloads = Vec::new();
                for word in words {
                    match word.split_once('=') {
                        Some((name, size)) => workloads.push((named(name)?, number(size)?)),
                        None => workloads.extend(named(word)?.with_sizes()),
                    }
                }
                PeerRun::Compare { rounds, seconds, workloads }
            }
        };
        Ok(PeerArguments { run })
    }
}

fn named(name: &str) -> Result<Workload, lexopt::Error> {
    Workload::named(name).ok_or_else(|| format!("no workload {name:?}; {USAGE}").into())
}

/// Others have no server.
fn served(name: &str) -> Result<Workload, lexopt::Error> {
    let workload = named(name)?;
    if workload.is_served() {
        Ok(workload)
    } else {
        Err(format!("{name:?} has no server; {USAGE}").into())
    }
}

fn side_named(name: &str) -> Result<PeerSide, lexopt::Error> {
    let side = PeerSide::BOTH.into_iter().find(|side| side.to_string() == name);
    side.ok_or_else(|| format!("no side {name:?}; {USAGE}").into())
}

fn number(word: &str) -> Result<usize, lexopt::Error> {
    match word.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(format!("{word:?} is no size; {USAGE}").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<PeerRun, lexopt::Error> {
        PeerArguments::parse(Parser::from_args(line.split_whitespace()))
            .map(|arguments| arguments.run)
    }

    #[test]
    fn workloads_may_have_a_size() {
        let run = parse("--rounds 3 echo=7 block").expect("workloads");
        let workloads = vec![(Workload::Echo, 7), (Workload::Block, 50_000)];
        assert_eq!(run, PeerRun::Compare { rounds: 3, seconds: 3, workloads });
        let Ok(PeerRun::Compare { workloads, .. }) = parse("") else { panic!("all workloads") };
        assert_eq!(workloads, Workload::all());
    }

    #[test]
    fn what_is_no_workload_is_named() {
        for line in [
            "ech",
            "echo=0",
            "echo=x",
            "serve echo erlang",
            "serve block krarup",
            "measure timers krarup -1",
        ] {
            let error = parse(line).expect_err(line).to_string();
            assert!(error.contains('"') || error.contains("invalid option"), "{error}");
        }
        assert!(parse("--rounds 0").is_err());
    }
}
