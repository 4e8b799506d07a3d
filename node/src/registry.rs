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
mod tests {
    use super::*;
    use crate::core::Core;
    use crate::dispatcher::any::Dispatcher;
    use crate::dispatcher::calling_thread::Calling;
    use crate::options::{DEFAULT, DispatcherOptions};
    use crate::side_threads::blocking::Blocking;
    use crate::timers::clock::Clock;
    use krarup_act::{Address, Context, Host, Spawn, behavior_fn};
    use krarup_gen::{MessageTotals, ReasonKind};

    /// A node whose processes run in the calling thread.
    fn calling_node() -> (Arc<Core>, Arc<dyn Host>) {
        let name = Name::new("registry").unwrap();
        let core = Core::new(name, 1, Clock::simulated(), Blocking::none());
        let around = Arc::new(|work: &mut dyn FnMut()| work()) as _;
        let limits = DispatcherOptions::new().setup(DEFAULT, &core, &around).limits;
        let here = Calling::new(DEFAULT.to_owned(), limits);
        let host = core.settle(DEFAULT, DEFAULT, Dispatcher::CallingThread(here));
        (core, host)
    }

    /// Spawns a process that ends with its first message.
    fn spawn(host: &Arc<dyn Host>) -> Address<()> {
        let waits = behavior_fn(|mut ctx: Context<()>| async move {
            ctx.receive().await;
            Ok(())
        });
        Spawn::outside(Arc::clone(host), move || waits).start().unwrap()
    }

    #[test]
    fn the_processes_of_a_host_share_one_handle_on_it() {
        let (core, host) = calling_node();
        for _ in 0..2 {
            let before = Arc::strong_count(&host);
            let all: Vec<_> = (0..9).map(|_| spawn(&host)).collect();
            assert_eq!(Arc::strong_count(&host), before + 1);
            all.iter().for_each(|one| one.send(()).unwrap());
            drop(all);
            assert_eq!(Arc::strong_count(&host), before, "it ends with them");
        }
        core.clear_homes();
    }

    #[test]
    fn a_page_is_removed_when_its_last_process_has_ended_and_not_before() {
        let (core, host) = calling_node();
        let registry = &core.registry;
        let pages = || registry.pids.pages();
        // The numbers 1 to 600: more pages than shards, and two pages on one shard.
        let all: Vec<_> = (0..600).map(|_| spawn(&host)).collect();
        assert_eq!((pages(), registry.living(), registry.counts().spawned), (19, 600, 600));
        let pids = || registry.all().iter().map(|process| process.pid()).collect::<Vec<_>>();
        assert_eq!(pids(), all.iter().map(Address::pid).collect::<Vec<_>>());
        // One process of each page stays.
        all.iter().filter(|one| one.pid().id() % 32 != 3).for_each(|one| one.send(()).unwrap());
        assert_eq!((pages(), registry.living()), (19, 19));
        assert!(pids().iter().all(|pid| pid.id() % 32 == 3));
        assert!(registry.process(all[2].pid()).is_some_and(|found| found.pid() == all[2].pid()));
        assert!(registry.process(all[3].pid()).is_none());
        // An ended process is removed once.
        let end = ProcessEnd { kind: ReasonKind::Normal, messages: MessageTotals::default() };
        let ended = registry.counts().ended.by_kind;
        registry.retire(all[3].pid(), None, &end);
        assert_eq!(registry.counts().ended.by_kind, ended);
        assert_eq!(registry.living(), 19);
        all.iter().filter(|one| one.is_alive()).for_each(|one| one.send(()).unwrap());
        assert_eq!((pages(), registry.living(), registry.counts().spawned), (0, 0, 600));
        let named = || -> Result<Pid, SpawnError> {
            let waits = behavior_fn(|mut ctx: Context<()>| async move {
                ctx.receive().await;
                Ok(())
            });
            let spawn = Spawn::outside(Arc::clone(&host), move || waits).name("named");
            spawn.start().map(|named: Address<()>| named.pid())
        };
        let by = named().unwrap();
        assert!(matches!(named(), Err(SpawnError::NameTaken { by: holder, .. }) if holder == by));
        assert_eq!((registry.living(), registry.counts().spawned, registry.names()), (1, 601, 1));
        registry.process(by).unwrap().kill();
        assert_eq!((registry.living(), registry.counts().spawned, registry.names()), (0, 601, 0));
        registry.close();
        let late = Spawn::outside(host, || behavior_fn(|_: Context<()>| async { Ok(()) })).start();
        assert_eq!(late.map(|late| late.pid()), Err(SpawnError::NodeStopping));
        assert_eq!((registry.living(), registry.counts().spawned), (0, 601));
        core.clear_homes();
    }

    #[test]
    fn closing_one_root_leaves_the_other_open() {
        let registry = ProcessTable::default();
        let closed = || [Root::User, Root::System].map(|root| registry.is_closed_below(root));
        assert!(!registry.is_closing());
        registry.close_to_top_level();
        assert_eq!((registry.is_closing(), closed()), (true, [false, false]));
        let registry = ProcessTable::default();
        let closed = || [Root::User, Root::System].map(|root| registry.is_closed_below(root));
        registry.close_below(Root::User);
        assert_eq!((registry.is_closing(), closed()), (true, [true, false]));
        assert!(!registry.is_closed());
        registry.close_below(Root::System);
        assert_eq!((registry.is_closed(), closed()), (true, [true, true]));
        assert!(!registry.close());
        let registry = ProcessTable::default();
        assert!(registry.close() && registry.is_closing() && registry.is_closed());
    }
}
