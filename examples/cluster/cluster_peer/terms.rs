//! Taking terms apart.

use krarup::cluster::etf::Term;

/// The text of an atom.
pub(crate) fn atom(term: &Term) -> &str {
    match term {
        Term::Atom(atom) => atom.as_str(),
        _ => "",
    }
}

/// The elements of a tuple; those of any other term are none.
pub(crate) fn tuple(term: &Term) -> &[Term] {
    match term {
        Term::Tuple(elements) => elements,
        _ => &[],
    }
}

/// A tuple with this atom as its first element: the others.
pub(crate) fn tagged<'a>(term: &'a Term, tag: &str) -> Option<&'a [Term]> {
    match tuple(term) {
        [first, rest @ ..] if atom(first) == tag => Some(rest),
        _ => None,
    }
}

/// A small number.
pub(crate) fn number(term: &Term) -> Option<i64> {
    match term {
        Term::Int(number) => Some(*number),
        _ => None,
    }
}

/// `{Tag, ..}`.
pub(crate) fn pair(tag: &'static str, value: Term) -> Term {
    Term::tuple([Term::atom(tag), value])
}
