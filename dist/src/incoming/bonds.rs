//! The links, monitors and exit signals of the processes of a peer.

use super::{Dispatch, NET_KERNEL};
use crate::error::ConnectionError;
use crate::peer::LinkKey;
use crate::peer::foreign::{ForeignMonitor, StandIn};
use crate::peer::proxy::RemoteProcess;
use crate::peer::signal::{Signal, SignalPayload};
use crate::peer::up_and_down::end_function;
use crate::terms::reason::reason_from_term;
use krarup_act::{
    Process, Via, demonitor_from, down_from, exit_from, link_from, monitor_from, unlink_from,
};
use krarup_gen::{Exit, Pid, Reason, Ref, Target};
use krarup_wire::etf::{ExternalPid, Reference, Term};
use krarup_wire::{ControlMessage, LinkReceived, Monitored};
use std::num::NonZeroU64;
use std::sync::Arc;

impl Dispatch<'_> {
    pub(super) fn link(&self, from: &ExternalPid, to: &ExternalPid) -> Result<(), ConnectionError> {
        let local = self.core.local(to);
        let local = local.filter(|local| self.may(|rights| &rights.links, local));
        self.link_to(from, to, local).map(drop)
    }

    /// Links a process of the peer to the process `local`, which the peer knows as `to`, or tells it that there is none.
    /// Returns false if the connection is lost.
    pub(super) fn link_to(
        &self,
        from: &ExternalPid,
        to: &ExternalPid,
        local: Option<Arc<dyn Process>>,
    ) -> Result<bool, ConnectionError> {
        let Some((key, stand_in)) = self.key(from, to).zip(self.stand_in(from)) else {
            return Ok(false);
        };
        let mut overload = false;
        let linked = local.is_some_and(|local| {
            let theirs: Arc<dyn Process> = Arc::clone(&stand_in) as _;
            link_from(&*self.core.host, &theirs, &local, &mut || {
                let received = self.current().map(|mut state| state.links.link_received(key));
                match received {
                    Some(Ok(LinkReceived::Linked)) => {
                        stand_in.note_bond();
                        true
                    }
                    Some(Ok(LinkReceived::Ignored)) | None => false,
                    Some(Err(_)) => {
                        overload = true;
                        false
                    }
                }
            })
        });
        if overload {
            return Err(ConnectionError::Overload);
        }
        if self.current().is_none() {
            // The loss of the connection may not have seen the link.
            let theirs: Arc<dyn Process> = stand_in;
            unlink_from(&*self.core.host, &theirs, self.local_pid(key), &mut || true);
            return Ok(false);
        }
        if !linked {
            let control = ControlMessage::PayloadExit { from: to.clone(), to: from.clone() };
            self.say(key.0, control, SignalPayload::Reason(Reason::NoProcess));
        }
        self.peer.flush(self.core);
        Ok(true)
    }

    pub(super) fn unlink(&self, id: NonZeroU64, from: &ExternalPid, to: &ExternalPid) {
        let Some((key, stand_in)) = self.key(from, to).zip(self.stand_in(from)) else { return };
        let theirs: Arc<dyn Process> = stand_in;
        let control = ControlMessage::UnlinkIdAck { id, from: to.clone(), to: from.clone() };
        let local = self.local_pid(key);
        let mut said = Some(Signal::new(key.0, control, None));
        unlink_from(&*self.core.host, &theirs, local, &mut || {
            let Some(mut state) = self.current() else { return false };
            let linked = state.links.unlink_received(&key);
            // Before any other signal to that process (rule Zlink5).
            if let Some(signal) = said.take() {
                // If the connection is lost, so is the link.
                drop(state.push(signal));
            }
            linked
        });
        theirs.schedule(None);
    }

    pub(super) fn exit(&self, from: &ExternalPid, to: &ExternalPid, reason: &Term) {
        let Some((key, stand_in)) = self.key(from, to).zip(self.stand_in(from)) else { return };
        let theirs: Arc<dyn Process> = stand_in;
        let local = self.local_pid(key);
        let reason = reason_from_term(reason);
        exit_from(&*self.core.host, &theirs, local, &reason, &mut || {
            self.current().is_some_and(|mut state| state.links.exit_received(&key))
        });
        theirs.schedule(None);
    }

    pub(super) fn signal(&self, from: &ExternalPid, to: &ExternalPid, reason: &Term) {
        let Some((local, pid)) = self.core.local(to).zip(self.core.pid_of(from)) else { return };
        if !self.may(|rights| &rights.exits, &local) {
            return;
        }
        let exit = Exit { pid, reason: reason_from_term(reason) };
        local.exit_signal(exit, Via::Signal);
    }

    pub(super) fn monitor(
        &self,
        from: ExternalPid,
        target: Monitored,
        reference: Reference,
    ) -> Result<(), ConnectionError> {
        let local = match &target {
            Monitored::Pid(pid) if self.is_output(pid) => return Ok(()),
            Monitored::Pid(pid) => match self.scope_of(pid) {
                Some(scope) => self.shared_scope(scope),
                None => self.permitted(self.core.local(pid)),
            },
            // It answers pings, and is monitored by those who call it.
            Monitored::Name(name) if *name == NET_KERNEL || self.is_rex(name.as_str()) => {
                return Ok(());
            }
            Monitored::Name(name) => match self.exported(name.as_str()) {
                Some((process, _)) => self.permitted(Some(process)),
                None => self.core.scope(name.as_str()).and_then(|scope| self.shared_scope(scope)),
            },
        };
        self.monitor_one(self.stand_in(&from), local, (from, target, reference))
    }

    /// The process, if the peer may monitor it.
    fn permitted(&self, local: Option<Arc<dyn Process>>) -> Option<Arc<dyn Process>> {
        local.filter(|local| self.may(|rights| &rights.monitors, local))
    }

    /// Monitors the process `local` for a process of the peer.
    pub(super) fn monitor_one(
        &self,
        stand_in: Option<Arc<RemoteProcess>>,
        local: Option<Arc<dyn Process>>,
        (from, target, reference): (ExternalPid, Monitored, Reference),
    ) -> Result<(), ConnectionError> {
        let (Some(local), Some(stand_in)) = (local, stand_in) else {
            let by = match &target {
                Monitored::Pid(pid) => u64::from(pid.serial) << 32 | u64::from(pid.id),
                Monitored::Name(_) => 0,
            };
            let control = ControlMessage::PayloadMonitorExit { target, to: from, reference };
            self.say(by, control, SignalPayload::Reason(Reason::NoProcess));
            self.peer.flush(self.core);
            return Ok(());
        };
        let monitor = self.core.host.next_ref();
        {
            let Some(mut state) = self.current() else { return Ok(()) };
            // A reference stands for one monitor.
            if state.foreign.contains(&reference) {
                return Ok(());
            }
            if !state.foreign.add(monitor, ForeignMonitor { reference, by: from, target }) {
                return Err(ConnectionError::Overload);
            }
        }
        let theirs: Arc<dyn Process> = Arc::clone(&stand_in) as _;
        monitor_from(&*self.core.host, &theirs, monitor, Target::Pid(local.pid()));
        // Not before: the end of an older bond would see none, and release the stand-in.
        stand_in.note_bond();
        if self.current().is_none() {
            // The loss of the connection may not have seen the monitor.
            demonitor_from(&*self.core.host, &theirs, monitor);
        }
        theirs.schedule(None);
        Ok(())
    }

    pub(super) fn demonitor(&self, from: &ExternalPid, reference: &Reference) {
        let (removed, function) = match self.current() {
            Some(mut state) => (state.foreign.remove(reference), state.runs.given_up(reference)),
            None => return,
        };
        if let Some(pid) = function {
            end_function(&*self.core.host, pid);
        }
        let Some((monitor, _)) = removed else { return };
        if let Some(stand_in) = self.stand_in(from) {
            let theirs: Arc<dyn Process> = stand_in;
            demonitor_from(&*self.core.host, &theirs, monitor);
            theirs.schedule(None);
        }
    }

    pub(super) fn down(&self, reference: &Reference, reason: &Term) {
        let Some(number) = self.core.number_of(reference) else { return };
        if self.core.requests.ended(&self.peer.name, number, reason) {
            return;
        }
        let ended = reason_from_term(reason);
        if self.core.callee_ended(&self.peer.name, number, reason, ended.clone()) {
            return;
        }
        let ours = self.current().and_then(|mut state| state.monitors.remove(&number));
        let stand_in = match ours.map(|ours| ours.stand_in) {
            Some(StandIn::Pid(pid)) => self.core.host.process(pid),
            Some(StandIn::Name(name)) => {
                let named = self.core.stand_in_named(&name, &self.peer.node);
                named.map(|process| process as Arc<dyn Process>)
            }
            None => None,
        };
        if let Some(theirs) = stand_in {
            down_from(&*self.core.host, &theirs, Ref::new(number), &ended);
            theirs.schedule(None);
        }
    }

    fn local_pid(&self, (number, _): LinkKey) -> Pid {
        Pid::local(number, self.core.host.node_pid().creation())
    }
}
