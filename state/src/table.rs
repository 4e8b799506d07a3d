//! A table of work in flight: promises, handlers, commands.
//!
//! A key consists of a place and a generation. The key of a removed value may remain in
//! wakers and queues. Such a stale key finds nothing, even if its place has been reused.

/// The place of a value in a [`Table`], and the generation of that place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TableKey {
    place: u32,
    generation: u32,
}

impl TableKey {
    /// A number that no other key of the same table has.
    pub(crate) fn number(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.place)
    }

    /// The key with this number.
    pub(crate) fn from_number(number: u64) -> Self {
        let half = |number: u64| u32::try_from(number & u64::from(u32::MAX)).unwrap_or_default();
        TableKey { place: half(number), generation: half(number >> 32) }
    }
}

/// Values under keys that are never used twice.
pub(crate) struct Table<V> {
    places: Vec<TableSlot<V>>,
    free: Vec<u32>,
    len: usize,
}

struct TableSlot<V> {
    generation: u32,
    value: Option<V>,
}

impl<V> Default for Table<V> {
    fn default() -> Self {
        Table { places: Vec::new(), free: Vec::new(), len: 0 }
    }
}

impl<V> Table<V> {
    /// Inserts a value that knows its own key.
    pub(crate) fn insert_with(&mut self, value: impl FnOnce(TableKey) -> V) -> TableKey {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(TableSlot { generation: 0, value: None });
            u32::try_from(self.places.len() - 1).expect("a table holds fewer than 2^32 values")
        });
        let slot = &mut self.places[place as usize];
        let key = TableKey { place, generation: slot.generation };
        slot.value = Some(value(key));
        self.len += 1;
        key
    }

    pub(crate) fn get_mut(&mut self, key: TableKey) -> Option<&mut V> {
        let slot = self.places.get_mut(key.place as usize)?;
        slot.value.as_mut().filter(|_| slot.generation == key.generation)
    }

    /// Removes a value. Its key finds nothing from now on.
    pub(crate) fn remove(&mut self, key: TableKey) -> Option<V> {
        let slot = self.places.get_mut(key.place as usize)?;
        if slot.generation != key.generation {
            return None;
        }
        let value = slot.value.take()?;
        self.len -= 1;
        // A place whose generations are exhausted is never reused.
        if let Some(next) = slot.generation.checked_add(1) {
            slot.generation = next;
            self.free.push(key.place);
        }
        Some(value)
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Removes and returns all values.
    pub(crate) fn drain(&mut self) -> Vec<V> {
        let keys: Vec<TableKey> = (0_u32..)
            .zip(&self.places)
            .filter(|(_, slot)| slot.value.is_some())
            .map(|(place, slot)| TableKey { place, generation: slot.generation })
            .collect();
        keys.into_iter().filter_map(|key| self.remove(key)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        /// M21: under any sequence of insertions and removals the table behaves like a
        /// map, and a key that was removed never finds a value again.
        #[test]
        fn o2_the_table_behaves_as_a_map_and_stale_keys_find_nothing(
            steps in prop::collection::vec((any::<bool>(), any::<prop::sample::Index>()), 1..200),
        ) {
            let mut table = Table::default();
            let mut model: HashMap<u64, u32> = HashMap::new();
            let mut keys = Vec::new();
            for (number, (insert, which)) in (0_u32..).zip(steps) {
                if insert || keys.is_empty() {
                    let key = table.insert_with(|_| number);
                    prop_assert!(model.insert(key.number(), number).is_none());
                    prop_assert_eq!(TableKey::from_number(key.number()), key);
                    keys.push(key);
                } else {
                    let key = *which.get(&keys);
                    prop_assert_eq!(table.get_mut(key).copied(), model.get(&key.number()).copied());
                    prop_assert_eq!(table.remove(key), model.remove(&key.number()));
                    prop_assert!(table.get_mut(key).is_none());
                }
                prop_assert_eq!(table.len(), model.len());
                prop_assert_eq!(table.is_empty(), model.is_empty());
            }
            let mut left = table.drain();
            left.sort_unstable();
            let mut expected: Vec<u32> = model.into_values().collect();
            expected.sort_unstable();
            prop_assert_eq!(left, expected);
            prop_assert!(table.is_empty());
        }
    }
}
