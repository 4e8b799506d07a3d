//! One group: its members, in the order of joining and by the types of their messages.

use crate::addressing::recipient::Recipient;
use crate::topics::hearer::Effects;
use crate::topics::topic_core::TopicCore;
use krarup_gen::{GroupChange, Pid};
use std::any::{Any, TypeId};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// A recipient of some type, that was a member.
pub(crate) type Removed = Box<dyn Any + Send>;

#[derive(Default)]
pub(crate) struct Group {
    /// The number of the last membership.
    last: u64,
    kinds: HashMap<TypeId, Box<dyn MembersOfAType>>,
    of: HashMap<Pid, TimesJoined>,
    /// Its changes, for those who watch it.
    pub(crate) changes: Option<Arc<TopicCore<GroupChange>>>,
}

/// How often a process has joined.
struct TimesJoined {
    /// The record of it, for the end of the process.
    record: usize,
    /// The oldest first: the numbers of its memberships, and the types of their messages.
    numbers: Vec<(u64, TypeId)>,
}

/// The members that take messages of one type.
trait MembersOfAType: Any + Send + Sync {
    /// Removes one. The caller drops it without a lock.
    fn remove(&mut self, number: u64) -> Option<Removed>;

    fn is_empty(&self) -> bool;
}

/// The members that take messages of type `M`.
struct TypedMembers<M> {
    /// By the numbers of their memberships, with their places in `numbers`.
    members: BTreeMap<u64, (Recipient<M>, usize)>,
    /// Their numbers in no order, so that one can be chosen at once.
    numbers: Vec<u64>,
}

impl<M: Send + 'static> MembersOfAType for TypedMembers<M> {
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
    pub(crate) fn add<M: Send + 'static>(&mut self, pid: Pid, record: usize, member: Recipient<M>) {
        self.last += 1;
        let (number, kind) = (self.last, TypeId::of::<M>());
        let empty = || {
            let typed = TypedMembers::<M> { members: BTreeMap::new(), numbers: Vec::new() };
            Box::new(typed) as Box<dyn MembersOfAType>
        };
        let members: &mut dyn Any = &mut **self.kinds.entry(kind).or_insert_with(empty);
        if let Some(typed) = members.downcast_mut::<TypedMembers<M>>() {
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

    fn typed<M: Send + 'static>(&self) -> Option<&TypedMembers<M>> {
        let members: &dyn Any = &**self.kinds.get(&TypeId::of::<M>())?;
        members.downcast_ref()
    }

    /// The members that take an `M`, in the order of joining.
    pub(crate) fn members<M: Send + 'static>(&self) -> Vec<Recipient<M>> {
        let typed = self.typed::<M>();
        typed.map_or_else(Vec::new, |typed| {
            typed.members.values().map(|(member, _)| member.clone()).collect()
        })
    }

    /// One of the members that take an `M`.
    pub(crate) fn any<M: Send + 'static>(&self, random: u64) -> Option<Recipient<M>> {
        let typed = self.typed::<M>()?;
        let chosen = random % (typed.numbers.len() as u64).max(1);
        let number = typed.numbers.get(usize::try_from(chosen).unwrap_or(0))?;
        typed.members.get(number).map(|(member, _)| member.clone())
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
