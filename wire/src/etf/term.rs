//! Terms: every value that Erlang nodes exchange, as one immutable type that is cheap to clone.
//!
//! ```text
//!  Term ─┬─ Int, Float, Atom                      in place
//!        ├─ Big, Binary, Bits, Pid, Port,
//!        │  Reference, Export                     shared, without nested terms
//!        └─ Tuple, List, Improper, Map,
//!           Fun, Record ──► Elements ──► Term..   shared, nested
//! ```
//!
//! Nested terms are stored in [`Elements`], a shared slice, so cloning any term takes constant
//! time and no stack. Comparing, hashing, printing, decoding and encoding use a list of pending
//! work in place of recursion, and dropping does so below 32 levels, so no depth of nesting
//! exhausts a stack (rule Zterm6).

use super::atom::Atom;
use super::bits::Bits;
use super::float::Float;
use super::identity::{ExternalPid, Port, Reference};
use super::integer::BigInt;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// An Erlang value.
///
/// `==` and `Hash` are those of Erlang's `=:=`: `1` and `1.0` differ, and so do `0.0` and `-0.0`
/// (as since OTP 27). A map equals a map with the same pairs in another order, and a string
/// equals the list of its characters. [`Term::compare`](Term::compare) is Erlang's `<` and `==`.
/// `Ord` is the same order, except that it also orders terms that are `==` but not `=:=`.
///
/// `Display` prints as `io_lib:format("~0tp", [Term])` does under `+pc unicode`.
#[derive(Clone)]
#[non_exhaustive]
pub enum Term {
    /// An integer of 64 bits.
    Int(i64),
    /// An integer of any size. A number that fits into [`Term::Int`] is encoded and
    /// compared like one. `Term::from` selects the right variant.
    Big(Arc<BigInt>),
    /// A float.
    Float(Float),
    /// An atom.
    Atom(Atom),
    /// A binary: whole bytes.
    Binary(Arc<[u8]>),
    /// A bit string that does not end at a byte boundary.
    Bits(Arc<Bits>),
    /// A tuple.
    Tuple(Elements),
    /// A list that ends with `[]`. Without elements it is `[]`.
    List(Elements),
    /// A list that ends with another term: `[a|b]`.
    Improper(Improper),
    /// A map.
    Map(Map),
    /// The identity of a process.
    Pid(Arc<ExternalPid>),
    /// The identity of a port.
    Port(Arc<Port>),
    /// A reference.
    Reference(Arc<Reference>),
    /// A fun with its free variables. It can be passed on, but not called.
    Fun(Arc<Fun>),
    /// `fun module:function/arity`.
    Export(Arc<Export>),
    /// A native record, since OTP 29.
    Record(Arc<Record>),
}

impl Term {
    /// Returns the empty list.
    #[must_use]
    pub fn nil() -> Self {
        Term::List(Elements::default())
    }

    /// Creates an atom from a text in the program: [`Atom::fixed`].
    #[must_use]
    pub fn atom(text: &'static str) -> Self {
        Term::Atom(Atom::fixed(text))
    }

    /// Creates a tuple.
    #[must_use]
    pub fn tuple(elements: impl IntoIterator<Item = Term>) -> Self {
        Term::Tuple(elements.into_iter().collect())
    }

    /// Creates a list.
    #[must_use]
    pub fn list(elements: impl IntoIterator<Item = Term>) -> Self {
        Term::List(elements.into_iter().collect())
    }

    /// Creates a list with a tail: `[elements|tail]`. If the tail is a list, its elements
    /// are appended.
    #[must_use]
    pub fn list_with_tail(elements: impl IntoIterator<Item = Term>, tail: Term) -> Self {
        let mut all: Vec<Term> = elements.into_iter().collect();
        match tail {
            Term::List(rest) if all.is_empty() => Term::List(rest),
            Term::List(rest) => {
                all.extend(rest.iter().cloned());
                Term::List(all.into())
            }
            Term::Improper(Improper(rest)) => {
                all.extend(rest.iter().cloned());
                Term::Improper(Improper(all.into()))
            }
            tail if all.is_empty() => tail,
            tail => {
                all.push(tail);
                Term::Improper(Improper(all.into()))
            }
        }
    }

    /// Creates a binary with these bytes, or with the UTF-8 of a text.
    #[must_use]
    pub fn binary(bytes: impl AsRef<[u8]>) -> Self {
        Term::Binary(bytes.as_ref().into())
    }

    /// Whether it contains other terms.
    fn is_nested(&self) -> bool {
        self.children().is_some_and(|children| !children.is_empty())
    }

    /// Whether it contains terms that contain terms. What is not deep is dropped by ordinary
    /// recursion of two levels.
    fn is_deep(&self) -> bool {
        self.children().is_some_and(|children| children.iter().any(Term::is_nested))
    }

    /// Returns the directly nested terms: elements with a tail last, alternating keys and
    /// values, free variables.
    pub(crate) fn children(&self) -> Option<&Elements> {
        match self {
            Term::Tuple(elements) | Term::List(elements) | Term::Improper(Improper(elements)) => {
                Some(elements)
            }
            Term::Map(map) => Some(&map.0.pairs),
            Term::Fun(fun) => Some(&fun.free),
            Term::Record(record) => Some(&record.values),
            _ => None,
        }
    }

    /// Returns the directly nested terms, if they are not shared.
    fn children_mut(&mut self) -> Option<&mut [Term]> {
        match self {
            Term::Tuple(elements) | Term::List(elements) | Term::Improper(Improper(elements)) => {
                elements.unshared()
            }
            Term::Map(map) => Arc::get_mut(&mut map.0)?.pairs.unshared(),
            Term::Fun(fun) => Arc::get_mut(fun)?.free.unshared(),
            Term::Record(record) => Arc::get_mut(record)?.values.unshared(),
            _ => None,
        }
    }
}

impl From<i64> for Term {
    fn from(number: i64) -> Self {
        Term::Int(number)
    }
}

impl From<BigInt> for Term {
    fn from(number: BigInt) -> Self {
        number.to_i64().map_or_else(|| Term::Big(Arc::new(number)), Term::Int)
    }
}

impl From<bool> for Term {
    fn from(value: bool) -> Self {
        Term::atom(if value { "true" } else { "false" })
    }
}

impl From<Atom> for Term {
    fn from(atom: Atom) -> Self {
        Term::Atom(atom)
    }
}

impl From<Float> for Term {
    fn from(float: Float) -> Self {
        Term::Float(float)
    }
}

impl From<ExternalPid> for Term {
    fn from(pid: ExternalPid) -> Self {
        Term::Pid(Arc::new(pid))
    }
}

impl From<Port> for Term {
    fn from(port: Port) -> Self {
        Term::Port(Arc::new(port))
    }
}

impl From<Reference> for Term {
    fn from(reference: Reference) -> Self {
        Term::Reference(Arc::new(reference))
    }
}

impl From<Map> for Term {
    fn from(map: Map) -> Self {
        Term::Map(map)
    }
}

/// A shared sequence of terms: the contents of a tuple, list or map. It dereferences to a slice.
#[derive(Clone, Default)]
pub struct Elements(Option<Arc<[Term]>>);

impl Elements {
    fn unshared(&mut self) -> Option<&mut [Term]> {
        Arc::get_mut(self.0.as_mut()?)
    }

    pub(crate) fn from_drain(drain: std::vec::Drain<'_, Term>) -> Self {
        Elements((drain.len() > 0).then(|| drain.collect()))
    }
}

impl fmt::Debug for Elements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl Deref for Elements {
    type Target = [Term];

    fn deref(&self) -> &[Term] {
        self.0.as_deref().unwrap_or_default()
    }
}

impl From<Vec<Term>> for Elements {
    fn from(terms: Vec<Term>) -> Self {
        Elements((!terms.is_empty()).then(|| terms.into()))
    }
}

impl FromIterator<Term> for Elements {
    fn from_iter<I: IntoIterator<Item = Term>>(terms: I) -> Self {
        Vec::from_iter(terms).into()
    }
}

impl<'a> IntoIterator for &'a Elements {
    type Item = &'a Term;
    type IntoIter = std::slice::Iter<'a, Term>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Drops with a bounded recursion, so that no depth of nesting exhausts a stack.
impl Drop for Elements {
    fn drop(&mut self) {
        if self.iter().any(Term::is_deep)
            && let Some(children) = self.unshared()
        {
            drop_deep(children, DROP_LEVELS);
        }
    }
}

/// The levels that are dropped by recursion, before a list of pending terms takes its place.
/// Few terms have more, and a list is one more allocation.
const DROP_LEVELS: usize = 32;

/// Drops the deep terms. Each is flat before its turn, so its own drop goes no deeper.
fn drop_deep(terms: &mut [Term], levels: usize) {
    for term in terms.iter_mut().filter(|term| term.is_deep()) {
        let mut term = std::mem::replace(term, Term::Int(0));
        let Some(children) = term.children_mut() else { continue };
        if levels > 0 {
            drop_deep(children, levels - 1);
            continue;
        }
        let mut pending = Vec::new();
        take_deep(children, &mut pending);
        while let Some(mut term) = pending.pop() {
            if let Some(children) = term.children_mut() {
                take_deep(children, &mut pending);
            }
        }
    }
}

fn take_deep(terms: &mut [Term], taken: &mut Vec<Term>) {
    for term in terms.iter_mut().filter(|term| term.is_deep()) {
        taken.push(std::mem::replace(term, Term::Int(0)));
    }
}

/// A list that ends with a term that is not a list: `[a|b]`. It is created by
/// [`Term::list_with_tail`].
#[derive(Clone, Debug)]
pub struct Improper(pub(crate) Elements);

impl Improper {
    /// Returns the elements before the tail, at least one.
    #[must_use]
    pub fn elements(&self) -> &[Term] {
        self.0.split_last().map(|(_, elements)| elements).unwrap_or_default()
    }

    /// Returns the tail, which is not a list.
    #[must_use]
    pub fn tail(&self) -> &Term {
        static NIL: Term = Term::List(Elements(None));
        self.0.last().unwrap_or(&NIL)
    }
}

/// A map: pairs of a key and a value, with distinct keys.
///
/// The pairs keep the order in which they were received, so a map that is passed on has
/// the same bytes.
#[derive(Clone, Debug)]
pub struct Map(pub(crate) Arc<Pairs>);

#[derive(Debug)]
pub(crate) struct Pairs {
    /// Alternating keys and values.
    pub(crate) pairs: Elements,
    /// The indices of the pairs, sorted by key; empty if the pairs are sorted already.
    pub(crate) sorted: Box<[u32]>,
}

/// A fun with its free variables, as created by an Erlang node. It is returned to that
/// node unchanged.
#[derive(Clone)]
pub struct Fun {
    /// The number of arguments.
    pub arity: u8,
    /// The identity of its module's code.
    pub uniq: [u8; 16],
    /// The number of the fun within its module.
    pub index: u32,
    /// The module.
    pub module: Atom,
    /// The number within the module in the old encoding.
    pub old_index: i64,
    /// The identity in the old encoding.
    pub old_uniq: i64,
    /// The process that created it.
    pub pid: ExternalPid,
    /// The values of its free variables.
    pub free: Elements,
}

/// `fun module:function/arity`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Export {
    /// The module.
    pub module: Atom,
    /// The function.
    pub function: Atom,
    /// The number of arguments.
    pub arity: u8,
}

/// A native record of OTP 29: a name, and named values.
#[derive(Clone, Debug)]
pub struct Record {
    flags: u8,
    module: Atom,
    name: Atom,
    fields: Box<[Atom]>,
    pub(crate) values: Elements,
}

impl Record {
    /// Creates a record with these names and values. Returns `None` if their numbers
    /// differ. The flags are stored unchanged.
    #[must_use]
    pub fn new(
        flags: u8,
        module: Atom,
        name: Atom,
        fields: impl Into<Box<[Atom]>>,
        values: impl Into<Elements>,
    ) -> Option<Self> {
        let (fields, values) = (fields.into(), values.into());
        (fields.len() == values.len()).then_some(Record { flags, module, name, fields, values })
    }

    /// Returns the flags, as received.
    #[must_use]
    pub fn flags(&self) -> u8 {
        self.flags
    }

    /// Returns the module that defines the record.
    #[must_use]
    pub fn module(&self) -> &Atom {
        &self.module
    }

    /// Returns the name of the record.
    #[must_use]
    pub fn name(&self) -> &Atom {
        &self.name
    }

    /// Returns the names of the fields.
    #[must_use]
    pub fn fields(&self) -> &[Atom] {
        &self.fields
    }

    /// Returns the values of the fields, in the order of the names.
    #[must_use]
    pub fn values(&self) -> &[Term] {
        &self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_term_has_24_bytes() {
        assert_eq!(size_of::<Term>(), 24);
    }

    #[test]
    fn a_tail_that_is_a_list_is_joined() {
        let list = Term::list_with_tail([Term::Int(1)], Term::list([Term::Int(2)]));
        assert!(matches!(&list, Term::List(elements) if elements.len() == 2));
        let improper = Term::list_with_tail([Term::Int(1)], Term::Int(2));
        let Term::Improper(longer) = Term::list_with_tail([Term::Int(0)], improper) else {
            panic!()
        };
        assert_eq!(longer.elements().len(), 2);
        assert!(matches!(longer.tail(), Term::Int(2)));
        assert!(matches!(Term::list_with_tail([], Term::Int(2)), Term::Int(2)));
    }

    #[test]
    fn zterm6_a_million_levels_are_cloned_and_dropped_without_recursion() {
        let mut term = Term::nil();
        for level in 0..1_000_000 {
            term = match level % 3 {
                0 => Term::tuple([term, Term::Int(1)]),
                1 => Term::list([term]),
                _ => Term::list_with_tail([term], Term::Int(1)),
            };
        }
        let shared = term.clone();
        drop(term);
        drop(shared);
    }
}
