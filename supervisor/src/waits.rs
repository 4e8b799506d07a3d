//! The children that wait for their restart, and until when (rule S10).

use crate::children::ChildKey;
use krarup_gen::Timestamp;
use std::collections::{BTreeSet, HashMap};

/// The waits of a supervisor's children, at most one for each.
#[derive(Debug, Default)]
pub(crate) struct ChildWaits {
    in_order: BTreeSet<(Timestamp, ChildKey)>,
    by_key: HashMap<ChildKey, Timestamp>,
}

impl ChildWaits {
    /// Sets the end of the child's wait, which replaces an earlier one.
    pub(crate) fn set(&mut self, key: ChildKey, due: Timestamp) {
        if let Some(before) = self.by_key.insert(key, due) {
            self.in_order.remove(&(before, key));
        }
        self.in_order.insert((due, key));
    }

    /// When the next wait is over.
    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        self.in_order.first().map(|&(due, _)| due)
    }

    /// Takes out a child whose wait is over.
    pub(crate) fn pop_due(&mut self, now: Timestamp) -> Option<ChildKey> {
        self.in_order.first().filter(|(due, _)| *due <= now)?;
        let (_, key) = self.in_order.pop_first()?;
        self.by_key.remove(&key);
        Some(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::children::Children;
    use crate::spec::{ChildKind, ChildRules};

    #[test]
    fn s10_a_child_waits_for_one_time_and_the_earliest_comes_first() {
        let mut children = Children::new();
        let rules = ChildRules::new("a".into(), ChildKind::Worker, "test");
        let [a, b] = [(); 2].map(|()| children.add(rules.clone(), ()));
        let at = Timestamp::from_nanos;
        let mut waits = ChildWaits::default();
        waits.set(a, at(5));
        waits.set(b, at(7));
        waits.set(a, at(9));
        assert_eq!((waits.next_due(), waits.pop_due(at(6))), (Some(at(7)), None));
        assert_eq!((waits.pop_due(at(9)), waits.pop_due(at(9))), (Some(b), Some(a)));
        assert_eq!((waits.next_due(), waits.pop_due(at(99))), (None, None));
        assert!(waits.by_key.is_empty(), "nothing is kept of a wait that is over");
    }
}
