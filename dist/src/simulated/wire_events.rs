//! The events of a simulated network: dials, answers and bytes that arrive, and what breaks them.
//!
//! What wakes processes or sends them messages is collected under the lock, and done without it.

use super::pipe::{PipeArrival, PipeEnd};
use super::wires::{
    ACCEPTED, AcceptedWire, DIALLED, DialState, SimulatedWire, WireEnd, WireEvent, WireId, Wires,
    WiresState,
};
use krarup_act::{NetworkEvent, Recipient};
use krarup_gen::Timestamp;
use std::io::ErrorKind;
use std::sync::{Arc, Weak};
use std::task::Waker;
use std::time::Duration;

/// What is to be done without the lock.
#[derive(Default)]
pub(super) struct WireEffects {
    wakers: Vec<Waker>,
    accepted: Option<(Recipient<AcceptedWire>, WireEnd)>,
    text: Option<String>,
}

impl Wires {
    /// Has an event happen after a time that the seed chooses.
    pub(super) fn later(&self, state: &WiresState, id: WireId, event: WireEvent) {
        let Some(host) = &state.host else { return };
        let at = host.now() + state.latency(&**host);
        self.at(state, at, id, event);
    }

    fn at(&self, state: &WiresState, at: Timestamp, id: WireId, event: WireEvent) {
        let myself = Weak::clone(&self.myself);
        let event = NetworkEvent::new(move || myself.upgrade()?.happen(id, event));
        if let Some(events) = state.host.as_ref().and_then(|host| host.simulated_events()) {
            events.add(at, event);
        }
    }

    /// Has what is on its way to this side arrive, unless that is under way already.
    pub(super) fn move_on(&self, state: &mut WiresState, id: WireId, side: usize) {
        let Some(host) = state.host.clone() else { return };
        let soonest = host.now() + state.latency(&*host);
        let Some(wire) = state.wires.get_mut(&id) else { return };
        let pipe = &mut wire.pipes[side];
        if pipe.is_moving || !pipe.has_more() {
            return;
        }
        pipe.is_moving = true;
        let at = soonest.max(pipe.not_before);
        pipe.not_before = at;
        self.at(state, at, id, WireEvent::Arrive(side));
    }

    fn happen(self: &Arc<Self>, id: WireId, event: WireEvent) -> Option<String> {
        let mut effects = WireEffects::default();
        {
            let mut state = self.state.lock();
            let wire = state.wires.get(&id)?;
            let [from, to] = &wire.nodes;
            if state.cuts.between(from, to) {
                state.wires.get_mut(&id)?.held.push(event);
                return None;
            }
            match event {
                WireEvent::Dial => self.dialled(&mut state, id, &mut effects),
                WireEvent::Answer(answer) => state.answered(id, answer, &mut effects),
                WireEvent::Arrive(side) => self.arrive(&mut state, id, side, &mut effects),
            }
            state.remove_if_over(id);
        }
        effects.apply()
    }

    fn dialled(self: &Arc<Self>, state: &mut WiresState, id: WireId, effects: &mut WireEffects) {
        let Some(wire) = state.wires.get_mut(&id) else { return };
        let [from, to] = &wire.nodes;
        if !wire.is_open[DIALLED] {
            return;
        }
        let member = state.members.get(to).filter(|member| !member.refuses);
        let listener = member.and_then(|member| member.listener.clone());
        let listener = listener.filter(Recipient::is_alive);
        let answer = match listener {
            Some(listener) => {
                effects.text = Some(format!("{from} dials {to}"));
                wire.is_open[ACCEPTED] = true;
                let end = WireEnd { wires: Arc::clone(self), id, side: ACCEPTED };
                effects.accepted = Some((listener, end));
                Ok(())
            }
            None => {
                effects.text = Some(format!("{to} refuses {from}"));
                Err(ErrorKind::ConnectionRefused)
            }
        };
        self.later(state, id, WireEvent::Answer(answer));
    }

    fn arrive(&self, state: &mut WiresState, id: WireId, side: usize, effects: &mut WireEffects) {
        let number = state.random();
        let Some(wire) = state.wires.get_mut(&id) else { return };
        let (from, to) = (&wire.nodes[1 - side], &wire.nodes[side]);
        let pipe = &mut wire.pipes[side];
        pipe.is_moving = false;
        let arrival = pipe.arrive(number);
        effects.text = match arrival {
            PipeArrival::Nothing => None,
            PipeArrival::Bytes(1) => Some(format!("{from} to {to}: 1 byte")),
            PipeArrival::Bytes(count) => Some(format!("{from} to {to}: {count} bytes")),
            PipeArrival::End(PipeEnd::Finished) => Some(format!("{from} to {to}: end")),
            PipeArrival::End(PipeEnd::Reset) => Some(format!("{from} to {to}: reset")),
        };
        effects.wakers.extend(pipe.reader.take());
        if arrival == PipeArrival::End(PipeEnd::Reset) {
            // The other direction is broken, too: nothing more is written to it.
            let other = &mut wire.pipes[1 - side];
            other.reset(0);
            effects.wakers.extend(other.writer.take());
        }
        if !wire.is_open[side] && wire.pipes[side].discard() {
            // Bytes for an end that is closed: its system answers with a reset.
            effects.wakers.extend(wire.pipes[side].writer.take());
            state.reset_side(id, 1 - side);
            self.move_on(state, id, 1 - side);
        }
        self.move_on(state, id, side);
    }

    /// Breaks the connections between two nodes. Returns how many there were.
    pub(super) fn reset_between(&self, one: &str, other: &str) -> usize {
        let mut effects = WireEffects::default();
        let count = {
            let mut state = self.state.lock();
            let between: Vec<WireId> = state.between(one, other).collect();
            between.iter().for_each(|id| self.break_wire(&mut state, *id, &mut effects));
            between.len()
        };
        effects.apply();
        count
    }

    /// Breaks a connection: each side learns it by itself.
    pub(super) fn break_wire(&self, state: &mut WiresState, id: WireId, effects: &mut WireEffects) {
        if state.wires.get(&id).is_some_and(|wire| wire.dial == DialState::Calling) {
            state.answered(id, Err(ErrorKind::ConnectionReset), effects);
        }
        for side in [DIALLED, ACCEPTED] {
            state.reset_side(id, side);
            self.move_on(state, id, side);
        }
    }

    /// Nodes are not cut off any more: what was held up goes on.
    pub(super) fn go_on(&self) {
        let mut state = self.state.lock();
        let mut going_on = Vec::new();
        let WiresState { wires, cuts, .. } = &mut *state;
        for (id, wire) in wires {
            let [from, to] = &wire.nodes;
            if !cuts.between(from, to) {
                going_on.extend(wire.held.drain(..).map(|event| (*id, event)));
            }
        }
        for (id, event) in going_on {
            self.later(&state, id, event);
        }
    }

    /// Ends a cut after this time.
    pub(super) fn end_cut_after(&self, time: Duration, pair: (String, String), cut: u64) {
        let state = self.state.lock();
        let Some(host) = &state.host else { return };
        let myself = Weak::clone(&self.myself);
        let event = NetworkEvent::new(move || {
            let wires = myself.upgrade()?;
            let (one, other) = &pair;
            wires.state.lock().cuts.remove(one, other, cut);
            wires.go_on();
            Some(format!("the partition of {one} and {other} is over"))
        });
        if let Some(events) = host.simulated_events() {
            events.add(host.now() + time, event);
        }
    }
}

impl WiresState {
    fn answered(&mut self, id: WireId, answer: Result<(), ErrorKind>, effects: &mut WireEffects) {
        let Some(wire) = self.wires.get_mut(&id) else { return };
        if wire.dial == DialState::Calling {
            wire.dial = answer.map_or_else(DialState::Failed, |()| DialState::Up);
            effects.wakers.extend(wire.caller.take());
        }
    }

    /// Breaks what this side reads.
    fn reset_side(&mut self, id: WireId, side: usize) {
        let number = self.random();
        if let Some(wire) = self.wires.get_mut(&id) {
            wire.pipes[side].reset(number);
        }
    }

    /// The connections between two nodes, in the order in which they were dialled.
    fn between(&self, one: &str, other: &str) -> impl Iterator<Item = WireId> {
        let is_between = move |wire: &SimulatedWire| {
            let [from, to] = &wire.nodes;
            (from == one && to == other) || (from == other && to == one)
        };
        self.wires.iter().filter(move |(_, wire)| is_between(wire)).map(|(id, _)| *id)
    }
}

impl WireEffects {
    /// Does what was collected. Returns the text for the trace.
    pub(super) fn apply(self) -> Option<String> {
        self.wakers.into_iter().for_each(Waker::wake);
        if let Some((listener, end)) = self.accepted {
            listener.notify(AcceptedWire(end));
        }
        self.text
    }
}
