//! Atoms: texts of at most 255 characters, and the bounded table of the atoms that a
//! connection shares.

use std::borrow::Borrow;
use std::collections::HashSet;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// An atom: a text of at most 255 characters.
///
/// A text of at most 22 bytes is held in place. A longer one is shared by clones. For atoms that
/// appear in the program, [`Atom::fixed`] allocates nothing, whatever their length.
///
/// Text from outside should become a binary and not an atom. The atom table of an Erlang
/// node is finite, and a node whose table is full terminates (rule Zterm12).
#[derive(Clone)]
pub struct Atom(Text);

#[derive(Clone)]
enum Text {
    Fixed(&'static str),
    Shared(Arc<str>),
    /// The length, and the text with zeros behind it: UTF-8.
    InPlace(u8, [u8; IN_PLACE]),
}

/// The greatest length of a text that is held in place, in bytes: what fits beside the other
/// variants.
const IN_PLACE: usize = 22;

impl Atom {
    /// The greatest length of an atom, in characters.
    pub const MAX_CHARACTERS: usize = 255;

    /// Creates an atom, if the text is short enough.
    ///
    /// # Errors
    /// [`AtomError`] if the text has more than [`Atom::MAX_CHARACTERS`].
    pub fn new(text: impl AsRef<str>) -> Result<Self, AtomError> {
        let text = text.as_ref();
        if let Some(atom) = Self::in_place(text) {
            return Ok(atom);
        }
        Self::check(text)?;
        Ok(Atom(Text::Shared(text.into())))
    }

    /// Creates an atom without an allocation, if the text is short enough for that.
    #[inline]
    fn in_place(text: &str) -> Option<Self> {
        Self::in_place_bytes(text.as_bytes())
    }

    /// Creates an atom without an allocation, if the bytes are UTF-8 and few enough for that.
    #[inline]
    pub(crate) fn in_place_bytes(text: &[u8]) -> Option<Self> {
        let mut bytes = [0; IN_PLACE];
        bytes.get_mut(..text.len())?.copy_from_slice(text);
        // A test of the whole array is a few instructions, and most atoms are ASCII.
        if bytes.iter().fold(0, |all, byte| all | byte) > 127 {
            str::from_utf8(text).ok()?;
        }
        Some(Atom(Text::InPlace(u8::try_from(text.len()).ok()?, bytes)))
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
            // It was a text when the atom was created.
            Text::InPlace(..) => str::from_utf8(self.as_bytes()).unwrap_or_default(),
        }
    }

    /// Returns the bytes of the text, without a check that they are UTF-8.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Text::Fixed(text) => text.as_bytes(),
            Text::Shared(text) => text.as_bytes(),
            Text::InPlace(length, bytes) => bytes.get(..usize::from(*length)).unwrap_or_default(),
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
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Atom {}

impl PartialEq<str> for Atom {
    fn eq(&self, other: &str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialEq<&str> for Atom {
    fn eq(&self, other: &&str) -> bool {
        self == *other
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
        // The order of texts is that of their bytes.
        self.as_bytes().cmp(other.as_bytes())
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

/// The long atoms that a connection has received, so that a repeated one is not allocated again.
/// An atom whose text is held in place is not in the table.
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
        if let Some(atom) = Atom::in_place(text) {
            return Ok(atom);
        }
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
            let text = text.repeat(IN_PLACE + 1);
            assert_eq!(atoms.atom(&text).unwrap(), text.as_str());
        }
        assert_eq!(atoms.len(), 2);
    }

    #[test]
    fn an_atom_is_the_same_wherever_its_text_is_held() {
        let text: &'static str = "abcdefghijklmnopqrstuvwxyz€";
        for length in [0, 1, 21, 22, 23, 26, text.len()] {
            let part = &text[..length];
            let (fixed, new) = (Atom::fixed(part), Atom::new(part).unwrap());
            assert_eq!(Atom::in_place(part).is_some(), length <= IN_PLACE);
            assert_eq!((fixed.as_str(), new.as_str()), (part, part));
            assert_eq!(fixed, new);
            assert!(fixed.cmp(&new).is_eq() && new == *part);
            let known = HashSet::from([fixed]);
            assert!(known.contains(&new) && known.contains(part));
        }
        assert!(Atom::new("ab").unwrap() < Atom::fixed("b"));
        assert!(Atom::new("a").unwrap() < Atom::fixed("ab"));
        // A longer text in place has zeros where a shorter one ends.
        assert!(Atom::new("a").unwrap() < Atom::new("a\0").unwrap());
    }

    #[test]
    fn an_atom_has_24_bytes() {
        assert_eq!(size_of::<Atom>(), 24);
    }
}
