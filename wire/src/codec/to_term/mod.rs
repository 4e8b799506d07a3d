//! Rust values as terms: serde's data model encoded directly, without a
//! [`Term`](crate::etf::Term) in between.
//!
//! Each method appends one term and returns whether it did: an extension type may have no
//! term. Lengths that are not known in advance are filled in at the end.

mod compound;
mod value;

use super::error::WriteTermError;
use super::extension::Extension;
use super::options::{Absent, Names, Structs};
use crate::codec::TermCodec;
use crate::etf::encode::{write_atom, write_float, write_tuple_head};
use crate::etf::{Atom, Limits, WriteLimitError, WriteLimits};
use serde::ser::Serialize;

/// Encodes values.
pub(super) struct ToTerm<'o> {
    pub(super) out: &'o mut Vec<u8>,
    pub(super) names: Names,
    pub(super) structs: Structs,
    pub(super) absent: Absent,
    pub(super) extension: &'o mut dyn Extension,
    /// The current depth of nesting.
    pub(super) depth: usize,
    limits: &'o WriteLimits,
    /// The offset of the value.
    start: usize,
    /// The length of `out` from which on it may be over a limit.
    check_at: usize,
}

impl<'o> ToTerm<'o> {
    pub(super) fn new(
        codec: TermCodec,
        limits: &'o WriteLimits,
        out: &'o mut Vec<u8>,
        extension: &'o mut dyn Extension,
    ) -> Self {
        let TermCodec { names, structs, absent } = codec;
        let start = out.len();
        // Each term takes a byte at least, so a shorter one is within all limits.
        let check_at = start + limits.terms.terms.min(limits.bytes);
        ToTerm { out, names, structs, absent, extension, depth: 0, limits, start, check_at }
    }

    /// Checks the whole value against the limits (rule Zterm11).
    pub(super) fn end(&self) -> Result<(), WriteTermError> {
        self.check_room(0)?;
        Ok(self.limits.check_terms(&self.out[self.start..])?)
    }

    /// Checks that this many bytes more may follow.
    fn check_room(&self, bytes: usize) -> Result<(), WriteTermError> {
        let written = self.out.len() - self.start;
        Ok(self.limits.check_bytes(written.saturating_add(bytes))?)
    }

    /// Checks a compound that has this many elements so far, so that one that is far too large is
    /// not written to its end.
    fn check_elements(&mut self, count: usize) -> Result<(), WriteTermError> {
        if self.out.len() > self.check_at { self.check_long(count) } else { Ok(()) }
    }

    #[cold]
    fn check_long(&mut self, terms: usize) -> Result<(), WriteTermError> {
        self.check_room(0)?;
        let limit = self.limits.terms.terms;
        if terms > limit {
            return Err(WriteLimitError::Terms { terms, limit }.into());
        }
        // Until then there cannot be too many.
        self.check_at = (self.out.len() + limit - terms).min(self.start + self.limits.bytes);
        Ok(())
    }

    /// Writes a term that is written already.
    fn term(&mut self, term: &[u8]) -> Result<bool, WriteTermError> {
        self.check_room(term.len())?;
        self.limits.check_nested(term, self.depth)?;
        self.out.extend(term);
        Ok(true)
    }

    fn enter(&mut self) -> Result<(), WriteTermError> {
        let limit = Limits::TYPED_DEPTH;
        if self.depth >= limit {
            return Err(WriteTermError::Depth { limit });
        }
        self.depth += 1;
        Ok(())
    }

    /// Runs `write` one level deeper. Levels are those that [`FromTerm`](super::from_term::FromTerm)
    /// counts, so that whatever is written can be read.
    fn nested<T>(
        &mut self,
        write: impl FnOnce(&mut Self) -> Result<T, WriteTermError>,
    ) -> Result<T, WriteTermError> {
        self.enter()?;
        let written = write(self);
        self.depth -= 1;
        written
    }

    /// Writes the name of a variant or a unit struct.
    fn name(&mut self, name: &str) -> Result<(), WriteTermError> {
        let mut text = String::with_capacity(name.len());
        self.names.write(name, &mut text);
        self.atom(&text)
    }

    fn atom(&mut self, text: &str) -> Result<(), WriteTermError> {
        Atom::check(text)?;
        write_atom(text, self.out);
        Ok(())
    }

    fn float(&mut self, value: f64) -> Result<bool, WriteTermError> {
        if !value.is_finite() {
            return Err(WriteTermError::Float { value: value.to_string() });
        }
        write_float(value, self.out);
        Ok(true)
    }

    /// Writes a `Result`: `{ok, V}`, or `ok` if `V` is `ok`; `{error, E}`, or `error` if `E` has
    /// no term.
    fn result<T: Serialize + ?Sized>(
        &mut self,
        is_ok: bool,
        value: &T,
    ) -> Result<bool, WriteTermError> {
        let start = self.out.len();
        write_tuple_head(2, self.out)?;
        write_atom(if is_ok { "ok" } else { "error" }, self.out);
        let value_start = self.out.len();
        let has_term = value.serialize(&mut *self)?;
        let mut ok = Vec::new();
        write_atom("ok", &mut ok);
        // A variant whose value has no term is its name alone.
        if !has_term || is_ok && self.out[value_start..] == ok {
            self.out.truncate(start);
            write_atom(if is_ok { "ok" } else { "error" }, self.out);
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
