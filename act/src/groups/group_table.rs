//! The groups of a node, by their names.

use super::group::Group;
use super::remote_member::RemoteMember;
use super::table_topics::{GroupMembers, TableTopics};
use super::unused_group::{UnusedGroup, UnusedGroups};
use crate::addressing::recipient::Recipient;
use crate::host::host::Host;
use crate::memberships::records::{Membership, number_of};
use crate::process::crash::drop_contained;
use crate::process::process::Process;
use crate::sync::RwLock;
use crate::topics::hearer::Effects;
use crate::topics::topic_core::{TopicCore, TopicSettings};
use krarup_gen::{GroupChange, JoinError, Name, Pid, Ref, TopicId};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Weak};

const SHARDS: usize = 16;

pub(crate) struct GroupTable {
    shards: [RwLock<HashMap<Name, Group>>; SHARDS],
    itself: Weak<GroupTable>,
    /// The changes of all groups, for those who watch them.
    pub(super) topics: TableTopics,
}

impl GroupTable {
    /// The groups of the node.
    pub(crate) fn of(host: &dyn Host) -> Arc<Self> {
        host.memberships().groups(GroupTable::new)
    }

    /// The groups of another scope than that of the node.
    pub(crate) fn of_scope(host: &dyn Host, scope: &Name) -> Arc<Self> {
        host.memberships().groups_of(scope, GroupTable::new)
    }

    fn new() -> Arc<Self> {
        Arc::new_cyclic(|itself| GroupTable {
            shards: Default::default(),
            itself: Weak::clone(itself),
            topics: TableTopics::default(),
        })
    }

    fn shard(&self, name: &str) -> &RwLock<HashMap<Name, Group>> {
        // To spread names over locks needs no good hash; the maps behind them have one.
        let sum =
            name.bytes().fold(0_usize, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        &self.shards[sum % SHARDS]
    }

    /// Adds a membership of a living process (rules G1, G2).
    pub(crate) fn join<M: Send + 'static>(
        &self,
        host: &dyn Host,
        name: &Name,
        member: Recipient<M>,
    ) -> Result<(), JoinError> {
        let Some(process) = member.process() else {
            return Err(JoinError::NoProcess(member.pid()));
        };
        let pid = process.pid();
        let record =
            Arc::new(MemberOfGroup { table: Weak::clone(&self.itself), name: name.clone() });
        let number = number_of(&record);
        let mut shard = self.shard(name.as_str()).write();
        let is_member = shard.get(name).is_some_and(|group| group.has(pid));
        // One record for a process that joins several times. It is there until the process has left,
        // so one that is a member has not ended.
        if !is_member && !host.memberships().begin(&*process, record) {
            drop(shard);
            drop_contained(member);
            return Err(JoinError::NoProcess(pid));
        }
        let group = shard.entry(name.clone()).or_default();
        group.add(pid, number, member);
        let effects = self.tell(group, || GroupChange::Joined { group: name.clone(), pid });
        drop(shard);
        effects.into_iter().for_each(Effects::carry_out);
        Ok(())
    }

    /// Adds a membership of a process of another node, which that node has announced.
    pub(crate) fn add_remote(&self, name: &Name, process: Arc<dyn Process>) {
        let pid = process.pid();
        let mut shard = self.shard(name.as_str()).write();
        let group = shard.entry(name.clone()).or_default();
        // It has no record: its node tells of its end.
        group.add(pid, 0, RemoteMember(process));
        let effects = self.tell(group, || GroupChange::Joined { group: name.clone(), pid });
        drop(shard);
        effects.into_iter().for_each(Effects::carry_out);
    }

    /// Passes a change on to those who watch the group, or all groups.
    fn tell(&self, group: &Group, change: impl Fn() -> GroupChange) -> Vec<Effects<GroupChange>> {
        let mut effects = Vec::new();
        effects.extend(group.tell(&change));
        self.topics.tell(&change, &mut effects);
        effects
    }

    /// Removes the latest membership of a process. Returns whether there was one (rule G1).
    pub(crate) fn leave(&self, host: &dyn Host, name: &str, pid: Pid) -> bool {
        let mut shard = self.shard(name).write();
        let Some(key) = shard.get_key_value(name).map(|(key, _)| key.clone()) else { return false };
        let Some(group) = shard.get_mut(name) else { return false };
        let Some((removed, record)) = group.remove(pid) else { return false };
        let effects = self.tell(group, || GroupChange::Left { group: key.clone(), pid });
        let record = record.and_then(|record| host.memberships().forget(pid, record));
        let unused = if group.is_unused() { shard.remove(name) } else { None };
        drop(shard);
        effects.into_iter().for_each(Effects::carry_out);
        drop_contained(removed);
        drop_contained((unused, record));
        true
    }

    /// Removes a membership of a process of another node. Returns whether there was one.
    pub(crate) fn remove_remote(&self, name: &Name, pid: Pid) -> bool {
        self.take(name, pid, 1) == 1
    }

    /// Removes all memberships of a process that has ended (rule G2).
    fn forget(&self, name: &Name, pid: Pid) {
        self.take(name, pid, usize::MAX);
    }

    /// Removes the latest memberships of a process, at most so many, whose record is gone or never
    /// was. Returns how many there were.
    fn take(&self, name: &Name, pid: Pid, most: usize) -> usize {
        let (mut removed, mut effects) = (Vec::new(), Vec::new());
        let mut shard = self.shard(name.as_str()).write();
        let Some(group) = shard.get_mut(name) else { return 0 };
        while removed.len() < most
            && let Some((member, _)) = group.remove(pid)
        {
            removed.push(member);
            effects.extend(self.tell(group, || GroupChange::Left { group: name.clone(), pid }));
        }
        let unused = if group.is_unused() { shard.remove(name) } else { None };
        drop(shard);
        effects.into_iter().for_each(Effects::carry_out);
        let count = removed.len();
        removed.into_iter().for_each(drop_contained);
        drop_contained(unused);
        count
    }

    /// Runs `watch` while no member of any group comes or goes, and returns the members of all
    /// groups at that moment, those of this node or all, if it succeeds.
    pub(crate) fn while_still<E>(
        &self,
        is_listed: impl Fn(Pid) -> bool,
        watch: impl FnOnce() -> Result<(), E>,
    ) -> Result<GroupMembers, E> {
        // Whoever changes a group holds one of the locks.
        let shards: Vec<_> = self.shards.iter().map(|shard| shard.write()).collect();
        watch()?;
        let mut all = BTreeMap::new();
        for (name, group) in shards.iter().flat_map(|shard| shard.iter()) {
            let members: Vec<Pid> =
                group.pids().into_iter().filter(|pid| is_listed(*pid)).collect();
            if !members.is_empty() {
                all.insert(name.clone(), members);
            }
        }
        Ok(all.into_iter().collect())
    }

    /// Runs `look` on a group while other readers may look too.
    pub(crate) fn with<T>(&self, name: &str, look: impl FnOnce(&Group) -> T) -> Option<T> {
        self.shard(name).read().get(name).map(look)
    }

    /// The names of the groups that have members, in their order.
    pub(crate) fn names(&self) -> BTreeSet<Name> {
        let mut names = BTreeSet::new();
        for shard in &self.shards {
            let shard = shard.read();
            let groups = shard.iter().filter(|(_, group)| !group.is_empty());
            names.extend(groups.map(|(name, _)| name.clone()));
        }
        names
    }

    /// Runs `watch` with the topic of the group's changes while no member comes or goes, and returns
    /// the members at that moment, if it succeeds (rule G3). `watch` may take the locks of topics.
    pub(crate) fn watch<E>(
        &self,
        name: &Name,
        reference: Ref,
        watch: impl FnOnce(&Arc<TopicCore<GroupChange>>) -> Result<(), E>,
    ) -> Result<Vec<Pid>, E> {
        let mut shard = self.shard(name.as_str()).write();
        let group = shard.entry(name.clone()).or_default();
        let changes = Arc::clone(group.changes.get_or_insert_with(|| {
            let id = TopicId { name: None, reference };
            let unused = UnusedGroup::new(Weak::clone(&self.itself) as _, name.clone());
            TopicCore::new(TopicSettings {
                id,
                opener: None,
                keep: 0,
                audience: Some(Arc::new(unused)),
                opened_by: Weak::new(),
                direct: false,
            })
        }));
        let watched = watch(&changes).map(|()| group.pids());
        let unused = if group.is_unused() { shard.remove(name) } else { None };
        drop(shard);
        drop_contained((changes, unused));
        watched
    }

    /// How many groups there are, with those that are only watched.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.read().len()).sum()
    }
}

impl UnusedGroups for GroupTable {
    fn forget_unused(&self, name: &Name) {
        let mut shard = self.shard(name.as_str()).write();
        let is_unused = shard.get(name).is_some_and(Group::is_unused);
        let unused = if is_unused { shard.remove(name) } else { None };
        drop(shard);
        drop_contained(unused);
    }
}

/// The record of a process that is a member of a group, however often it has joined.
struct MemberOfGroup {
    table: Weak<GroupTable>,
    name: Name,
}

impl Membership for MemberOfGroup {
    fn end(&self, process: Pid) {
        if let Some(table) = self.table.upgrade() {
            table.forget(&self.name, process);
        }
    }
}
