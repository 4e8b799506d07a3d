//! What is on its way over the network between the nodes of a simulation.
//!
//! An event has a time before which it does not happen. From then on the seed chooses among it,
//! the turns of processes, and due timers. The network itself keeps the order that it promises:
//! an event only says that something may arrive now.

use krarup_act::NetworkEvent;
use krarup_gen::Timestamp;

/// The events of the network that have not happened.
#[derive(Default)]
pub(crate) struct NetworkEvents(Vec<(Timestamp, NetworkEvent)>);

impl NetworkEvents {
    pub(crate) fn add(&mut self, at: Timestamp, event: NetworkEvent) {
        self.0.push((at, event));
    }

    /// How many events may happen now.
    pub(crate) fn ready(&self, now: Timestamp) -> usize {
        self.0.iter().filter(|(at, _)| *at <= now).count()
    }

    /// Takes out one of those that may happen now.
    pub(crate) fn take(&mut self, now: Timestamp, choice: usize) -> Option<NetworkEvent> {
        let mut ready = (0..self.0.len()).filter(|place| self.0[*place].0 <= now);
        let place = ready.nth(choice)?;
        Some(self.0.remove(place).1)
    }

    /// When the next event may happen.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        self.0.iter().map(|(at, _)| *at).min()
    }

    pub(crate) fn take_all(&mut self) -> Vec<NetworkEvent> {
        std::mem::take(&mut self.0).into_iter().map(|(_, event)| event).collect()
    }
}
