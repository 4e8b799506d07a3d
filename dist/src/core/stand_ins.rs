//! The stand-ins of processes of other nodes: how they are found, and what they use.

use super::ClusterCore;
use super::identities::halves;
use crate::peer::PeerNode;
use crate::peer::proxies::NAMED;
use crate::peer::proxy::{RemoteProcess, RemoteTarget, StandInHome};
use krarup_act::{Dynamic, Host, Network, NotWritten, Process, WrittenMessage};
use krarup_gen::{
    ClusterPicture, DeadLetterCause, Name, NodeName, Pid, Reason, Ref, SendError, Target,
};
use krarup_wire::etf::{Atom, ExternalPid, Reference};
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl ClusterCore {
    /// The stand-in of a process of another node.
    pub(crate) fn stand_in(&self, external: &ExternalPid) -> Option<Arc<RemoteProcess>> {
        self.stand_in_of(self.pid_of(external)?)
    }

    fn stand_in_of(&self, pid: Pid) -> Option<Arc<RemoteProcess>> {
        let (node, creation) = self.memory.incarnations.lock().get(pid.node())?.clone();
        let core = self.strong()?;
        let peer = if node == self.me { Arc::clone(&self.gone) } else { self.peer(&node)? };
        let pid = Pid::remote(pid.id(), pid.node(), self.host.node_pid().creation());
        let (id, serial) = halves(pid.id());
        let external = ExternalPid { node, id, serial, creation };
        let home: Arc<dyn StandInHome> = core;
        let target = RemoteTarget::Pid(external);
        let make = || RemoteProcess::new(&home, &peer, pid, target) as Arc<dyn Process>;
        let found = peer.proxies.lock().of_pid(pid, make);
        RemoteProcess::of(found)
    }

    pub(crate) fn stand_in_named(
        &self,
        name: &Name,
        node: &NodeName,
    ) -> Option<Arc<RemoteProcess>> {
        let (core, peer) = (self.strong()?, self.peer_of(node)?);
        let atom = Atom::new(name.as_str()).ok()?;
        let target = RemoteTarget::Name(name.clone(), atom);
        let home: Arc<dyn StandInHome> = core;
        let pid = self.pseudo_pid();
        let make = || RemoteProcess::new(&home, &peer, pid, target) as Arc<dyn Process>;
        let found = peer.proxies.lock().of_name(name, make);
        RemoteProcess::of(found)
    }

    fn stand_in_of_node(&self, node: &NodeName) -> Option<Arc<RemoteProcess>> {
        let (core, peer) = (self.strong()?, self.peer_of(node)?);
        let home: Arc<dyn StandInHome> = core;
        let (pid, target) = (self.pseudo_pid(), RemoteTarget::Node);
        let make = || RemoteProcess::new(&home, &peer, pid, target) as Arc<dyn Process>;
        let found = peer.proxies.lock().of_node(make);
        RemoteProcess::of(found)
    }

    fn pseudo_pid(&self) -> Pid {
        let number = self.next_named.fetch_add(1, Ordering::Relaxed);
        Pid::remote(number, NAMED, self.host.node_pid().creation())
    }
}

impl StandInHome for ClusterCore {
    fn host(&self) -> &Arc<dyn Host> {
        &self.host
    }

    fn pid(&self) -> Pid {
        self.pid
    }

    fn ours(&self, pid: Pid) -> ExternalPid {
        ClusterCore::ours(self, pid)
    }

    fn reference(&self, reference: Ref) -> Reference {
        ClusterCore::reference(self, reference)
    }

    fn end_of(&self, reason: Reason) -> Reason {
        ClusterCore::end_of(self, reason)
    }

    fn end_call(&self, call: u64) {
        if let Some(core) = self.strong() {
            core.abandon_call(call);
        }
    }

    fn write(
        &self,
        to: &RemoteProcess,
        message: &dyn erased_serde::Serialize,
        number: u64,
    ) -> Result<WrittenMessage, NotWritten> {
        let core = self.strong().ok_or(NotWritten::NoProcess)?;
        core.write_message(to, message, number)
    }

    fn send_any(&self, to: &RemoteProcess, message: Dynamic) -> Result<(), SendError<Dynamic>> {
        match self.strong() {
            Some(core) => core.send_dynamic(to, message),
            None => Err(SendError::NoProcess { message, to: to.pid() }),
        }
    }

    fn unsent(&self, to: Target, by: u64) {
        ClusterCore::unsent(self, to, by, DeadLetterCause::NoConnection);
    }

    fn flush(&self, peer: &Arc<PeerNode>) {
        if let Some(core) = self.strong() {
            peer.flush(&core);
        }
    }
}

impl Network for ClusterCore {
    fn process(&self, pid: Pid) -> Option<Arc<dyn Process>> {
        let ours = self.host.node_pid().creation();
        if pid.creation() != 0 && pid.creation() != ours {
            return None;
        }
        self.stand_in_of(pid).map(|process| process as Arc<dyn Process>)
    }

    fn named(&self, name: &Name, node: &NodeName) -> Option<Arc<dyn Process>> {
        self.stand_in_named(name, node).map(|process| process as Arc<dyn Process>)
    }

    fn node(&self, node: &NodeName) -> Option<Arc<dyn Process>> {
        self.stand_in_of_node(node).map(|process| process as Arc<dyn Process>)
    }

    fn recipient_maker(&self, message: &'static str) -> Option<Arc<dyn Any + Send + Sync>> {
        self.exports.of_type(message)?.recipient_maker()
    }

    fn picture(&self) -> Option<ClusterPicture> {
        Some(ClusterCore::picture(self))
    }
}
