//! The nodes that are kept connected: what happens to them, and what is due (rule Zlive4).

use super::ClusterCore;
use crate::events::NodeEvent;
use crate::keeping::{KeepPlan, KeptBy};
use crate::messages::{ClusterMessage, ClusterRequest};
use krarup_gen::{KeptNode, NodeName};
use krarup_wire::etf::Atom;
use std::sync::Arc;
use std::time::Duration;

impl ClusterCore {
    /// Keeps a node from now on. A node does not keep itself: so all nodes of a cluster may have the
    /// same list.
    pub(crate) fn keep(&self, node: &NodeName, by: KeptBy) {
        if node.as_str() != self.me.as_str() {
            // Whether it is connected is looked at when it is due, which is at once.
            self.keeping.lock().keep(node, by, false, self.now());
            self.keeping_changed();
        }
    }

    pub(crate) fn unkeep(&self, node: &NodeName, by: KeptBy) -> bool {
        self.keeping.lock().unkeep(node, by)
    }

    pub(crate) fn kept(&self) -> Vec<KeptNode> {
        self.keeping.lock().describe(self.now())
    }

    /// A discovery has news of this node.
    pub(crate) fn kept_news(&self, node: &NodeName) {
        self.keeping.lock().news(node, self.now());
        self.keeping_changed();
    }

    /// A connection is up or lost.
    pub(super) fn kept_event(&self, event: &NodeEvent) {
        match event {
            NodeEvent::Up(node) => self.keeping.lock().up(node, self.now()),
            NodeEvent::Down(node) => self.kept_loses(node, KeepPlan::down),
        }
    }

    /// A dial has failed.
    pub(super) fn kept_failed(&self, peer: &Atom) {
        if let Ok(node) = NodeName::new(peer.as_str()) {
            self.kept_loses(&node, KeepPlan::failed);
        }
    }

    fn kept_loses(&self, node: &NodeName, event: fn(&mut KeepPlan, &NodeName, Duration, u64)) {
        // Chance is drawn for kept nodes only: the run of a simulation without them is as it was.
        if !self.keeping.lock().contains(node) {
            return;
        }
        let random = self.host.random();
        event(&mut self.keeping.lock(), node, self.now(), random);
        self.keeping_changed();
    }

    /// Dials the nodes that are due. Returns when to call it again, and the present time.
    pub(crate) fn dial_kept(self: &Arc<Self>) -> (Option<Duration>, Duration) {
        let random = self.host.random();
        let due = self.keeping.lock().due(self.now(), || random);
        for node in due {
            let Some(peer) = self.peer_of(&node) else { continue };
            peer.want();
            peer.flush(self);
            if peer.is_up() {
                self.keeping.lock().up(&node, self.now());
                // It may have been lost in between, and the plan may have heard of that before.
                if !peer.is_up() {
                    self.kept_loses(&node, KeepPlan::down);
                }
            }
        }
        (self.keeping.lock().next(), self.now())
    }

    fn keeping_changed(&self) {
        self.cluster.notify(ClusterMessage(ClusterRequest::KeepChanged));
    }
}
