//! Identities of processes, ports and references of any node, in their wire format.

use super::atom::Atom;

/// The identity of a process of some node.
///
/// Two pids are equal exactly if the node, the creation and all numbers are equal (rule Zid8).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExternalPid {
    /// The low half of the number of the process.
    pub id: u32,
    /// The high half of the number of the process.
    pub serial: u32,
    /// The node of the process.
    pub node: Atom,
    /// The incarnation of that node.
    pub creation: u32,
}

/// The identity of a port of some node.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Port {
    /// The node of the port.
    pub node: Atom,
    /// The incarnation of that node.
    pub creation: u32,
    /// The number of the port.
    pub id: u64,
}

/// A reference of some node: 1 to 5 words.
///
/// Two references are equal exactly if the node, the creation and all words are equal
/// (rule Zid8).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reference {
    node: Atom,
    creation: u32,
    /// The number of used words.
    count: u8,
    /// The words. Unused words are 0.
    words: [u32; Reference::MAX_WORDS],
}

impl Reference {
    /// The greatest number of words.
    pub const MAX_WORDS: usize = 5;

    /// Creates a reference with these words, the least significant first.
    ///
    /// # Errors
    /// [`ReferenceError`] if there is no word, or more than [`Reference::MAX_WORDS`].
    pub fn new(node: Atom, creation: u32, words: &[u32]) -> Result<Self, ReferenceError> {
        let mut all = [0; Self::MAX_WORDS];
        let error = ReferenceError { words: words.len() };
        if words.is_empty() {
            return Err(error);
        }
        all.get_mut(..words.len()).ok_or(error)?.copy_from_slice(words);
        let count = u8::try_from(words.len()).map_err(|_| error)?;
        Ok(Reference { node, creation, count, words: all })
    }

    /// Returns the node that created it.
    #[must_use]
    pub fn node(&self) -> &Atom {
        &self.node
    }

    /// Returns the incarnation of that node.
    #[must_use]
    pub fn creation(&self) -> u32 {
        self.creation
    }

    /// Returns the words, 1 to 5, the least significant first.
    #[must_use]
    pub fn words(&self) -> &[u32] {
        self.words.get(..self.count.into()).unwrap_or_default()
    }
}

/// The number of words of a reference is not from 1 to 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a reference has 1 to {} words, not {words}", Reference::MAX_WORDS)]
pub struct ReferenceError {
    /// The number of words.
    pub words: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zid8_a_reference_has_1_to_5_words_and_all_of_them_count() {
        let reference = |words: &[u32]| Reference::new(Atom::fixed("a@b"), 4, words);
        assert_eq!(reference(&[]), Err(ReferenceError { words: 0 }));
        assert_eq!(reference(&[0; 6]), Err(ReferenceError { words: 6 }));
        assert_eq!(reference(&[1, 2]).unwrap().words(), [1, 2]);
        assert_ne!(reference(&[1]), reference(&[1, 0]));
        assert_ne!(reference(&[1]), Reference::new(Atom::fixed("a@b"), 5, &[1]));
    }
}
