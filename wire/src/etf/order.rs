//! Order, equality and hash of terms, without recursion.
//!
//! Erlang has one order of all terms: number < atom < reference < fun < port < pid < tuple
//! < native record < map < `[]` < list < bit string. Numbers are ordered by value, tuples
//! and maps by size first, lists element by element. The order has two kinds:
//!
//! | kind | 1 and 1.0 | use |
//! |---|---|---|
//! | [`NumberComparison::Value`] | equal | Erlang's `<` and `==` |
//! | [`NumberComparison::Exact`] | integers are less than floats | the order of map keys, and `=:=` |

use super::float::Float;
use super::integer::BigInt;
use super::term::{Map, Term};
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::slice::Iter;

/// The kind of number comparison.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NumberComparison {
    Value,
    Exact,
}

impl Term {
    /// Compares as Erlang's `<` and `==` do: `1` and `1.0` are equal.
    #[must_use]
    pub fn compare(&self, other: &Term) -> Ordering {
        walk(self, other, NumberComparison::Value)
    }
}

/// Equality as in Erlang's `=:=`.
impl PartialEq for Term {
    fn eq(&self, other: &Self) -> bool {
        walk(self, other, NumberComparison::Exact).is_eq()
    }
}

impl Eq for Term {}

impl PartialOrd for Term {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The order of [`Term::compare`]. Among terms that are equal in it, an integer is less
/// than a float, and -0.0 is less than 0.0.
impl Ord for Term {
    fn cmp(&self, other: &Self) -> Ordering {
        self.compare(other).then_with(|| self.compare_exactly(other))
    }
}

impl Term {
    /// Compares in the order of map keys: every integer is less than every float.
    pub(crate) fn compare_exactly(&self, other: &Term) -> Ordering {
        match (self, other) {
            // The most frequent keys of maps.
            (Term::Atom(a), Term::Atom(b)) => a.cmp(b),
            (Term::Binary(a), Term::Binary(b)) => a.cmp(b),
            _ => walk(self, other, NumberComparison::Exact),
        }
    }
}

/// Pending work; the next item is the last.
enum CompareTask<'a> {
    Each(Iter<'a, Term>, Iter<'a, Term>, NumberComparison),
    Lists(&'a [Term], Tail<'a>, &'a [Term], Tail<'a>, NumberComparison),
    Keys(&'a Map, &'a Map, usize),
    Values(&'a Map, &'a Map, usize, NumberComparison),
}

/// The tail of a list; `None` is `[]`.
type Tail<'a> = Option<&'a Term>;

fn walk(one: &Term, other: &Term, kind: NumberComparison) -> Ordering {
    let mut tasks = Vec::new();
    let mut pair = Some((one, other, kind));
    loop {
        if let Some((a, b, kind)) = pair.take() {
            let order = heads(a, b, kind, &mut tasks);
            if order.is_ne() {
                return order;
            }
        }
        let Some(task) = tasks.pop() else { return Ordering::Equal };
        match task {
            CompareTask::Each(mut a, mut b, kind) => {
                if let (Some(x), Some(y)) = (a.next(), b.next()) {
                    tasks.push(CompareTask::Each(a, b, kind));
                    pair = Some((x, y, kind));
                }
            }
            CompareTask::Lists(a, a_tail, b, b_tail, kind) => {
                match (a.split_first(), b.split_first()) {
                    (Some((x, a)), Some((y, b))) => {
                        tasks.push(CompareTask::Lists(a, a_tail, b, b_tail, kind));
                        pair = Some((x, y, kind));
                    }
                    (None, None) => match (a_tail, b_tail) {
                        (Some(x), Some(y)) => pair = Some((x, y, kind)),
                        _ => {
                            let order = a_tail.map_or(NIL, rank).cmp(&b_tail.map_or(NIL, rank));
                            if order.is_ne() {
                                return order;
                            }
                        }
                    },
                    (None, Some(_)) => return a_tail.map_or(NIL, rank).cmp(&LIST),
                    (Some(_), None) => return LIST.cmp(&b_tail.map_or(NIL, rank)),
                }
            }
            CompareTask::Keys(a, b, at) => {
                if let (Some((x, _)), Some((y, _))) = (a.sorted_pair(at), b.sorted_pair(at)) {
                    tasks.push(CompareTask::Keys(a, b, at + 1));
                    pair = Some((x, y, NumberComparison::Exact));
                }
            }
            CompareTask::Values(a, b, at, kind) => {
                if let (Some((_, x)), Some((_, y))) = (a.sorted_pair(at), b.sorted_pair(at)) {
                    tasks.push(CompareTask::Values(a, b, at + 1, kind));
                    pair = Some((x, y, kind));
                }
            }
        }
    }
}

const NIL: u8 = 11;
const LIST: u8 = 12;

/// Returns the position of a term's type in the order.
fn rank(term: &Term) -> u8 {
    match term {
        Term::Int(_) | Term::Big(_) | Term::Float(_) => 0,
        Term::Atom(_) => 1,
        Term::Reference(_) => 2,
        Term::Fun(_) => 3,
        Term::Export(_) => 4,
        Term::Port(_) => 5,
        Term::Pid(_) => 6,
        Term::Tuple(_) => 7,
        Term::Record(_) => 8,
        Term::Map(_) => 9,
        Term::List(elements) if elements.is_empty() => NIL,
        Term::List(_) | Term::Improper(_) => LIST,
        Term::Binary(_) | Term::Bits(_) => 13,
    }
}

/// Compares the heads of two terms, and adds their nested terms to the tasks.
fn heads<'a>(
    one: &'a Term,
    other: &'a Term,
    kind: NumberComparison,
    tasks: &mut Vec<CompareTask<'a>>,
) -> Ordering {
    let each = |a: &'a [Term], b: &'a [Term]| CompareTask::Each(a.iter(), b.iter(), kind);
    match (one, other) {
        (Term::Int(a), Term::Int(b)) => a.cmp(b),
        (Term::Float(a), Term::Float(b)) => match kind {
            NumberComparison::Value => a.value().partial_cmp(&b.value()).unwrap_or(Ordering::Equal),
            NumberComparison::Exact => a.value().total_cmp(&b.value()),
        },
        (
            Term::Int(_) | Term::Big(_) | Term::Float(_),
            Term::Int(_) | Term::Big(_) | Term::Float(_),
        ) => numbers(one, other, kind),
        (Term::Atom(a), Term::Atom(b)) => a.cmp(b),
        (Term::Reference(a), Term::Reference(b)) => a.cmp(b),
        (Term::Port(a), Term::Port(b)) => a.cmp(b),
        (Term::Pid(a), Term::Pid(b)) => a.cmp(b),
        (Term::Export(a), Term::Export(b)) => a.cmp(b),
        (Term::Fun(a), Term::Fun(b)) => {
            tasks.push(each(&a.free, &b.free));
            let module = a.module.cmp(&b.module).then(a.old_uniq.cmp(&b.old_uniq));
            let number =
                a.index.cmp(&b.index).then(a.uniq.cmp(&b.uniq)).then(a.arity.cmp(&b.arity));
            let origin = a.old_index.cmp(&b.old_index).then_with(|| a.pid.cmp(&b.pid));
            module.then(number).then(origin).then(a.free.len().cmp(&b.free.len()))
        }
        (Term::Tuple(a), Term::Tuple(b)) => {
            tasks.push(each(a, b));
            a.len().cmp(&b.len())
        }
        (Term::Record(a), Term::Record(b)) => {
            tasks.push(each(&a.values, &b.values));
            let name = a.module().cmp(b.module()).then_with(|| a.name().cmp(b.name()));
            name.then_with(|| a.fields().cmp(b.fields())).then(a.flags().cmp(&b.flags()))
        }
        (Term::Map(a), Term::Map(b)) => {
            tasks.push(CompareTask::Values(a, b, 0, kind));
            tasks.push(CompareTask::Keys(a, b, 0));
            a.len().cmp(&b.len())
        }
        (Term::List(a), Term::List(b)) => {
            tasks.push(CompareTask::Lists(a, None, b, None, kind));
            Ordering::Equal
        }
        (Term::Improper(a), Term::Improper(b)) => {
            tasks.push(CompareTask::Lists(
                a.elements(),
                Some(a.tail()),
                b.elements(),
                Some(b.tail()),
                kind,
            ));
            Ordering::Equal
        }
        (Term::List(a), Term::Improper(b)) => {
            tasks.push(CompareTask::Lists(a, None, b.elements(), Some(b.tail()), kind));
            Ordering::Equal
        }
        (Term::Improper(a), Term::List(b)) => {
            tasks.push(CompareTask::Lists(a.elements(), Some(a.tail()), b, None, kind));
            Ordering::Equal
        }
        (Term::Binary(_) | Term::Bits(_), Term::Binary(_) | Term::Bits(_)) => {
            bit_strings(bits(one), bits(other))
        }
        _ => rank(one).cmp(&rank(other)),
    }
}

/// Compares numbers, at most one of them a float and at most one an `Int`.
fn numbers(one: &Term, other: &Term, kind: NumberComparison) -> Ordering {
    let whole = |term: &Term| match term {
        Term::Int(number) => Some(BigInt::from(*number)),
        Term::Big(number) => Some(BigInt::clone(number)),
        _ => None,
    };
    match (one, other, kind) {
        (Term::Int(a), Term::Float(b), NumberComparison::Value) => small_and_float(*a, *b),
        (Term::Float(a), Term::Int(b), NumberComparison::Value) => {
            small_and_float(*b, *a).reverse()
        }
        (Term::Big(a), Term::Float(b), NumberComparison::Value) => a.compare_float(b.value()),
        (Term::Float(a), Term::Big(b), NumberComparison::Value) => {
            b.compare_float(a.value()).reverse()
        }
        (Term::Float(_), _, _) => Ordering::Greater,
        (_, Term::Float(_), _) => Ordering::Less,
        _ => whole(one).cmp(&whole(other)),
    }
}

fn small_and_float(number: i64, float: Float) -> Ordering {
    // 2^53: up to it, floats represent every integer.
    const EXACT: i64 = 1 << 53;
    #[expect(clippy::cast_precision_loss, reason = "exact below 2^53")]
    if (-EXACT..=EXACT).contains(&number) {
        (number as f64).partial_cmp(&float.value()).unwrap_or(Ordering::Equal)
    } else {
        BigInt::from(number).compare_float(float.value())
    }
}

/// Returns the bytes of a bit string and the number of significant bits of the last byte.
fn bits(term: &Term) -> (&[u8], u8) {
    match term {
        Term::Binary(bytes) => (bytes, 8),
        Term::Bits(bits) => (bits.bytes(), bits.last_bits()),
        _ => (&[], 8),
    }
}

/// Compares bit by bit; a proper prefix is less. Insignificant bits are 0, so the bytes
/// decide first.
fn bit_strings((a, a_last): (&[u8], u8), (b, b_last): (&[u8], u8)) -> Ordering {
    let common = a.len().min(b.len());
    let lengths = a.len().cmp(&b.len()).then(a_last.cmp(&b_last));
    a[..common].cmp(&b[..common]).then(lengths)
}

/// Consistent with `==`: the hash of a map does not depend on the order of its pairs.
impl Hash for Term {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let mut terms = vec![self];
        while let Some(term) = terms.pop() {
            rank(term).hash(state);
            match term {
                Term::Int(number) => number.hash(state),
                Term::Big(number) => match number.to_i64() {
                    Some(number) => number.hash(state),
                    None => number.hash(state),
                },
                Term::Float(float) => float.value().to_bits().hash(state),
                Term::Atom(atom) => atom.hash(state),
                Term::Binary(_) | Term::Bits(_) => bits(term).hash(state),
                Term::Pid(pid) => pid.hash(state),
                Term::Port(port) => port.hash(state),
                Term::Reference(reference) => reference.hash(state),
                Term::Export(export) => export.hash(state),
                Term::Fun(fun) => (&fun.module, fun.uniq, fun.index).hash(state),
                Term::Record(record) => (record.module(), record.name()).hash(state),
                Term::Tuple(_) | Term::List(_) | Term::Improper(_) | Term::Map(_) => {}
            }
            if let Term::Map(map) = term {
                map.len().hash(state);
                let pairs = (0..map.len()).filter_map(|at| map.sorted_pair(at));
                terms.extend(pairs.flat_map(|(key, value)| [key, value]));
            } else if let Some(children) = term.children() {
                children.len().hash(state);
                terms.extend(children);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::etf::BigInt;

    fn float(value: f64) -> Term {
        Term::Float(Float::new(value).unwrap())
    }

    #[test]
    fn zterm8_equality_is_exact_and_order_is_by_value() {
        assert_ne!(Term::Int(1), float(1.0));
        assert_eq!(Term::Int(1).compare(&float(1.0)), Ordering::Equal);
        assert_eq!(Term::Int(1).cmp(&float(1.0)), Ordering::Less);
        assert_ne!(float(0.0), float(-0.0));
        assert_eq!(float(0.0).compare(&float(-0.0)), Ordering::Equal);
        let inside = |x: Term, y: Term| Term::tuple([x, y]);
        // By value first, also in nested terms: {1, b} is after {1.0, a}.
        let (one, other) =
            (inside(Term::Int(1), Term::atom("b")), inside(float(1.0), Term::atom("a")));
        assert_eq!(one.cmp(&other), Ordering::Greater);
    }

    #[test]
    fn a_small_integer_in_a_big_one_is_the_same_integer() {
        let big = Term::Big(std::sync::Arc::new(BigInt::from(5_i64)));
        assert_eq!(big, Term::Int(5));
        assert_eq!(big.compare(&float(5.0)), Ordering::Equal);
    }

    #[test]
    fn improper_lists_end_before_lists_and_after_nil_as_their_tails_do() {
        let proper = Term::list([Term::Int(1), Term::Int(2)]);
        let number = Term::list_with_tail([Term::Int(1)], Term::Int(9));
        let binary = Term::list_with_tail([Term::Int(1)], Term::binary(""));
        let short = Term::list([Term::Int(1)]);
        assert!(number < short && short < proper && proper < binary);
    }
}
