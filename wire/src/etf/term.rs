//! Terms: every value that Erlang nodes exchange, as one immutable type that is cheap to clone.
//!
//! ```text
//!  Term ─┬─ Int, Float, Atom                      in place
//!        ├─ Big, Binary, Bits, Pid, Port,
//!        │  Reference, Export                     shared, without terms inside
//!        └─ Tuple, List, Improper, Map,
//!           Fun, Record ──► Elements ──► Term..   shared, nested
//! ```
//!
//! What is nested lies in [`Elements`], a shared slice: a clone of any term takes constant time and no
//! stack. Dropping, comparing, hashing, printing, reading and writing use a list of what is to be done in
//! place of recursion, so no depth of nesting exhausts a stack (rule Zterm6).

use super::atom::Atom;
use super::identity::{ExternalPid, Port, Reference};
use super::integer::BigInt;
use std::ops::Deref;
use std::sync::Arc;

/// A value of Erlang.
///
/// `==` and `Hash` are those of Erlang's `=:=`: `1` and `1.0` differ, and so do `0.0` and `-0.0` (as from OTP 27
/// on). A map equals one with its pairs in another order, a string equals the list of its characters.
/// [`Term::compare`](Term::compare) is Erlang's `<` and `==`; `Ord` is the same order, and decides between what is
/// `==` only.
///
/// `Display` prints as `io_lib:format("~0tp", [Term])` does where `+pc unicode` was given.
#[derive(Clone)]
#[non_exhaustive]
pub enum Term {
    /// An integer of 64 bits.
    Int(i64),
    /// An integer of any size. What fits [`Term::Int`] is written and compared as that;
    /// `Term::from` makes the right one.
    Big(Arc<BigInt>),
    /// A float.
    Float(Float),
    /// An atom.
    Atom(Atom),
    /// A binary: whole bytes.
    Binary(Arc<[u8]>),
    /// A bit string that does not end at a byte.
    Bits(Arc<Bits>),
    /// A tuple.
    Tuple(Elements),
    /// A list that ends with `[]`; without elements it is `[]`.
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
    /// A fun with its free variables; it can be carried, not called.
    Fun(Arc<Fun>),
    /// `fun module:function/arity`.
    Export(Arc<Export>),
    /// A native record, from OTP 29 on.
    Record(Arc<Record>),
}

impl Term {
    /// The empty list.
    #[must_use]
    pub fn nil() -> Self {
        Term::List(Elements::default())
    }

    /// An atom that the program names: [`Atom::fixed`].
    #[must_use]
    pub fn atom(text: &'static str) -> Self {
        Term::Atom(Atom::fixed(text))
    }

    /// A tuple of these.
    #[must_use]
    pub fn tuple(elements: impl IntoIterator<Item = Term>) -> Self {
        Term::Tuple(elements.into_iter().collect())
    }

    /// A list of these.
    #[must_use]
    pub fn list(elements: impl IntoIterator<Item = Term>) -> Self {
        Term::List(elements.into_iter().collect())
    }

    /// The list of these, and then the tail: `[elements|tail]`. A tail that is a list is joined to it.
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

    /// A binary with these bytes; of a text, with its UTF-8.
    #[must_use]
    pub fn binary(bytes: impl AsRef<[u8]>) -> Self {
        Term::Binary(bytes.as_ref().into())
    }

    /// Whether other terms may lie in it.
    pub(crate) fn is_nested(&self) -> bool {
        self.children().is_some_and(|children| !children.is_empty())
    }

    /// The terms that lie directly in it: elements, a tail last, keys and values in turns, free variables.
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

    /// The terms that lie directly in it, where nobody else holds them.
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

/// A float as terms know it: finite. Erlang has no NaN and no infinities (rule Zterm7).
#[derive(Clone, Copy, Debug)]
pub struct Float(f64);

impl Float {
    /// The float, if it is finite.
    #[must_use]
    pub fn new(float: f64) -> Option<Self> {
        float.is_finite().then_some(Float(float))
    }

    /// The float.
    #[must_use]
    pub fn value(self) -> f64 {
        self.0
    }
}

/// A bit string that does not end at a byte: whole bytes, then 1 to 7 bits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bits {
    bytes: Box<[u8]>,
    last: u8,
}

impl Bits {
    /// The bit string of these bytes, of whose last byte only the upper `last` bits count.
    ///
    /// `None` if there are no bytes or `last` is not 1 to 7.
    #[must_use]
    pub fn new(bytes: &[u8], last: u8) -> Option<Self> {
        let mut bytes: Box<[u8]> = bytes.into();
        if !(1..=7).contains(&last) {
            return None;
        }
        // Bits that do not count are 0, so that equal bit strings have equal bytes.
        *bytes.last_mut()? &= 0xff << (8 - last);
        Some(Bits { bytes, last })
    }

    /// The bytes; in the last one, bits that do not count are 0.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How many of the upper bits of the last byte count: 1 to 7.
    #[must_use]
    pub fn last_bits(&self) -> u8 {
        self.last
    }
}

/// Terms one after the other, shared: what lies in a tuple, list or map. It is read as a slice.
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

/// Without recursion: what is nested is taken out and dropped one after the other.
impl Drop for Elements {
    fn drop(&mut self) {
        let Some(children) = self.unshared() else { return };
        let mut pending = Vec::new();
        take_nested(children, &mut pending);
        while let Some(mut term) = pending.pop() {
            if let Some(children) = term.children_mut() {
                take_nested(children, &mut pending);
            }
        }
    }
}

fn take_nested(terms: &mut [Term], taken: &mut Vec<Term>) {
    for term in terms.iter_mut().filter(|term| term.is_nested()) {
        taken.push(std::mem::replace(term, Term::Int(0)));
    }
}

/// A list that ends with a term which is no list: `[a|b]`. [`Term::list_with_tail`] makes them.
#[derive(Clone)]
pub struct Improper(pub(crate) Elements);

impl Improper {
    /// What stands before the tail: one element at least.
    #[must_use]
    pub fn elements(&self) -> &[Term] {
        self.0.split_last().map(|(_, elements)| elements).unwrap_or_default()
    }

    /// The tail. It is no list.
    #[must_use]
    pub fn tail(&self) -> &Term {
        static NIL: Term = Term::List(Elements(None));
        self.0.last().unwrap_or(&NIL)
    }
}

/// A map: pairs of a key and a value, no two keys equal.
///
/// The pairs keep the order in which they came, so that what is sent on has the bytes it came with.
#[derive(Clone)]
pub struct Map(pub(crate) Arc<Pairs>);

pub(crate) struct Pairs {
    /// Keys and values in turns.
    pub(crate) pairs: Elements,
    /// The numbers of the pairs, sorted by their keys; empty where they already are.
    pub(crate) sorted: Box<[u32]>,
}

/// A fun with its free variables, as an Erlang node made it. It goes home as it came.
#[derive(Clone)]
pub struct Fun {
    /// How many arguments it takes.
    pub arity: u8,
    /// The identity of its module's code.
    pub uniq: [u8; 16],
    /// Its number within the module.
    pub index: u32,
    /// Its module.
    pub module: Atom,
    /// An older number within the module.
    pub old_index: i64,
    /// An older identity.
    pub old_uniq: i64,
    /// The process that made it.
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
    /// How many arguments it takes.
    pub arity: u8,
}

/// A native record of OTP 29: a name, and values that have names.
#[derive(Clone)]
pub struct Record {
    flags: u8,
    module: Atom,
    name: Atom,
    fields: Box<[Atom]>,
    pub(crate) values: Elements,
}

impl Record {
    /// A record with these names and values; `None` if there are not as many values as names.
    /// The flags are kept as they are.
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

    /// The flags, as they came.
    #[must_use]
    pub fn flags(&self) -> u8 {
        self.flags
    }

    /// The module that defines it.
    #[must_use]
    pub fn module(&self) -> &Atom {
        &self.module
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &Atom {
        &self.name
    }

    /// The names of its fields.
    #[must_use]
    pub fn fields(&self) -> &[Atom] {
        &self.fields
    }

    /// The values of its fields, in the order of the names.
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
    fn bits_that_do_not_count_are_zero() {
        assert_eq!(Bits::new(&[0xff], 3), Bits::new(&[0xe0], 3));
        assert!(Bits::new(&[], 3).is_none());
        assert!(Bits::new(&[1], 0).is_none());
        assert!(Bits::new(&[1], 8).is_none());
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
