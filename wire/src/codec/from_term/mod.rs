//! Terms as Rust values: bytes decoded as serde requests them, without a [`Term`] in between.
//!
//! Each step compares the kind that the type requires with the kind of the term. If they
//! differ, the error contains both, and the path to the place (rule Zterm10). Decoding is
//! recursive, as types are, and limited to a depth of 256.
//!
//! | file | reads |
//! |---|---|
//! | `value` | each kind that serde requests |
//! | `tuple`, `list`, `map`, `variant` | the elements of a compound |
//! | `special` | types that have their own term, or none |

mod list;
mod map;
mod special;
mod tuple;
mod value;
mod variant;

use super::error::{ReadCause, ReadError};
use super::extension::Extension;
use super::options::{Names, Structs};
use crate::etf::token::TermToken;
use crate::etf::tokens::Tokens;
use crate::etf::{Limits, Term, decode, tag};
use crate::text::cut;

/// Decodes values.
pub(super) struct FromTerm<'x, 'de> {
    pub(super) tokens: Tokens<'de>,
    pub(super) names: Names,
    pub(super) structs: Structs,
    pub(super) extension: &'x mut dyn Extension,
    /// The current depth of nesting.
    pub(super) depth: usize,
}

impl FromTerm<'_, '_> {
    fn enter(&mut self) -> Result<(), ReadError> {
        let limit = self.tokens.limits().depth.min(Limits::TYPED_DEPTH);
        if self.depth >= limit {
            return Err(ReadError::new(ReadCause::Depth { limit }));
        }
        self.depth += 1;
        Ok(())
    }

    /// Runs `read` one level deeper.
    fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, ReadError>,
    ) -> Result<T, ReadError> {
        self.enter()?;
        let value = read(self);
        self.depth -= 1;
        value
    }

    /// Creates the error for a term of the wrong kind at this offset.
    fn mismatch(&self, expected: impl Into<String>, offset: usize) -> ReadError {
        let expected = expected.into();
        match decode::read(&mut self.tokens.again_at(offset)) {
            Ok(term) => ReadError::new(ReadCause::Expected { expected, found: describe(&term) }),
            Err(error) => error.into(),
        }
    }

    /// Whether the next term is an atom with one of these texts.
    fn next_is_atom(&self, texts: &[&str]) -> bool {
        let Ok(tag) = self.tokens.peek_tag() else { return false };
        if !is_atom(tag) {
            return false;
        }
        let atom = self.tokens.again_at(self.tokens.offset()).next();
        matches!(&atom, Ok(TermToken::Atom(text)) if texts.contains(&text.as_str()))
    }

    fn take_atom(&mut self, texts: &[&str]) -> Result<bool, ReadError> {
        let is = self.next_is_atom(texts);
        if is {
            self.tokens.next()?;
        }
        Ok(is)
    }
}

fn is_atom(tag: u8) -> bool {
    matches!(
        tag,
        tag::ATOM | tag::SMALL_ATOM | tag::ATOM_UTF8 | tag::SMALL_ATOM_UTF8 | tag::ATOM_CACHE_REF
    )
}

/// Returns the kind of a term and its text, cut at a limit.
fn describe(term: &Term) -> String {
    const CHARACTERS: usize = 60;
    let kind = match term {
        Term::Int(_) | Term::Big(_) => "integer",
        Term::Float(_) => "float",
        Term::Atom(_) => "atom",
        Term::Binary(_) => "binary",
        Term::Bits(_) => "bit string",
        Term::Tuple(_) => "tuple",
        Term::List(_) | Term::Improper(_) => "list",
        Term::Map(_) => "map",
        Term::Pid(_) => "pid",
        Term::Port(_) => "port",
        Term::Reference(_) => "reference",
        Term::Fun(_) | Term::Export(_) => "fun",
        Term::Record(_) => "record",
    };
    format!("{kind} {}", cut(term, CHARACTERS))
}
