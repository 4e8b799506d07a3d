//! A sorted map that is mostly very small.
//!
//! Most processes have one link and few monitors. A node of a `BTreeMap` has room for eleven entries
//! from the first one on, several hundred bytes for each kind of bond; a vector has what it needs. A
//! process with many, such as a supervisor, has a `BTreeMap`, because an entry is taken out of the
//! middle of a long vector at a cost that grows with it.

use std::collections::BTreeMap;
use std::mem::{replace, take};

/// The most entries that lie in a vector.
const MOST: usize = 16;

/// A map with the order of its keys.
#[derive(Debug)]
pub(crate) enum SmallMap<K, V> {
    /// Sorted by key.
    Few(Vec<(K, V)>),
    Many(BTreeMap<K, V>),
}

impl<K, V> Default for SmallMap<K, V> {
    fn default() -> Self {
        SmallMap::Few(Vec::new())
    }
}

impl<K: Ord, V> SmallMap<K, V> {
    pub(crate) fn len(&self) -> usize {
        match self {
            SmallMap::Few(few) => few.len(),
            SmallMap::Many(many) => many.len(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        match self {
            SmallMap::Few(few) => Some(&few[place(few, key).ok()?].1),
            SmallMap::Many(many) => many.get(key),
        }
    }

    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        match self {
            SmallMap::Few(few) => {
                let at = place(few, key).ok()?;
                Some(&mut few[at].1)
            }
            SmallMap::Many(many) => many.get_mut(key),
        }
    }

    /// Returns the value that the key had.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self {
            SmallMap::Few(few) => match place(few, &key) {
                Ok(at) => Some(replace(&mut few[at].1, value)),
                Err(at) if few.len() < MOST => {
                    if few.is_empty() {
                        // A vector that grows begins with room for four.
                        few.reserve_exact(1);
                    }
                    few.insert(at, (key, value));
                    None
                }
                Err(_) => {
                    let mut many: BTreeMap<K, V> = take(few).into_iter().collect();
                    let replaced = many.insert(key, value);
                    *self = SmallMap::Many(many);
                    replaced
                }
            },
            SmallMap::Many(many) => many.insert(key, value),
        }
    }

    /// Removes an entry, and frees the memory with the last one.
    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        let removed = match self {
            SmallMap::Few(few) => Some(few.remove(place(few, key).ok()?).1),
            SmallMap::Many(many) => many.remove(key),
        };
        self.free_if_empty();
        removed
    }

    fn free_if_empty(&mut self) {
        if self.is_empty() {
            *self = SmallMap::default();
        }
    }

    /// Keeps the entries for which `keep` returns true, and frees the memory if there is none.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&K, &V) -> bool) {
        match self {
            SmallMap::Few(few) => few.retain(|(key, value)| keep(key, value)),
            SmallMap::Many(many) => many.retain(|key, value| keep(key, value)),
        }
        self.free_if_empty();
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        let (few, many) = match self {
            SmallMap::Few(few) => (Some(few), None),
            SmallMap::Many(many) => (None, Some(many)),
        };
        let few = few.into_iter().flatten().map(|(key, value)| (key, value));
        few.chain(many.into_iter().flatten())
    }
}

impl<K, V> IntoIterator for SmallMap<K, V> {
    type Item = (K, V);
    type IntoIter =
        std::iter::Chain<std::vec::IntoIter<(K, V)>, std::collections::btree_map::IntoIter<K, V>>;

    fn into_iter(self) -> Self::IntoIter {
        let (few, many) = match self {
            SmallMap::Few(few) => (few, BTreeMap::new()),
            SmallMap::Many(many) => (Vec::new(), many),
        };
        few.into_iter().chain(many)
    }
}

/// Where the key lies, or where it belongs.
fn place<K: Ord, V>(few: &[(K, V)], key: &K) -> Result<usize, usize> {
    few.binary_search_by(|(other, _)| other.cmp(key))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Numbers that follow from a seed, the same in each run.
    fn next(seed: &mut u64) -> u64 {
        *seed =
            seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *seed >> 33
    }

    /// Does the same to a small map and to a `BTreeMap`, around the number of entries at which it
    /// changes its form.
    #[test]
    fn l5_a_small_map_is_a_map() {
        let mut seed = 1;
        let mut forms = [0; 3];
        for run in 0..60 {
            let (mut map, mut model) = (SmallMap::default(), BTreeMap::new());
            for step in 0..400 {
                let key = next(&mut seed) % 40;
                // A run grows, and shrinks again until nothing is left.
                let grows = next(&mut seed) % 200 > step;
                if grows {
                    assert_eq!(map.insert(key, step), model.insert(key, step));
                } else if next(&mut seed).is_multiple_of(50) {
                    map.retain(|other, _| other % 7 != key % 7);
                    model.retain(|other, _| other % 7 != key % 7);
                } else {
                    assert_eq!(map.remove(&key), model.remove(&key));
                }
                let changed = next(&mut seed) % 40;
                let (ours, theirs) = (map.get_mut(&changed), model.get_mut(&changed));
                assert_eq!(ours, theirs);
                if let (Some(ours), Some(theirs)) = (ours, theirs) {
                    (*ours, *theirs) = (run, run);
                }
                assert_eq!((map.len(), map.is_empty()), (model.len(), model.is_empty()));
                assert!(map.iter().eq(model.iter()), "{map:?} is not {model:?}");
                assert!((0..40).all(|key| map.get(&key) == model.get(&key)));
                forms[match &map {
                    SmallMap::Few(few) if few.is_empty() => 0,
                    SmallMap::Few(_) => 1,
                    SmallMap::Many(_) => 2,
                }] += 1;
            }
            assert!(map.into_iter().eq(model));
        }
        assert!(forms.iter().all(|steps| *steps > 100), "each form was reached: {forms:?}");
    }

    #[test]
    fn v58_a_map_has_no_more_room_than_its_first_entry_needs() {
        let mut map = SmallMap::default();
        map.insert(1, 2);
        assert!(matches!(&map, SmallMap::Few(few) if few.capacity() == 1));
        assert_eq!(map.remove(&1), Some(2));
        assert!(matches!(&map, SmallMap::Few(few) if few.capacity() == 0));
        for key in 0..=MOST {
            map.insert(key, 0);
        }
        assert!(matches!(map, SmallMap::Many(_)));
        for key in 0..=MOST {
            map.remove(&key);
        }
        assert!(matches!(map, SmallMap::Few(few) if few.capacity() == 0));
    }
}
