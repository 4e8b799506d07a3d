//! The limits on what is written: a node with the default limits can read it (rule Zterm11).

use super::decode_error::DecodeError;
use super::limits::Limits;
use super::tokens::Tokens;

/// The limits on a term that is written as a message, or as a part of one. They are those of a
/// node with [`FrameLimits::DEFAULT`](crate::frame::FrameLimits::DEFAULT), less the room for what
/// a message is wrapped in. Nodes of OTP read more, but what is sent has the same limits for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriteLimits {
    /// The greatest length, in bytes.
    pub bytes: usize,
    /// The greatest depth, number of terms, and length of an integer.
    pub terms: Limits,
}

/// What is written is over a limit of those who read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteLimitError {
    /// It is longer than [`WriteLimits::bytes`].
    #[error("a message of at least {bytes} bytes is over the limit of {limit} bytes")]
    Bytes {
        /// Its length as far as it was written.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// It has more terms than [`Limits::terms`]. Each element of a list counts.
    #[error("a message of at least {terms} terms is over the limit of {limit} terms")]
    Terms {
        /// The number of terms as far as they were counted.
        terms: usize,
        /// The limit.
        limit: usize,
    },
    /// It is nested deeper than [`Limits::depth`].
    #[error("a message nested deeper than {limit} is over the limit")]
    Depth {
        /// The limit.
        limit: usize,
    },
    /// An integer is longer than [`Limits::integer_bytes`].
    #[error("an integer of {bytes} bytes is over the limit of {limit} bytes")]
    Integer {
        /// Its length.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
}

impl WriteLimits {
    /// The greatest length of a message that a node with the default limits reads, in bytes.
    pub(crate) const MESSAGE_BYTES: usize = 128 << 20;

    /// The bytes left free for what a message is wrapped in, such as the caller of a call: its
    /// atoms have at most 1 020 bytes each.
    pub const WRAP_BYTES: usize = 4 << 10;

    /// The default limits: 128 MiB less 4 KiB, 4 million terms less 64, and depth 2 044.
    pub const DEFAULT: WriteLimits = WriteLimits {
        bytes: Self::MESSAGE_BYTES - Self::WRAP_BYTES,
        terms: Limits {
            depth: Limits::DEFAULT.depth - 4,
            terms: Limits::DEFAULT.terms - 64,
            integer_bytes: Limits::DEFAULT.integer_bytes,
        },
    };

    /// Checks a term that was written, without a version byte. A short one costs a comparison.
    ///
    /// # Errors
    /// [`WriteLimitError`].
    pub fn check(&self, term: &[u8]) -> Result<(), WriteLimitError> {
        self.check_bytes(term.len())?;
        self.check_nested(term, 0)?;
        self.check_terms(term)
    }

    pub(crate) fn check_bytes(&self, bytes: usize) -> Result<(), WriteLimitError> {
        let limit = self.bytes;
        if bytes > limit { Err(WriteLimitError::Bytes { bytes, limit }) } else { Ok(()) }
    }

    /// Checks the depth and the integers of a term that is this number of levels below the
    /// outermost one.
    pub(crate) fn check_nested(&self, term: &[u8], levels: usize) -> Result<(), WriteLimitError> {
        // Each level takes a byte at least.
        let limits = Limits { terms: usize::MAX, ..self.terms };
        if term.len() <= limits.integer_bytes.min(limits.depth.saturating_sub(levels)) {
            return Ok(());
        }
        match Tokens::new(term, limits).skip_within_depth(levels) {
            Err(DecodeError::Depth { limit, .. }) => Err(WriteLimitError::Depth { limit }),
            Err(DecodeError::Integer { bytes, limit, .. }) => {
                Err(WriteLimitError::Integer { bytes, limit })
            }
            _ => Ok(()),
        }
    }

    /// Checks the number of terms.
    pub(crate) fn check_terms(&self, term: &[u8]) -> Result<(), WriteLimitError> {
        let limit = self.terms.terms;
        // Each term takes a byte at least.
        if term.len() <= limit {
            return Ok(());
        }
        let mut tokens = Tokens::new(term, Limits::NONE);
        // It was written by this node. If it is no term after all, its reader says so.
        let _ = tokens.skip();
        let terms = tokens.terms();
        if terms > limit { Err(WriteLimitError::Terms { terms, limit }) } else { Ok(()) }
    }
}

impl Default for WriteLimits {
    fn default() -> Self {
        WriteLimits::DEFAULT
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::etf::{BigInt, Decoder, Term};
    use std::sync::Arc;

    const SMALL: WriteLimits =
        WriteLimits { bytes: 40, terms: Limits { depth: 3, terms: 10, integer_bytes: 12 } };

    fn check(term: &Term) -> Result<(), WriteLimitError> {
        let mut bytes = Vec::new();
        term.write(&mut bytes).unwrap();
        let checked = SMALL.check(&bytes);
        let read = Decoder::with_limits(&bytes, SMALL.terms).last_term();
        assert_eq!(checked.is_ok(), read.is_ok() && bytes.len() <= SMALL.bytes, "{term}");
        checked
    }

    #[test]
    fn zterm11_a_term_at_each_limit_is_written_and_one_over_it_is_not() {
        let nested = |depth| (0..depth).fold(Term::Int(1), |term, _| Term::tuple([term]));
        assert_eq!(check(&nested(3)), Ok(()));
        // Nine bytes may be nested deeper than three.
        assert_eq!(check(&nested(4)), Err(WriteLimitError::Depth { limit: 3 }));
        let list = |count| Term::list(vec![Term::Int(-1); count]);
        assert_eq!(check(&Term::binary(vec![0; 35])), Ok(()));
        let error = WriteLimitError::Bytes { bytes: 41, limit: 40 };
        assert_eq!(check(&Term::binary(vec![0; 36])), Err(error));
        // A list, its elements and its end.
        let nils = |count| Term::tuple(vec![Term::nil(); count]);
        assert_eq!(check(&nils(9)), Ok(()));
        assert_eq!(check(&nils(10)), Err(WriteLimitError::Terms { terms: 11, limit: 10 }));
        assert_eq!(check(&list(6)), Ok(()));
        // A string is a list of its bytes.
        let text = |count| Term::list(vec![Term::Int(1); count]);
        assert_eq!(check(&text(9)), Ok(()));
        assert_eq!(check(&text(10)), Err(WriteLimitError::Terms { terms: 11, limit: 10 }));
        let big = |bytes| Term::Big(Arc::new(BigInt::new(false, &vec![1; bytes])));
        assert_eq!(check(&big(12)), Ok(()));
        assert_eq!(check(&big(13)), Err(WriteLimitError::Integer { bytes: 13, limit: 12 }));
    }

    #[test]
    fn zterm11_what_is_written_has_room_for_what_it_is_wrapped_in() {
        let (written, read) = (WriteLimits::DEFAULT, Limits::DEFAULT);
        let read_bytes = crate::frame::FrameLimits::DEFAULT.message_bytes;
        assert!(written.bytes + WriteLimits::WRAP_BYTES <= read_bytes);
        assert!(written.terms.terms < read.terms && written.terms.depth < read.depth);
        assert!(written.terms.integer_bytes <= read.integer_bytes);
    }
}
