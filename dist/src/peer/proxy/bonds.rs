//! The links and monitors of a stand-in, and the messages to it: what they say over the wire.

use super::{RemoteProcess, RemoteTarget};
use crate::peer::foreign::{OurMonitor, StandIn};
use crate::peer::signal::{Signal, SignalPayload};
use krarup_act::{MessageRoom, NotWritten, Remote, RemoteRoom, WrittenMessage};
use krarup_gen::{Pid, Ref, Target};
use krarup_wire::{ControlMessage, Monitored};
use std::sync::atomic::Ordering;

impl Remote for RemoteProcess {
    fn link(&self, local: Pid) {
        self.note_bond();
        let Some(to) = self.external() else { return };
        if self.is_stranger() {
            self.stale.store(true, Ordering::Relaxed);
            return;
        }
        let control = ControlMessage::Link { from: self.home.ours(local), to: to.clone() };
        let signal = Signal::new(local.id(), control, self.incarnation());
        let not_pushed = {
            let mut state = self.peer.state.lock();
            // A link of a connection that is being lost must not look like one of the next.
            if state.is_losing() || state.links.link(self.key(local)) == Ok(true) {
                state.push(signal)
            } else {
                None
            }
        };
        self.note_lost(not_pushed.as_ref());
    }

    fn unlink(&self, local: Pid) {
        self.changed.store(true, Ordering::Relaxed);
        let Some(to) = self.external() else { return };
        let unlinked = self.peer.state.lock().links.unlink(&self.key(local));
        if let Some(id) = unlinked {
            let from = self.home.ours(local);
            let control = ControlMessage::UnlinkId { id, from, to: to.clone() };
            self.push(local.id(), control, SignalPayload::None);
        }
    }

    fn monitor(&self, by: Option<Pid>, monitor: Ref, _: &Target) {
        self.note_bond();
        if self.is_stranger() {
            self.stale.store(true, Ordering::Relaxed);
            return;
        }
        let (target, stand_in) = match &self.target {
            RemoteTarget::Pid(pid) => (Monitored::Pid(pid.clone()), StandIn::Pid(self.pid)),
            RemoteTarget::Name(name, atom) => {
                (Monitored::Name(atom.clone()), StandIn::Name(name.clone()))
            }
            RemoteTarget::Node => {
                if !self.peer.want() {
                    self.cut.store(true, Ordering::Relaxed);
                }
                return;
            }
        };
        let from = self.home.ours(by.unwrap_or(self.home.pid()));
        let ours = OurMonitor { from: from.clone(), target: target.clone(), stand_in };
        let reference = self.home.reference(monitor);
        let control = ControlMessage::Monitor { from, target, reference };
        let signal = Signal::new(by.map_or(0, Pid::id), control, self.incarnation());
        let not_pushed = {
            let mut state = self.peer.state.lock();
            if !state.is_losing() {
                state.monitors.insert(monitor.number(), ours);
            }
            state.push(signal)
        };
        self.note_lost(not_pushed.as_ref());
    }

    fn demonitor(&self, monitor: Ref) {
        self.changed.store(true, Ordering::Relaxed);
        let ours = self.peer.state.lock().monitors.remove(&monitor.number());
        if let Some(OurMonitor { from, target, .. }) = ours {
            let by = u64::from(from.serial) << 32 | u64::from(from.id);
            let reference = self.home.reference(monitor);
            let control = ControlMessage::Demonitor { from, target, reference };
            self.push(by, control, SignalPayload::None);
        }
    }

    fn is_alive(&self) -> bool {
        if self.is_ended()
            && let Some(next) = self.successor()
        {
            return next.is_alive();
        }
        !self.is_stranger()
    }

    fn end_call(&self, call: u64) {
        self.home.end_call(call);
        if self.is_ended()
            && let Some(next) = self.successor()
        {
            next.end_call(call);
        }
    }

    fn room(&self) -> RemoteRoom {
        if self.is_ended()
            && let Some(next) = self.successor()
        {
            return next.room();
        }
        let room = self.peer.room();
        Box::pin(async move { Box::new(room.await) as Box<dyn Send> })
    }

    fn write(
        &self,
        message: &dyn erased_serde::Serialize,
        number: u64,
        room: MessageRoom,
    ) -> Result<WrittenMessage, NotWritten> {
        if self.is_ended() {
            if let Some(next) = self.successor() {
                return next.write(message, number, room);
            }
            self.unsent(number);
            return Err(NotWritten::NoConnection);
        }
        if self.is_stranger() {
            return Err(NotWritten::NoProcess);
        }
        if room == MessageRoom::Wanted && self.peer.is_full() {
            return Err(NotWritten::Full);
        }
        self.home.write(self, message, number)
    }
}
