//! The trace context of the W3C: which trace a message belongs to, and which span has sent it.
//!
//! ```text
//!   00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
//!   version   trace id                     span id        flags (01: sampled)
//! ```

use std::fmt;
use std::num::{NonZeroU64, NonZeroU128};
use thiserror::Error;

/// A position in a distributed trace, as the header `traceparent` of the W3C gives it.
///
/// A context is brought along with [`TraceContext::parse`], and code runs in it with
/// [`TraceContext::enter`]. Messages that are sent there carry it, and their handlers have it as
/// the current one ([`TraceContext::current`]): what they send, call and spawn belongs to the
/// same trace.
///
/// ```
/// # mod krarup { pub use krarup_act as observe; }
/// use krarup::observe::TraceContext;
///
/// let header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
/// let context = TraceContext::parse(header)?;
/// assert!(context.is_sampled());
/// assert_eq!(context.to_string(), header);
/// assert_eq!(context.enter(TraceContext::current), Some(context));
/// # Ok::<(), krarup_act::TraceParentError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceContext {
    trace_id: NonZeroU128,
    span_id: NonZeroU64,
    sampled: bool,
    /// How many messages lie between the begin of the trace and here.
    hops: u8,
}

/// Why a text is no `traceparent`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TraceParentError {
    /// It has not the length that its version prescribes.
    #[error("a traceparent of {length} bytes is not 55 bytes long")]
    Length {
        /// The bytes that it has.
        length: usize,
    },
    /// A part is not made of as many lower case hexadecimal digits as it should be.
    #[error("{part} of the traceparent is not {digits} lower case hexadecimal digits")]
    Digits {
        /// The part.
        part: &'static str,
        /// How many digits it should have.
        digits: usize,
    },
    /// The version is `ff`, which the W3C forbids.
    #[error("version ff of a traceparent is forbidden")]
    Version,
    /// An id is zero.
    #[error("{part} of the traceparent is zero")]
    Zero {
        /// The id.
        part: &'static str,
    },
}

/// The length of a `traceparent` of version 00.
const LENGTH: usize = 55;

impl TraceContext {
    /// Makes a sampled context. `None` if an id is zero.
    #[must_use]
    pub const fn new(trace_id: u128, span_id: u64) -> Option<Self> {
        match (NonZeroU128::new(trace_id), NonZeroU64::new(span_id)) {
            (Some(trace_id), Some(span_id)) => {
                Some(TraceContext { trace_id, span_id, sampled: true, hops: 0 })
            }
            _ => None,
        }
    }

    /// Reads a `traceparent`. Of a later version than 00 only the parts of version 00 are read.
    ///
    /// # Errors
    /// [`TraceParentError`] for anything that the W3C's Trace Context does not allow.
    pub fn parse(traceparent: &str) -> Result<Self, TraceParentError> {
        let bytes = traceparent.as_bytes();
        let wrong_length = TraceParentError::Length { length: bytes.len() };
        if bytes.len() < LENGTH {
            return Err(wrong_length);
        }
        let version = digits(bytes, 0, 2, "the version")?;
        if version == 0xff {
            return Err(TraceParentError::Version);
        }
        let longer = bytes.get(LENGTH).copied();
        if longer.is_some_and(|next| version == 0 || next != b'-') {
            return Err(wrong_length);
        }
        let trace_id = digits(bytes, 3, 32, "the trace id")?;
        let span_id = digits(bytes, 36, 16, "the span id")?;
        let flags = digits(bytes, 53, 2, "the flags")?;
        for (place, part) in [(2, "the version"), (35, "the trace id"), (52, "the span id")] {
            if bytes[place] != b'-' {
                let digits = [2, 32, 16][usize::from(place > 2) + usize::from(place > 35)];
                return Err(TraceParentError::Digits { part, digits });
            }
        }
        let trace_id =
            NonZeroU128::new(trace_id).ok_or(TraceParentError::Zero { part: "the trace id" })?;
        let span_id = u64::try_from(span_id).ok().and_then(NonZeroU64::new);
        let span_id = span_id.ok_or(TraceParentError::Zero { part: "the span id" })?;
        Ok(TraceContext { trace_id, span_id, sampled: flags & 1 == 1, hops: 0 })
    }

    /// The id of the trace.
    #[must_use]
    pub const fn trace_id(&self) -> u128 {
        self.trace_id.get()
    }

    /// The id of the span.
    #[must_use]
    pub const fn span_id(&self) -> u64 {
        self.span_id.get()
    }

    /// Whether the trace is recorded. Messages carry no context that is not.
    #[must_use]
    pub const fn is_sampled(&self) -> bool {
        self.sampled
    }

    /// How many messages and spawns lie between the begin of the trace in this node and here.
    #[must_use]
    pub const fn hops(&self) -> u8 {
        self.hops
    }

    /// A span of the same trace, this many hops later.
    pub(crate) const fn child(self, span_id: NonZeroU64, hops: u8) -> Self {
        TraceContext { span_id, hops: self.hops.saturating_add(hops), ..self }
    }

    /// The first span of a new trace.
    pub(crate) const fn root(trace_id: NonZeroU128, span_id: NonZeroU64) -> Self {
        TraceContext { trace_id, span_id, sampled: true, hops: 0 }
    }

    /// The same position under the ids that another system has given to it.
    pub(crate) const fn named(self, ids: TraceContext) -> Self {
        TraceContext { hops: self.hops, ..ids }
    }
}

/// The number that stands at this place in hexadecimal digits.
fn digits(
    bytes: &[u8],
    at: usize,
    count: usize,
    part: &'static str,
) -> Result<u128, TraceParentError> {
    bytes[at..at + count]
        .iter()
        .try_fold(0_u128, |number, byte| {
            let digit = match byte {
                b'0'..=b'9' => byte - b'0',
                b'a'..=b'f' => byte - b'a' + 10,
                _ => return None,
            };
            Some((number << 4) | u128::from(digit))
        })
        .ok_or(TraceParentError::Digits { part, digits: count })
}

/// As a `traceparent` of version 00.
impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = u8::from(self.sampled);
        write!(f, "00-{:032x}-{:016x}-{flags:02x}", self.trace_id, self.span_id)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const HEADER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn v55_a_traceparent_is_read_and_written_as_the_w3c_says() {
        let context = TraceContext::parse(HEADER).unwrap();
        assert_eq!(context.to_string(), HEADER);
        assert_eq!(context.span_id(), 0x00f0_67aa_0ba9_02b7);
        let unsampled = HEADER.replace("-01", "-00");
        assert!(!TraceContext::parse(&unsampled).unwrap().is_sampled());
        let later = HEADER.replace("00-4b", "cc-4b");
        assert_eq!(TraceContext::parse(&format!("{later}-what-comes")).unwrap(), context);
        assert_eq!(TraceContext::parse(&later).unwrap(), context);
    }

    #[test]
    fn v55_what_is_no_traceparent_is_refused_by_its_part() {
        let with = |from: &str, to: &str| TraceContext::parse(&HEADER.replace(from, to));
        let zeros = "0".repeat(32);
        let cases = [
            (TraceContext::parse(""), "a traceparent of 0 bytes is not 55 bytes long"),
            (with("-01", "-01-x"), "a traceparent of 57 bytes is not 55 bytes long"),
            (with("00-4b", "ff-4b"), "version ff of a traceparent is forbidden"),
            (with("00-4b", "0x-4b"), "the version of the traceparent is not 2"),
            (with("4bf", "4BF"), "the trace id of the traceparent is not 32"),
            (
                with("4bf92f3577b34da6a3ce929d0e0e4736", &zeros),
                "the trace id of the traceparent is",
            ),
            (with("00f067aa0ba902b7", &zeros[..16]), "the span id of the traceparent is zero"),
            (with("02b7-01", "02b7+01"), "the span id of the traceparent is not 16"),
            (with("-01", "-0g"), "the flags of the traceparent is not 2"),
            (with("4736", "47é"), "the trace id of the traceparent is not 32"),
        ];
        for (read, says) in cases {
            let error = read.expect_err(says).to_string();
            assert!(error.starts_with(says), "{error}");
        }
    }
}
