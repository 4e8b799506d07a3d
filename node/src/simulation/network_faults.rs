//! What a simulation does for the network between its nodes: its events and its faults.

use crate::simulation::dispatcher::Simulated;
use crate::simulation::faults::{Fault, Strike, Victim};
use krarup_act::{NetworkEvent, NetworkFault, SimulatedEvents, SimulatedNetwork};
use krarup_gen::Timestamp;
use std::sync::Weak;

impl Fault {
    /// The fault of the network that this is.
    fn of_network(self) -> Option<NetworkFault> {
        match self {
            Fault::Reset => Some(NetworkFault::Reset),
            Fault::Partition(time) => Some(NetworkFault::Partition(time)),
            _ => None,
        }
    }

    pub(crate) fn is_of_network(self) -> bool {
        self.of_network().is_some()
    }
}

impl Simulated {
    /// Applies a fault of the network.
    pub(crate) fn strike_network(&self, strike: Strike) {
        let Strike { fault, victim, is_random } = strike;
        let Some(of_network) = fault.of_network() else { return };
        let node = match &victim {
            Victim::Named(node) => Some(node.as_str()),
            _ => None,
        };
        let network = self.network().and_then(|network| network.upgrade());
        let number = self.random();
        // Not under any lock: the fault may make processes ready.
        let text = network.and_then(|network| {
            // A random fault counts if it has hit something.
            let counts = !is_random || self.may_count();
            counts.then(|| network.strike(of_network, node, number))?
        });
        match text {
            Some(text) => {
                if is_random {
                    self.count_fault();
                }
                self.recorder.fault(None, text);
            }
            None if is_random => {}
            None => self.recorder.fault(None, format!("{fault:?} finds no connection")),
        }
    }
}

impl SimulatedEvents for Simulated {
    fn add(&self, at: Timestamp, event: NetworkEvent) {
        self.add_event(at, event);
    }

    fn note(&self, text: String) {
        self.recorder.network(text);
    }

    fn join(&self, network: Weak<dyn SimulatedNetwork>) {
        self.set_network(network);
    }
}
