//! Values at places that do not move, so that an index of them need not know their type.
//!
//! A map with messages as its values is compiled once for each type of message, for every process that may
//! have one. An index of places is compiled once, and only the values are kept here (docs/decisions.md).

/// So many empty places are kept, with their memory.
const KEPT: usize = 64;

/// Values, each at its place. A place that is free again is used again.
pub(crate) struct Slots<T> {
    values: Vec<Option<T>>,
    free: Vec<usize>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Slots::new()
    }
}

impl<T> Slots<T> {
    pub(crate) const fn new() -> Self {
        Slots { values: Vec::new(), free: Vec::new() }
    }

    /// Returns the place of the value.
    pub(crate) fn put(&mut self, value: T) -> usize {
        if let Some(place) = self.free.pop() {
            self.values[place] = Some(value);
            place
        } else {
            self.values.push(Some(value));
            self.values.len() - 1
        }
    }

    pub(crate) fn get(&self, place: usize) -> Option<&T> {
        match self.values.get(place) {
            Some(value) => value.as_ref(),
            None => None,
        }
    }

    /// Takes the value out. The memory of many places is returned with the last value.
    pub(crate) fn take(&mut self, place: usize) -> Option<T> {
        let value = match self.values.get_mut(place) {
            Some(value) => value.take(),
            None => None,
        };
        if value.is_some() {
            self.free.push(place);
            if self.free.len() == self.values.len() && self.free.len() > KEPT {
                *self = Slots::new();
            }
        }
        value
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_used_again_and_the_last_of_many_values_returns_the_memory() {
        let mut slots = Slots::new();
        let places: Vec<_> = (0..=KEPT).map(|number| slots.put(number)).collect();
        assert!(places.iter().copied().eq(0..=KEPT));
        assert_eq!((slots.take(1), slots.take(1), slots.take(KEPT + 1)), (Some(1), None, None));
        assert_eq!(slots.put(7), 1);
        assert_eq!((slots.get(1), slots.get(2), slots.get(KEPT + 1)), (Some(&7), Some(&2), None));
        for place in places {
            assert!(slots.take(place).is_some());
        }
        assert_eq!((slots.values.capacity(), slots.free.capacity()), (0, 0));
    }
}
