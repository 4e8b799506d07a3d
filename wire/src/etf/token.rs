//! The heads of terms: a tag with its fixed fields. Both untyped and typed decoding are
//! based on heads, so each tag is read in one place.
//!
//! Everything is validated first: a length against the bytes that are left (each element
//! takes at least one), the number of terms and the size of integers against [`Limits`].

use super::atom::{Atom, Atoms};
use super::identity::{ExternalPid, Port, Reference};
use super::integer::BigInt;
use super::limits::Limits;
use super::tag;
use super::term::Float;
use crate::reader::{Reader, Short};
use std::borrow::Cow;

/// Why a term cannot be decoded. Offsets count from the beginning of the input.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The input ended within the term.
    #[error(transparent)]
    Short(#[from] Short),
    /// The first byte is not the version of the format, 131.
    #[error("at offset {offset}: version 131 expected, found {found}")]
    Version {
        /// The place.
        offset: usize,
        /// The byte found.
        found: u8,
    },
    /// A tag that is unknown, obsolete, or not sent between nodes: 80 (compressed), 99,
    /// 101, 102, 103, 114, 117, 121 and others (rule Zterm4).
    #[error("at offset {offset}: tag {tag} is not supported")]
    Tag {
        /// The place.
        offset: usize,
        /// The tag.
        tag: u8,
    },
    /// The term is of another kind than the format requires.
    #[error("at offset {offset}: {expected} expected, found tag {tag}")]
    Expected {
        /// The place.
        offset: usize,
        /// The required item.
        expected: &'static str,
        /// The tag found.
        tag: u8,
    },
    /// More elements are announced than can fit into the remaining bytes.
    #[error("at offset {offset}: {claimed} elements do not fit in {left} bytes")]
    Claim {
        /// The place.
        offset: usize,
        /// The number of announced elements.
        claimed: u64,
        /// The number of remaining bytes.
        left: usize,
    },
    /// The term is nested deeper than [`Limits::depth`].
    #[error("at offset {offset}: nested deeper than {limit}")]
    Depth {
        /// The place.
        offset: usize,
        /// The limit.
        limit: usize,
    },
    /// There are more terms than [`Limits::terms`].
    #[error("at offset {offset}: more than {limit} terms")]
    Terms {
        /// The place.
        offset: usize,
        /// The limit.
        limit: usize,
    },
    /// An integer is longer than [`Limits::integer_bytes`].
    #[error("at offset {offset}: an integer of {bytes} bytes is over the limit of {limit}")]
    Integer {
        /// The place.
        offset: usize,
        /// The length of the integer.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The sign of an integer is neither 0 nor 1.
    #[error("at offset {offset}: sign {sign} is neither 0 nor 1")]
    Sign {
        /// The place.
        offset: usize,
        /// The sign.
        sign: u8,
    },
    /// A float is infinite or not a number.
    #[error("at offset {offset}: {bits:#018x} is not a finite float")]
    Float {
        /// The place.
        offset: usize,
        /// The bits of the float.
        bits: u64,
    },
    /// The text of an atom is not UTF-8.
    #[error("at offset {offset}: the text of the atom is not UTF-8")]
    Utf8 {
        /// The place.
        offset: usize,
    },
    /// An atom is too long.
    #[error("at offset {offset}: an atom of {characters} characters is over the limit of 255")]
    AtomLength {
        /// The place.
        offset: usize,
        /// The length of the atom.
        characters: usize,
    },
    /// A cached atom is not among those listed in the header of the frame.
    #[error("at offset {offset}: cached atom {index} is out of range: {known} are known")]
    CachedAtom {
        /// The place.
        offset: usize,
        /// The index of the atom.
        index: u8,
        /// The number of atoms that the header lists.
        known: usize,
    },
    /// A bit string has no bytes, or its last byte does not have 1 to 8 bits.
    #[error("at offset {offset}: a bit string of {bytes} bytes with {bits} bits in the last")]
    Bits {
        /// The place.
        offset: usize,
        /// The number of bytes.
        bytes: usize,
        /// The announced number of bits of the last byte.
        bits: u8,
    },
    /// A reference does not have 1 to 5 words.
    #[error("at offset {offset}: a reference of {words} words")]
    Words {
        /// The place.
        offset: usize,
        /// The number of words.
        words: u16,
    },
    /// Two keys of a map are equal.
    #[error("at offset {offset}: two keys of the map are equal")]
    EqualKeys {
        /// The end of the map.
        offset: usize,
    },
    /// A fun does not have its announced size.
    #[error("at offset {offset}: a fun announced {claimed} bytes but has {found}")]
    FunSize {
        /// The start of the fun.
        offset: usize,
        /// The announced size.
        claimed: u32,
        /// The actual size.
        found: usize,
    },
    /// Bytes follow the term.
    #[error("at offset {offset}: {left} bytes follow the term")]
    Trailing {
        /// The end of the term.
        offset: usize,
        /// The number of bytes that follow.
        left: usize,
    },
}

/// The head of a term. Announced terms follow it.
#[derive(Clone, Debug)]
pub(crate) enum TermToken<'a> {
    Int(i64),
    Big(BigInt),
    Float(Float),
    Atom(AtomText<'a>),
    /// A whole list of bytes. Each byte is an integer.
    Text(&'a [u8]),
    Binary(&'a [u8]),
    /// Bytes, and the number of significant bits of the last one: 1 to 7.
    Bits(&'a [u8], u8),
    Nil,
    /// This many elements follow, then the tail.
    List(usize),
    /// This many elements follow.
    Tuple(usize),
    /// This many pairs follow.
    Map(usize),
    Pid(ExternalPid),
    Port(Port),
    Reference(Reference),
    Export {
        module: Atom,
        function: Atom,
        arity: u8,
    },
    /// This many free variables follow.
    Fun(Box<FunHead>, usize),
    /// As many values follow as there are fields.
    Record(Box<RecordHead>),
}

impl TermToken<'_> {
    /// Whether other terms may follow as parts of this one.
    fn is_open(&self) -> bool {
        matches!(
            self,
            TermToken::Tuple(_)
                | TermToken::List(_)
                | TermToken::Map(_)
                | TermToken::Fun(..)
                | TermToken::Record(_)
        )
    }

    /// The number of terms that follow as parts of this one. [`Tokens::next`] has checked that
    /// the bytes left suffice for them.
    fn announced(&self) -> usize {
        match self {
            TermToken::Tuple(count) | TermToken::Fun(_, count) => *count,
            TermToken::List(count) => count + 1,
            TermToken::Map(pairs) => pairs * 2,
            TermToken::Record(head) => head.fields.len(),
            _ => 0,
        }
    }
}

/// The text of an atom that is not an [`Atom`] yet.
#[derive(Clone, Debug)]
pub(crate) enum AtomText<'a> {
    Text(Cow<'a, str>),
    Cached(&'a Atom),
}

impl AtomText<'_> {
    pub(crate) fn as_str(&self) -> &str {
        match self {
            AtomText::Text(text) => text,
            AtomText::Cached(atom) => atom.as_str(),
        }
    }
}

/// The fixed fields of a fun, without its free variables.
#[derive(Clone, Debug)]
pub(crate) struct FunHead {
    pub(crate) offset: usize,
    pub(crate) size: u32,
    pub(crate) arity: u8,
    pub(crate) uniq: [u8; 16],
    pub(crate) index: u32,
    pub(crate) module: Atom,
    pub(crate) old_index: i64,
    pub(crate) old_uniq: i64,
    pub(crate) pid: ExternalPid,
}

impl FunHead {
    /// Checks the end of the fun against its size.
    pub(crate) fn ends_at(&self, end: usize) -> Result<(), DecodeError> {
        let (offset, claimed) = (self.offset, self.size);
        // The size does not count the tag.
        let found = end - offset - 1;
        if usize::try_from(claimed) == Ok(found) {
            Ok(())
        } else {
            Err(DecodeError::FunSize { offset, claimed, found })
        }
    }
}

/// The fixed fields of a native record, without its values.
#[derive(Clone, Debug)]
pub(crate) struct RecordHead {
    pub(crate) flags: u8,
    pub(crate) module: Atom,
    pub(crate) name: Atom,
    pub(crate) fields: Vec<Atom>,
}

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

    /// Skips the next term, of any depth, without recursion.
    pub(crate) fn skip(&mut self) -> Result<(), DecodeError> {
        // Each count is at most the number of bytes left, and there are at most as many counts.
        let mut left = 1_u128;
        while left > 0 {
            left -= 1;
            left += self.next()?.announced() as u128;
        }
        Ok(())
    }

    /// Skips the next term, without recursion, as deep as [`Limits::depth`] allows.
    pub(crate) fn skip_within_depth(&mut self) -> Result<(), DecodeError> {
        let limit = self.limits.depth;
        // The number of terms left in each open term, and whether the last is the tail of a list.
        let mut open: Vec<(usize, bool)> = Vec::new();
        let mut is_tail = false;
        loop {
            let token = self.next()?;
            if token.is_open() {
                let is_list = matches!(token, TermToken::List(_));
                if is_tail && is_list {
                    // More elements of the same list.
                    open.pop();
                }
                if open.len() >= limit {
                    return Err(DecodeError::Depth { offset: self.offset(), limit });
                }
                open.push((token.announced(), is_list));
            }
            while matches!(open.last(), Some((0, _))) {
                open.pop();
            }
            let Some((left, is_list)) = open.last_mut() else { return Ok(()) };
            *left -= 1;
            is_tail = *left == 0 && *is_list;
        }
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
        if free == 0 {
            head.ends_at(self.offset())?;
        }
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
