//! The errors of frames, each of which ends the connection.

use crate::control::ControlError;
use crate::etf::AtomError;
use crate::reader::Short;

/// Why a frame cannot be decoded. The connection must be closed (expected rules Zmsg6, Zmsg7, Zmsg9).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// The frame ended within its header.
    #[error("a header is cut short: {0}")]
    Short(#[from] Short),
    /// The frame is longer than `FrameLimits::frame_bytes`.
    #[error("a frame of {length} bytes is over the limit of {limit}")]
    TooLong {
        /// The length of the frame.
        length: usize,
        /// The limit.
        limit: usize,
    },
    /// A byte of the header has a value that is invalid in this form of frames.
    #[error("at offset {offset} of a frame: {expected} expected, found {found}")]
    Header {
        /// The place in the frame.
        offset: usize,
        /// The expected item.
        expected: &'static str,
        /// The byte found.
        found: u8,
    },
    /// A header refers to a place of the atom cache that was never set.
    #[error("place {place} of segment {segment} of the atom cache was never set")]
    NeverSet {
        /// The segment, 0 to 7.
        segment: u8,
        /// The place in the segment.
        place: u8,
    },
    /// The text of an atom in a header is not UTF-8.
    #[error("an atom of a header is not UTF-8")]
    Utf8,
    /// An atom in a header is too long.
    #[error(transparent)]
    Atom(#[from] AtomError),
    /// The control message cannot be decoded.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// The control message requires a payload, and there is none.
    #[error("a control message that has a payload came without one")]
    NoPayload,
    /// The control message has no payload, but bytes follow it.
    #[error("{bytes} bytes follow a control message that has no payload")]
    Payload {
        /// The number of bytes.
        bytes: usize,
    },
    /// A fragment is out of order: repeated, skipped, or of a sequence that is not open.
    #[error("fragment {found} of sequence {sequence} came where {expected} was expected")]
    OutOfTurn {
        /// The number of the sequence.
        sequence: u64,
        /// The number of the expected fragment; 0 if the sequence is not open.
        expected: u64,
        /// The number of the received fragment. Numbers count down to 1.
        found: u64,
    },
    /// A first fragment arrived for a sequence that is already open.
    #[error("sequence {sequence} began twice")]
    BeganTwice {
        /// The number of the sequence.
        sequence: u64,
    },
    /// A sequence has no fragments.
    #[error("sequence {sequence} has no fragments")]
    NoFragments {
        /// The number of the sequence.
        sequence: u64,
    },
    /// More messages are open in fragments than `FrameLimits::sequences`.
    #[error("more than {limit} messages are in fragments at the same time")]
    Sequences {
        /// The limit.
        limit: usize,
    },
    /// A message is longer than `FrameLimits::message_bytes`.
    #[error("a message in fragments is over the limit of {limit} bytes")]
    Message {
        /// The limit.
        limit: usize,
    },
    /// All open fragments together have more bytes than `FrameLimits::fragment_bytes`.
    #[error("all fragments are over the limit of {limit} bytes")]
    Fragments {
        /// The limit.
        limit: usize,
    },
}
