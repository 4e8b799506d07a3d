//! The memberships of the processes of a node, so that the end of a process leaves all of them.
//!
//! ```text
//!   group or registry, locked          the process                   Memberships, 16 shards
//!     join, register  ───────────►  not retired? member ──────────►  page 0: [..|..|..|..]
//!                                   (one lock for both)              page 1: [..|..|..|..]
//!                                                                              │
//!     left, unregistered ◄── its end: retired, member? ◄── taken ──────────────┘ one, or several
//! ```
//!
//! The locks are taken in the order of the arrows: the group or the registry, the relations of the
//! process, the shard. The end of a process holds none of them when it takes the record. So a process
//! either is retired before it becomes a member, and is refused, or its end finds the record and
//! waits for the lock of the owner. Nothing is left of a process that has ended.
//!
//! A process that is no member has no record, and its end does not look for one: a flag beside the
//! other flags of its relations tells. Processes with consecutive numbers share a page, as in the
//! registry of a node, because a million processes with a key each are the measured case (G9).

use crate::process::crash::{drop_contained, ignore};
use crate::process::process::Process;
use crate::sync::Mutex;
use krarup_gen::{Name, Pid};
use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, OnceLock};

const SHARDS: usize = 16;
const PAGE: usize = 16;

/// One membership of a process: in a group, under a key of a registry, or among those that a cluster tells of
/// nodes. For hosts.
pub trait Membership: Send + Sync {
    /// Ends it, because the process has ended. Called without a lock.
    fn end(&self, process: Pid);
}

/// Returns the number of a membership, which no other one has while it exists.
pub(crate) fn number_of<T: ?Sized>(membership: &Arc<T>) -> usize {
    Arc::as_ptr(membership).cast::<()>().addr()
}

/// The memberships of the processes of a node. For hosts.
#[derive(Default)]
pub struct Memberships {
    shards: [Mutex<RecordPages>; SHARDS],
    /// The groups of the node, made when the first process joins one.
    groups: OnceLock<Arc<dyn Any + Send + Sync>>,
    /// The groups of further scopes, by the names of these.
    scopes: Mutex<BTreeMap<Name, Arc<dyn Any + Send + Sync>>>,
}

type RecordPages = HashMap<u64, Box<RecordPage>>;

#[derive(Default)]
struct RecordPage {
    used: usize,
    places: [Option<MembershipRecord>; PAGE],
}

/// The memberships of one process.
enum MembershipRecord {
    One(Arc<dyn Membership>),
    Several(Box<SeveralMemberships>),
}

/// By their numbers, with their places in the order in which they began.
#[derive(Default)]
struct SeveralMemberships {
    last: u64,
    all: BTreeMap<usize, (u64, Arc<dyn Membership>)>,
}

impl SeveralMemberships {
    fn add(&mut self, membership: Arc<dyn Membership>) {
        self.last += 1;
        self.all.insert(number_of(&membership), (self.last, membership));
    }
}

impl Memberships {
    /// Records a membership, unless the process has ended. The group or the registry is locked by the
    /// caller. Returns false if the process has ended.
    pub fn begin(&self, process: &dyn Process, membership: Arc<dyn Membership>) -> bool {
        let mut relations = process.relations();
        if relations.is_retired() {
            return false;
        }
        relations.become_member();
        // Still under the lock of the relations: the end of the process finds the record.
        let (number, place) = position(process.pid());
        let mut pages = self.shard(number).lock();
        let page = pages.entry(number).or_default();
        page.places[place] = Some(match page.places[place].take() {
            None => {
                page.used += 1;
                MembershipRecord::One(membership)
            }
            Some(MembershipRecord::One(one)) => {
                let mut several = Box::<SeveralMemberships>::default();
                several.add(one);
                several.add(membership);
                MembershipRecord::Several(several)
            }
            Some(MembershipRecord::Several(mut several)) => {
                several.add(membership);
                MembershipRecord::Several(several)
            }
        });
        true
    }

    /// Removes a membership that the process has left. The caller drops it without a lock.
    #[must_use]
    pub(crate) fn forget(&self, pid: Pid, membership: usize) -> Option<Arc<dyn Membership>> {
        let (number, place) = position(pid);
        let mut pages = self.shard(number).lock();
        let page = pages.get_mut(&number)?;
        let gone = match page.places[place].as_mut()? {
            MembershipRecord::One(one) if number_of(one) != membership => return None,
            MembershipRecord::Several(several) if several.all.len() > 1 => {
                return several.all.remove(&membership).map(|(_, gone)| gone);
            }
            MembershipRecord::Several(several) if !several.all.contains_key(&membership) => {
                return None;
            }
            MembershipRecord::One(_) | MembershipRecord::Several(_) => page.places[place].take(),
        };
        page.used -= 1;
        if page.used == 0 {
            pages.remove(&number);
        }
        drop(pages);
        match gone? {
            MembershipRecord::One(one) => Some(one),
            MembershipRecord::Several(several) => {
                several.all.into_values().next().map(|(_, gone)| gone)
            }
        }
    }

    /// Ends all memberships of a process that has ended, in the order in which they began.
    pub(crate) fn end(&self, pid: Pid) {
        let mut record = None;
        {
            let (number, place) = position(pid);
            let mut pages = self.shard(number).lock();
            if let Some(page) = pages.get_mut(&number) {
                record = page.places[place].take();
                page.used -= usize::from(record.is_some());
                if page.used == 0 {
                    pages.remove(&number);
                }
            }
        }
        let in_order = match record {
            None => return,
            Some(MembershipRecord::One(one)) => vec![one],
            Some(MembershipRecord::Several(several)) => {
                let in_order: BTreeMap<_, _> = several.all.into_values().collect();
                in_order.into_values().collect()
            }
        };
        for membership in in_order {
            // The keys of registries are users' values.
            ignore(|| membership.end(pid));
            drop_contained(membership);
        }
    }

    /// Returns the groups of the node.
    pub(crate) fn groups<G: Any + Send + Sync>(&self, make: impl FnOnce() -> Arc<G>) -> Arc<G> {
        let groups = self.groups.get_or_init(|| make());
        Arc::clone(groups).downcast().unwrap_or_else(|_| unreachable!("one type of groups"))
    }

    /// Returns the groups of a scope other than that of the node.
    pub(crate) fn groups_of<G: Any + Send + Sync>(
        &self,
        scope: &Name,
        make: impl FnOnce() -> Arc<G>,
    ) -> Arc<G> {
        let groups = {
            let mut scopes = self.scopes.lock();
            Arc::clone(scopes.entry(scope.clone()).or_insert_with(|| make()))
        };
        groups.downcast().unwrap_or_else(|_| unreachable!("one type of groups"))
    }

    /// Returns how many processes have a record.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        let used =
            |shard: &Mutex<RecordPages>| shard.lock().values().map(|page| page.used).sum::<usize>();
        self.shards.iter().map(used).sum()
    }

    fn shard(&self, page: u64) -> &Mutex<RecordPages> {
        // The remainder of a division by 16 fits any integer.
        &self.shards[usize::try_from(page % SHARDS as u64).unwrap_or(0)]
    }
}

/// The page of a process, and its place there.
fn position(pid: Pid) -> (u64, usize) {
    let page = PAGE as u64;
    (pid.id() / page, usize::try_from(pid.id() % page).unwrap_or(0))
}

impl Drop for Memberships {
    fn drop(&mut self) {
        if let Some(groups) = self.groups.take() {
            drop_contained(groups);
        }
        let scopes = std::mem::take(&mut *self.scopes.lock());
        scopes.into_values().for_each(drop_contained);
    }
}

impl fmt::Debug for Memberships {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Memberships(..)")
    }
}
