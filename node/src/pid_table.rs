//! The living processes of a node by their numbers, in pages and shards, and the counts of all.

use crate::sync::{Lock, LockGuard};
use crossbeam_utils::CachePadded;
use krarup_act::{Process, ProcessEnd, TableCursor};
use krarup_gen::{MessageTotals, Pid, ReasonKind, SpawnError};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

/// Pids are assigned in sequence, so the low bits of their pages spread evenly.
const SHARDS: usize = 16;
/// Processes with consecutive numbers share a page, so most of them cost their pointer and
/// little more. One table of all processes would keep spare capacity for each.
const PAGE: usize = 32;

/// How many pages a walk copies while it holds the lock of their shard: at most 256 processes. Each costs a cache line
/// that no worker may have used for long, and whoever wants the shard spins meanwhile.
const PAGES_AT_ONCE: usize = 8;

/// A lock that is held for a few dozen instructions, and for the copy of some pages by a walk.
type Shard = CachePadded<Lock<ShardTable>>;

/// The processes of a shard.
#[derive(Default)]
struct ShardTable {
    pages: HashMap<u64, Box<PidPage>, BuildHasherDefault<NumberHasher>>,
    /// The last page that became empty: where processes come and go, pages do so too.
    spare: Option<Box<PidPage>>,
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
pub(crate) struct TableCounts {
    pub(crate) spawned: u64,
    pub(crate) ended: EndedTotals,
}

impl TableCounts {
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

/// The table of the living processes by number.
#[derive(Default)]
pub(crate) struct PidTable {
    shards: [Shard; SHARDS],
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

impl PidTable {
    /// The position of the process with this number, if it lives: its shard, page and place on
    /// the page.
    fn place(&self, id: u64) -> (&Shard, u64, usize) {
        let page = id / PAGE as u64;
        // The remainder of a division by a number of places fits any integer.
        let among =
            |number: u64, places: usize| usize::try_from(number % places as u64).unwrap_or(0);
        (&self.shards[among(page, SHARDS)], page, among(id, PAGE))
    }

    /// Adds a process, unless it is refused. That is asked under the lock of its shard: a thread that has a process
    /// refused from now on, and then looks at the shard, has missed no process.
    pub(crate) fn insert(
        &self,
        process: Arc<dyn Process>,
        is_refused: impl FnOnce(&dyn Process) -> bool,
    ) -> Result<(), SpawnError> {
        let (shard, page, place) = self.place(process.pid().id());
        let mut table = shard.lock();
        if is_refused(&*process) {
            return Err(SpawnError::NodeStopping);
        }
        let ShardTable { pages, spare, .. } = &mut *table;
        let page = pages.entry(page).or_insert_with(|| spare.take().unwrap_or_default());
        page.living += 1;
        page.places[place] = Some(process);
        table.spawned += 1;
        Ok(())
    }

    /// Takes a process out that has ended. It is to be dropped by the caller, outside the lock.
    pub(crate) fn remove(&self, pid: Pid, end: &ProcessEnd) -> Option<Arc<dyn Process>> {
        let (shard, number, place) = self.place(pid.id());
        let mut table = shard.lock();
        let page = table.pages.get_mut(&number)?;
        let gone = page.places[place].take()?;
        page.living -= 1;
        if page.living == 0 {
            table.spare = table.pages.remove(&number);
        }
        table.ended.by_kind[end.kind as usize] += 1;
        table.ended.messages.add(&end.messages);
        Some(gone)
    }

    pub(crate) fn process(&self, pid: Pid) -> Option<Arc<dyn Process>> {
        let (shard, page, place) = self.place(pid.id());
        shard.lock().pages.get(&page)?.places[place].clone()
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
    pub(crate) fn counts(&self) -> TableCounts {
        let tables: [LockGuard<'_, ShardTable>; SHARDS] =
            self.shards.each_ref().map(|shard| shard.lock());
        let mut counts = TableCounts::default();
        for table in &tables {
            counts.spawned += table.spawned;
            let sums = counts.ended.by_kind.iter_mut();
            sums.zip(table.ended.by_kind).for_each(|(sum, more)| *sum += more);
            counts.ended.messages.add(&table.ended.messages);
        }
        counts
    }

    /// How many pages there are.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn pages(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().pages.len()).sum()
    }
}
