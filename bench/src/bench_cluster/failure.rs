//! Failures of a measurement.

use std::num::ParseIntError;
use std::process::ExitCode;

/// Why nothing was measured. Each failure has an exit code.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ClusterFailure {
    #[error("usage: bench-cluster [--rounds N] [--pairs PAIR,..] [--tiny] all|WORKLOAD [SIZE]")]
    Usage,
    #[error("ROUNDS and SIZE must be numbers from 1: {0}")]
    Number(#[from] ParseIntError),
    #[error("no pair {0:?}: a pair is OTP-OTP, OTP-Krarup, Krarup-OTP or Krarup-Krarup")]
    UnknownPair(String),
    #[error("no workload {0:?}")]
    UnknownWorkload(String),
    #[error("no Erlang: {0}; install erl and erlc, or measure --pairs Krarup-Krarup")]
    Erlang(String),
    #[error("the {side} of {pair} failed: {why}")]
    Side { side: &'static str, pair: String, why: String },
    #[error("{0}")]
    Node(String),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl ClusterFailure {
    /// A node has failed with this error.
    pub(crate) fn of_node(error: impl std::fmt::Display) -> Self {
        ClusterFailure::Node(error.to_string())
    }

    /// 1 for bad arguments, 2 for a node that failed, 3 for an unknown workload, 4 without Erlang.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            ClusterFailure::Usage | ClusterFailure::Number(_) | ClusterFailure::UnknownPair(_) => 1,
            ClusterFailure::UnknownWorkload(_) => 3,
            ClusterFailure::Erlang(_) => 4,
            _ => 2,
        })
    }
}
