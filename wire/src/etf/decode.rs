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

    /// Reads the head of the next term if it is a tuple, and returns the number of its
    /// elements, which follow. Any other term is left as it is.
    ///
    /// # Errors
    /// [`DecodeError`]; the decoder must not be used any more.
    pub fn tuple(&mut self) -> Result<Option<usize>, DecodeError> {
        if !matches!(self.tokens.peek_tag()?, tag::SMALL_TUPLE | tag::LARGE_TUPLE) {
            return Ok(None);
        }
        match self.tokens.next()? {
            TermToken::Tuple(count) => Ok(Some(count)),
            // Unreachable: the tag is that of a tuple.
            _ => Ok(None),
        }
    }

    /// Returns the number of elements before the tail if the next term is a list that has some and is not written as
    /// bytes. It reads nothing.
    #[must_use]
    pub fn list_length(&self) -> Option<usize> {
        if self.tokens.peek_tag() != Ok(tag::LIST) {
            return None;
        }
        match self.tokens.again_at(self.tokens.offset()).next() {
            Ok(TermToken::List(count)) => Some(count),
            _ => None,
        }
    }

    /// Reads the next term if it is the atom with this text, and returns whether it was. Any
    /// other term is left as it is.
    ///
    /// # Errors
    /// [`DecodeError`]; the decoder must not be used any more.
    pub fn atom(&mut self, text: &str) -> Result<bool, DecodeError> {
        let offset = self.tokens.offset();
        self.tokens.peek_tag()?;
        let is = match self.tokens.again_at(offset).next() {
            Ok(TermToken::Atom(atom)) => atom.as_str() == text,
            _ => false,
        };
        if is {
            self.tokens.next()?;
        }
        Ok(is)
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
mod tests;
