//! Messages on their way in a simulation: where they arrive, and their codecs.

use super::{Simulated, SimulatedState};
use crate::simulation::codecs::{Carried, Codecs};
use crate::simulation::schedule::ChoiceKind;
use krarup_act::{Sending, SimulatedLink, contain};
use krarup_gen::Pid;
use parking_lot::Mutex;
use std::any::Any;

impl Simulated {
    pub(crate) fn codecs(&self) -> &Mutex<Codecs> {
        &self.codecs
    }

    pub(crate) fn carried(&self) -> Carried {
        self.codecs.lock().carried().clone()
    }
}

impl SimulatedLink for Simulated {
    fn carry(&self, sending: &Sending, message: &mut dyn Any) {
        self.recorder.sent(sending);
        let type_name = sending.type_name;
        let Some(codec) = self.codecs.lock().find(type_name, message) else { return };
        // The codec is user code and may panic.
        let outcome = contain(|| codec(message)).unwrap_or_else(|panic| Err(panic.to_string()));
        if let Err(error) = &outcome {
            self.recorder.codec_failed(sending.to, type_name, error.clone());
        }
        self.codecs.lock().note(type_name, outcome);
    }

    fn arrives(&self, to: Pid, outside: bool, overtake: &mut dyn FnMut(usize) -> usize) {
        let mut state = self.state.lock();
        let SimulatedState { arrivals, seeded, .. } = &mut *state;
        let passed = match arrivals.passable(to, outside) {
            0 => 0,
            most => overtake(seeded.choose(ChoiceKind::Message, most + 1)),
        };
        arrivals.arrived(to, outside, passed);
    }

    fn touches(&self, to: Pid) {
        self.state.lock().arrivals.reached(to);
    }
}
