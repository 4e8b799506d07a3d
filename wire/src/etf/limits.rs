//! The limits on terms from outside.

/// The limits on a term that is decoded (rule Zterm6). A term over a limit is an error,
/// before anything is allocated for the excess.
///
/// These limits bound the memory of a decoded term twice: by about 100 bytes for each byte
/// of the input, since a term takes at least one byte, and by 100 bytes for each of
/// [`Limits::terms`] plus four times the length of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The greatest depth of nesting: `{{}}` is 2. Typed decoding is recursive and allows
    /// at most 256; a `Term` in a typed value may have what is left of the limit.
    pub depth: usize,
    /// The greatest number of terms in one message, including nested ones. Each element of
    /// a list of bytes counts.
    pub terms: usize,
    /// The greatest length of an integer, in bytes of its magnitude.
    pub integer_bytes: usize,
}

impl Limits {
    /// The greatest depth of typed decoding.
    pub const TYPED_DEPTH: usize = 256;

    /// No limits, for bytes that were decoded within limits before. Memory stays in proportion to
    /// the input, and the decoder does not recurse.
    pub(crate) const NONE: Limits =
        Limits { depth: usize::MAX, terms: usize::MAX, integer_bytes: usize::MAX };

    /// The default limits: depth 2 048, 4 million terms, integers of 4 KiB.
    pub const DEFAULT: Limits = Limits { depth: 2_048, terms: 4_000_000, integer_bytes: 4_096 };
}

impl Default for Limits {
    fn default() -> Self {
        Limits::DEFAULT
    }
}
