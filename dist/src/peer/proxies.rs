//! The stand-ins of the processes of one peer.
//!
//! Everybody finds the same stand-in of a process while anybody has it. One with links or
//! monitors is also kept here, until its last bond is gone.

use krarup_act::Process;
use krarup_gen::{Name, Pid};
use std::collections::HashMap;
use std::sync::{Arc, Weak};

/// The node number of the stand-ins of names and nodes, which have no pids of their own.
pub(crate) const NAMED: u32 = u32::MAX;

/// The stand-ins of one peer.
#[derive(Default)]
pub(crate) struct Proxies {
    by_pid: HashMap<Pid, Weak<dyn Process>>,
    by_name: HashMap<Name, Weak<dyn Process>>,
    node: Option<Weak<dyn Process>>,
    bonded: HashMap<Pid, Arc<dyn Process>>,
}

impl Proxies {
    /// Finds or makes the stand-in of a process.
    pub(crate) fn of_pid(
        &mut self,
        pid: Pid,
        make: impl FnOnce() -> Arc<dyn Process>,
    ) -> Arc<dyn Process> {
        if let Some(found) = self.by_pid.get(&pid).and_then(Weak::upgrade) {
            return found;
        }
        let made = make();
        self.by_pid.insert(pid, Arc::downgrade(&made));
        made
    }

    /// Finds or makes the stand-in of the process with a name.
    pub(crate) fn of_name(
        &mut self,
        name: &Name,
        make: impl FnOnce() -> Arc<dyn Process>,
    ) -> Arc<dyn Process> {
        if let Some(found) = self.by_name.get(name).and_then(Weak::upgrade) {
            return found;
        }
        let made = make();
        self.by_name.insert(name.clone(), Arc::downgrade(&made));
        made
    }

    /// Finds or makes the stand-in of the node.
    pub(crate) fn of_node(&mut self, make: impl FnOnce() -> Arc<dyn Process>) -> Arc<dyn Process> {
        if let Some(found) = self.node.as_ref().and_then(Weak::upgrade) {
            return found;
        }
        let made = make();
        self.node = Some(Arc::downgrade(&made));
        made
    }

    /// Keeps a stand-in that has a bond.
    pub(crate) fn keep(&mut self, process: Arc<dyn Process>) -> Option<Arc<dyn Process>> {
        self.bonded.insert(process.pid(), process)
    }

    /// Forgets a stand-in that has no bond any more. It is to be dropped without the lock.
    pub(crate) fn release(&mut self, pid: Pid) -> Option<Arc<dyn Process>> {
        self.bonded.remove(&pid)
    }

    /// Removes the entry of a stand-in that nobody has any more.
    pub(crate) fn forget(&mut self, pid: Pid, name: Option<&Name>) {
        if self.by_pid.get(&pid).is_some_and(|process| process.strong_count() == 0) {
            self.by_pid.remove(&pid);
        }
        if let Some(name) = name
            && self.by_name.get(name).is_some_and(|process| process.strong_count() == 0)
        {
            self.by_name.remove(name);
        }
    }

    /// Takes all stand-ins with bonds, in the order of their pids.
    pub(crate) fn take_bonded(&mut self) -> Vec<Arc<dyn Process>> {
        let mut bonded: Vec<_> = self.bonded.drain().collect();
        bonded.sort_by_key(|(pid, _)| *pid);
        bonded.into_iter().map(|(_, process)| process).collect()
    }

    /// The stand-ins with bonds of processes of other incarnations.
    pub(crate) fn bonded_of_others(&self, incarnation: u32) -> Vec<Arc<dyn Process>> {
        let is_other = |pid: &Pid| ![incarnation, NAMED].contains(&pid.node());
        let others = self.bonded.iter().filter(|(pid, _)| is_other(pid));
        let mut others: Vec<_> = others.map(|(_, process)| Arc::clone(process)).collect();
        others.sort_by_key(|process| process.pid());
        others
    }

    pub(crate) fn bonded(&self) -> usize {
        self.bonded.len()
    }
}
