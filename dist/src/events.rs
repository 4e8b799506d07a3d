//! Comings and goings of nodes, for those who subscribe to them (rule Zlive2).

use krarup_act::Recipient;
use krarup_gen::{NodeName, Pid};
use parking_lot::Mutex;

/// A connection to another node is up, or was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NodeEvent {
    /// A connection to the node is up. Nothing of the node has arrived yet.
    Up(NodeName),
    /// The connection to the node is lost, and everybody bound to a process there was told.
    Down(NodeName),
}

/// The subscribers.
#[derive(Default)]
pub(crate) struct NodeEvents {
    subscribers: Mutex<Vec<Recipient<NodeEvent>>>,
}

impl NodeEvents {
    /// Adds a subscriber, for its lifetime. A process has at most one subscription.
    pub(crate) fn subscribe(&self, who: Recipient<NodeEvent>) {
        let mut subscribers = self.subscribers.lock();
        if !subscribers.contains(&who) {
            subscribers.push(who);
        }
    }

    pub(crate) fn unsubscribe(&self, pid: Pid) -> bool {
        let removed = {
            let mut subscribers = self.subscribers.lock();
            let at = subscribers.iter().position(|known| known.pid() == pid);
            at.map(|at| subscribers.remove(at))
        };
        removed.is_some()
    }

    /// Tells every subscriber, beyond the bound of its mailbox.
    pub(crate) fn tell(&self, event: &NodeEvent) {
        let subscribers = self.subscribers.lock().clone();
        let mut gone = Vec::new();
        for subscriber in subscribers {
            if subscriber.is_alive() {
                subscriber.notify(event.clone());
            } else {
                gone.push(subscriber.pid());
            }
        }
        for pid in gone {
            self.unsubscribe(pid);
        }
    }
}
