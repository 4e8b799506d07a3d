//! The heads of terms: a tag with its fixed fields.

use super::atom::Atom;
use super::decode_error::DecodeError;
use super::float::Float;
use super::identity::{ExternalPid, Port, Reference};
use super::integer::BigInt;
use std::borrow::Cow;

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
    #[inline]
    pub(super) fn is_open(&self) -> bool {
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
    pub(super) fn announced(&self) -> usize {
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
