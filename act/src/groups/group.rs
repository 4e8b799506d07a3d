//! One group: its members, in the order of joining and by the types of their messages.

use crate::topics::hearer::Effects;
use crate::topics::topic_core::TopicCore;
use krarup_gen::{GroupChange, Pid};
use std::any::{Any, TypeId};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// A recipient of some type, or a process of another node, that was a member.
pub(crate) type Removed = Box<dyn Any + Send>;

#[derive(Default)]
pub(crate) struct Group {
    /// The number of the last membership.
    last: u64,
    /// By the types of what is kept of a member: a recipient, or a
    /// [`RemoteMember`](super::remote_member::RemoteMember).
    kinds: BTreeMap<TypeId, Box<dyn MembersOfAType>>,
    of: HashMap<Pid, TimesJoined>,
    /// Its changes, for those who watch it.
    pub(crate) changes: Option<Arc<TopicCore<GroupChange>>>,
}

/// How often a process has joined.
struct TimesJoined {
    /// The record of it, for the end of the process.
    record: usize,
    /// The oldest first: the numbers of its memberships, and the types of what is kept.
    numbers: Vec<(u64, TypeId)>,
}

/// The members of which values of one type are kept.
trait MembersOfAType: Any + Send + Sync {
    /// Removes one. The caller drops it without a lock.
    fn remove(&mut self, number: u64) -> Option<Removed>;

    fn is_empty(&self) -> bool;
}

/// The members of which a `T` is kept.
struct TypedMembers<T> {
    /// By the numbers of their memberships, with their places in `numbers`.
    members: BTreeMap<u64, (T, usize)>,
    /// Their numbers in no order, so that one can be chosen at once.
    numbers: Vec<u64>,
}

impl<T: Send + Sync + 'static> MembersOfAType for TypedMembers<T> {
    fn remove(&mut self, number: u64) -> Option<Removed> {
        let (member, place) = self.members.remove(&number)?;
        self.numbers.swap_remove(place);
        if let Some(moved) = self.numbers.get(place)
            && let Some((_, its_place)) = self.members.get_mut(moved)
        {
            *its_place = place;
        }
        Some(Box::new(member))
    }

    fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }
}

impl Group {
    /// Adds a membership. `record`: the number of the record of a process that has none here yet.
    pub(crate) fn add<T: Send + Sync + 'static>(&mut self, pid: Pid, record: usize, member: T) {
        self.last += 1;
        let (number, kind) = (self.last, TypeId::of::<T>());
        let empty = || {
            let typed = TypedMembers::<T> { members: BTreeMap::new(), numbers: Vec::new() };
            Box::new(typed) as Box<dyn MembersOfAType>
        };
        let members: &mut dyn Any = &mut **self.kinds.entry(kind).or_insert_with(empty);
        if let Some(typed) = members.downcast_mut::<TypedMembers<T>>() {
            typed.members.insert(number, (member, typed.numbers.len()));
            typed.numbers.push(number);
        }
        let joined = self.of.entry(pid);
        let joined = joined.or_insert(TimesJoined { record, numbers: Vec::new() });
        joined.numbers.push((number, kind));
    }

    /// Removes the latest membership of a process. The caller drops it without a lock. With the number
    /// of the record, if it was the last.
    pub(crate) fn remove(&mut self, pid: Pid) -> Option<(Removed, Option<usize>)> {
        let joined = self.of.get_mut(&pid)?;
        let (number, kind) = joined.numbers.pop()?;
        let mut record = None;
        if joined.numbers.is_empty() {
            record = self.of.remove(&pid).map(|joined| joined.record);
        }
        let members = self.kinds.get_mut(&kind)?;
        let removed = members.remove(number);
        if members.is_empty() {
            self.kinds.remove(&kind);
        }
        Some((removed?, record))
    }

    pub(crate) fn has(&self, pid: Pid) -> bool {
        self.of.contains_key(&pid)
    }

    fn typed<T: 'static>(&self) -> Option<&TypedMembers<T>> {
        let members: &dyn Any = &**self.kinds.get(&TypeId::of::<T>())?;
        members.downcast_ref()
    }

    /// The members of which a `T` is kept, with the numbers of their memberships, in the order of
    /// joining.
    pub(crate) fn members<T: Clone + 'static>(&self) -> Vec<(u64, T)> {
        let typed = self.typed::<T>();
        typed.map_or_else(Vec::new, |typed| {
            typed.members.iter().map(|(number, (member, _))| (*number, member.clone())).collect()
        })
    }

    /// How many members there are of which a `T` is kept.
    pub(crate) fn count<T: 'static>(&self) -> usize {
        self.typed::<T>().map_or(0, |typed| typed.numbers.len())
    }

    /// One of the members of which a `T` is kept, by a number below their count, in no order.
    pub(crate) fn one<T: Clone + 'static>(&self, chosen: usize) -> Option<T> {
        let typed = self.typed::<T>()?;
        typed.members.get(typed.numbers.get(chosen)?).map(|(member, _)| member.clone())
    }

    /// All members in the order of joining, each as often as it has joined.
    pub(crate) fn pids(&self) -> Vec<Pid> {
        let memberships = self.of.iter();
        let mut numbered: Vec<_> = memberships
            .flat_map(|(pid, joined)| joined.numbers.iter().map(|(number, _)| (*number, *pid)))
            .collect();
        numbered.sort_unstable();
        numbered.into_iter().map(|(_, pid)| pid).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// Whether it has neither members nor watchers.
    pub(crate) fn is_unused(&self) -> bool {
        self.is_empty() && self.changes.as_ref().is_none_or(|changes| changes.is_quiet())
    }

    /// Passes a change on to those who watch. The caller carries out the effects when it has
    /// unlocked the group.
    pub(crate) fn tell(
        &self,
        change: impl FnOnce() -> GroupChange,
    ) -> Option<Effects<GroupChange>> {
        let changes = self.changes.as_ref().filter(|changes| !changes.is_quiet())?;
        Some(changes.publish_under_lock(change()))
    }
}
