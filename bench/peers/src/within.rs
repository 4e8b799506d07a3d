//! What is measured within one process, for Krarup and for tokio. The figures are nanoseconds.

mod blocking;
mod restarts;
mod timers;

use crate::failure::PeerFailure;
use crate::side::PeerSide;
use crate::workload::Workload;
use krarup::{Node, Reason};
use std::time::Duration;

/// The threads for the work.
const WORKERS: usize = 2;

pub(crate) fn measure(workload: Workload, side: PeerSide, size: usize) -> Result<f64, PeerFailure> {
    let (took, count) = match (workload, side) {
        (Workload::Timers, PeerSide::Krarup) => timers::krarup(size)?,
        (Workload::Timers, PeerSide::Peer) => timers::tokio(size)?,
        (Workload::TimersFire, PeerSide::Krarup) => timers::krarup_fire(size)?,
        (Workload::TimersFire, PeerSide::Peer) => timers::tokio_fire(size)?,
        (Workload::Block, PeerSide::Krarup) => blocking::krarup(size)?,
        (Workload::Block, PeerSide::Peer) => blocking::tokio(size)?,
        (_, PeerSide::Krarup) => restarts::krarup(size)?,
        (_, PeerSide::Peer) => restarts::tokio(size)?,
    };
    Ok(took.as_secs_f64() * 1e9 / crate::load::as_f64(count as u64))
}

/// How long it took, and for how many.
type Measured = Result<(Duration, usize), PeerFailure>;

fn node() -> Result<Node, PeerFailure> {
    Ok(Node::builder("within@localhost").workers(WORKERS).start().map_err(Reason::from)?)
}
