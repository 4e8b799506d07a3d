//! Why terms cannot be decoded.

use crate::reader::Short;

/// Why a term cannot be decoded. Offsets count from the beginning of the input.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The input ended within the term.
    #[error(transparent)]
    Short(#[from] Short),
    /// The first byte is not the version of the format, 131.
    #[error("at offset {offset}: version 131 expected, found {found}")]
    Version {
        /// The place.
        offset: usize,
        /// The byte found.
        found: u8,
    },
    /// A tag that is unknown, obsolete, or not sent between nodes: 80 (compressed), 99,
    /// 101, 102, 103, 114, 117, 121 and others (rule Zterm4).
    #[error("at offset {offset}: tag {tag} is not supported")]
    Tag {
        /// The place.
        offset: usize,
        /// The tag.
        tag: u8,
    },
    /// The term is of another kind than the format requires.
    #[error("at offset {offset}: {expected} expected, found tag {tag}")]
    Expected {
        /// The place.
        offset: usize,
        /// The required item.
        expected: &'static str,
        /// The tag found.
        tag: u8,
    },
    /// More elements are announced than can fit into the remaining bytes.
    #[error("at offset {offset}: {claimed} elements do not fit in {left} bytes")]
    Claim {
        /// The place.
        offset: usize,
        /// The number of announced elements.
        claimed: u64,
        /// The number of remaining bytes.
        left: usize,
    },
    /// The term is nested deeper than [`Limits::depth`](super::Limits::depth).
    #[error("at offset {offset}: nested deeper than {limit}")]
    Depth {
        /// The place.
        offset: usize,
        /// The limit.
        limit: usize,
    },
    /// There are more terms than [`Limits::terms`](super::Limits::terms).
    #[error("at offset {offset}: more than {limit} terms")]
    Terms {
        /// The place.
        offset: usize,
        /// The limit.
        limit: usize,
    },
    /// An integer is longer than [`Limits::integer_bytes`](super::Limits::integer_bytes).
    #[error("at offset {offset}: an integer of {bytes} bytes is over the limit of {limit}")]
    Integer {
        /// The place.
        offset: usize,
        /// The length of the integer.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The sign of an integer is neither 0 nor 1.
    #[error("at offset {offset}: sign {sign} is neither 0 nor 1")]
    Sign {
        /// The place.
        offset: usize,
        /// The sign.
        sign: u8,
    },
    /// A float is infinite or not a number.
    #[error("at offset {offset}: {bits:#018x} is not a finite float")]
    Float {
        /// The place.
        offset: usize,
        /// The bits of the float.
        bits: u64,
    },
    /// The text of an atom is not UTF-8.
    #[error("at offset {offset}: the text of the atom is not UTF-8")]
    Utf8 {
        /// The place.
        offset: usize,
    },
    /// An atom is too long.
    #[error("at offset {offset}: an atom of {characters} characters is over the limit of 255")]
    AtomLength {
        /// The place.
        offset: usize,
        /// The length of the atom.
        characters: usize,
    },
    /// A cached atom is not among those listed in the header of the frame.
    #[error("at offset {offset}: cached atom {index} is out of range: {known} are known")]
    CachedAtom {
        /// The place.
        offset: usize,
        /// The index of the atom.
        index: u8,
        /// The number of atoms that the header lists.
        known: usize,
    },
    /// A bit string has no bytes, or its last byte does not have 1 to 8 bits.
    #[error("at offset {offset}: a bit string of {bytes} bytes with {bits} bits in the last")]
    Bits {
        /// The place.
        offset: usize,
        /// The number of bytes.
        bytes: usize,
        /// The announced number of bits of the last byte.
        bits: u8,
    },
    /// A reference does not have 1 to 5 words.
    #[error("at offset {offset}: a reference of {words} words")]
    Words {
        /// The place.
        offset: usize,
        /// The number of words.
        words: u16,
    },
    /// Two keys of a map are equal.
    #[error("at offset {offset}: two keys of the map are equal")]
    EqualKeys {
        /// The end of the map.
        offset: usize,
    },
    /// A fun does not have its announced size.
    #[error("at offset {offset}: a fun announced {claimed} bytes but has {found}")]
    FunSize {
        /// The start of the fun.
        offset: usize,
        /// The announced size.
        claimed: u32,
        /// The actual size.
        found: usize,
    },
    /// Bytes follow the term.
    #[error("at offset {offset}: {left} bytes follow the term")]
    Trailing {
        /// The end of the term.
        offset: usize,
        /// The number of bytes that follow.
        left: usize,
    },
}
