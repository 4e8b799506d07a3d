//! Requests that are given up.

use crate::core::ClusterCore;
use crate::peer::signal::{Signal, SignalPayload};
use crate::requests::pending_requests::GivenUp;
use krarup_act::{Process, unlink_from};
use krarup_gen::{NodeName, Ref};
use krarup_wire::etf::{Atom, ExternalPid, Term};
use krarup_wire::{ControlMessage, Monitored};
use std::sync::Arc;

/// A request that is under way; dropping it gives it up.
pub(crate) struct RequestUnderWay {
    pub(crate) core: Arc<ClusterCore>,
    pub(crate) number: u64,
}

impl RequestUnderWay {
    /// Gives the request up. Returns whether it had its outcome already.
    pub(crate) fn give_up(&self) -> bool {
        match self.core.requests.give_up(self.number) {
            GivenUp::Settled => return true,
            GivenUp::Abandoned => {}
            GivenUp::Demonitor { node, from, process } => {
                self.core.demonitor_function(&node, self.number, from, process);
            }
            GivenUp::TooMany(node) => {
                if let Ok(node) = NodeName::new(node.as_str()) {
                    self.core.disconnect(&node);
                }
            }
        }
        false
    }
}

impl Drop for RequestUnderWay {
    fn drop(&mut self) {
        self.give_up();
    }
}

impl ClusterCore {
    /// Removes the monitor of a call that was given up.
    pub(crate) fn demonitor_function(
        self: &Arc<Self>,
        node: &Atom,
        number: u64,
        from: ExternalPid,
        process: ExternalPid,
    ) {
        let (target, reference) = (Monitored::Pid(process), self.reference(Ref::new(number)));
        let by = number_of(&from);
        let control = ControlMessage::Demonitor { from, target, reference };
        self.say_if_up(node, Signal::new(by, control, None));
    }

    /// Ends a process that is linked to one which has given up its request.
    pub(crate) fn end_abandoned(
        self: &Arc<Self>,
        node: &Atom,
        from: ExternalPid,
        process: ExternalPid,
    ) {
        let by = number_of(&from);
        let control = ControlMessage::PayloadExit { from, to: process };
        let reason = SignalPayload::Term(Term::atom("abandoned"));
        self.say_if_up(node, Signal::new(by, control, None).with_payload(reason));
    }

    /// Ends a process that was made and linked for one that does not wait for it any more: the link is removed, so that
    /// its end is nobody's.
    pub(crate) fn abandon_linked(self: &Arc<Self>, from: &ExternalPid, process: &ExternalPid) {
        let Some((theirs, local)) = self.stand_in(process).zip(self.own_pid(from)) else { return };
        let remote = Arc::clone(&theirs);
        let theirs: Arc<dyn Process> = theirs;
        unlink_from(&*self.host, &theirs, local, &mut || {
            if let Some(remote) = remote.remote() {
                remote.unlink(local);
            }
            true
        });
        theirs.schedule(None);
        self.exit_abandoned(from, process);
    }

    /// Ends a process that is not linked, and that nobody here knows.
    pub(crate) fn exit_abandoned(self: &Arc<Self>, from: &ExternalPid, process: &ExternalPid) {
        let control = ControlMessage::PayloadExit2 { from: from.clone(), to: process.clone() };
        let reason = SignalPayload::Term(Term::atom("abandoned"));
        let signal = Signal::new(number_of(from), control, None).with_payload(reason);
        self.say_if_up(&process.node, signal);
    }

    /// Says something that is void without a connection: then there is nothing to remove and nothing to end.
    fn say_if_up(self: &Arc<Self>, node: &Atom, signal: Signal) {
        if let Some(peer) = self.peer(node)
            && peer.push_if_up(signal)
        {
            peer.flush(self);
        }
    }
}

/// The number of a process of this node.
fn number_of(pid: &ExternalPid) -> u64 {
    u64::from(pid.serial) << 32 | u64::from(pid.id)
}
