//! What a node keeps of its clusters: it outlives them.

use crate::core::incarnations::Incarnations;
use crate::events::NodeEvents;
use krarup_act::Host;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is kept from one cluster of a node to the next.
#[derive(Default)]
pub(crate) struct ClusterMemory {
    /// A cluster that is started again gives no number to another node.
    pub(crate) incarnations: Mutex<Incarnations>,
    /// Processes that are told of nodes by each cluster (rule Zlive2).
    pub(crate) subscribers: Arc<NodeEvents>,
    begun: AtomicU64,
}

impl ClusterMemory {
    /// The memory of a node.
    pub(crate) fn of_node(host: &dyn Host) -> Arc<ClusterMemory> {
        let Some(kept) = host.network_memory() else { return Arc::default() };
        let kept = kept.get_or_init(|| Arc::new(ClusterMemory::default()));
        Arc::clone(kept).downcast().unwrap_or_default()
    }

    /// A cluster begins. Returns which one of the node it is, from 1.
    pub(crate) fn begin(&self) -> u64 {
        self.begun.fetch_add(1, Ordering::Relaxed) + 1
    }
}
