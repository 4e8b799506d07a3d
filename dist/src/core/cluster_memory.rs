//! What a node keeps of its clusters: it outlives them.

use crate::core::incarnations::Incarnations;
use krarup_act::Host;
use krarup_gen::Pid;
use parking_lot::Mutex;
use std::sync::Arc;

/// What is kept from one cluster of a node to the next.
#[derive(Debug, Default)]
pub(crate) struct ClusterMemory {
    /// A cluster that is started again gives no number to another node.
    pub(crate) incarnations: Mutex<Incarnations>,
    leftovers: Mutex<Leftovers>,
}

/// What the cluster before has left behind, and what ends by itself: its processes have names and an address that the
/// next one wants (rule Zlive7).
#[derive(Debug, Default)]
pub(crate) struct Leftovers {
    /// Its listener and its scopes.
    pub(crate) processes: Vec<Pid>,
    /// It was registered at the port mapper, which may not have noticed its end.
    pub(crate) was_registered: bool,
}

impl ClusterMemory {
    /// The memory of a node.
    pub(crate) fn of_node(host: &dyn Host) -> Arc<ClusterMemory> {
        let Some(kept) = host.network_memory() else { return Arc::default() };
        let kept = kept.get_or_init(|| Arc::new(ClusterMemory::default()));
        Arc::clone(kept).downcast().unwrap_or_default()
    }

    /// A cluster has ended, and leaves this behind.
    pub(crate) fn leave(&self, left: Leftovers) {
        *self.leftovers.lock() = left;
    }

    /// Takes what the cluster before has left behind.
    pub(crate) fn take_leftovers(&self) -> Leftovers {
        std::mem::take(&mut self.leftovers.lock())
    }
}
