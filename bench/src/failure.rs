//! Failures of a measurement.

use krarup::{NodeError, SpawnError};
use std::num::ParseIntError;
use std::process::ExitCode;

/// Why a workload was not measured. Each failure has an exit code.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum WorkloadFailure {
    #[error(
        "usage: bench-krarup [--workers N] [--throughput N] [--idle-observer] WORKLOAD [SIZE] [COUNT]"
    )]
    Usage,
    #[error("N, SIZE and COUNT must be numbers: {0}")]
    Number(#[from] ParseIntError),
    #[error("{size} cannot be shared among {among}")]
    TooSmall { size: u64, among: u64 },
    #[error("{left} signals missing after {seconds} s")]
    Timeout { left: u64, seconds: u64 },
    #[error("no workload {0:?}")]
    Unsupported(String),
    #[error("cannot start the node: {0}")]
    Node(#[from] NodeError),
    #[error("cannot spawn: {0}")]
    Spawn(#[from] SpawnError),
    #[error("cannot start: an actor of the workload has ended")]
    Ended,
    #[error("cannot observe: {0}")]
    Observer(String),
    #[error("no histogram: {0}")]
    Histogram(#[from] hdrhistogram::CreationError),
}

impl WorkloadFailure {
    /// 1 for bad arguments, 2 for a workload that did not end, 3 for an unknown workload.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            WorkloadFailure::Timeout { .. } | WorkloadFailure::Ended => 2,
            WorkloadFailure::Unsupported(_) => 3,
            _ => 1,
        })
    }
}
