//! Types that the codec encodes and decodes not by their contents but through an
//! extension: pids, reply tokens, recipients.
//!
//! For serde, such a type is a newtype struct with a name that begins with `krarup.`. It
//! contains a text, a number or bytes, which any other format writes as they are. The names
//! `krarup.Term` and `krarup.Atom` belong to this crate. All others belong to the extension.

use crate::etf::Term;

/// The contents of an extension type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExtensionValue {
    /// A text.
    Text(String),
    /// A number.
    Number(u64),
    /// Bytes.
    Bytes(Vec<u8>),
}

/// Encodes and decodes the types whose names begin with `krarup.`.
pub trait Extension {
    /// Appends the term of such a value. Returns `false` if the value has no term. Then it
    /// is left out of the surrounding tuple or map, and a variant with no other contents
    /// is an atom.
    ///
    /// # Errors
    /// The cause for which it cannot be encoded.
    fn write(
        &mut self,
        name: &'static str,
        held: &ExtensionValue,
        out: &mut Vec<u8>,
    ) -> Result<bool, String>;

    /// Whether such a value is decoded from a term. If not, it was left out when it was encoded.
    fn has_term(&self, name: &'static str) -> bool;

    /// Whether a struct field that is missing in the decoded map is of a type that has no
    /// term now. A map does not contain the types of missing fields, so the field is
    /// identified by its name.
    fn is_field_without_term(&self, _field: &str) -> bool {
        false
    }

    /// Returns the contents of such a value, decoded from its term, or without one if
    /// [`Extension::has_term`] returns false.
    ///
    /// # Errors
    /// The cause for which it cannot be decoded.
    fn read(&mut self, name: &'static str, term: Option<Term>) -> Result<ExtensionValue, String>;
}

/// An extension without types.
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

/// The prefix of the names of these types.
pub(crate) const PREFIX: &str = "krarup.";
/// The type that contains a term, as its bytes without a version byte.
pub(crate) const TERM: &str = "krarup.Term";
/// The type that contains an atom, as its text.
pub(crate) const ATOM: &str = "krarup.Atom";
