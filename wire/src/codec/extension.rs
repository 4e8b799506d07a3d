//! Types that the codec writes and reads not by what they hold, but as somebody else says: pids, tokens of
//! replies, recipients.
//!
//! Such a type is a newtype struct for serde, with a name that begins with `krarup.`, and holds a text, a number or
//! bytes, which every other format writes as they are. Names of this crate's own are `krarup.Term` and `krarup.Atom`;
//! all others are the extension's.

use crate::etf::Term;

/// What a type of the extension holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExtensionValue {
    /// A text.
    Text(String),
    /// A number.
    Number(u64),
    /// Bytes.
    Bytes(Vec<u8>),
}

/// Writes and reads the types whose names begin with `krarup.`.
pub trait Extension {
    /// Appends the term of such a value. `false` if the value has no term: then it takes no place in the tuple or map it
    /// lies in, and a variant that holds nothing else is an atom.
    ///
    /// # Errors
    /// Why it cannot be written.
    fn write(
        &mut self,
        name: &'static str,
        held: &ExtensionValue,
        out: &mut Vec<u8>,
    ) -> Result<bool, String>;

    /// Whether such a value is read from a term; if not, it took no place where it was written.
    fn has_term(&self, name: &'static str) -> bool;

    /// Whether a field of a struct, which the map that is read does not have, is of a type that has no term now. A map
    /// says nothing of the types of fields that it does not have, so it is known by its name.
    fn is_field_without_term(&self, _field: &str) -> bool {
        false
    }

    /// What such a value is to hold: read from its term, or without one as [`Extension::has_term`] says.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn read(&mut self, name: &'static str, term: Option<Term>) -> Result<ExtensionValue, String>;
}

/// Knows no types.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoExtension;

impl Extension for NoExtension {
    fn write(
        &mut self,
        _: &'static str,
        _: &ExtensionValue,
        _: &mut Vec<u8>,
    ) -> Result<bool, String> {
        Err("it exists within a cluster only".to_owned())
    }

    fn has_term(&self, _: &'static str) -> bool {
        true
    }

    fn read(&mut self, _: &'static str, _: Option<Term>) -> Result<ExtensionValue, String> {
        Err("it exists within a cluster only".to_owned())
    }
}

/// What the names of these types begin with.
pub(crate) const PREFIX: &str = "krarup.";
/// The type that holds a term, as its bytes without a version.
pub(crate) const TERM: &str = "krarup.Term";
/// The type that holds an atom, as its text.
pub(crate) const ATOM: &str = "krarup.Atom";
