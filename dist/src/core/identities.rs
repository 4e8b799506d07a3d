//! Pids and references of processes, as other nodes see them.

use super::ClusterCore;
use krarup_act::Process;
use krarup_gen::{Alias, Pid, Reason, Ref, Root};
use krarup_wire::etf::{Atom, ExternalPid, Reference};
use std::collections::HashSet;
use std::sync::Arc;

/// The bits of a reference of ours in its first word.
const FIRST_WORD: u32 = 18;

impl ClusterCore {
    /// The number of an incarnation of a node that others have named.
    pub(crate) fn incarnation(&self, node: &Atom, creation: u32) -> Option<u32> {
        self.memory.incarnations.lock().named(node, creation)
    }

    /// The number of an incarnation of a node that connects.
    pub(crate) fn incarnation_up(&self, node: &Atom, creation: u32) -> Option<u32> {
        let is_full = self.memory.incarnations.lock().is_full();
        // Without the lock of the table: those of the peers are taken.
        let up = if is_full { self.incarnations_up() } else { HashSet::new() };
        self.memory.incarnations.lock().connecting(node, creation, &up)
    }

    /// The numbers of the nodes that are connected now.
    fn incarnations_up(&self) -> HashSet<u32> {
        let up = self.connected();
        up.iter().filter_map(|peer| peer.state.lock().incarnation()).collect()
    }

    /// The pid of a process of this node, as other nodes see it. The process can be reached by
    /// it from now on.
    pub(crate) fn ours(&self, pid: Pid) -> ExternalPid {
        if let Some(process) = self.host.process(pid) {
            process.expose();
        }
        self.named(pid)
    }

    /// The pid of a process of this node, which does not make it reachable.
    pub(crate) fn named(&self, pid: Pid) -> ExternalPid {
        let (id, serial) = halves(pid.id());
        ExternalPid { node: self.me.clone(), id, serial, creation: self.creation }
    }

    /// A pid as other nodes see it; `None` if its node is unknown.
    pub(crate) fn external(&self, pid: Pid) -> Option<ExternalPid> {
        if pid.node() == 0 {
            return Some(self.ours(pid));
        }
        let (node, creation) = self.memory.incarnations.lock().get(pid.node())?.clone();
        let (id, serial) = halves(pid.id());
        Some(ExternalPid { node, id, serial, creation })
    }

    /// The pid that another node has sent; `None` beyond the bound of the table (rule Zid4).
    pub(crate) fn pid_of(&self, pid: &ExternalPid) -> Option<Pid> {
        let number = u64::from(pid.serial) << 32 | u64::from(pid.id);
        let ours = self.host.node_pid().creation();
        if pid.node == self.me && pid.creation == self.creation {
            return Some(Pid::local(number, ours));
        }
        Some(Pid::remote(number, self.incarnation(&pid.node, pid.creation)?, ours))
    }

    /// The pid of a process of this incarnation of this node.
    pub(crate) fn own_pid(&self, pid: &ExternalPid) -> Option<Pid> {
        let is_ours = pid.node == self.me && pid.creation == self.creation;
        if is_ours { self.pid_of(pid) } else { None }
    }

    /// The process of this node that another node may reach by this pid (rule Zsec5).
    pub(crate) fn local(&self, pid: &ExternalPid) -> Option<Arc<dyn Process>> {
        if pid.node != self.me || pid.creation != self.creation {
            return None;
        }
        let process = self.host.process(self.pid_of(pid)?)?;
        is_reachable(&process).then_some(process)
    }

    /// A reference as other nodes see it. If it is an alias, its process can be reached by it from
    /// now on.
    pub(crate) fn alias(&self, alias: Ref) -> Reference {
        if let Some(process) = self.host.by_alias(Alias::new(alias)) {
            process.expose();
        }
        self.reference(alias)
    }

    pub(crate) fn reference(&self, reference: Ref) -> Reference {
        let number = reference.number();
        let low = u32::try_from(number & ((1 << FIRST_WORD) - 1)).unwrap_or_default();
        let word = |shift: u32| u32::try_from(number >> shift & 0xffff_ffff).unwrap_or_default();
        let words = [low, word(FIRST_WORD), word(FIRST_WORD + 32)];
        Reference::new(self.me.clone(), self.creation, &words)
            .unwrap_or_else(|_| unreachable!("three words are a reference"))
    }

    /// The number of a reference of this node.
    pub(crate) fn number_of(&self, reference: &Reference) -> Option<u64> {
        let is_ours = *reference.node() == self.me && reference.creation() == self.creation;
        match (is_ours, reference.words()) {
            (true, [low, middle, high]) => Some(
                u64::from(*low)
                    | u64::from(*middle) << FIRST_WORD
                    | u64::from(*high) << (FIRST_WORD + 32),
            ),
            _ => None,
        }
    }

    /// The reason that monitors and callers of other nodes are told. Processes that are shut
    /// down because their node stops are gone with their node.
    pub(crate) fn end_of(&self, reason: Reason) -> Reason {
        match reason {
            Reason::Shutdown if self.host.is_node_stopping() => Reason::NoConnection,
            reason => reason,
        }
    }
}

/// Whether other nodes may reach a process: its pid or an alias of it was sent out, and it is not
/// below the system root (rule Zsec5).
pub(crate) fn is_reachable(process: &Arc<dyn Process>) -> bool {
    process.is_exposed() && process.root() == Root::User
}

/// The low and the high half of the number of a process.
pub(super) fn halves(number: u64) -> (u32, u32) {
    let half = |number: u64| u32::try_from(number & 0xffff_ffff).unwrap_or_default();
    (half(number), half(number >> 32))
}
