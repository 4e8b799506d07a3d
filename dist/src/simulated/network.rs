//! A simulated network, as a test uses it.

use super::wire_events::WireEffects;
use super::wires::Wires;
use krarup_act::{Host, NetworkFault, SimulatedNetwork};
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// A network between the nodes of one simulation, over which their clusters reach each other.
///
/// Nodes join it with [`Cluster::network`](crate::Cluster::network). It stands in the place of
/// sockets: the processes of connections, and everything above them, are the same (rule Zsim2).
/// Bytes arrive in order and once, in pieces and at moments that the seed of the simulation
/// chooses. The trace of the simulation has every arrival.
///
/// The methods here are for a test that knows what is to go wrong, and when. Faults by chance
/// are those of the simulation: `Faults::reset_one_in` and `Faults::partition_one_in`.
///
/// A clone is another handle on the same network.
///
/// ```
/// # use krarup_act::{behavior_fn, Context, Received};
/// # use krarup_gen::{CallError, Result};
/// # use krarup_act::Reply;
/// # mod krarup { pub use krarup_dist as cluster; }
/// use krarup::cluster::{Cluster, ClusterCalls, Cookie, SimNetwork};
/// # use krarup_node::Simulation;
/// # use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// enum Stock {
///     Total(Reply<u64>),
/// }
///
/// # fn main() -> Result {
/// let (sim, net) = (Simulation::new(7), SimNetwork::new());
/// let (a, b) = (sim.beside("a@sim")?, sim.beside("b@sim")?);
/// let cookie = Cookie::new("secret")?;
/// let on = |net: &SimNetwork| {
///     let (net, cookie) = (net.clone(), cookie.clone());
///     move || Cluster::new(cookie).network(&net)
/// };
/// let cluster = a.spawn_system(on(&net)).wait()?;
/// b.spawn_system(on(&net)).wait()?;
/// let nobody = cluster.remote::<Stock>("nobody", "b@sim")?;
/// let to = nobody.pid();
/// net.refuse("b@sim", true);
/// let lost = nobody.call(Stock::Total).wait().unwrap_err();
/// let said = "the request did not reach \"nobody\" at b@sim: no connection to its node";
/// assert_eq!(lost.to_string(), said);
/// net.refuse("b@sim", false);
/// assert_eq!(nobody.call(Stock::Total).wait(), Err(CallError::NoProcess { to }));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SimNetwork {
    wires: Arc<Wires>,
    faults: Arc<NetworkFaults>,
}

/// The network as the simulation sees it.
struct NetworkFaults(Arc<Wires>);

impl SimNetwork {
    /// Creates a network without nodes, on which nothing goes wrong and everything arrives
    /// without time passing.
    #[must_use]
    pub fn new() -> Self {
        let wires = Wires::new();
        SimNetwork { faults: Arc::new(NetworkFaults(Arc::clone(&wires))), wires }
    }

    /// Cuts these nodes off from those: nothing passes between them, and dials are neither
    /// answered nor refused. What is under way goes on when the partition is over.
    pub fn partition(&self, these: &[&str], those: &[&str]) {
        {
            let mut state = self.wires.state.lock();
            for one in these {
                for other in those {
                    state.cuts.add(one, other);
                }
            }
        }
        self.wires.note(format!("{} cut off from {}", these.join(", "), those.join(", ")));
    }

    /// Ends all partitions.
    pub fn heal(&self) {
        self.wires.state.lock().cuts.clear();
        self.wires.note("healed".to_owned());
        self.wires.go_on();
    }

    /// Breaks all connections between two nodes. Each of them learns it by itself: bytes that
    /// were on their way arrive up to a point that the seed chooses. Returns how many
    /// connections there were, those with unfinished dials among them.
    pub fn reset(&self, one: &str, other: &str) -> usize {
        self.wires.note(format!("reset between {one} and {other}"));
        self.wires.reset_between(one, other)
    }

    /// Sets the longest time for which bytes are on their way, in whole milliseconds. The seed
    /// chooses the time of each piece, from zero on.
    pub fn delay(&self, longest: Duration) {
        self.wires.state.lock().delay = longest;
    }

    /// Lets a node refuse all dials, or accept them again.
    pub fn refuse(&self, node: &str, refuses: bool) {
        self.wires.note(format!("{node} {}", if refuses { "refuses" } else { "accepts" }));
        self.wires.refuse(node, refuses);
    }

    /// Returns the connections that are open at either end: the nodes that have dialled, and
    /// those that were dialled, in the order of the dials.
    #[must_use]
    pub fn connections(&self) -> Vec<(String, String)> {
        let state = self.wires.state.lock();
        let nodes = state.wires.values().map(|wire| wire.nodes.clone());
        nodes.map(|[from, to]| (from, to)).collect()
    }

    pub(crate) fn wires(&self) -> Arc<Wires> {
        Arc::clone(&self.wires)
    }

    /// Adds a node. Returns its address, or `None` if it is not one of a simulation.
    pub(crate) fn join(&self, node: &str, host: &Arc<dyn Host>) -> Option<SocketAddr> {
        let faults: Weak<dyn SimulatedNetwork> =
            Arc::downgrade(&(Arc::clone(&self.faults) as Arc<dyn SimulatedNetwork>));
        host.simulated_events()?.join(faults);
        Some(self.wires.add_member(node, host))
    }
}

impl Default for SimNetwork {
    fn default() -> Self {
        SimNetwork::new()
    }
}

impl fmt::Debug for SimNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SimNetwork").field(&self.connections()).finish()
    }
}

impl SimulatedNetwork for NetworkFaults {
    fn strike(&self, fault: NetworkFault, node: Option<&str>, number: u64) -> Option<String> {
        let NetworkFaults(wires) = self;
        let mut state = wires.state.lock();
        let hit = state.of_node(node);
        let id = *hit.get(super::pipe::share(number, hit.len()))?;
        let [one, other] = state.wires.get(&id)?.nodes.clone();
        match fault {
            NetworkFault::Reset => {
                let mut effects = WireEffects::default();
                wires.break_wire(&mut state, id, &mut effects);
                drop(state);
                effects.apply();
                Some(format!("reset between {one} and {other}"))
            }
            NetworkFault::Partition(time) => {
                let cut = state.cuts.add(&one, &other);
                drop(state);
                let text = format!("{one} and {other} are cut off for {time:?}");
                wires.end_cut_after(time, (one, other), cut);
                Some(text)
            }
            _ => None,
        }
    }
}
