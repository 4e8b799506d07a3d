//! The groups of a node, by their names.

use super::group::Group;
use super::unused_group::{UnusedGroup, UnusedGroups};
use crate::addressing::recipient::Recipient;
use crate::host::host::Host;
use crate::memberships::records::{Membership, number_of};
use crate::process::crash::drop_contained;
use crate::sync::RwLock;
use crate::topics::hearer::Effects;
use crate::topics::topic_core::{TopicCore, TopicSettings};
use krarup_gen::{GroupChange, JoinError, Name, Pid, Ref, TopicId};
use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Weak};

const SHARDS: usize = 16;

pub(crate) struct GroupTable {
    shards: [RwLock<HashMap<Name, Group>>; SHARDS],
    itself: Weak<GroupTable>,
}

impl GroupTable {
    /// The groups of the node.
    pub(crate) fn of(host: &dyn Host) -> Arc<Self> {
        host.memberships().groups(|| {
            Arc::new_cyclic(|itself| GroupTable {
                shards: Default::default(),
                itself: Weak::clone(itself),
            })
        })
    }

    fn shard(&self, name: &str) -> &RwLock<HashMap<Name, Group>> {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        // The remainder of a division by 16 fits any integer.
        &self.shards[usize::try_from(hasher.finish() % SHARDS as u64).unwrap_or(0)]
    }

    /// Adds a membership of a living process (rules G1, G2).
    pub(crate) fn join<M: Send + 'static>(
        &self,
        host: &dyn Host,
        name: &Name,
        member: Recipient<M>,
    ) -> Result<(), JoinError> {
        let process = member.process();
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
        let effects = group.tell(|| GroupChange::Joined { group: name.clone(), pid });
        drop(shard);
        if let Some(effects) = effects {
            effects.carry_out();
        }
        Ok(())
    }

    /// Removes the latest membership of a process. Returns whether there was one (rule G1).
    pub(crate) fn leave(&self, host: &dyn Host, name: &str, pid: Pid) -> bool {
        let mut shard = self.shard(name).write();
        let Some(key) = shard.get_key_value(name).map(|(key, _)| key.clone()) else { return false };
        let Some(group) = shard.get_mut(name) else { return false };
        let Some((removed, record)) = group.remove(pid) else { return false };
        let effects = group.tell(|| GroupChange::Left { group: key, pid });
        let record = record.and_then(|record| host.memberships().forget(pid, record));
        let unused = if group.is_unused() { shard.remove(name) } else { None };
        drop(shard);
        if let Some(effects) = effects {
            effects.carry_out();
        }
        drop_contained(removed);
        drop_contained((unused, record));
        true
    }

    /// Removes all memberships of a process that has ended (rule G2).
    fn forget(&self, name: &Name, pid: Pid) {
        let (mut removed, mut effects) = (Vec::new(), Vec::new());
        let mut shard = self.shard(name.as_str()).write();
        let Some(group) = shard.get_mut(name) else { return };
        while let Some((member, _)) = group.remove(pid) {
            removed.push(member);
            effects.extend(group.tell(|| GroupChange::Left { group: name.clone(), pid }));
        }
        let unused = if group.is_unused() { shard.remove(name) } else { None };
        drop(shard);
        effects.into_iter().for_each(Effects::carry_out);
        removed.into_iter().for_each(drop_contained);
        drop_contained(unused);
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
