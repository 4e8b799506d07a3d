//! The monitors over one connection, in both directions.
//!
//! A reference of another node has one to five words and is no [`Ref`]. So a monitor of theirs
//! on a process of this node gets a [`Ref`] of ours, under which `act` knows it, and the pair is
//! kept here.

use krarup_gen::{Pid, Ref};
use krarup_wire::Monitored;
use krarup_wire::etf::{ExternalPid, Reference};
use std::collections::HashMap;

/// The most monitors of a peer (rule Zlink10).
const MOST: usize = if cfg!(test) { 1 << 10 } else { 1 << 20 };

/// A monitor of a process of this node on a process there.
#[derive(Clone, Debug)]
pub(crate) struct OurMonitor {
    /// The process that monitors.
    pub(crate) from: ExternalPid,
    pub(crate) target: Monitored,
    /// The stand-in of the monitored process.
    pub(crate) stand_in: StandIn,
}

/// How the stand-in of a monitored process is found.
#[derive(Clone, Debug)]
pub(crate) enum StandIn {
    Pid(Pid),
    Name(krarup_gen::Name),
}

/// A monitor of a process there on a process of this node.
#[derive(Clone, Debug)]
pub(crate) struct ForeignMonitor {
    pub(crate) reference: Reference,
    /// The process that monitors.
    pub(crate) by: ExternalPid,
    /// What is monitored, as it was named.
    pub(crate) target: Monitored,
}

/// The monitors of the processes of a peer.
#[derive(Debug, Default)]
pub(crate) struct ForeignMonitors {
    by_reference: HashMap<Reference, Ref>,
    monitors: HashMap<Ref, ForeignMonitor>,
}

impl ForeignMonitors {
    /// Whether there is a monitor with this reference.
    pub(crate) fn contains(&self, reference: &Reference) -> bool {
        self.by_reference.contains_key(reference)
    }

    /// Adds a monitor, under this `Ref`. Returns false if there are too many.
    pub(crate) fn add(&mut self, monitor: Ref, foreign: ForeignMonitor) -> bool {
        if self.monitors.len() >= MOST {
            return false;
        }
        self.by_reference.insert(foreign.reference.clone(), monitor);
        self.monitors.insert(monitor, foreign);
        true
    }

    /// Removes the monitor with this reference.
    pub(crate) fn remove(&mut self, reference: &Reference) -> Option<(Ref, ForeignMonitor)> {
        let monitor = self.by_reference.remove(reference)?;
        self.monitors.remove(&monitor).map(|foreign| (monitor, foreign))
    }

    /// Removes the monitor with this `Ref`.
    pub(crate) fn remove_ref(&mut self, monitor: Ref) -> Option<ForeignMonitor> {
        let foreign = self.monitors.remove(&monitor)?;
        self.by_reference.remove(&foreign.reference);
        Some(foreign)
    }

    pub(crate) fn clear(&mut self) {
        *self = ForeignMonitors::default();
    }

    pub(crate) fn len(&self) -> usize {
        self.monitors.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use krarup_wire::etf::Atom;

    fn foreign(word: u32) -> ForeignMonitor {
        let node = Atom::fixed("a@b");
        let reference = Reference::new(node.clone(), 4, &[word]).unwrap();
        let by = ExternalPid { node, id: 1, serial: 0, creation: 4 };
        ForeignMonitor { reference, by, target: Monitored::Name(Atom::fixed("stock")) }
    }

    #[test]
    fn zlink6_a_monitor_is_removed_by_either_reference_and_leaves_neither() {
        let mut monitors = ForeignMonitors::default();
        assert!(monitors.add(Ref::new(7), foreign(1)) && monitors.add(Ref::new(8), foreign(2)));
        assert!(monitors.contains(&foreign(1).reference));
        let removed = monitors.remove(&foreign(1).reference).map(|(monitor, _)| monitor);
        assert_eq!(removed, Some(Ref::new(7)));
        assert!(monitors.remove_ref(Ref::new(7)).is_none());
        assert!(monitors.remove_ref(Ref::new(8)).is_some());
        assert!(!monitors.contains(&foreign(2).reference));
        assert_eq!((monitors.by_reference.len(), monitors.len()), (0, 0));
    }

    #[test]
    fn zlink10_monitors_are_bounded() {
        let mut monitors = ForeignMonitors::default();
        for number in 0..MOST {
            let number = u32::try_from(number).unwrap();
            assert!(monitors.add(Ref::new(number.into()), foreign(number)));
        }
        assert!(!monitors.add(Ref::new(u64::MAX), foreign(u32::MAX)));
        assert_eq!(monitors.len(), MOST);
    }
}
