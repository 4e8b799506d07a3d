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
use crate::sync::Mutex;
use std::fmt;
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
        let make = |host: &Arc<dyn Host>| {
            let creation = host.node_pid().creation();
            Arc::new(SharedHost { host: Arc::clone(host), creation })
        };
        let Some(slot) = host.shared_host() else { return make(&host) };
        let mut kept = slot.0.lock();
        if let Some(shared) = kept.upgrade() {
            return shared;
        }
        let made = make(&host);
        *kept = Arc::downgrade(&made);
        made
    }
}

/// Where a host keeps what its processes share. Opaque outside this crate.
#[derive(Default)]
pub struct SharedHostSlot(
    /// Weak: what they share has a handle on the host.
    Mutex<Weak<SharedHost>>,
);

impl fmt::Debug for SharedHostSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedHostSlot(..)")
    }
}
