//! The processes that start, keep and stop applications.

use krarup_gen::Pid;
use parking_lot::Mutex;
use std::collections::BTreeSet;

/// The processes in which jobs run (see `insist`). A stop of the node asks them last.
#[derive(Default)]
pub(crate) struct JobProcesses(Mutex<BTreeSet<Pid>>);

impl JobProcesses {
    pub(crate) fn insert(&self, pid: Pid) {
        self.0.lock().insert(pid);
    }

    pub(crate) fn remove(&self, pid: Pid) {
        self.0.lock().remove(&pid);
    }

    pub(crate) fn contains(&self, pid: Pid) -> bool {
        self.0.lock().contains(&pid)
    }
}
