//! Decoding of terms, with limits and without recursion.
//!
//! ```text
//!  bytes ─► head ─ a leaf ─────────────────────► values  1 2 ..
//!             └── announces n terms ─► open  {,2 [,3 ..      │
//!                                        └─ n are complete: replace them by the tuple
//! ```
//!
//! Values are on one list, open terms on another. A value allocates when it is complete,
//! never for terms that are only announced.

use super::atom::{Atom, Atoms};
use super::bits::Bits;
use super::decode_error::DecodeError;
use super::limits::Limits;
use super::map::EqualKeys;
use super::tag;
use super::term::{Elements, Export, Fun, Improper, Map, Record, Term};
use super::token::{FunHead, RecordHead, TermToken};
use super::tokens::Tokens;
use std::sync::Arc;

impl Term {
    /// Decodes a term from the bytes that `term_to_binary` produces: the version 131, the
    /// term, and nothing else.
    ///
    /// # Errors
    /// [`DecodeError`], with the place, for any input that is not a term or is over
    /// [`Limits::DEFAULT`].
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        Decoder::new(bytes).version()?.last_term()
    }
}

/// Decodes consecutive terms, such as those of a frame.
#[derive(Debug)]
pub struct Decoder<'a> {
    pub(crate) tokens: Tokens<'a>,
}

impl<'a> Decoder<'a> {
    /// Creates a decoder of these bytes, with [`Limits::DEFAULT`].
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Decoder::with_limits(bytes, Limits::DEFAULT)
    }

    /// Creates a decoder of these bytes with limits, which apply to all terms together.
    #[must_use]
    pub fn with_limits(bytes: &'a [u8], limits: Limits) -> Self {
        Decoder { tokens: Tokens::new(bytes, limits) }
    }

    /// Sets the atoms listed in the header of the frame, which cached atoms refer to.
    #[must_use]
    pub fn cached(mut self, cached: &'a [Atom]) -> Self {
        self.tokens.set_cached(cached);
        self
    }

    /// Sets the table of shared atoms.
    #[must_use]
    pub fn atoms(mut self, atoms: &'a mut Atoms) -> Self {
        self.tokens.set_atoms(atoms);
        self
    }

    /// Reads the version byte, 131.
    ///
    /// # Errors
    /// [`DecodeError::Version`] if the byte is another one.
    pub fn version(mut self) -> Result<Self, DecodeError> {
        self.tokens.version()?;
        Ok(self)
    }

    /// Returns the offset of the next term from the beginning, in bytes.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.tokens.offset()
    }

    /// Decodes the next term.
    ///
    /// # Errors
    /// [`DecodeError`]; the decoder must not be used any more.
    pub fn term(&mut self) -> Result<Term, DecodeError> {
        read(&mut self.tokens)
    }

    /// Decodes the next term, which must be the last.
    ///
    /// # Errors
    /// [`DecodeError`]; [`DecodeError::Trailing`] if bytes follow.
    pub fn last_term(mut self) -> Result<Term, DecodeError> {
        let term = self.term()?;
        self.tokens.end()?;
        Ok(term)
    }
}

/// A term whose elements were not all decoded.
struct OpenTerm {
    kind: OpenKind,
    /// The index of its first element in the values.
    start: usize,
    /// The number of missing elements.
    left: usize,
}

impl OpenTerm {
    /// Creates the open term of a head that announces terms.
    fn new(token: TermToken<'_>, start: usize) -> Self {
        let (kind, left) = match token {
            TermToken::List(count) => (OpenKind::List, count),
            TermToken::Map(pairs) => (OpenKind::Map, pairs * 2),
            TermToken::Fun(head, free) => (OpenKind::Fun(head), free),
            TermToken::Record(head) => {
                let count = head.fields.len();
                (OpenKind::Record(head), count)
            }
            TermToken::Tuple(count) => (OpenKind::Tuple, count),
            // No other head is open.
            _ => (OpenKind::Tuple, 0),
        };
        OpenTerm { kind, start, left }
    }
}

enum OpenKind {
    Tuple,
    /// The elements of a list; the tail follows.
    List,
    /// The tail of a list, if it is not a list.
    Tail,
    Map,
    Fun(Box<FunHead>),
    Record(Box<RecordHead>),
}

/// Decodes the next term.
pub(crate) fn read(tokens: &mut Tokens<'_>) -> Result<Term, DecodeError> {
    let mut token = tokens.next()?;
    if !token.is_open() {
        return leaf(token, tokens);
    }
    // Enough for a message of a few terms.
    let mut values: Vec<Term> = Vec::with_capacity(16);
    let mut open: Vec<OpenTerm> = Vec::with_capacity(8);
    loop {
        if token.is_open() {
            let limit = tokens.limits().depth;
            if open.len() >= limit {
                return Err(DecodeError::Depth { offset: tokens.offset(), limit });
            }
            let mut top = OpenTerm::new(token, values.len());
            top.left -= tokens.simple(top.left, &mut values);
            open.push(top);
        } else {
            values.push(leaf(token, tokens)?);
            if let Some(top) = open.last_mut() {
                top.left -= 1;
                top.left -= tokens.simple(top.left, &mut values);
            }
        }
        if let Some(term) = close(tokens, &mut values, &mut open)? {
            return Ok(term);
        }
        token = tokens.next()?;
    }
}

/// Replaces complete open terms by values. Returns the last value when no term is open.
fn close(
    tokens: &mut Tokens<'_>,
    values: &mut Vec<Term>,
    open: &mut Vec<OpenTerm>,
) -> Result<Option<Term>, DecodeError> {
    loop {
        let Some(top) = open.last_mut() else { return Ok(values.pop()) };
        if top.left > 0 {
            return Ok(None);
        }
        if matches!(top.kind, OpenKind::List) && !tail(tokens, values, top)? {
            return Ok(None);
        }
        let Some(OpenTerm { kind, start, .. }) = open.pop() else { return Ok(values.pop()) };
        let value = match kind {
            // A list without elements and with a tail is the tail.
            OpenKind::Tail if values.len() == start + 1 => None,
            kind => {
                let elements = Elements::from_drain(values.drain(start..));
                Some(complete(tokens, kind, elements)?)
            }
        };
        values.extend(value);
        if let Some(outer) = open.last_mut() {
            outer.left -= 1;
            outer.left -= tokens.simple(outer.left, values);
        }
    }
}

/// Reads the data after the elements of a list. Returns whether the list is complete. The tail
/// may be a list itself, whose elements are further elements, or a term that is not decoded yet.
fn tail(
    tokens: &mut Tokens<'_>,
    values: &mut Vec<Term>,
    list: &mut OpenTerm,
) -> Result<bool, DecodeError> {
    loop {
        match tokens.peek_tag()? {
            tag::NIL | tag::STRING | tag::LIST => match tokens.next()? {
                TermToken::List(0) => {}
                TermToken::List(count) => {
                    list.left = count;
                    return Ok(false);
                }
                TermToken::Text(text) => {
                    values.extend(text.iter().map(|&byte| Term::Int(byte.into())));
                    return Ok(true);
                }
                _ => return Ok(true),
            },
            _ => {
                list.kind = OpenKind::Tail;
                list.left = 1;
                return Ok(false);
            }
        }
    }
}

fn complete(tokens: &Tokens<'_>, kind: OpenKind, elements: Elements) -> Result<Term, DecodeError> {
    let offset = tokens.offset();
    Ok(match kind {
        OpenKind::Tuple => Term::Tuple(elements),
        OpenKind::List => Term::List(elements),
        // A nested list in tail position was joined to the elements when it was read.
        OpenKind::Tail => Term::Improper(Improper(elements)),
        OpenKind::Map => Term::Map(
            Map::from_elements(elements).map_err(|EqualKeys| DecodeError::EqualKeys { offset })?,
        ),
        OpenKind::Fun(head) => {
            head.ends_at(offset)?;
            let FunHead { arity, uniq, index, module, old_index, old_uniq, pid, .. } = *head;
            let free = elements;
            Term::Fun(Arc::new(Fun { arity, uniq, index, module, old_index, old_uniq, pid, free }))
        }
        OpenKind::Record(head) => {
            let RecordHead { flags, module, name, fields } = *head;
            let claimed = fields.len() as u64;
            let record = Record::new(flags, module, name, fields, elements);
            let record =
                record.ok_or(DecodeError::Claim { offset, claimed, left: tokens.left() })?;
            Term::Record(Arc::new(record))
        }
    })
}

/// Returns the term of a head without nested terms.
fn leaf(token: TermToken<'_>, tokens: &mut Tokens<'_>) -> Result<Term, DecodeError> {
    Ok(match token {
        TermToken::Int(number) => Term::Int(number),
        TermToken::Big(number) => Term::Big(Arc::new(number)),
        TermToken::Float(float) => Term::Float(float),
        TermToken::Atom(text) => Term::Atom(tokens.make_atom(text)?),
        TermToken::Text(text) => Term::list(text.iter().map(|&byte| Term::Int(byte.into()))),
        TermToken::Binary(bytes) => Term::binary(bytes),
        TermToken::Bits(bytes, last) => Bits::new(bytes, last)
            .map_or_else(|| Term::binary(bytes), |bits| Term::Bits(Arc::new(bits))),
        TermToken::Pid(pid) => pid.into(),
        TermToken::Port(port) => port.into(),
        TermToken::Reference(reference) => reference.into(),
        TermToken::Export { module, function, arity } => {
            Term::Export(Arc::new(Export { module, function, arity }))
        }
        TermToken::Nil
        | TermToken::List(_)
        | TermToken::Tuple(_)
        | TermToken::Map(_)
        | TermToken::Fun(..)
        | TermToken::Record(_) => Term::nil(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(bytes: &[u8]) -> Result<Term, DecodeError> {
        Decoder::new(bytes).last_term()
    }

    #[test]
    fn zterm6_nesting_is_limited_and_ten_million_levels_need_no_stack() {
        for opening in [&[104, 1][..], &[108, 0, 0, 0, 1], &[116, 0, 0, 0, 1]] {
            let deep = opening.repeat(10_000_000 / opening.len());
            assert!(matches!(decode(&deep), Err(DecodeError::Depth { limit: 2_048, .. })));
        }
        let nested = |depth: usize| [[104, 1].repeat(depth), vec![106]].concat();
        assert!(decode(&nested(2_048)).is_ok());
        assert!(matches!(decode(&nested(2_049)), Err(DecodeError::Depth { .. })));
    }

    #[test]
    fn a_tail_that_is_a_list_is_joined_and_adds_no_depth() {
        let one_more = [108, 0, 0, 0, 1, 97, 7];
        let chain = [one_more.repeat(100_000), vec![106]].concat();
        assert!(matches!(decode(&chain), Ok(Term::List(elements)) if elements.len() == 100_000));
        let text = [&one_more[..], &[107, 0, 2, 8, 9]].concat();
        assert_eq!(decode(&text), Ok(Term::list([7, 8, 9].map(Term::Int))));
        let improper = [&one_more[..], &one_more, &[97, 8]].concat();
        assert_eq!(decode(&improper).unwrap().to_string(), "[7,7|8]");
        assert_eq!(decode(&[108, 0, 0, 0, 0, 97, 8]), Ok(Term::Int(8)));
        assert_eq!(decode(&[108, 0, 0, 0, 0, 104, 1, 97, 8]), Ok(Term::tuple([Term::Int(8)])));
        assert_eq!(decode(&[108, 0, 0, 0, 0, 108, 0, 0, 0, 0, 106]), Ok(Term::nil()));
    }

    #[test]
    fn zterm4_tags_that_nodes_do_not_send_are_errors_with_their_place() {
        for tag in [80, 99, 101, 102, 103, 114, 117, 121, 0, 1, 68, 69, 131, 255] {
            let bytes = [&[104, 2, 106, tag][..], &[0; 64]].concat();
            assert_eq!(decode(&bytes), Err(DecodeError::Tag { offset: 3, tag }));
        }
    }

    #[test]
    fn zterm5_announced_bytes_that_do_not_follow_are_an_error() {
        for opening in [108, 105, 116, 109, 111, 107, 118] {
            let bytes = [opening, 255, 255, 255, 255, 1];
            assert!(decode(&bytes).is_err(), "tag {opening}");
        }
        let claim = DecodeError::Claim { offset: 0, claimed: 3, left: 2 };
        assert_eq!(decode(&[104, 3, 106, 106]), Err(claim));
    }

    #[test]
    fn zterm6_terms_and_lengths_of_integers_are_limited() {
        let limits = Limits { terms: 5, integer_bytes: 2, ..Limits::DEFAULT };
        let decode = |bytes: &[u8]| Decoder::with_limits(bytes, limits).last_term();
        assert!(decode(&[104, 4, 106, 106, 106, 106]).is_ok());
        assert!(matches!(
            decode(&[104, 5, 106, 106, 106, 106, 106]),
            Err(DecodeError::Terms { .. })
        ));
        assert!(decode(&[107, 0, 4, 1, 2, 3, 4]).is_ok());
        assert!(matches!(decode(&[107, 0, 5, 1, 2, 3, 4, 5]), Err(DecodeError::Terms { .. })));
        assert!(decode(&[110, 2, 0, 1, 2]).is_ok());
        assert!(matches!(
            decode(&[110, 3, 0, 1, 2, 3]),
            Err(DecodeError::Integer { bytes: 3, .. })
        ));
    }

    #[test]
    fn zterm7_impossible_terms_are_errors() {
        let nan = [&[70][..], &f64::NAN.to_be_bytes()].concat();
        let infinite = [&[70][..], &f64::INFINITY.to_be_bytes()].concat();
        assert!(matches!(decode(&nan), Err(DecodeError::Float { .. })));
        assert!(matches!(decode(&infinite), Err(DecodeError::Float { .. })));
        assert!(matches!(decode(&[119, 1, 0xff]), Err(DecodeError::Utf8 { offset: 0 })));
        let long = [&[118, 1, 0][..], &[b'x'; 256]].concat();
        assert!(matches!(decode(&long), Err(DecodeError::AtomLength { characters: 256, .. })));
        for bits in [0, 9, 255] {
            assert!(matches!(decode(&[77, 0, 0, 0, 1, bits, 7]), Err(DecodeError::Bits { .. })));
        }
        assert!(matches!(decode(&[77, 0, 0, 0, 0, 3]), Err(DecodeError::Bits { .. })));
        assert_eq!(decode(&[77, 0, 0, 0, 1, 8, 7]), Ok(Term::binary([7])));
        let twice = [116, 0, 0, 0, 2, 97, 1, 97, 2, 97, 1, 97, 3];
        assert!(matches!(decode(&twice), Err(DecodeError::EqualKeys { .. })));
        let minus_zero = [&[70][..], &(-0.0_f64).to_be_bytes()].concat();
        assert_eq!(decode(&minus_zero).unwrap().to_string(), "-0.0");
    }

    #[test]
    fn atoms_of_c_nodes_are_latin_1() {
        assert_eq!(decode(&[115, 2, 0xe5, b'x']), Ok(Term::Atom(Atom::fixed("åx"))));
        assert_eq!(decode(&[100, 0, 1, 0xff]), Ok(Term::Atom(Atom::fixed("ÿ"))));
    }

    #[test]
    fn zmsg7_cached_atoms_are_those_of_the_header() {
        let cached = [Atom::fixed("a"), Atom::fixed("b")];
        let read = |bytes: &[u8]| Decoder::new(bytes).cached(&cached).last_term();
        assert_eq!(read(&[82, 1]), Ok(Term::atom("b")));
        let error = DecodeError::CachedAtom { offset: 0, index: 2, known: 2 };
        assert_eq!(read(&[82, 2]), Err(error));
    }

    #[test]
    fn zterm3_a_native_record_is_read_with_its_names_and_flags() {
        let bytes = [67, 0, 0, 0, 1, 1, 119, 1, b'm', 119, 1, b'r', 119, 1, b'x', 97, 5];
        let term = decode(&bytes).unwrap();
        let Term::Record(record) = &term else { panic!("{term}") };
        assert_eq!(record.flags(), 1);
        assert_eq!(record.fields(), ["x"].map(Atom::fixed));
        assert_eq!(record.values(), [Term::Int(5)]);
    }
}
