//! The timers of the nodes of a simulation, which share one virtual time.

use crate::timers::timer::NodeTimers;
use krarup_act::{Alarm, TimerKey};
use krarup_gen::Timestamp;
use std::sync::Arc;

/// The running nodes of a simulation, in the order in which they were made.
#[derive(Default)]
pub(crate) struct SimulatedNodes(Vec<(u32, Arc<NodeTimers>)>);

impl SimulatedNodes {
    /// Adds the node with this creation.
    pub(crate) fn add(&mut self, creation: u32, timers: Arc<NodeTimers>) {
        self.0.push((creation, timers));
    }

    /// Removes a node that has stopped. Returns whether none is left.
    pub(crate) fn remove(&mut self, creation: u32) -> bool {
        self.0.retain(|(node, _)| *node != creation);
        self.0.is_empty()
    }

    /// When the next timer of any node is due.
    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        self.0.iter().filter_map(|(_, timers)| timers.next_due()).min()
    }

    /// Takes out what is due, node by node, in the order in which it is to fire there.
    pub(crate) fn take_due(&self, now: Timestamp) -> Vec<(u32, TimerKey, Alarm)> {
        let due_at = |(node, timers): &(u32, Arc<NodeTimers>)| {
            let node = *node;
            timers.take_due(now).into_iter().map(move |(key, alarm)| (node, key, alarm))
        };
        self.0.iter().flat_map(due_at).collect()
    }
}
