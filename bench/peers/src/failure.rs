//! Why something was not measured.

use crate::side::PeerSide;
use crate::workload::Workload;
use std::io;

#[derive(Debug, thiserror::Error)]
pub(crate) enum PeerFailure {
    #[error("the {side} side of {workload} has failed: {why}")]
    Side { workload: Workload, side: PeerSide, why: String },
    #[error("no server on {0}: {1}")]
    NoConnection(std::net::SocketAddr, io::Error),
    #[error("a connection was closed before its answer")]
    Closed,
    #[error("an answer that is not one: {0:?}")]
    Strange(String),
    #[error("no request was answered")]
    NoAnswer,
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Krarup(krarup::Reason),
    #[error("a task has ended")]
    Ended,
}

impl From<krarup::Reason> for PeerFailure {
    fn from(reason: krarup::Reason) -> Self {
        PeerFailure::Krarup(reason)
    }
}
