//! What is known of the scopes of other nodes: their members, by group.
//!
//! Plain values: an event goes in, and the changes of members come out. Nothing here sends, monitors
//! or locks.
//!
//! One node announces at most so much (rule Zsec7): each membership counts 1, each group 1 and 1 more
//! for each 64 bytes of its name. A membership beyond that is refused; a group without members is
//! none. A node has few scopes of one name: one, and those that have ended and are not known to have.
//!
//! What a message costs grows with the message and with what is held of its scope, and not with a
//! product of both: a group is looked up once for each time that a message names it.

use super::group_key::GroupKey;
use super::scope_signal::AnnouncedGroups;
use krarup_gen::{Pid, Ref};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most scopes of one node, with those whose ends are on their way.
const MOST_SCOPES: usize = 16;
/// How many bytes of a name count as one membership.
const NAME_UNIT: usize = 64;

/// A member of another node has joined or left.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MemberChange {
    pub(crate) has_joined: bool,
    pub(crate) group: Arc<GroupKey>,
    pub(crate) pid: Pid,
}

/// What a message changes.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct MemberChanges {
    pub(crate) changes: Vec<MemberChange>,
    /// Memberships beyond the bound.
    pub(crate) refused: u64,
}

impl MemberChanges {
    fn push(&mut self, has_joined: bool, group: &Arc<GroupKey>, pid: Pid, times: usize) {
        let change = MemberChange { has_joined, group: Arc::clone(group), pid };
        self.changes.extend(std::iter::repeat_n(change, times));
    }
}

/// The scopes of other nodes, by their pids.
#[derive(Debug)]
pub(crate) struct PeerScopes {
    known: BTreeMap<Pid, KnownScope>,
    /// What each node announces, by the number of its incarnation.
    shares: BTreeMap<u32, NodeShare>,
    /// The most that one node may announce.
    limit: usize,
}

#[derive(Debug)]
struct KnownScope {
    monitor: Ref,
    groups: BTreeMap<GroupKey, KnownGroup>,
}

#[derive(Debug)]
struct KnownGroup {
    /// What its name counts.
    weight: usize,
    /// How often each member has joined.
    members: BTreeMap<Pid, usize>,
}

#[derive(Debug, Default)]
struct NodeShare {
    scopes: usize,
    weight: usize,
}

impl PeerScopes {
    pub(crate) fn new(limit: usize) -> Self {
        PeerScopes { known: BTreeMap::new(), shares: BTreeMap::new(), limit }
    }

    pub(crate) fn knows(&self, scope: Pid) -> bool {
        self.known.contains_key(&scope)
    }

    /// Whether any scope of this incarnation of a node is known.
    pub(crate) fn knows_one_of(&self, incarnation: u32) -> bool {
        self.shares.contains_key(&incarnation)
    }

    /// Whether one more scope of its node can be known.
    pub(crate) fn has_room_for(&self, scope: Pid) -> bool {
        self.shares.get(&scope.node()).is_none_or(|share| share.scopes < MOST_SCOPES)
    }

    /// A scope is greeted. It is monitored by this reference.
    pub(crate) fn greeted(&mut self, scope: Pid, monitor: Ref) {
        self.known.insert(scope, KnownScope { monitor, groups: BTreeMap::new() });
        self.shares.entry(scope.node()).or_default().scopes += 1;
    }

    /// The known scopes, in the order of their pids.
    pub(crate) fn scopes(&self) -> impl Iterator<Item = Pid> {
        self.known.keys().copied()
    }

    /// How many scopes are known, and how many memberships and names count.
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.known.len(), self.shares.values().map(|share| share.weight).sum())
    }

    /// A scope announces members of a group.
    pub(crate) fn join(&mut self, from: Pid, group: &GroupKey, pids: &[Pid]) -> MemberChanges {
        let mut all = MemberChanges::default();
        self.add(from, group, pids.iter().map(|pid| (*pid, 1)), &mut all);
        all
    }

    /// A scope announces that each of these has left each of the groups, once.
    pub(crate) fn leave(&mut self, from: Pid, pids: &[Pid], groups: &[GroupKey]) -> MemberChanges {
        let mut all = MemberChanges::default();
        let Some(known) = self.known.get(&from) else { return all };
        let (mut named, mut leaving) = (BTreeMap::new(), BTreeMap::new());
        for group in groups {
            if known.groups.contains_key(group) {
                *named.entry(group).or_insert(0_usize) += 1;
            }
        }
        pids.iter().for_each(|pid| *leaving.entry(*pid).or_insert(0_usize) += 1);
        let mut left = Vec::new();
        for (group, times) in named {
            let Some(held) = known.groups.get(group) else { continue };
            let of = |pid: &Pid| leaving.get(pid).map(|count| (*pid, count.saturating_mul(times)));
            // The smaller of the two is walked.
            let gone: Vec<_> = if leaving.len() < held.members.len() {
                leaving.keys().filter(|pid| held.members.contains_key(pid)).filter_map(of).collect()
            } else {
                held.members.keys().filter_map(of).collect()
            };
            left.push((group, gone));
        }
        for (group, gone) in left {
            self.remove(from, group, gone, &mut all);
        }
        all
    }

    /// A scope announces all of its members. What differs from what is known is a change (rule Zpg4).
    pub(crate) fn sync(&mut self, from: Pid, groups: &AnnouncedGroups) -> MemberChanges {
        let mut announced: BTreeMap<&GroupKey, BTreeMap<Pid, usize>> = BTreeMap::new();
        for (group, pids) in groups {
            let counts = announced.entry(group).or_default();
            pids.iter().for_each(|pid| *counts.entry(*pid).or_default() += 1);
        }
        let mut all = MemberChanges::default();
        let Some(known) = self.known.get(&from) else { return all };
        let mut left = Vec::new();
        let mut joined = Vec::new();
        for (group, held) in &known.groups {
            let now = announced.get(group);
            let less = held.members.iter().map(|(pid, count)| {
                let now = now.and_then(|now| now.get(pid)).copied().unwrap_or(0);
                (*pid, count.saturating_sub(now))
            });
            let less: Vec<_> = less.filter(|(_, times)| *times > 0).collect();
            if !less.is_empty() {
                left.push((group.clone(), less));
            }
        }
        for (group, now) in announced {
            let held = known.groups.get(group);
            let more = now.into_iter().map(|(pid, count)| {
                let held = held.and_then(|held| held.members.get(&pid)).copied().unwrap_or(0);
                (pid, count.saturating_sub(held))
            });
            joined.push((group, more.collect::<Vec<_>>()));
        }
        // First those that have left: there may be no room otherwise.
        for (group, less) in left {
            self.remove(from, &group, less, &mut all);
        }
        for (group, more) in joined {
            self.add(from, group, more, &mut all);
        }
        all
    }

    /// The scope that is monitored by this reference has ended, or its node is lost: all its members
    /// have left (rule Zpg3).
    pub(crate) fn gone(&mut self, monitor: Ref) -> MemberChanges {
        let of = self.known.iter().find(|(_, known)| known.monitor == monitor);
        of.map(|(scope, _)| *scope).map_or_else(MemberChanges::default, |scope| self.forget(scope))
    }

    /// Forgets all scopes: their members have left.
    pub(crate) fn forget_all(&mut self) -> MemberChanges {
        let mut all = MemberChanges::default();
        for scope in self.known.keys().copied().collect::<Vec<_>>() {
            all.changes.append(&mut self.forget(scope).changes);
        }
        all
    }

    fn forget(&mut self, scope: Pid) -> MemberChanges {
        let mut all = MemberChanges::default();
        let Some(known) = self.known.remove(&scope) else { return all };
        for (group, KnownGroup { weight, members }) in known.groups {
            self.release(scope, weight);
            let group = Arc::new(group);
            for (pid, times) in members {
                self.release(scope, times);
                all.push(false, &group, pid, times);
            }
        }
        if let Some(share) = self.shares.get_mut(&scope.node()) {
            share.scopes -= 1;
            if share.scopes == 0 {
                self.shares.remove(&scope.node());
            }
        }
        all
    }

    /// Adds memberships of one group, as far as there is room.
    fn add(
        &mut self,
        from: Pid,
        group: &GroupKey,
        pids: impl IntoIterator<Item = (Pid, usize)>,
        all: &mut MemberChanges,
    ) {
        let Some(known) = self.known.get_mut(&from) else { return };
        let share = self.shares.entry(from.node()).or_default();
        let named = match group.bytes() {
            _ if known.groups.contains_key(group) => 0,
            Some(bytes) => 1 + bytes / NAME_UNIT,
            None => usize::MAX,
        };
        let mut room = self.limit.saturating_sub(share.weight).saturating_sub(named);
        let mut joined = Vec::new();
        for (pid, times) in pids {
            let taken = times.min(room);
            room -= taken;
            all.refused += (times - taken) as u64;
            if taken > 0 {
                joined.push((pid, taken));
            }
        }
        if joined.is_empty() {
            return;
        }
        share.weight += named;
        let held = known.groups.entry(group.clone());
        let held = held.or_insert_with(|| KnownGroup { weight: named, members: BTreeMap::new() });
        let group = Arc::new(group.clone());
        for (pid, times) in joined {
            share.weight += times;
            *held.members.entry(pid).or_default() += times;
            all.push(true, &group, pid, times);
        }
    }

    /// Removes memberships of one group, as far as there are as many.
    fn remove(
        &mut self,
        from: Pid,
        group: &GroupKey,
        pids: impl IntoIterator<Item = (Pid, usize)>,
        all: &mut MemberChanges,
    ) {
        let Some(known) = self.known.get_mut(&from) else { return };
        let Some(held) = known.groups.get_mut(group) else { return };
        let shared = Arc::new(group.clone());
        let mut released = 0;
        for (pid, times) in pids {
            let Some(count) = held.members.get_mut(&pid) else { continue };
            let times = times.min(*count);
            *count -= times;
            released += times;
            if *count == 0 {
                held.members.remove(&pid);
            }
            all.push(false, &shared, pid, times);
        }
        if held.members.is_empty() {
            released += held.weight;
            known.groups.remove(group);
        }
        self.release(from, released);
    }

    fn release(&mut self, scope: Pid, weight: usize) {
        if let Some(share) = self.shares.get_mut(&scope.node()) {
            share.weight -= weight;
        }
    }
}

#[cfg(test)]
mod tests;
