//! Why control messages cannot be decoded.

use crate::etf::DecodeError;

/// Why a control message cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ControlError {
    /// A term in it cannot be decoded, or has another type than the message requires.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// It is not a tuple.
    #[error("a control message is a tuple, not a term of tag {tag}")]
    NoTuple {
        /// The tag of the term.
        tag: u8,
    },
    /// The number of the message is unknown or obsolete.
    #[error("control message {number} is unknown")]
    Unknown {
        /// The number.
        number: i64,
    },
    /// The tuple has another size than the message.
    #[error("control message {number} is a tuple of {expected}, not of {found}")]
    Arity {
        /// The number of the message.
        number: i64,
        /// The size of the message.
        expected: usize,
        /// The size of the tuple.
        found: usize,
    },
    /// A field has an invalid value: the number of an unlink, an arity, or flags.
    #[error("control message {number} has the impossible value {value} as its {field}")]
    Value {
        /// The number of the message.
        number: i64,
        /// The name of the field.
        field: &'static str,
        /// Its value.
        value: i128,
    },
}
