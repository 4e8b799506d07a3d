//! Construction of maps, and look-up by key.

use super::term::{Elements, Map, Pairs, Term};
use std::sync::Arc;

/// Two keys of a map are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("two keys of a map are equal")]
pub struct EqualKeys;

impl Map {
    /// Creates a map of these pairs, in this order.
    ///
    /// # Errors
    /// [`EqualKeys`] if two keys are equal (rule Zterm7).
    pub fn new(pairs: impl IntoIterator<Item = (Term, Term)>) -> Result<Self, EqualKeys> {
        Self::from_elements(pairs.into_iter().flat_map(|(key, value)| [key, value]).collect())
    }

    /// Creates a map of alternating keys and values.
    pub(crate) fn from_elements(pairs: Elements) -> Result<Self, EqualKeys> {
        let key = |at: u32| &pairs[at as usize * 2];
        // At most 2^32 pairs can be encoded or decoded. Pairs beyond that could not be
        // looked up.
        let count = u32::try_from(pairs.len() / 2).unwrap_or(u32::MAX);
        let ascending = |at| key(at).compare_exactly(key(at + 1)).is_lt();
        let sorted = if (0..count.saturating_sub(1)).all(ascending) {
            Box::default()
        } else {
            let mut sorted: Box<[u32]> = (0..count).collect();
            sorted.sort_unstable_by(|&a, &b| key(a).compare_exactly(key(b)));
            if sorted.windows(2).any(|two| key(two[0]).compare_exactly(key(two[1])).is_eq()) {
                return Err(EqualKeys);
            }
            sorted
        };
        Ok(Map(Arc::new(Pairs { pairs, sorted })))
    }

    /// The number of pairs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.pairs.len() / 2
    }

    /// Whether there are no pairs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.pairs.is_empty()
    }

    /// Returns the value of this key.
    #[must_use]
    pub fn get(&self, key: &Term) -> Option<&Term> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let (found, value) = self.sorted_pair(middle)?;
            match found.compare_exactly(key) {
                std::cmp::Ordering::Equal => return Some(value),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// Returns the pairs, in the order in which they were received.
    pub fn iter(&self) -> impl Iterator<Item = (&Term, &Term)> {
        self.0.pairs.chunks_exact(2).map(|pair| (&pair[0], &pair[1]))
    }

    /// Returns the pair at this position of the order by key.
    pub(crate) fn sorted_pair(&self, at: usize) -> Option<(&Term, &Term)> {
        let at = self.0.sorted.get(at).map_or(at, |&at| at as usize);
        let pair = self.0.pairs.get(at.checked_mul(2)?..)?;
        Some((pair.first()?, pair.get(1)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::etf::Float;

    #[test]
    fn zterm8_a_map_equals_one_with_its_pairs_in_another_order() {
        let pairs =
            |order: [i64; 3]| Map::new(order.map(|n| (Term::Int(n), Term::Int(-n)))).unwrap();
        let (one, other) = (pairs([3, 1, 2]), pairs([1, 2, 3]));
        assert_eq!(Term::from(one.clone()), Term::from(other));
        assert_eq!(one.get(&Term::Int(2)), Some(&Term::Int(-2)));
        assert_eq!(one.get(&Term::Int(4)), None);
        assert_eq!(one.iter().next(), Some((&Term::Int(3), &Term::Int(-3))));
    }

    #[test]
    fn zterm7_equal_keys_are_an_error_and_1_and_1_0_are_not_equal() {
        let two = |a: Term, b: Term| Map::new([(a, Term::nil()), (b, Term::nil())]).err();
        let float = Term::Float(Float::new(1.0).unwrap());
        assert_eq!(two(Term::Int(1), Term::Int(1)), Some(EqualKeys));
        assert_eq!(two(Term::Int(1), float), None);
    }
}
