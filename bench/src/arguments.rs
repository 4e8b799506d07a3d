//! The arguments of the command line.

use crate::failure::WorkloadFailure;

/// The worker threads of a node for which no number is given.
const WORKERS: usize = 2;

/// A workload, with its size and count if they differ from the defaults.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Arguments {
    /// The worker threads of the node. The main thread only starts the work and waits.
    pub(crate) workers: usize,
    /// The messages in a turn, if not as many as by default.
    pub(crate) throughput: Option<u32>,
    /// Whether an observer runs at which nobody looks.
    pub(crate) idle_observer: bool,
    pub(crate) workload: String,
    size: Option<u64>,
    count: Option<usize>,
}

impl Arguments {
    /// Parses `[--workers N] [--throughput N] [--idle-observer] WORKLOAD [SIZE] [COUNT]`.
    pub(crate) fn parse(words: impl IntoIterator<Item = String>) -> Result<Self, WorkloadFailure> {
        let mut words = words.into_iter().peekable();
        let workers = match words.next_if(|word| word == "--workers") {
            None => WORKERS,
            Some(_) => words.next().ok_or(WorkloadFailure::Usage)?.parse()?,
        };
        let throughput = match words.next_if(|word| word == "--throughput") {
            None => None,
            Some(_) => Some(words.next().ok_or(WorkloadFailure::Usage)?.parse()?),
        };
        let idle_observer = words.next_if(|word| word == "--idle-observer").is_some();
        let workload = words.next().ok_or(WorkloadFailure::Usage)?;
        let size = words.next().map(|word| word.parse()).transpose()?;
        let count = words.next().map(|word| word.parse()).transpose()?;
        match words.next() {
            None => Ok(Arguments { workers, throughput, idle_observer, workload, size, count }),
            Some(_) => Err(WorkloadFailure::Usage),
        }
    }

    /// The amount of work, usually a number of messages.
    pub(crate) fn size(&self, default: u64) -> u64 {
        self.size.unwrap_or(default)
    }

    /// The number of participants, usually of actors.
    pub(crate) fn count(&self, default: usize) -> usize {
        self.count.unwrap_or(default)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Arguments, WorkloadFailure> {
        Arguments::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn size_and_count_may_be_left_out() {
        let arguments = parse("fanin 1000").expect("a workload and a size");
        assert_eq!(arguments.workload, "fanin");
        assert_eq!(arguments.size(7), 1000);
        assert_eq!(arguments.count(8), 8);
    }

    #[test]
    fn an_idle_observer_is_asked_for_before_the_workload() {
        assert!(parse("--idle-observer fanin").expect("a workload").idle_observer);
        assert!(!parse("fanin 1000").expect("a workload").idle_observer);
        assert!(matches!(parse("--idle-observer"), Err(WorkloadFailure::Usage)));
    }

    #[test]
    fn there_are_two_workers_unless_another_number_is_given() {
        assert_eq!(parse("fanin").expect("a workload").workers, 2);
        let one = parse("--workers 1 --idle-observer fanin 7").expect("a workload");
        assert_eq!((one.workers, one.idle_observer, one.size(1)), (1, true, 7));
        assert!(matches!(parse("--workers"), Err(WorkloadFailure::Usage)));
        assert!(matches!(parse("--workers x fanin"), Err(WorkloadFailure::Number(_))));
    }

    #[test]
    fn a_turn_has_the_default_length_unless_another_is_given() {
        assert_eq!(parse("fanin").expect("a workload").throughput, None);
        let long = parse("--workers 1 --throughput 512 fanin").expect("a workload");
        assert_eq!(long.throughput, Some(512));
        assert!(matches!(parse("--throughput"), Err(WorkloadFailure::Usage)));
        assert!(matches!(parse("--throughput x fanin"), Err(WorkloadFailure::Number(_))));
    }

    #[test]
    fn an_argument_that_is_not_a_number_is_refused() {
        assert!(matches!(parse("fanin many"), Err(WorkloadFailure::Number(_))));
    }

    #[test]
    fn a_workload_is_required_and_a_fourth_argument_is_refused() {
        assert!(matches!(parse(""), Err(WorkloadFailure::Usage)));
        assert!(matches!(parse("fanin 1 2 3"), Err(WorkloadFailure::Usage)));
    }
}
