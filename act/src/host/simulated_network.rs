//! The network between the nodes of a simulation, as the simulation sees it.
//!
//! A simulation runs one thing at a time: a turn, a timer, or an event of its network. It
//! chooses the order by its seed, and knows nothing of connections or bytes.

use krarup_gen::Timestamp;
use std::fmt;
use std::sync::Weak;
use std::time::Duration;

/// The events of a simulation that are neither turns nor timers: see
/// [`Host::simulated_events`](super::host::Host::simulated_events).
pub trait SimulatedEvents: Send + Sync {
    /// Runs an event between two turns, at this time or later, when the seed chooses it. If it
    /// returns a text, the trace has it.
    fn add(&self, at: Timestamp, event: NetworkEvent);

    /// Adds a text to the trace.
    fn note(&self, text: String);

    /// Makes this network the one that the faults of the simulation hit.
    fn join(&self, network: Weak<dyn SimulatedNetwork>);
}

/// An event of a network. It neither blocks nor panics.
pub struct NetworkEvent(Box<dyn FnOnce() -> Option<String> + Send>);

impl NetworkEvent {
    /// Creates an event from the function that it runs.
    pub fn new(run: impl FnOnce() -> Option<String> + Send + 'static) -> Self {
        NetworkEvent(Box::new(run))
    }

    /// Runs the event. Returns its text for the trace.
    #[must_use]
    pub fn run(self) -> Option<String> {
        (self.0)()
    }
}

impl fmt::Debug for NetworkEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NetworkEvent")
    }
}

/// A network between the nodes of a simulation.
pub trait SimulatedNetwork: Send + Sync {
    /// Applies a fault to two nodes, one of which is `node` if that is given. The seed's number
    /// chooses them. Returns a text for the trace, or `None` if there is nothing to hit.
    fn strike(&self, fault: NetworkFault, node: Option<&str>, number: u64) -> Option<String>;
}

/// A fault of the network between two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NetworkFault {
    /// A connection is reset.
    Reset,
    /// Nothing passes between the nodes for this long.
    Partition(Duration),
}
