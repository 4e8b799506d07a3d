//! The most frequent words of an endless text, in bounded space.
//!
//! A service that kept every distinct word would grow without bound. This is the summary
//! of Misra and Gries, applied in batches. It holds at most 2 × `CAPACITY` words. When it
//! is full, the count at rank `CAPACITY` is subtracted from every count, and words whose
//! count reaches zero are dropped. A count is therefore never too high. It is too low by
//! at most the sum of what was subtracted, which is less than words / `CAPACITY`: a word
//! that makes up more than 1 / `CAPACITY` of the text is always present.

use std::collections::HashMap;

/// How many words are certain to be kept.
const CAPACITY: usize = 10_000;
/// Longer words are counted, but not kept: the space must be bounded in bytes, too.
const LONGEST_WORD: usize = 64;

/// The summary.
#[derive(Debug, Default)]
pub(crate) struct Frequent {
    counts: HashMap<Box<str>, u64>,
    subtracted: u64,
}

impl Frequent {
    /// Whether words of this length are kept.
    pub(crate) fn keeps(word: &str) -> bool {
        word.len() <= LONGEST_WORD
    }

    /// Counts a word `times` times.
    pub(crate) fn add(&mut self, word: Box<str>, times: u64) {
        if !Self::keeps(&word) {
            return;
        }
        *self.counts.entry(word).or_insert(0) += times;
        if self.counts.len() >= 2 * CAPACITY {
            self.forget();
        }
    }

    fn forget(&mut self) {
        let mut counts: Vec<u64> = self.counts.values().copied().collect();
        let (_, floor, _) = counts.select_nth_unstable_by(CAPACITY, |a, b| b.cmp(a));
        let floor = *floor;
        self.counts.retain(|_, count| {
            *count = count.saturating_sub(floor);
            *count > 0
        });
        self.subtracted += floor;
    }

    /// Returns the `n` most frequent words, the most frequent first. Equally frequent
    /// words are in alphabetical order.
    pub(crate) fn top(&self, n: usize) -> Vec<(Box<str>, u64)> {
        let mut all: Vec<(&str, u64)> = self.counts.iter().map(|(w, n)| (&**w, *n)).collect();
        let order = |a: &(&str, u64), b: &(&str, u64)| b.1.cmp(&a.1).then(a.0.cmp(b.0));
        if n > 0 && n < all.len() {
            all.select_nth_unstable_by(n - 1, order);
        }
        all.truncate(n);
        all.sort_unstable_by(order);
        all.into_iter().map(|(word, count)| (word.into(), count)).collect()
    }

    /// The number of words that are kept now.
    pub(crate) fn len(&self) -> usize {
        self.counts.len()
    }

    /// By how much a count can be too low.
    pub(crate) fn uncertainty(&self) -> u64 {
        self.subtracted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_vocabulary_is_exact() {
        let mut frequent = Frequent::default();
        for (word, times) in [("b", 2), ("a", 2), ("c", 1), ("b", 3)] {
            frequent.add(word.into(), times);
        }
        assert_eq!(frequent.top(2), [("b".into(), 5), ("a".into(), 2)]);
        assert_eq!(frequent.top(0), []);
        assert_eq!(frequent.uncertainty(), 0);
    }

    #[test]
    fn an_endless_vocabulary_stays_bounded_and_keeps_frequent_words() {
        let mut frequent = Frequent::default();
        let mut words = 0_u64;
        for n in 0..200_000_u32 {
            frequent.add(n.to_string().into(), 1);
            words += 1;
            if n % 50 == 0 {
                frequent.add("often".into(), 1);
                words += 1;
            }
            assert!(frequent.len() < 2 * CAPACITY);
        }
        let (word, count) = &frequent.top(1)[0];
        assert_eq!(&**word, "often");
        assert!(*count <= 4000 && *count + frequent.uncertainty() >= 4000);
        assert!(frequent.uncertainty() <= words / CAPACITY as u64);
    }

    #[test]
    fn an_overlong_word_is_not_kept() {
        let mut frequent = Frequent::default();
        frequent.add("x".repeat(1 << 20).into(), 1);
        assert_eq!(frequent.len(), 0);
    }
}
