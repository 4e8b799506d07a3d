//! The registry of a node: its living processes by pid and by name.

use crate::sync::in_one_order::AtomicBool;
use crate::sync::{Lock, LockGuard, Ordering, RwLock};
use crossbeam_utils::CachePadded;
use krarup_act::{NameWaits, Process, ProcessEnd, TableCursor};
use krarup_gen::{Alias, MessageTotals, Name, Pid, ReasonKind, Root, SpawnError};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

/// Pids are assigned in sequence, so the low bits of their pages spread evenly.
const SHARDS: usize = 16;
/// Processes with consecutive numbers share a page, so most of them cost their pointer and
/// little more. One table of all processes would keep spare capacity for each.
const PAGE: usize = 32;

/// How many pages a walk copies while it holds the lock of their shard: at most 1024 processes.
const PAGES_AT_ONCE: usize = 32;

/// A lock that is held for a few dozen instructions, and for the copy of some pages by a walk.
type Shard = CachePadded<Lock<ShardTable>>;

/// The processes of a shard.
#[derive(Default)]
struct ShardTable {
    pages: HashMap<u64, Box<PidPage>, BuildHasherDefault<NumberHasher>>,
    /// How many were admitted here.
    spawned: u64,
    /// What has ended here. It changes under the lock under which the process is removed.
    ended: EndedTotals,
}

/// The counts of processes that have ended.
#[derive(Default)]
pub(crate) struct EndedTotals {
    /// How many, by the number of the kind of their reasons.
    pub(crate) by_kind: [u64; ReasonKind::ALL.len()],
    pub(crate) messages: MessageTotals,
}

/// How many processes were admitted, and what has ended.
#[derive(Default)]
pub(crate) struct ProcessCounts {
    pub(crate) spawned: u64,
    pub(crate) ended: EndedTotals,
}

impl ProcessCounts {
    pub(crate) fn living(&self) -> usize {
        let ended: u64 = self.ended.by_kind.iter().sum();
        usize::try_from(self.spawned - ended).unwrap_or(usize::MAX)
    }
}

/// The living processes among those with numbers from a multiple of [`PAGE`] on.
#[derive(Default)]
struct PidPage {
    living: usize,
    places: [Option<Arc<dyn Process>>; PAGE],
}

#[derive(Default)]
pub(crate) struct ProcessTable {
    shards: [Shard; SHARDS],
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

/// Numbers that are already spread need no hash. Their bits are only moved to where the table
/// looks (Fibonacci hashing).
#[derive(Default)]
struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(self.0 ^ u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

impl ProcessTable {
    /// The position of the process with this number, if it lives: its shard, page and place on
    /// the page.
    fn place(&self, id: u64) -> (&Shard, u64, usize) {
        let page = id / PAGE as u64;
        // The remainder of a division by a number of places fits any integer.
        let among =
            |number: u64, places: usize| usize::try_from(number % places as u64).unwrap_or(0);
        (&self.shards[among(page, SHARDS)], page, among(id, PAGE))
    }

    /// Adds a process and reserves its name, or changes nothing (rules N2 to N4).
    pub(crate) fn admit(
        &self,
        process: Arc<dyn Process>,
        name: Option<&Name>,
    ) -> Result<(), SpawnError> {
        let Some(name) = name else { return self.insert(process) };
        let mut names = self.names.write();
        if self.refuses(&*process) {
            return Err(SpawnError::NodeStopping);
        }
        if let Some(by) = names.get(name).map(|by| by.pid()) {
            return Err(SpawnError::NameTaken { name: name.clone(), by });
        }
        // A process can be found by its pid before it can be found by its name.
        self.insert(Arc::clone(&process))?;
        names.insert(name.clone(), process);
        drop(names);
        self.name_waits.wake(name);
        Ok(())
    }

    fn insert(&self, process: Arc<dyn Process>) -> Result<(), SpawnError> {
        let (shard, page, place) = self.place(process.pid().id());
        let mut table = shard.lock();
        // The flags are read under the lock: a thread that closes the registry and then looks at the shard
        // has missed no process.
        if self.refuses(&*process) {
            return Err(SpawnError::NodeStopping);
        }
        let page = table.pages.entry(page).or_default();
        page.living += 1;
        page.places[place] = Some(process);
        table.spawned += 1;
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
        // The process is dropped after the shard has been unlocked.
        drop(self.remove(pid, end));
    }

    fn remove(&self, pid: Pid, end: &ProcessEnd) -> Option<Arc<dyn Process>> {
        let (shard, number, place) = self.place(pid.id());
        let mut table = shard.lock();
        let page = table.pages.get_mut(&number)?;
        let gone = page.places[place].take()?;
        page.living -= 1;
        if page.living == 0 {
            table.pages.remove(&number);
        }
        table.ended.by_kind[end.kind as usize] += 1;
        table.ended.messages.add(&end.messages);
        Some(gone)
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
        let (shard, page, place) = self.place(pid.id());
        shard.lock().pages.get(&page)?.places[place].clone()
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

    /// Adds the next living processes of a walk, in the order of their numbers within a shard.
    /// A shard is locked to copy the numbers of its pages, and then to copy the processes of
    /// some pages at a time.
    pub(crate) fn next_processes(
        &self,
        cursor: &mut TableCursor,
        into: &mut Vec<Arc<dyn Process>>,
    ) -> bool {
        loop {
            if cursor.rest.is_empty() {
                let Some(shard) = self.shards.get(cursor.part) else { return false };
                cursor.rest.extend(shard.lock().pages.keys());
                // Descending, because they are taken from the end.
                cursor.rest.sort_unstable_by(|one, other| other.cmp(one));
                cursor.part += 1;
                continue;
            }
            let before = into.len();
            let next = cursor.rest.split_off(cursor.rest.len().saturating_sub(PAGES_AT_ONCE));
            let table = self.shards[cursor.part - 1].lock();
            let pages = next.iter().rev().filter_map(|number| table.pages.get(number));
            into.extend(pages.flat_map(|page| page.places.iter().flatten().cloned()));
            if into.len() > before {
                return true;
            }
        }
    }

    /// All processes that live from now until this returns, and some of those that do not, in the order in which they
    /// were spawned.
    pub(crate) fn all(&self) -> Vec<Arc<dyn Process>> {
        let (mut cursor, mut all) = (TableCursor::default(), Vec::new());
        while self.next_processes(&mut cursor, &mut all) {}
        all.sort_by_key(|process| process.pid());
        all
    }

    /// The counts of one moment. All shards are locked at once: of counts that were taken one after the other, a process
    /// could be missing that was spawned meanwhile by one that has ended.
    pub(crate) fn counts(&self) -> ProcessCounts {
        let tables: [LockGuard<'_, ShardTable>; SHARDS] =
            self.shards.each_ref().map(|shard| shard.lock());
        let mut counts = ProcessCounts::default();
        for table in &tables {
            counts.spawned += table.spawned;
            let sums = counts.ended.by_kind.iter_mut();
            sums.zip(table.ended.by_kind).for_each(|(sum, more)| *sum += more);
            counts.ended.messages.add(&table.ended.messages);
        }
        counts
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
        let pages = || registry.shards.iter().map(|shard| shard.lock().pages.len()).sum::<usize>();
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
