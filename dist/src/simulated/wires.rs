//! The connections of a simulated network.
//!
//! The lock is a leaf but for the simulation's own: nothing is woken and no message is sent with
//! it held.

use super::cuts::Cuts;
use super::pipe::{Pipe, share};
use krarup_act::{Host, Recipient};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use std::task::Waker;
use std::time::Duration;

/// The number of a connection.
pub(super) type WireId = u64;

/// The port of every node.
const PORT: u16 = 4369;
/// The port of the first connection that is dialled.
const FIRST_PORT: u16 = 40_000;

/// The side that has dialled.
pub(super) const DIALLED: usize = 0;
/// The side that was dialled.
pub(super) const ACCEPTED: usize = 1;

/// All connections of a network.
pub(crate) struct Wires {
    pub(super) myself: Weak<Wires>,
    pub(super) state: Mutex<WiresState>,
}

#[derive(Default)]
pub(super) struct WiresState {
    /// Any node of the simulation: all have the same events, time and random numbers.
    pub(super) host: Option<Arc<dyn Host>>,
    pub(super) members: BTreeMap<String, NetworkMember>,
    pub(super) wires: BTreeMap<WireId, SimulatedWire>,
    next: WireId,
    pub(super) cuts: Cuts,
    /// The longest time that bytes are on their way.
    pub(super) delay: Duration,
}

/// A node of the network.
pub(super) struct NetworkMember {
    address: SocketAddr,
    pub(super) listener: Option<Recipient<AcceptedWire>>,
    pub(super) refuses: bool,
}

/// A connection.
pub(super) struct SimulatedWire {
    pub(super) nodes: [String; 2],
    pub(super) addresses: [SocketAddr; 2],
    pub(super) dial: DialState,
    /// What each side reads.
    pub(super) pipes: [Pipe; 2],
    pub(super) is_open: [bool; 2],
    /// The side makes its end a reset.
    pub(super) resets: [bool; 2],
    /// Events that a cut holds up.
    pub(super) held: Vec<WireEvent>,
    /// The side that dials waits for its answer.
    pub(super) caller: Option<Waker>,
}

/// Whether a connection is established, as the side that dials sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DialState {
    Calling,
    Up,
    Failed(ErrorKind),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum WireEvent {
    /// The dial reaches the other node.
    Dial,
    /// The answer reaches the node that has dialled.
    Answer(Result<(), ErrorKind>),
    /// Something reaches this side.
    Arrive(usize),
}

/// One end of a connection. Dropping it closes it.
pub(crate) struct WireEnd {
    pub(super) wires: Arc<Wires>,
    pub(super) id: WireId,
    pub(super) side: usize,
}

/// A connection that a listener gets.
pub(crate) struct AcceptedWire(pub(super) WireEnd);

impl Wires {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new_cyclic(|myself| Wires { myself: Weak::clone(myself), state: Mutex::default() })
    }

    /// Adds a node, or finds it again. Returns its address.
    pub(crate) fn add_member(&self, node: &str, host: &Arc<dyn Host>) -> SocketAddr {
        let mut state = self.state.lock();
        let before = state.host.replace(Arc::clone(host));
        let number = state.members.len() + 1;
        let member = state.members.entry(node.to_owned()).or_insert_with(|| {
            let [.., high, low] = number.to_be_bytes();
            let address = SocketAddr::from(([10, 0, high, low], PORT));
            NetworkMember { address, listener: None, refuses: false }
        });
        let address = member.address;
        drop(state);
        drop(before);
        address
    }

    /// Sets the process that accepts the connections of a node.
    pub(crate) fn listen(&self, node: &str, listener: Option<Recipient<AcceptedWire>>) {
        let before = {
            let mut state = self.state.lock();
            let member = state.members.get_mut(node);
            member.and_then(|member| std::mem::replace(&mut member.listener, listener))
        };
        drop(before);
    }

    /// Whether a process listens for this node.
    pub(crate) fn has_listener(&self, node: &str) -> bool {
        let state = self.state.lock();
        let listener = state.members.get(node).and_then(|member| member.listener.clone());
        drop(state);
        listener.is_some_and(|listener| listener.is_alive())
    }

    /// The address of a node that was ever there.
    pub(crate) fn address_of(&self, node: &str) -> Option<SocketAddr> {
        self.state.lock().members.get(node).map(|member| member.address)
    }

    /// Lets a node refuse all dials, or accept them again.
    pub(super) fn refuse(&self, node: &str, refuses: bool) {
        if let Some(member) = self.state.lock().members.get_mut(node) {
            member.refuses = refuses;
        }
    }

    /// Dials a node.
    pub(crate) fn dial(self: &Arc<Self>, from: &str, to: &str) -> WireEnd {
        let mut state = self.state.lock();
        state.next += 1;
        let id = state.next;
        let nowhere = SocketAddr::from(([0, 0, 0, 0], 0));
        let address = |node| state.members.get(node).map_or(nowhere, |member| member.address);
        let (mut here, there) = (address(from), address(to));
        here.set_port(FIRST_PORT.wrapping_add(u16::try_from(id % 20_000).unwrap_or(0)));
        let wire = SimulatedWire {
            nodes: [from.to_owned(), to.to_owned()],
            addresses: [here, there],
            dial: DialState::Calling,
            pipes: Default::default(),
            is_open: [true, false],
            resets: [false; 2],
            held: Vec::new(),
            caller: None,
        };
        state.wires.insert(id, wire);
        self.later(&state, id, WireEvent::Dial);
        WireEnd { wires: Arc::clone(self), id, side: DIALLED }
    }

    /// Adds a text to the trace of the simulation.
    pub(super) fn note(&self, text: String) {
        let host = self.state.lock().host.clone();
        if let Some(events) = host.as_ref().and_then(|host| host.simulated_events()) {
            events.note(text);
        }
    }

    fn close(&self, id: WireId, side: usize) {
        let wakers = {
            let mut state = self.state.lock();
            let number = state.random();
            let Some(wire) = state.wires.get_mut(&id) else { return };
            wire.is_open[side] = false;
            let caller = wire.caller.take();
            let [reader, writer] = wire.pipes[side].take_wakers();
            // Bytes that were not read make the end a reset, as TCP does.
            let unread = wire.pipes[side].discard();
            let other = &mut wire.pipes[1 - side];
            if wire.resets[side] || unread {
                other.reset(number);
            } else {
                other.finish();
            }
            let writer_of_other = other.writer.take();
            self.move_on(&mut state, id, 1 - side);
            state.remove_if_over(id);
            [caller, reader, writer, writer_of_other]
        };
        // They belong to the process that has closed its end.
        drop(wakers);
    }
}

impl WiresState {
    pub(super) fn random(&self) -> u64 {
        self.host.as_ref().map_or(0, |host| host.random())
    }

    pub(super) fn latency(&self, host: &dyn Host) -> Duration {
        let millis = usize::try_from(self.delay.as_millis()).unwrap_or(usize::MAX - 1);
        match millis {
            0 => Duration::ZERO,
            millis => Duration::from_millis(share(host.random(), millis + 1) as u64),
        }
    }

    pub(super) fn remove_if_over(&mut self, id: WireId) {
        if let Some(wire) = self.wires.get(&id)
            && wire.is_open == [false; 2]
        {
            self.wires.remove(&id);
        }
    }

    /// The connections in use, or those of one node.
    pub(super) fn of_node(&self, node: Option<&str>) -> Vec<WireId> {
        let is_of =
            |wire: &SimulatedWire| node.is_none_or(|node| wire.nodes.iter().any(|one| one == node));
        self.wires.iter().filter(|(_, wire)| is_of(wire)).map(|(id, _)| *id).collect()
    }
}

impl Pipe {
    fn take_wakers(&mut self) -> [Option<Waker>; 2] {
        [self.reader.take(), self.writer.take()]
    }
}

impl Drop for WireEnd {
    fn drop(&mut self) {
        self.wires.close(self.id, self.side);
    }
}
