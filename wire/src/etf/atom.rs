//! Atoms: texts of at most 255 characters, and the bounded table of the atoms that a
//! connection shares.

use std::borrow::Borrow;
use std::collections::HashSet;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// An atom: a text of at most 255 characters.
///
/// Cloning shares the text. For atoms that appear in the program, [`Atom::fixed`]
/// allocates nothing.
///
/// Text from outside should become a binary and not an atom. The atom table of an Erlang
/// node is finite, and a node whose table is full terminates (rule Zterm12).
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

    /// Creates an atom, if the text is short enough.
    ///
    /// # Errors
    /// [`AtomError`] if the text has more than [`Atom::MAX_CHARACTERS`].
    pub fn new(text: impl AsRef<str>) -> Result<Self, AtomError> {
        let text = text.as_ref();
        Self::check(text)?;
        Ok(Atom(Text::Shared(text.into())))
    }

    /// Creates an atom from a text in the program. A text of more than
    /// [`Atom::MAX_CHARACTERS`] is cut.
    #[must_use]
    pub fn fixed(text: &'static str) -> Self {
        let end = text.char_indices().nth(Self::MAX_CHARACTERS).map_or(text.len(), |(end, _)| end);
        Atom(Text::Fixed(&text[..end]))
    }

    /// Returns the text of the atom.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Text::Fixed(text) => text,
            Text::Shared(text) => text,
        }
    }

    pub(crate) fn check(text: &str) -> Result<(), AtomError> {
        // A character has at least one byte, so a short text needs no count.
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

/// The text is too long for an atom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an atom of {characters} characters is over the limit of {}", Atom::MAX_CHARACTERS)]
pub struct AtomError {
    /// The length of the text.
    pub characters: usize,
}

/// The atoms that a connection has received, so that a repeated atom is not allocated again.
///
/// The table keeps at most a fixed number of atoms ([`Atoms::DEFAULT_CAPACITY`] by
/// default). When it is full, further atoms are decoded but not kept (rule Zterm12).
#[derive(Debug)]
pub struct Atoms {
    known: HashSet<Atom>,
    capacity: usize,
}

impl Atoms {
    /// The default capacity.
    pub const DEFAULT_CAPACITY: usize = 100_000;

    /// Creates a table of at most this many atoms. It allocates as atoms are added.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Atoms { known: HashSet::new(), capacity }
    }

    /// The number of atoms in the table.
    #[must_use]
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether the table is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Returns the atom with this text from the table, or a new one, which is added if
    /// there is room.
    ///
    /// # Errors
    /// [`AtomError`], as for [`Atom::new`].
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
    fn zterm7_an_atom_has_at_most_255_characters_regardless_of_their_bytes() {
        assert!(Atom::new("€".repeat(255)).is_ok());
        assert_eq!(Atom::new("€".repeat(256)), Err(AtomError { characters: 256 }));
        assert_eq!(Atom::new("x".repeat(256)), Err(AtomError { characters: 256 }));
        assert_eq!(Atom::fixed("ok"), Atom::new("ok").unwrap());
    }

    #[test]
    fn zterm12_a_full_atom_table_still_reads_and_adds_nothing() {
        let mut atoms = Atoms::new(2);
        for text in ["a", "b", "a", "c", "d", "c"] {
            assert_eq!(atoms.atom(text).unwrap(), text);
        }
        assert_eq!(atoms.len(), 2);
    }
}
