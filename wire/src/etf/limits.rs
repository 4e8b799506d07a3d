//! What a term from outside may cost at most.

/// What a term that is read may cost at most (rule Zterm6). A term over a limit is an error, before
/// anything is allocated for what is over it.
///
/// With these the memory of a term that was read is bounded twice: by about 100 bytes for each byte of the
/// input, since a term takes one byte at least, and by 100 bytes for each of [`Limits::terms`] and
/// four times the length of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// How deep terms may be nested: `{{}}` is 2. For typed reads, which are recursive, 256 at most.
    pub depth: usize,
    /// How many terms there may be in one message, those inside of others counted; a list of bytes
    /// counts each of them.
    pub terms: usize,
    /// The greatest length of an integer, in bytes of its magnitude.
    pub integer_bytes: usize,
}

impl Limits {
    /// The greatest depth of typed reads.
    pub const TYPED_DEPTH: usize = 256;

    /// The limits unless told otherwise: depth 2 048, 4 million terms, integers of 4 KiB.
    pub const DEFAULT: Limits = Limits { depth: 2_048, terms: 4_000_000, integer_bytes: 4_096 };
}

impl Default for Limits {
    fn default() -> Self {
        Limits::DEFAULT
    }
}
