//! What a scope tells the scopes of other nodes: the members of this node.
//!
//! It is told over connections that are up, and dials nobody.

use super::group_names::GroupNames;
use super::scope_signal::sync;
use crate::core::ClusterCore;
use crate::peer::PeerNode;
use crate::peer::signal::{Signal, SignalPayload};
use crate::rights::node_rights::NodeRights;
use krarup_gen::{Name, Pid};
use krarup_wire::ControlMessage;
use krarup_wire::etf::{Atom, ExternalPid, Term};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The members of this node, as they were told: by group, with how often each has joined.
#[derive(Debug, Default)]
pub(crate) struct OwnMembers {
    groups: BTreeMap<Name, BTreeMap<Pid, usize>>,
}

impl OwnMembers {
    pub(crate) fn join(&mut self, group: &Name, pid: Pid) {
        *self.groups.entry(group.clone()).or_default().entry(pid).or_default() += 1;
    }

    pub(crate) fn leave(&mut self, group: &Name, pid: Pid) {
        let Some(members) = self.groups.get_mut(group) else { return };
        if let Some(times) = members.get_mut(&pid) {
            *times -= 1;
            if *times == 0 {
                members.remove(&pid);
            }
        }
        if members.is_empty() {
            self.groups.remove(group);
        }
    }

    /// How many members there are, as often as they have joined.
    pub(crate) fn count(&self) -> usize {
        self.groups.values().flat_map(BTreeMap::values).sum()
    }

    /// The message that tells all of them.
    pub(crate) fn sync(&self, core: &ClusterCore, scope: ExternalPid, names: GroupNames) -> Term {
        let groups = self.groups.iter().map(|(group, members)| {
            let pids = members.iter().flat_map(|(pid, times)| {
                // Other nodes can reach it by its pid from now on.
                std::iter::repeat_n(Term::from(core.ours(*pid)), *times)
            });
            (names.term(group), Term::list(pids))
        });
        sync(scope, groups)
    }
}

/// Who is told.
#[derive(Clone, Copy)]
pub(crate) enum ToldScope<'a> {
    /// The scope with this pid.
    Pid(Pid),
    /// The scope with this name on a node.
    Named(&'a Atom, &'a Arc<PeerNode>),
}

/// Whether a node may know of this scope, by the rights that it has here (rule Zsec4).
pub(crate) fn may_know(peer: &PeerNode, scope: &Name) -> bool {
    let may = |rights: &Arc<NodeRights>| rights.groups.has(|| Some(scope.as_str()));
    peer.rights.as_ref().is_none_or(may)
}

impl ClusterCore {
    /// The node of a process, if it is connected.
    pub(crate) fn connected_peer_of(&self, pid: Pid) -> Option<Arc<PeerNode>> {
        self.peer(&self.external(pid)?.node).filter(|peer| peer.is_up())
    }

    /// Sends what was written in the name of a scope, if its receiver is connected.
    pub(crate) fn tell_scope(
        self: &Arc<Self>,
        (scope, name): (Pid, &Name),
        to: ToldScope<'_>,
        message: &[u8],
    ) {
        let from = self.named(scope);
        let (peer, control, incarnation) = match to {
            ToldScope::Pid(pid) => {
                let Some(to) = self.external(pid) else { return };
                let Some(peer) = self.peer(&to.node) else { return };
                (peer, ControlMessage::SendSender { from, to }, Some(pid.node()))
            }
            ToldScope::Named(name, peer) => {
                let control = ControlMessage::RegSend { from, name: name.clone() };
                (Arc::clone(peer), control, None)
            }
        };
        if !may_know(&peer, name) {
            return;
        }
        let payload = SignalPayload::Bytes(message.to_vec());
        let signal = Signal::new(scope.id(), control, incarnation).with_payload(payload);
        if peer.push_if_up(signal) {
            peer.flush(self);
        }
    }
}
