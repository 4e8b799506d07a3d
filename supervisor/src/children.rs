//! The children of a supervisor, in start order.

use crate::back_off::FailureStreak;
use crate::info::{ChildInfo, ChildState};
use crate::spec::{ChildId, ChildRules, RestartType};
use krarup_gen::{Pid, Timestamp};
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

/// A child's place in the start order. Never reused within the life of a supervisor, so an event
/// for a deleted child cannot affect its successor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ChildKey(u64);

impl ChildKey {
    /// At or before every child's place.
    pub(crate) const FIRST: ChildKey = ChildKey(0);
}

/// The process of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChildProcess {
    /// It has none (OTP's `undefined`).
    None,
    /// It runs as this process.
    Running(Pid),
    /// It has none: a restart failed and will be tried again, or waits for its back-off. The pid
    /// is that of its last process, by which a dynamic child is still known.
    Restarting(Option<Pid>),
}

/// A child: its rules, its factory (`F`, opaque here), and its process.
#[derive(Clone, Debug)]
pub(crate) struct Child<F> {
    pub(crate) rules: ChildRules,
    /// `None` once a temporary dynamic child runs: it is never started again, and its arguments
    /// need not live as long as it does (as in OTP).
    pub(crate) start: Option<F>,
    process: ChildProcess,
    pub(crate) restarts: u64,
    /// Its failures, if it has a back-off.
    pub(crate) streak: FailureStreak,
}

impl<F> Child<F> {
    pub(crate) fn process(&self) -> ChildProcess {
        self.process
    }

    pub(crate) fn pid(&self) -> Option<Pid> {
        match self.process {
            ChildProcess::Running(pid) => Some(pid),
            ChildProcess::None | ChildProcess::Restarting(_) => None,
        }
    }

    /// Whether its restart is to be tried now.
    pub(crate) fn is_due(&self, now: Timestamp) -> bool {
        matches!(self.process, ChildProcess::Restarting(_)) && self.streak.is_over(now)
    }

    pub(crate) fn is_temporary(&self) -> bool {
        self.rules.restart == RestartType::Temporary
    }

    pub(crate) fn info(&self) -> ChildInfo {
        let state = match self.process {
            ChildProcess::None => ChildState::Undefined,
            ChildProcess::Running(pid) => ChildState::Running(pid),
            ChildProcess::Restarting(_) => ChildState::Restarting,
        };
        let ChildRules { ref id, kind, behavior, .. } = self.rules;
        ChildInfo { id: id.clone(), state, kind, behavior, restarts: self.restarts }
    }
}

/// The children in start order. Finding one by key, id or pid costs hardly more with many
/// children than with few.
#[derive(Clone, Debug)]
pub(crate) struct Children<F> {
    in_order: BTreeMap<ChildKey, Child<F>>,
    by_id: HashMap<ChildId, ChildKey>,
    /// Running children by pid, and restarting dynamic ones by their last pid.
    by_pid: HashMap<Pid, ChildKey>,
    next: u64,
}

impl<F> Children<F> {
    pub(crate) fn new() -> Self {
        let (in_order, by_id, by_pid) = (BTreeMap::new(), HashMap::new(), HashMap::new());
        Children { in_order, by_id, by_pid, next: 0 }
    }

    /// Adds a child without a process as the last in start order. Of several children with one
    /// id, as dynamic ones are, `by_id` finds one.
    pub(crate) fn add(&mut self, rules: ChildRules, start: F) -> ChildKey {
        let key = ChildKey(self.next);
        self.next += 1;
        self.by_id.insert(rules.id.clone(), key);
        let (start, process, streak) = (Some(start), ChildProcess::None, FailureStreak::default());
        self.in_order.insert(key, Child { rules, start, process, restarts: 0, streak });
        key
    }

    pub(crate) fn remove(&mut self, key: ChildKey) {
        self.set(key, ChildProcess::None);
        if let Some(child) = self.in_order.remove(&key)
            && self.by_id.get(&child.rules.id) == Some(&key)
        {
            self.by_id.remove(&child.rules.id);
        }
    }

    pub(crate) fn get(&self, key: ChildKey) -> Option<&Child<F>> {
        self.in_order.get(&key)
    }

    pub(crate) fn get_mut(&mut self, key: ChildKey) -> Option<&mut Child<F>> {
        self.in_order.get_mut(&key)
    }

    pub(crate) fn by_id(&self, id: &ChildId) -> Option<ChildKey> {
        self.by_id.get(id).copied()
    }

    /// The child that runs as `pid`, or that ran as `pid` and is restarting.
    pub(crate) fn by_pid(&self, pid: Pid) -> Option<ChildKey> {
        self.by_pid.get(&pid).copied()
    }

    /// The child that runs as `pid` (rule S9). Finds no earlier incarnation of it, no unknown
    /// process, and no process whose end was handled already.
    pub(crate) fn running(&self, pid: Pid) -> Option<ChildKey> {
        self.by_pid(pid).filter(|&key| self.get(key).and_then(Child::pid) == Some(pid))
    }

    pub(crate) fn set(&mut self, key: ChildKey, process: ChildProcess) {
        let Some(child) = self.in_order.get_mut(&key) else { return };
        if let ChildProcess::Running(pid) | ChildProcess::Restarting(Some(pid)) = child.process {
            self.by_pid.remove(&pid);
        }
        child.process = process;
        if let ChildProcess::Running(pid) | ChildProcess::Restarting(Some(pid)) = process {
            self.by_pid.insert(pid, key);
        }
    }

    /// The first child after `key`.
    pub(crate) fn after(&self, key: ChildKey) -> Option<ChildKey> {
        let range = (Bound::Excluded(key), Bound::Unbounded);
        self.in_order.range(range).next().map(|(&key, _)| key)
    }

    /// The first child at or after `key`.
    pub(crate) fn from(&self, key: ChildKey) -> Option<ChildKey> {
        self.in_order.range(key..).next().map(|(&key, _)| key)
    }

    /// The last child before `end` (of all, if `None`) that is at or after `start`.
    pub(crate) fn last_between(&self, start: ChildKey, end: Option<ChildKey>) -> Option<ChildKey> {
        let end = end.map_or(Bound::Unbounded, Bound::Excluded);
        self.in_order.range((Bound::Included(start), end)).next_back().map(|(&key, _)| key)
    }

    /// All children in start order.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (ChildKey, &Child<F>)> {
        self.in_order.iter().map(|(&key, child)| (key, child))
    }

    pub(crate) fn len(&self) -> usize {
        self.in_order.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::ChildKind;

    fn pid(id: u64) -> Pid {
        Pid::local(id, 0)
    }

    #[test]
    fn s9_an_exit_finds_only_the_current_incarnation() {
        let mut children = Children::new();
        let key = children.add(ChildRules::new("a".into(), ChildKind::Worker, "test"), ());
        children.set(key, ChildProcess::Running(pid(1)));
        assert_eq!(children.running(pid(1)), Some(key));
        children.set(key, ChildProcess::Restarting(Some(pid(1))));
        assert_eq!((children.running(pid(1)), children.by_pid(pid(1))), (None, Some(key)));
        children.set(key, ChildProcess::Running(pid(2)));
        assert_eq!((children.running(pid(1)), children.by_pid(pid(1))), (None, None));
        assert_eq!(children.running(pid(2)), Some(key));
        children.remove(key);
        assert_eq!(children.running(pid(2)), None);
        assert_eq!(children.len(), 0);
    }

    #[test]
    fn s9_a_deleted_child_and_one_added_under_its_id_have_different_keys() {
        let mut children = Children::new();
        let rules = ChildRules::new("a".into(), ChildKind::Worker, "test");
        let first = children.add(rules.clone(), ());
        children.remove(first);
        let second = children.add(rules, ());
        assert!(second > first);
        assert_eq!(children.by_id(&"a".into()), Some(second));
    }
}
