//! The workloads, their sizes, and the figures that each of them has.

use crate::failure::ClusterFailure;
use crate::figures::FigureKind;
use crate::figures::FigureKind::{Cost, Rate};
use crate::pair::{NodePair, PairRuntime};

/// One workload.
#[derive(Debug)]
pub(crate) struct PairWorkload {
    pub(crate) name: &'static str,
    pub(crate) size: u64,
    /// A size that takes less than a second.
    pub(crate) tiny: u64,
    pub(crate) figures: &'static [(&'static str, FigureKind)],
}

const fn workload(
    name: &'static str,
    [size, tiny]: [u64; 2],
    figures: &'static [(&'static str, FigureKind)],
) -> PairWorkload {
    PairWorkload { name, size, tiny, figures }
}

/// The workload that is measured from outside of the server.
pub(crate) const IDLE: &str = "idle";
/// The workload without a connection.
const CODEC: &str = "codec";

/// The workload of small calls beside large ones, which are more than the queue to a peer takes.
const BESIDE: &str = "beside";

/// All workloads, in the order in which `all` measures them.
pub(crate) static WORKLOADS: [PairWorkload; 10] = [
    workload("call", [20_000, 50], &[("call, µs", Cost)]),
    workload("call32", [100_000, 64], &[("32 callers, calls/s", Rate)]),
    workload("cast", [300_000, 1_000], &[("casts/s", Rate)]),
    workload("cast8", [400_000, 800], &[("8 senders, casts/s", Rate)]),
    workload("big", [200, 10], &[("echo of 1 MiB, MB/s", Rate), ("echo of 10 MiB, MB/s", Rate)]),
    workload(
        BESIDE,
        [300, 5],
        &[("call beside 8 of 3 MiB, p50, µs", Cost), ("the same, p99, µs", Cost)],
    ),
    workload(
        "bonds",
        [50_000, 100],
        &[("link, unlink, pairs/s", Rate), ("monitor, demonitor, pairs/s", Rate)],
    ),
    workload("downs", [100_000, 100], &[("monitors told of a loss, /s", Rate)]),
    workload(
        IDLE,
        [100, 3],
        &[("idle connection, KB", Cost), ("100 idle connections, processor µs/s", Cost)],
    ),
    workload(
        CODEC,
        [200_000, 1_000],
        &[
            ("read a call, ns", Cost),
            ("write a call, ns", Cost),
            ("read 1 000 maps, ns", Cost),
            ("write 1 000 maps, ns", Cost),
        ],
    ),
];

impl PairWorkload {
    /// Whether it is measured with this pair. The nodes of idle connections are Krarup's, many of
    /// them in a program, and terms are read and written by one node.
    pub(crate) fn has(&self, pair: NodePair) -> bool {
        match self.name {
            IDLE => pair.client == PairRuntime::Krarup,
            CODEC => pair.client == pair.server,
            _ => true,
        }
    }

    /// How many bytes may wait at a Krarup node for its peer. A call that finds more is refused,
    /// while one of OTP waits.
    pub(crate) fn queue_bytes(&self) -> usize {
        if self.name == BESIDE { 128 << 20 } else { 1 << 20 }
    }

    /// What the others are compared with.
    pub(crate) fn base(&self) -> NodePair {
        let client = if self.name == IDLE { PairRuntime::Krarup } else { PairRuntime::Otp };
        NodePair { client, server: PairRuntime::Otp }
    }

    /// The workloads with this name; all of them for `all`.
    pub(crate) fn named(name: &str) -> Result<&'static [PairWorkload], ClusterFailure> {
        if name == "all" {
            return Ok(&WORKLOADS);
        }
        let at = WORKLOADS.iter().position(|workload| workload.name == name);
        let at = at.ok_or_else(|| ClusterFailure::UnknownWorkload(name.to_owned()))?;
        Ok(&WORKLOADS[at..=at])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workload_is_found_by_its_name_and_all_by_theirs() {
        assert_eq!(PairWorkload::named("all").expect("all").len(), WORKLOADS.len());
        for workload in &WORKLOADS {
            let found = PairWorkload::named(workload.name).expect("a workload");
            assert_eq!(found.len(), 1);
            assert_eq!(found[0].name, workload.name);
            assert!(workload.tiny < workload.size);
        }
        let none = PairWorkload::named("tea");
        assert!(matches!(none, Err(ClusterFailure::UnknownWorkload(_))));
    }
}
