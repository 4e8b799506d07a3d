//! The names of groups, as other nodes send them.

use krarup_gen::Name;
use krarup_wire::etf::Term;

/// The most bytes of a name that is no text.
pub(crate) const MOST_NAME_BYTES: usize = 4096;

/// What a group is known by: a text, or any other term.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum GroupKey {
    /// An atom or a binary that is a text of 1 to 255 bytes.
    Name(Name),
    /// A term of at most 4 KiB.
    Term(Term),
    /// A longer one. A group of this name has no members.
    TooLong,
}

impl GroupKey {
    pub(crate) fn of(term: &Term) -> Self {
        let text = match term {
            Term::Atom(atom) => Some(atom.as_str()),
            Term::Binary(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        };
        match text.and_then(|text| Name::new(text).ok()) {
            Some(name) => GroupKey::Name(name),
            None if written(term) > MOST_NAME_BYTES => GroupKey::TooLong,
            None => GroupKey::Term(term.clone()),
        }
    }

    /// How many bytes it has; `None` if they are too many.
    pub(crate) fn bytes(&self) -> Option<usize> {
        match self {
            GroupKey::Name(name) => Some(name.as_str().len()),
            GroupKey::Term(term) => Some(written(term)),
            GroupKey::TooLong => None,
        }
    }
}

fn written(term: &Term) -> usize {
    let mut bytes = Vec::new();
    // What was read can be written.
    let _ = term.write(&mut bytes);
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use krarup_wire::etf::Atom;

    #[test]
    fn zpg5_atoms_and_binaries_that_are_texts_are_names_and_all_else_is_a_term() {
        let name = GroupKey::Name(Name::new("stock").unwrap());
        assert_eq!(GroupKey::of(&Term::atom("stock")), name);
        assert_eq!(GroupKey::of(&Term::binary("stock")), name);
        assert_eq!(name.bytes(), Some(5));
        assert_eq!(GroupKey::of(&Term::binary(vec![0xff; 5000])), GroupKey::TooLong);
        let long = Atom::new("å".repeat(200)).unwrap();
        for other in [
            Term::Int(7),
            Term::binary(""),
            Term::binary([0xff]),
            Term::binary("x".repeat(256)),
            Term::Atom(long),
            Term::list([Term::atom("stock")]),
        ] {
            assert_eq!(GroupKey::of(&other), GroupKey::Term(other));
        }
    }
}
