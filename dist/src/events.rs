//! Comings and goings of nodes, for those who subscribe to them (rule Zlive2).

use krarup_act::{Host, Membership, Recipient};
use krarup_gen::{NodeName, Pid};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, Weak};

/// A connection to another node is up, or was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NodeEvent {
    /// A connection to the node is up. Nothing of the node has arrived yet.
    Up(NodeName),
    /// The connection to the node is lost, and everybody bound to a process there was told.
    Down(NodeName),
}

/// The subscribers, in the order of their pids.
///
/// ```text
///   ClusterMemory ──► NodeEvents: users. They outlive the clusters of the node.
///   ClusterCore ────► NodeEvents: the scopes of groups of this cluster, which end with it.
/// ```
#[derive(Default)]
pub(crate) struct NodeEvents {
    /// Each by the process that has subscribed: a recipient by name may lead to another one later.
    subscribers: Mutex<BTreeMap<SubscriberKey, Recipient<NodeEvent>>>,
}

/// A process. Processes of two nodes of one program may have equal pids, but not equal creations.
type SubscriberKey = (Pid, u32);

fn key_of(pid: Pid) -> SubscriberKey {
    (pid, pid.creation())
}

impl NodeEvents {
    /// Adds a subscriber, until it is removed. A process has at most one subscription.
    pub(crate) fn add(&self, who: Recipient<NodeEvent>) {
        let key = key_of(who.pid());
        let _ = self.add_if(key, who, || true);
    }

    /// Adds a subscriber for its lifetime: the end of a process of this node removes it. One of another
    /// node of this program is removed by the first event after its end.
    pub(crate) fn subscribe(self: &Arc<Self>, host: &dyn Host, who: Recipient<NodeEvent>) {
        let key = key_of(who.pid());
        let process = if key.0.node() == 0 { host.process(key.0) } else { None };
        let left = match process {
            // It has ended, or is of another node of this program.
            None => {
                let is_alive = who.is_alive();
                self.add_if(key, who, || is_alive)
            }
            Some(process) => {
                let subscription = Arc::new(NodeSubscription(Arc::downgrade(self)));
                // The end of the process comes before it, and adds nobody, or waits for this lock.
                self.add_if(key, who, || host.memberships().begin(&*process, subscription))
            }
        };
        drop(left);
    }

    /// Returns the recipient that was not added.
    fn add_if(
        &self,
        key: SubscriberKey,
        who: Recipient<NodeEvent>,
        may_be_added: impl FnOnce() -> bool,
    ) -> Option<Recipient<NodeEvent>> {
        let mut subscribers = self.subscribers.lock();
        match subscribers.entry(key) {
            Entry::Vacant(place) if may_be_added() => {
                place.insert(who);
                None
            }
            _ => Some(who),
        }
    }

    pub(crate) fn remove(&self, pid: Pid) {
        let gone = self.subscribers.lock().remove(&key_of(pid));
        drop(gone);
    }

    pub(crate) fn count(&self) -> usize {
        self.subscribers.lock().len()
    }

    /// Tells every subscriber, beyond the bound of its mailbox.
    pub(crate) fn tell(&self, event: &NodeEvent) {
        let subscribers = self.subscribers.lock().clone();
        for ((pid, _), subscriber) in subscribers {
            if subscriber.is_alive() && subscriber.pid() == pid {
                subscriber.notify(event.clone());
            } else {
                self.remove(pid);
            }
        }
    }
}

/// The subscription of a process of this node. It ends with the process.
struct NodeSubscription(Weak<NodeEvents>);

impl Membership for NodeSubscription {
    fn end(&self, process: Pid) {
        if let Some(events) = self.0.upgrade() {
            events.remove(process);
        }
    }
}
