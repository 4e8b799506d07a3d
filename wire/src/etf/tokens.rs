//! Reading of the heads of terms. Both untyped and typed decoding are based on heads, so each tag
//! is read in one place.
//!
//! Everything is validated first: a length against the bytes that are left (each element
//! takes at least one), the number of terms and the size of integers against [`Limits`].

use super::atom::{Atom, Atoms};
use super::decode_error::DecodeError;
use super::float::Float;
use super::identity::{ExternalPid, Port, Reference};
use super::integer::BigInt;
use super::limits::Limits;
use super::tag;
use super::term::Term;
use super::token::{AtomText, FunHead, RecordHead, TermToken};
use crate::reader::{Reader, Short};
use std::borrow::Cow;

/// Reads consecutive heads, and counts the terms.
#[derive(Debug)]
pub(crate) struct Tokens<'a> {
    reader: Reader<'a>,
    limits: Limits,
    terms: usize,
    cached: &'a [Atom],
    atoms: Option<&'a mut Atoms>,
}

impl<'a> Tokens<'a> {
    pub(crate) fn new(bytes: &'a [u8], limits: Limits) -> Self {
        Tokens { reader: Reader::new(bytes), limits, terms: 0, cached: &[], atoms: None }
    }

    /// Sets the atoms listed in the header of the frame, for cached atoms.
    pub(crate) fn set_cached(&mut self, cached: &'a [Atom]) {
        self.cached = cached;
    }

    /// Sets the table of shared atoms.
    pub(crate) fn set_atoms(&mut self, atoms: &'a mut Atoms) {
        self.atoms = Some(atoms);
    }

    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    /// The number of terms so far.
    pub(crate) fn terms(&self) -> usize {
        self.terms
    }

    pub(crate) fn offset(&self) -> usize {
        self.reader.offset()
    }

    pub(crate) fn left(&self) -> usize {
        self.reader.left()
    }

    pub(crate) fn since(&self, offset: usize) -> &'a [u8] {
        self.reader.since(offset)
    }

    pub(crate) fn between(&self, start: usize, end: usize) -> &'a [u8] {
        self.reader.between(start, end)
    }

    pub(crate) fn peek_tag(&self) -> Result<u8, DecodeError> {
        Ok(self.reader.peek()?)
    }

    /// Reads the same input again from an offset, with a count of its own, to describe an error.
    pub(crate) fn again_at(&self, offset: usize) -> Tokens<'a> {
        Tokens {
            reader: self.reader.at(offset),
            limits: self.limits,
            terms: 0,
            cached: self.cached,
            atoms: None,
        }
    }

    /// Whether the input may refer to cached atoms.
    pub(crate) fn has_cached(&self) -> bool {
        !self.cached.is_empty()
    }

    /// Reads the version byte.
    pub(crate) fn version(&mut self) -> Result<(), DecodeError> {
        let offset = self.offset();
        match self.reader.u8()? {
            tag::VERSION => Ok(()),
            found => Err(DecodeError::Version { offset, found }),
        }
    }

    /// Checks that nothing follows.
    pub(crate) fn end(&self) -> Result<(), DecodeError> {
        match (self.offset(), self.left()) {
            (_, 0) => Ok(()),
            (offset, left) => Err(DecodeError::Trailing { offset, left }),
        }
    }

    /// Reads at most `most` terms of the most frequent kinds: small integers, short atoms and
    /// `[]`. Returns their number. Whatever follows, also if it is wrong, is left to
    /// [`Tokens::next`].
    pub(crate) fn simple(&mut self, most: usize, values: &mut Vec<Term>) -> usize {
        let most = most.min(self.limits.terms.saturating_sub(self.terms));
        let mut rest = self.reader.rest();
        let mut read = 0;
        while read < most {
            let (term, after) = match *rest {
                [tag::SMALL_INTEGER, byte, ref after @ ..] => (Term::Int(byte.into()), after),
                [tag::INTEGER, a, b, c, d, ref after @ ..] => {
                    (Term::Int(i32::from_be_bytes([a, b, c, d]).into()), after)
                }
                [tag::SMALL_ATOM_UTF8, length, ref text @ ..] => {
                    let Some((text, after)) = text.split_at_checked(length.into()) else { break };
                    let Some(atom) = Atom::in_place_bytes(text) else { break };
                    (Term::Atom(atom), after)
                }
                [tag::NIL, ref after @ ..] => (Term::nil(), after),
                _ => break,
            };
            values.push(term);
            rest = after;
            read += 1;
        }
        self.terms += read;
        self.reader.skip_to_last(rest.len());
        read
    }

    /// Reads the next head.
    pub(crate) fn next(&mut self) -> Result<TermToken<'a>, DecodeError> {
        let offset = self.offset();
        self.count(1)?;
        let tag = self.reader.u8()?;
        Ok(match tag {
            tag::SMALL_INTEGER => TermToken::Int(self.reader.u8()?.into()),
            tag::INTEGER => TermToken::Int(i32::from_be_bytes(self.reader.array()?).into()),
            tag::SMALL_BIG => {
                let length = self.reader.u8()?.into();
                self.big(offset, length)?
            }
            tag::LARGE_BIG => {
                let length = self.length()?;
                self.big(offset, length)?
            }
            tag::NEW_FLOAT => {
                let bits = self.reader.u64()?;
                let float = Float::new(f64::from_bits(bits));
                TermToken::Float(float.ok_or(DecodeError::Float { offset, bits })?)
            }
            tag::ATOM
            | tag::SMALL_ATOM
            | tag::ATOM_UTF8
            | tag::SMALL_ATOM_UTF8
            | tag::ATOM_CACHE_REF => TermToken::Atom(self.atom_text(tag, offset)?),
            tag::STRING => {
                let text = self.reader.counted_u16()?;
                self.count(text.len())?;
                TermToken::Text(text)
            }
            tag::BINARY => TermToken::Binary(self.reader.counted_u32()?),
            tag::BIT_BINARY => self.bits(offset)?,
            tag::NIL => TermToken::Nil,
            tag::LIST => {
                let length = self.length()?;
                // The tail takes at least one byte too.
                self.claim(offset, length, 1, 1)?;
                TermToken::List(length)
            }
            tag::SMALL_TUPLE => {
                let length = self.reader.u8()?.into();
                self.claim(offset, length, 1, 0)?;
                TermToken::Tuple(length)
            }
            tag::LARGE_TUPLE => {
                let length = self.length()?;
                self.claim(offset, length, 1, 0)?;
                TermToken::Tuple(length)
            }
            tag::MAP => {
                let length = self.length()?;
                self.claim(offset, length, 2, 0)?;
                TermToken::Map(length)
            }
            tag::NEW_PID => TermToken::Pid(self.pid_fields()?),
            tag::NEW_PORT => {
                let node = self.atom()?;
                let id = self.reader.u32()?.into();
                TermToken::Port(Port { node, id, creation: self.reader.u32()? })
            }
            tag::V4_PORT => {
                let node = self.atom()?;
                let id = self.reader.u64()?;
                TermToken::Port(Port { node, id, creation: self.reader.u32()? })
            }
            tag::NEWER_REFERENCE => TermToken::Reference(self.reference_fields(offset)?),
            tag::EXPORT => {
                let (module, function) = (self.atom()?, self.atom()?);
                TermToken::Export { module, function, arity: self.arity()? }
            }
            tag::NEW_FUN => self.fun(offset)?,
            tag::NATIVE_RECORD => self.record(offset)?,
            tag => return Err(DecodeError::Tag { offset, tag }),
        })
    }

    /// Reads an atom where the format requires one.
    pub(crate) fn atom(&mut self) -> Result<Atom, DecodeError> {
        let offset = self.offset();
        self.count(1)?;
        if let [tag::SMALL_ATOM_UTF8, length, ref text @ ..] = *self.reader.rest()
            && let Some(atom) = text.get(..length.into()).and_then(Atom::in_place_bytes)
        {
            self.reader.take(usize::from(length) + 2)?;
            return Ok(atom);
        }
        let tag = self.reader.u8()?;
        let text = self.atom_text(tag, offset)?;
        self.make_atom(text)
    }

    /// Returns the atom with this text, from the table if there is one.
    pub(crate) fn make_atom(&mut self, text: AtomText<'_>) -> Result<Atom, DecodeError> {
        let made = match (text, self.atoms.as_deref_mut()) {
            (AtomText::Cached(atom), _) => return Ok(atom.clone()),
            (AtomText::Text(text), Some(atoms)) => atoms.atom(&text),
            (AtomText::Text(text), None) => Atom::new(text),
        };
        let offset = self.offset();
        made.map_err(|error| DecodeError::AtomLength { offset, characters: error.characters })
    }

    /// Reads a pid where the format requires one.
    pub(crate) fn pid(&mut self) -> Result<ExternalPid, DecodeError> {
        self.demand(tag::NEW_PID, "a pid")?;
        self.pid_fields()
    }

    /// Reads a reference where the format requires one.
    pub(crate) fn reference(&mut self) -> Result<Reference, DecodeError> {
        let offset = self.offset();
        self.demand(tag::NEWER_REFERENCE, "a reference")?;
        self.reference_fields(offset)
    }

    fn demand(&mut self, demanded: u8, expected: &'static str) -> Result<(), DecodeError> {
        let offset = self.offset();
        self.count(1)?;
        match self.reader.u8()? {
            tag if tag == demanded => Ok(()),
            tag => Err(DecodeError::Expected { offset, expected, tag }),
        }
    }

    fn pid_fields(&mut self) -> Result<ExternalPid, DecodeError> {
        let node = self.atom()?;
        let (id, serial) = (self.reader.u32()?, self.reader.u32()?);
        Ok(ExternalPid { node, id, serial, creation: self.reader.u32()? })
    }

    fn reference_fields(&mut self, offset: usize) -> Result<Reference, DecodeError> {
        let count = self.reader.u16()?;
        let error = DecodeError::Words { offset, words: count };
        if usize::from(count) > Reference::MAX_WORDS {
            return Err(error);
        }
        let node = self.atom()?;
        let creation = self.reader.u32()?;
        let mut words = [0; Reference::MAX_WORDS];
        let words = &mut words[..count.into()];
        for word in &mut *words {
            *word = self.reader.u32()?;
        }
        Reference::new(node, creation, words).map_err(|_| error)
    }

    fn atom_text(&mut self, tag: u8, offset: usize) -> Result<AtomText<'a>, DecodeError> {
        let text = match tag {
            tag::ATOM_CACHE_REF => {
                let index = self.reader.u8()?;
                let error = DecodeError::CachedAtom { offset, index, known: self.cached.len() };
                return self.cached.get(usize::from(index)).map(AtomText::Cached).ok_or(error);
            }
            tag::SMALL_ATOM_UTF8 | tag::ATOM_UTF8 => {
                let bytes = self.atom_bytes(tag == tag::ATOM_UTF8)?;
                str::from_utf8(bytes).map_err(|_| DecodeError::Utf8 { offset })?.into()
            }
            tag::SMALL_ATOM | tag::ATOM => latin1(self.atom_bytes(tag == tag::ATOM)?),
            tag => return Err(DecodeError::Expected { offset, expected: "an atom", tag }),
        };
        Atom::check(&text)
            .map_err(|error| DecodeError::AtomLength { offset, characters: error.characters })?;
        Ok(AtomText::Text(text))
    }

    fn atom_bytes(&mut self, long: bool) -> Result<&'a [u8], Short> {
        if long {
            return self.reader.counted_u16();
        }
        let length = self.reader.u8()?;
        self.reader.take(length.into())
    }

    fn big(&mut self, offset: usize, length: usize) -> Result<TermToken<'a>, DecodeError> {
        let limit = self.limits.integer_bytes;
        if length > limit {
            return Err(DecodeError::Integer { offset, bytes: length, limit });
        }
        let sign = self.reader.u8()?;
        let magnitude = self.reader.take(length)?;
        if sign > 1 {
            return Err(DecodeError::Sign { offset, sign });
        }
        let number = BigInt::new(sign == 1, magnitude);
        Ok(number.to_i64().map_or(TermToken::Big(number), TermToken::Int))
    }

    fn bits(&mut self, offset: usize) -> Result<TermToken<'a>, DecodeError> {
        let length = self.length()?;
        let bits = self.reader.u8()?;
        let bytes = self.reader.take(length)?;
        match bits {
            8 if !bytes.is_empty() => Ok(TermToken::Binary(bytes)),
            1..=7 if !bytes.is_empty() => Ok(TermToken::Bits(bytes, bits)),
            bits => Err(DecodeError::Bits { offset, bytes: length, bits }),
        }
    }

    fn fun(&mut self, offset: usize) -> Result<TermToken<'a>, DecodeError> {
        let size = self.reader.u32()?;
        let arity = self.reader.u8()?;
        let uniq = self.reader.array()?;
        let index = self.reader.u32()?;
        let free = self.length()?;
        let module = self.atom()?;
        let (old_index, old_uniq) = (self.small()?, self.small()?);
        let pid = self.pid()?;
        self.claim(offset, free, 1, 0)?;
        let head = FunHead { offset, size, arity, uniq, index, module, old_index, old_uniq, pid };
        Ok(TermToken::Fun(Box::new(head), free))
    }

    fn record(&mut self, offset: usize) -> Result<TermToken<'a>, DecodeError> {
        let count = self.length()?;
        let flags = self.reader.u8()?;
        let (module, name) = (self.atom()?, self.atom()?);
        // Each field has a name of at least two bytes and a value.
        self.claim(offset, count, 3, 0)?;
        let fields = (0..count).map(|_| self.atom()).collect::<Result<_, _>>()?;
        Ok(TermToken::Record(Box::new(RecordHead { flags, module, name, fields })))
    }

    fn arity(&mut self) -> Result<u8, DecodeError> {
        self.demand(tag::SMALL_INTEGER, "an arity")?;
        Ok(self.reader.u8()?)
    }

    /// Reads an integer of 64 bits where the format requires one.
    pub(crate) fn small(&mut self) -> Result<i64, DecodeError> {
        let (offset, tag) = (self.offset(), self.peek_tag()?);
        match self.next()? {
            TermToken::Int(number) => Ok(number),
            _ => Err(DecodeError::Expected { offset, expected: "an integer", tag }),
        }
    }

    fn length(&mut self) -> Result<usize, Short> {
        // A length that does not fit into `usize` is longer than any input.
        Ok(usize::try_from(self.reader.u32()?).unwrap_or(usize::MAX))
    }

    /// Checks that this many elements of at least `bytes` bytes, and `more` bytes, can follow.
    fn claim(
        &self,
        offset: usize,
        elements: usize,
        bytes: usize,
        more: usize,
    ) -> Result<(), DecodeError> {
        let left = self.left();
        let wanted = elements.checked_mul(bytes).and_then(|wanted| wanted.checked_add(more));
        if wanted.is_none_or(|wanted| wanted > left) {
            return Err(DecodeError::Claim { offset, claimed: elements as u64, left });
        }
        Ok(())
    }

    fn count(&mut self, terms: usize) -> Result<(), DecodeError> {
        let limit = self.limits.terms;
        self.terms = self.terms.saturating_add(terms);
        if self.terms > limit {
            return Err(DecodeError::Terms { offset: self.offset(), limit });
        }
        Ok(())
    }
}

/// Decodes Latin-1: each byte is the character with its number. ASCII is not copied.
fn latin1(bytes: &[u8]) -> Cow<'_, str> {
    match str::from_utf8(bytes) {
        Ok(text) if text.is_ascii() => Cow::Borrowed(text),
        _ => Cow::Owned(bytes.iter().map(|&byte| char::from(byte)).collect()),
    }
}
