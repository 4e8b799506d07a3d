//! Why a value cannot be encoded as a term, or decoded from one.

use crate::etf::{AtomError, DecodeError, EncodeError, WriteLimitError};
use crate::text::cut;
use std::fmt;

/// Why a value cannot be encoded as a term.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteTermError {
    /// A float is infinite or not a number, which Erlang does not support.
    #[error("{value} is not a finite float")]
    Float {
        /// The float as text.
        value: String,
    },
    /// A length does not fit into its field.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// A name is too long for an atom.
    #[error(transparent)]
    Atom(#[from] AtomError),
    /// Two keys of a map are equal.
    #[error("two keys of a map are equal")]
    EqualKeys,
    /// The value is nested deeper than can be decoded:
    /// [`Limits::TYPED_DEPTH`](crate::etf::Limits::TYPED_DEPTH).
    #[error("nested deeper than {limit}")]
    Depth {
        /// The limit.
        limit: usize,
    },
    /// The value is larger than can be read: [`WriteLimits`](crate::etf::WriteLimits).
    #[error(transparent)]
    Limit(#[from] WriteLimitError),
    /// The extension does not support the type with this name, or not this value.
    #[error("{name} cannot be written: {why}")]
    Extension {
        /// The name of the type, such as `krarup.Pid`.
        name: &'static str,
        /// The cause.
        why: String,
    },
    /// An error of the implementation of `Serialize`.
    #[error("{0}")]
    Custom(String),
}

impl serde::ser::Error for WriteTermError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        WriteTermError::Custom(message.to_string())
    }
}

/// Why a value cannot be decoded from a term, and the place in the value (expected rule Zterm10).
///
/// It prints as `add, element 1: expected i64, found atom foo`.
#[derive(Clone, PartialEq, Eq)]
pub struct ReadError(Box<ErrorInner>);

#[derive(Clone, PartialEq, Eq)]
struct ErrorInner {
    cause: ReadCause,
    /// The path to the place, innermost step first.
    path: Vec<ValueStep>,
}

/// The cause of a [`ReadError`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadCause {
    /// The bytes are not a term, or are over a limit.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The term is of another kind than the type requires.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// The kind that the type requires.
        expected: String,
        /// The kind of the term and its text, cut at 60 characters.
        found: String,
    },
    /// The value is nested deeper than the limit.
    #[error("nested deeper than {limit}")]
    Depth {
        /// The limit.
        limit: usize,
    },
    /// The extension does not support the type with this name, or not this term.
    #[error("{name} cannot be read: {why}")]
    Extension {
        /// The name of the type, such as `krarup.Pid`.
        name: &'static str,
        /// The cause.
        why: String,
    },
    /// An error of the implementation of `Deserialize`, cut at 500 characters.
    #[error("{0}")]
    Custom(String),
}

/// A step from a value to a nested one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueStep {
    /// Into a variant, given by its atom.
    Variant(String),
    /// To the element with this number. The first is 1, and the name of a variant does not
    /// count.
    Element(usize),
    /// To the value of this field or key.
    Field(String),
    /// To a key of a map.
    Key,
}

impl fmt::Display for ValueStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueStep::Variant(name) => f.write_str(name),
            ValueStep::Element(number) => write!(f, "element {number}"),
            ValueStep::Field(name) => write!(f, "field {name}"),
            ValueStep::Key => f.write_str("a key"),
        }
    }
}

impl ReadError {
    pub(super) fn new(cause: ReadCause) -> Self {
        ReadError(Box::new(ErrorInner { cause, path: Vec::new() }))
    }

    pub(super) fn within(mut self, step: ValueStep) -> Self {
        self.0.path.push(step);
        self
    }

    /// Returns the cause.
    #[must_use]
    pub fn cause(&self) -> &ReadCause {
        &self.0.cause
    }

    /// Returns the path from the value to the place, outermost step first.
    pub fn path(&self) -> impl Iterator<Item = &ValueStep> {
        self.0.path.iter().rev()
    }
}

impl From<DecodeError> for ReadError {
    fn from(error: DecodeError) -> Self {
        ReadError::new(error.into())
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut end = "";
        for (at, step) in self.path().enumerate() {
            write!(f, "{}{step}", if at == 0 { "" } else { ", " })?;
            end = ": ";
        }
        write!(f, "{end}{}", self.cause())
    }
}

impl fmt::Debug for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ReadError").field(&self.to_string()).finish()
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause().source()
    }
}

impl serde::de::Error for ReadError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        // Messages of serde contain the value found, which may be of any length.
        ReadError::new(ReadCause::Custom(cut(message, 500)))
    }
}
