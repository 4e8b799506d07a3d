//! Atoms: texts of at most 255 characters, and the bounded table in which a connection shares them.

use std::borrow::Borrow;
use std::collections::HashSet;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// An atom: a text of at most 255 characters.
///
/// Cloning shares the text. Atoms that a program names are best made by [`Atom::fixed`], which
/// allocates nothing.
///
/// Text from outside should become a binary, not an atom: the table of atoms of an Erlang node is finite,
/// and a node whose table is full ends (rule Zterm12).
#[derive(Clone)]
pub struct Atom(Text);

#[derive(Clone)]
enum Text {
    Fixed(&'static str),
    Shared(Arc<str>),
}

impl Atom {
    /// The greatest length of an atom, in characters.
    pub const MAX_CHARACTERS: usize = 255;

    /// Checks the text and makes it an atom.
    ///
    /// # Errors
    /// [`AtomError`] if the text has more than [`Atom::MAX_CHARACTERS`].
    pub fn new(text: impl AsRef<str>) -> Result<Self, AtomError> {
        let text = text.as_ref();
        Self::check(text)?;
        Ok(Atom(Text::Shared(text.into())))
    }

    /// An atom that the program names. A text of more than [`Atom::MAX_CHARACTERS`] is cut there.
    #[must_use]
    pub fn fixed(text: &'static str) -> Self {
        let end = text.char_indices().nth(Self::MAX_CHARACTERS).map_or(text.len(), |(end, _)| end);
        Atom(Text::Fixed(&text[..end]))
    }

    /// The text of the atom.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Text::Fixed(text) => text,
            Text::Shared(text) => text,
        }
    }

    pub(crate) fn check(text: &str) -> Result<(), AtomError> {
        // A character has at least one byte.
        if text.len() > Self::MAX_CHARACTERS {
            let characters = text.chars().count();
            if characters > Self::MAX_CHARACTERS {
                return Err(AtomError { characters });
            }
        }
        Ok(())
    }
}

impl PartialEq for Atom {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Atom {}

impl PartialEq<str> for Atom {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Atom {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl Hash for Atom {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl PartialOrd for Atom {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Atom {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl Borrow<str> for Atom {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for Atom {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Debug for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text cannot be an atom: it is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an atom of {characters} characters is over the limit of {}", Atom::MAX_CHARACTERS)]
pub struct AtomError {
    /// The length of the text.
    pub characters: usize,
}

/// The atoms that a connection has seen, so that one that comes again is not allocated again.
///
/// It keeps at most as many as it was told ([`Atoms::DEFAULT_CAPACITY`]); one that comes when it is full
/// is read all the same, and not kept (rule Zterm12).
#[derive(Debug)]
pub struct Atoms {
    known: HashSet<Atom>,
    capacity: usize,
}

impl Atoms {
    /// How many atoms are kept unless told otherwise.
    pub const DEFAULT_CAPACITY: usize = 100_000;

    /// A table for at most so many atoms. It allocates as they come.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Atoms { known: HashSet::new(), capacity }
    }

    /// How many atoms are kept.
    #[must_use]
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether no atom is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// The atom with this text: the one that is kept, or a new one, which is kept if there is room.
    ///
    /// # Errors
    /// [`AtomError`] as [`Atom::new`].
    pub fn atom(&mut self, text: &str) -> Result<Atom, AtomError> {
        if let Some(known) = self.known.get(text) {
            return Ok(known.clone());
        }
        let atom = Atom::new(text)?;
        if self.known.len() < self.capacity {
            self.known.insert(atom.clone());
        }
        Ok(atom)
    }
}

impl Default for Atoms {
    fn default() -> Self {
        Atoms::new(Self::DEFAULT_CAPACITY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zterm7_an_atom_has_at_most_255_characters_whatever_their_bytes() {
        assert!(Atom::new("€".repeat(255)).is_ok());
        assert_eq!(Atom::new("€".repeat(256)), Err(AtomError { characters: 256 }));
        assert_eq!(Atom::new("x".repeat(256)), Err(AtomError { characters: 256 }));
        assert_eq!(Atom::fixed("ok"), Atom::new("ok").unwrap());
    }

    #[test]
    fn zterm12_a_full_table_still_reads_and_keeps_no_more() {
        let mut atoms = Atoms::new(2);
        for text in ["a", "b", "a", "c", "d", "c"] {
            assert_eq!(atoms.atom(text).unwrap(), text);
        }
        assert_eq!(atoms.len(), 2);
    }
}
