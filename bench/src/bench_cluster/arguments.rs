//! The arguments of the command line.

use crate::failure::ClusterFailure;
use crate::pair::NodePair;
use crate::workload::PairWorkload;
use std::num::NonZero;

/// What is to be measured.
#[derive(Debug)]
pub(crate) struct ClusterArguments {
    pub(crate) rounds: usize,
    pub(crate) pairs: Vec<NodePair>,
    pub(crate) workloads: &'static [PairWorkload],
    size: Option<u64>,
    is_tiny: bool,
}

impl ClusterArguments {
    /// Parses `[--rounds N] [--pairs PAIR,..] [--tiny] all|WORKLOAD [SIZE]`.
    pub(crate) fn parse(words: impl IntoIterator<Item = String>) -> Result<Self, ClusterFailure> {
        let (mut rounds, mut pairs) = (5, NodePair::ALL.to_vec());
        let (mut workloads, mut size, mut is_tiny) = (None, None, false);
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(ClusterFailure::Usage);
            match word.as_str() {
                "--tiny" => is_tiny = true,
                "--rounds" => rounds = value()?.parse::<NonZero<usize>>()?.get(),
                "--pairs" => {
                    pairs = value()?.split(',').map(str::parse).collect::<Result<_, _>>()?;
                }
                option if option.starts_with('-') => return Err(ClusterFailure::Usage),
                name if workloads.is_none() => workloads = Some(PairWorkload::named(name)?),
                number if size.is_none() => size = Some(number.parse::<NonZero<u64>>()?.get()),
                _ => return Err(ClusterFailure::Usage),
            }
        }
        let workloads = workloads.ok_or(ClusterFailure::Usage)?;
        Ok(ClusterArguments { rounds, pairs, workloads, size, is_tiny })
    }

    /// The size of a workload.
    pub(crate) fn size_of(&self, workload: &PairWorkload) -> u64 {
        self.size.unwrap_or(if self.is_tiny { workload.tiny } else { workload.size })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<ClusterArguments, ClusterFailure> {
        ClusterArguments::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn options_may_be_left_out() {
        let arguments = parse("cast").expect("a workload");
        assert_eq!((arguments.rounds, arguments.pairs.len()), (5, 4));
        assert_eq!(arguments.size_of(&arguments.workloads[0]), 300_000);
    }

    #[test]
    fn rounds_pairs_and_sizes_are_chosen() {
        let line = "--rounds 3 --pairs Krarup-OTP,OTP-OTP --tiny call";
        let arguments = parse(line).expect("options and a workload");
        assert_eq!((arguments.rounds, arguments.pairs.len()), (3, 2));
        assert_eq!(arguments.size_of(&arguments.workloads[0]), 50);
        let arguments = parse("call 7").expect("a workload and a size");
        assert_eq!(arguments.size_of(&arguments.workloads[0]), 7);
    }

    #[test]
    fn bad_arguments_are_refused() {
        for line in ["", "--rounds", "call 1 2", "--what call"] {
            assert!(matches!(parse(line), Err(ClusterFailure::Usage)), "{line}");
        }
        for line in ["--rounds 0 call", "call many", "call 0"] {
            assert!(matches!(parse(line), Err(ClusterFailure::Number(_))), "{line}");
        }
    }
}
