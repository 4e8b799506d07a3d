//! Why a frame ends the connection.

use crate::control::ControlError;
use crate::etf::AtomError;
use crate::reader::Short;

/// A frame cannot be read. The connection is to be closed (rules Zmsg6, Zmsg7, Zmsg9).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// The frame ended within its header.
    #[error("a header is cut short: {0}")]
    Short(#[from] Short),
    /// The frame is longer than `FrameLimits::frame_bytes`.
    #[error("a frame of {length} bytes is over the limit of {limit}")]
    TooLong {
        /// Its length.
        length: usize,
        /// The limit.
        limit: usize,
    },
    /// A byte of the header has a value that it cannot have in this form of frames.
    #[error("at offset {offset} of a frame: {expected} expected, found {found}")]
    Header {
        /// The place in the frame.
        offset: usize,
        /// What was expected.
        expected: &'static str,
        /// The byte that was found.
        found: u8,
    },
    /// A header names a place of the atom cache where nothing was put.
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
    /// The control message cannot be read.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// The control message demands a payload, and there is none.
    #[error("a control message that has a payload came without one")]
    NoPayload,
    /// The control message has no payload, and bytes follow it.
    #[error("{bytes} bytes follow a control message that has no payload")]
    Payload {
        /// How many bytes.
        bytes: usize,
    },
    /// A fragment is out of turn: repeated, left out, or of a sequence that is not open.
    #[error("fragment {found} of sequence {sequence} came where {expected} was expected")]
    OutOfTurn {
        /// The number of the sequence.
        sequence: u64,
        /// The number of the fragment that was expected; 0 if the sequence is not open.
        expected: u64,
        /// The number of the fragment that came; numbers count down to 1.
        found: u64,
    },
    /// The first fragment of a sequence that is open came.
    #[error("sequence {sequence} began twice")]
    BeganTwice {
        /// The number of the sequence.
        sequence: u64,
    },
    /// A sequence of no fragments.
    #[error("sequence {sequence} has no fragments")]
    NoFragments {
        /// The number of the sequence.
        sequence: u64,
    },
    /// More messages are in fragments at one time than `FrameLimits::sequences`.
    #[error("more than {limit} messages came in fragments at one time")]
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
    /// All fragments at one time have more bytes than `FrameLimits::fragment_bytes`.
    #[error("all fragments are over the limit of {limit} bytes")]
    Fragments {
        /// The limit.
        limit: usize,
    },
}
