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
use crate::etf::encode::{write_atom, write_float, write_tuple_head};
use crate::etf::{Atom, Limits};
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
}

impl ToTerm<'_> {
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
