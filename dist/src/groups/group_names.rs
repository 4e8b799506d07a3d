//! How the names of groups are written for other nodes.

use krarup_gen::Name;
use krarup_wire::etf::{Atom, Term};

/// How the names of this node's groups are written for other nodes. Both forms are read as the same
/// text, so among Krarup nodes it makes no difference; a process on an Erlang node finds the group by
/// what was written (rule Zpg2).
///
/// An Erlang node keeps every atom that it has ever seen, and ends when it has seen about a million. So
/// a text that a program makes at run time must not become one (rule Zterm12).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum GroupNames {
    /// All are binaries: `pg:get_members(<<"stock">>)`.
    #[default]
    Binaries,
    /// These, which the program has fixed, are atoms, and all others are binaries:
    /// `pg:get_members(stock)`.
    AtomsOf(&'static [&'static str]),
    /// All are atoms. Only for a program that makes no names of groups at run time.
    Atoms,
}

impl GroupNames {
    pub(crate) fn term(self, name: &Name) -> Term {
        let is_atom = match self {
            GroupNames::Binaries => false,
            GroupNames::AtomsOf(fixed) => fixed.contains(&name.as_str()),
            GroupNames::Atoms => true,
        };
        let atom = if is_atom { Atom::new(name.as_str()).ok() } else { None };
        // A name is short enough for an atom.
        atom.map_or_else(|| Term::binary(name.as_str()), Term::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zpg2_names_are_binaries_unless_the_program_has_fixed_them() {
        let [stock, room] = ["stock", "room 7"].map(|text| Name::new(text).unwrap());
        let terms = |names: GroupNames| [names.term(&stock), names.term(&room)];
        let (binary, atom) = (Term::binary, Term::atom);
        assert_eq!(terms(GroupNames::default()), [binary("stock"), binary("room 7")]);
        assert_eq!(terms(GroupNames::AtomsOf(&["stock"])), [atom("stock"), binary("room 7")]);
        assert_eq!(terms(GroupNames::Atoms), [atom("stock"), atom("room 7")]);
    }
}
