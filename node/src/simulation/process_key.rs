//! The identity of a process in a simulation, which may have several nodes.

use krarup_gen::Pid;

/// A process of one of the nodes: its number, and the creation of its node. Two pids of
/// different nodes may be equal, their keys are not.
///
/// The creations of the nodes of a simulation ascend in the order in which the nodes were made,
/// so the order of keys is the same in every run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ProcessKey {
    number: u64,
    node: u32,
}

impl From<Pid> for ProcessKey {
    fn from(pid: Pid) -> Self {
        ProcessKey { number: pid.id(), node: pid.creation() }
    }
}
