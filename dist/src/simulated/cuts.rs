//! Which nodes of a simulated network are cut off from each other.

use std::collections::{BTreeMap, BTreeSet};

/// The cuts between pairs of nodes. A pair may be cut for several reasons at a time.
#[derive(Debug, Default)]
pub(crate) struct Cuts {
    by_pair: BTreeMap<(String, String), BTreeSet<u64>>,
    next: u64,
}

impl Cuts {
    /// Cuts two nodes off from each other. Returns the number of the cut.
    pub(crate) fn add(&mut self, one: &str, other: &str) -> u64 {
        self.next += 1;
        self.by_pair.entry(pair(one, other)).or_default().insert(self.next);
        self.next
    }

    /// Ends one cut.
    pub(crate) fn remove(&mut self, one: &str, other: &str, number: u64) {
        let pair = pair(one, other);
        if let Some(cuts) = self.by_pair.get_mut(&pair) {
            cuts.remove(&number);
            if cuts.is_empty() {
                self.by_pair.remove(&pair);
            }
        }
    }

    /// Ends all cuts.
    pub(crate) fn clear(&mut self) {
        self.by_pair.clear();
    }

    /// Whether nothing passes between the two.
    pub(crate) fn between(&self, one: &str, other: &str) -> bool {
        self.by_pair.contains_key(&pair(one, other))
    }
}

fn pair(one: &str, other: &str) -> (String, String) {
    let (first, second) = if one < other { (one, other) } else { (other, one) };
    (first.to_owned(), second.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zsim2_a_pair_is_cut_while_any_of_its_cuts_stands() {
        let mut cuts = Cuts::default();
        let first = cuts.add("a", "b");
        let second = cuts.add("b", "a");
        assert!(cuts.between("a", "b") && cuts.between("b", "a") && !cuts.between("a", "c"));
        cuts.remove("a", "b", first);
        assert!(cuts.between("a", "b"));
        cuts.remove("a", "b", second);
        assert!(!cuts.between("a", "b"));
        cuts.add("a", "c");
        cuts.clear();
        assert!(!cuts.between("a", "c"));
        // The end of a cut that was cleared is not that of a later one.
        let third = cuts.add("a", "b");
        cuts.remove("a", "b", first);
        assert!(cuts.between("a", "b") && third > second);
    }
}
