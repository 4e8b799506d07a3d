//! The registry of a node: its living processes by pid and by name.

use crate::pid_table::{PidTable, TableCounts};
use crate::sync::in_one_order::AtomicBool;
use crate::sync::{Ordering, RwLock};
use krarup_act::{NameWaits, Process, ProcessEnd, TableCursor};
use krarup_gen::{Alias, Name, Pid, Root, SpawnError};
use std::collections::HashMap;
use std::sync::Arc;

#[derive(Default)]
pub(crate) struct ProcessTable {
    pids: PidTable,
    names: RwLock<HashMap<Name, Arc<dyn Process>>>,
    /// The futures that wait for a name (rule H1).
    pub(crate) name_waits: NameWaits,
    aliases: RwLock<HashMap<Alias, Arc<dyn Process>>>,
    /// No top-level process is admitted any more (rule X2).
    closing: AtomicBool,
    /// No process is admitted below the user root any more, or, for `closed`, below any root.
    users_closed: AtomicBool,
    closed: AtomicBool,
}

impl ProcessTable {
    /// Adds a process and reserves its name, or changes nothing (rules N2 to N4).
    pub(crate) fn admit(
        &self,
        process: Arc<dyn Process>,
        name: Option<&Name>,
    ) -> Result<(), SpawnError> {
        let is_refused = |process: &dyn Process| self.refuses(process);
        let Some(name) = name else { return self.pids.insert(process, is_refused) };
        let mut names = self.names.write();
        if self.refuses(&*process) {
            return Err(SpawnError::NodeStopping);
        }
        if let Some(by) = names.get(name).map(|by| by.pid()) {
            return Err(SpawnError::NameTaken { name: name.clone(), by });
        }
        // A process can be found by its pid before it can be found by its name.
        self.pids.insert(Arc::clone(&process), is_refused)?;
        names.insert(name.clone(), process);
        drop(names);
        self.name_waits.wake(name);
        Ok(())
    }

    /// Removes a process that has ended.
    pub(crate) fn retire(&self, pid: Pid, name: Option<&Name>, end: &ProcessEnd) {
        if let Some(name) = name {
            let mut names = self.names.write();
            if names.get(name).is_some_and(|holder| holder.pid() == pid) {
                names.remove(name);
            }
        }
        drop(self.pids.remove(pid, end));
    }

    /// Registers a name, or returns the pid of its holder.
    pub(crate) fn register(&self, name: &Name, process: Arc<dyn Process>) -> Result<(), Pid> {
        match self.names.write().entry(name.clone()) {
            std::collections::hash_map::Entry::Occupied(taken) => Err(taken.get().pid()),
            std::collections::hash_map::Entry::Vacant(free) => {
                free.insert(process);
                Ok(())
            }
        }
    }

    pub(crate) fn unregister(&self, name: &str) -> Option<Arc<dyn Process>> {
        self.names.write().remove(name)
    }

    /// Removes the name of this process, if it has it.
    pub(crate) fn unregister_from(&self, name: &str, pid: Pid) -> Option<Arc<dyn Process>> {
        let mut names = self.names.write();
        let holder = names.get(name).filter(|holder| holder.pid().is_same_process(pid)).cloned();
        if holder.is_some() {
            names.remove(name);
        }
        holder
    }

    pub(crate) fn process(&self, pid: Pid) -> Option<Arc<dyn Process>> {
        self.pids.process(pid)
    }

    pub(crate) fn whereis(&self, name: &str) -> Option<Arc<dyn Process>> {
        self.names.read().get(name).cloned()
    }

    pub(crate) fn add_alias(&self, alias: Alias, process: Arc<dyn Process>) {
        self.aliases.write().insert(alias, process);
    }

    pub(crate) fn remove_alias(&self, alias: Alias) {
        // The entry is dropped after the table has been unlocked.
        let gone = self.aliases.write().remove(&alias);
        drop(gone);
    }

    pub(crate) fn by_alias(&self, alias: Alias) -> Option<Arc<dyn Process>> {
        self.aliases.read().get(&alias).cloned()
    }

    pub(crate) fn aliases(&self) -> usize {
        self.aliases.read().len()
    }

    /// Adds the next living processes of a walk ([`PidTable::next_processes`]).
    pub(crate) fn next_processes(
        &self,
        cursor: &mut TableCursor,
        into: &mut Vec<Arc<dyn Process>>,
    ) -> bool {
        self.pids.next_processes(cursor, into)
    }

    /// All processes that live from now until this returns ([`PidTable::all`]).
    pub(crate) fn all(&self) -> Vec<Arc<dyn Process>> {
        self.pids.all()
    }

    /// The counts of one moment.
    pub(crate) fn counts(&self) -> TableCounts {
        self.pids.counts()
    }

    pub(crate) fn living(&self) -> usize {
        self.counts().living()
    }

    pub(crate) fn names(&self) -> usize {
        self.names.read().len()
    }

    /// Refuses top-level processes from now on, because a stop has begun. Running processes may
    /// still spawn what they need to finish their work.
    pub(crate) fn close_to_top_level(&self) {
        if !self.closing.swap(true, Ordering::SeqCst) {
            self.name_waits.wake_all();
        }
    }

    /// Refuses every process below this root from now on.
    pub(crate) fn close_below(&self, root: Root) {
        self.close_to_top_level();
        match root {
            Root::User => drop(self.users_closed.swap(true, Ordering::SeqCst)),
            // The services are the last: no process is admitted after them.
            _ => drop(self.close()),
        }
    }

    /// Refuses every process from now on. Returns whether this was the first call.
    pub(crate) fn close(&self) -> bool {
        self.close_to_top_level();
        !self.closed.swap(true, Ordering::SeqCst)
    }

    fn refuses(&self, process: &dyn Process) -> bool {
        self.closing.load(Ordering::SeqCst)
            && (process.parent().is_none() || self.is_closed_below(process.root()))
    }

    /// Whether no process is admitted any more below this root.
    pub(crate) fn is_closed_below(&self, root: Root) -> bool {
        self.is_closed() || root == Root::User && self.users_closed.load(Ordering::SeqCst)
    }

    /// Whether a stop has begun.
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::SeqCst)
    }

    /// Whether no process is admitted any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
