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
    /// Each with the process that has subscribed: a recipient by name may lead to another one later.
    subscribers: Mutex<Vec<(Pid, Recipient<NodeEvent>)>>,
}

impl NodeEvents {
    /// Adds a subscriber, for its lifetime. A process has at most one subscription.
    pub(crate) fn subscribe(&self, who: Recipient<NodeEvent>) {
        let pid = who.pid();
        let mut subscribers = self.subscribers.lock();
        if subscribers.iter().all(|(known, _)| *known != pid) {
            subscribers.push((pid, who));
        }
    }

    pub(crate) fn unsubscribe(&self, pid: Pid) -> bool {
        let removed = {
            let mut subscribers = self.subscribers.lock();
            let at = subscribers.iter().position(|(known, _)| *known == pid);
            at.map(|at| subscribers.remove(at))
        };
        removed.is_some()
    }

    /// Tells every subscriber, beyond the bound of its mailbox.
    pub(crate) fn tell(&self, event: &NodeEvent) {
        let subscribers = self.subscribers.lock().clone();
        let mut gone = Vec::new();
        for (pid, subscriber) in subscribers {
            if subscriber.is_alive() && subscriber.pid() == pid {
                subscriber.notify(event.clone());
            } else {
                gone.push(pid);
            }
        }
        for pid in gone {
            self.unsubscribe(pid);
        }
    }
}
