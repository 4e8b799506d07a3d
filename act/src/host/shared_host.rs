//! The host of a process, as its cell keeps it.
//!
//! ```text
//!   Cell ──┐
//!   Cell ──┼──► SharedHost { host, creation } ──► dyn Host
//!   Cell ──┘        ▲                                │
//!                   └───────── SharedHostSlot ◄──────┘   weak
//! ```
//!
//! A handle on a `dyn Host` takes two words, and the creation of a pid, which is that of its node, half of one. All
//! processes of a host have the same, so a cell has one word for both.

use super::host::Host;
use std::sync::{Arc, Weak};

/// A host with what its processes have in common.
// Each spawn and each end of a process writes the count of handles, and each message reads the fields: they are not in
// one cache line, nor in two that are fetched together.
#[repr(align(128))]
pub(crate) struct SharedHost {
    pub(crate) host: Arc<dyn Host>,
    /// The creation of the pids of its processes.
    pub(crate) creation: u32,
}

impl SharedHost {
    /// The one that the processes of this host share while there are any.
    pub(crate) fn of(host: Arc<dyn Host>) -> Arc<Self> {
        let Some(slot) = host.shared_host() else { return Arc::new(Self::new(host)) };
        let mut kept = slot.0.lock();
        let shared = kept.as_ref().and_then(Weak::upgrade);
        if let Some(Ok(shared)) = shared.map(Arc::downcast) {
            return shared;
        }
        let made = Arc::new(Self::new(Arc::clone(&host)));
        let weak: Weak<Self> = Arc::downgrade(&made);
        *kept = Some(weak);
        made
    }

    fn new(host: Arc<dyn Host>) -> Self {
        SharedHost { creation: host.node_pid().creation(), host }
    }
}
