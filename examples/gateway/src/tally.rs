//! Counts the words of one text.

use std::collections::HashMap;

/// The words of a text, in lower case, and how often each occurs.
pub(crate) struct Tally {
    words: u64,
    counts: HashMap<Box<str>, u64>,
}

impl Tally {
    /// Counts the words of a text. A word is a run of letters, digits, hyphens and
    /// apostrophes that begins and ends with a letter or digit.
    pub(crate) fn of(text: &str) -> Self {
        let mut tally = Tally { words: 0, counts: HashMap::new() };
        let text = text.to_lowercase();
        let is_inner = |c: char| c == '-' || c == '\'' || c == '’';
        for word in text.split(|c: char| !c.is_alphanumeric() && !is_inner(c)) {
            let word = word.trim_matches(is_inner);
            if word.is_empty() {
                continue;
            }
            tally.words += 1;
            match tally.counts.get_mut(word) {
                Some(count) => *count += 1,
                None => {
                    tally.counts.insert(word.into(), 1);
                }
            }
        }
        tally
    }

    /// The number of words.
    pub(crate) fn words(&self) -> u64 {
        self.words
    }

    /// The number of distinct words.
    pub(crate) fn distinct(&self) -> usize {
        self.counts.len()
    }

    /// Whether the word, which must be in lower case, occurs.
    pub(crate) fn contains(&self, word: &str) -> bool {
        self.counts.contains_key(word)
    }

    /// Returns the words and how often each occurs, in no particular order.
    pub(crate) fn into_counts(self) -> impl Iterator<Item = (Box<str>, u64)> {
        self.counts.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_counted_regardless_of_case_and_punctuation() {
        let tally = Tally::of("The cat, the -hat- and \"THE\" cat's crash-me!");
        assert_eq!(tally.words(), 8);
        assert_eq!(tally.distinct(), 6);
        assert!(tally.contains("cat's") && tally.contains("hat") && tally.contains("crash-me"));
        assert_eq!(tally.into_counts().find(|(word, _)| &**word == "the"), Some(("the".into(), 3)));
    }

    #[test]
    fn a_text_without_words_has_none() {
        assert_eq!(Tally::of("").words(), 0);
        assert_eq!(Tally::of(" -- ' ... \n\t").words(), 0);
    }
}
