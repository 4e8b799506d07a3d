//! Outgoing frames: from messages to bytes.
//!
//! Written headers list no atoms, so a frame does not depend on earlier frames. Fragments
//! of several messages can be interleaved, and written frames can be discarded.

use super::format::{FIRST_FRAGMENT, FURTHER_FRAGMENT, FrameFormat, PASS_THROUGH, WHOLE};
use crate::control::ControlMessage;
use crate::etf::{EncodeError, tag};

/// An outgoing message: one frame, or a sequence of fragments if it is large.
///
/// ```
/// use krarup_wire::etf::{Atom, ExternalPid, Term};
/// use krarup_wire::frame::{FrameFormat, OutgoingMessage};
/// use krarup_wire::{ControlMessage, DistributionFlags};
///
/// let to = ExternalPid { node: Atom::fixed("a@b"), id: 1, serial: 0, creation: 4 };
/// let mut payload = Vec::new();
/// Term::binary(vec![0; 100_000]).write(&mut payload)?;
/// let format = FrameFormat::of(DistributionFlags::OFFERED);
/// let mut message = OutgoingMessage::new(format, &ControlMessage::Send { to }, payload, 1)?;
///
/// let mut bytes = Vec::new();
/// let mut frames = 0;
/// while message.write_frame(&mut bytes) {
///     frames += 1; // Frames of other messages may be written between these.
/// }
/// assert_eq!(frames, 2);
/// # Ok::<(), krarup_wire::etf::EncodeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct OutgoingMessage {
    format: FrameFormat,
    control: Vec<u8>,
    payload: Vec<u8>,
    /// The number of written bytes of the payload.
    written: usize,
    sequence: u64,
    /// The number of frames that are not written yet.
    left: u64,
    is_first: bool,
}

impl OutgoingMessage {
    /// The most bytes of a payload in one fragment. A fragment with its header is smaller
    /// than 64 KiB, unless the control message exceeds 900 bytes.
    pub const PART_BYTES: usize = (64 << 10) - 1024;

    /// The room for a control message, which most of them do not exceed.
    const USUAL_CONTROL: usize = 128;

    /// Creates a message with the payload as it appears in a frame: a term without a
    /// version byte, or nothing. If the connection has fragments, a payload of more than
    /// [`OutgoingMessage::PART_BYTES`] is written in fragments under this sequence number,
    /// which no other open message may have.
    ///
    /// # Errors
    /// [`EncodeError`] if the control message cannot be encoded, or the frame is longer
    /// than 2^32 bytes.
    pub fn new(
        format: FrameFormat,
        control: &ControlMessage,
        payload: Vec<u8>,
        sequence: u64,
    ) -> Result<Self, EncodeError> {
        Self::in_parts(format, control, (&[], payload), sequence)
    }

    /// As [`OutgoingMessage::new`], with a payload in two parts, so that a large one need not be
    /// copied behind what it is wrapped in. The first part must be smaller than 1 KiB.
    ///
    /// # Errors
    /// Those of [`OutgoingMessage::new`].
    pub fn in_parts(
        format: FrameFormat,
        control: &ControlMessage,
        (head, mut payload): (&[u8], Vec<u8>),
        sequence: u64,
    ) -> Result<Self, EncodeError> {
        let mut written = Vec::with_capacity(Self::USUAL_CONTROL + head.len());
        control.write(&mut written)?;
        if format.has_headers() {
            // Nothing lies between a control message and its payload.
            written.extend(head);
        } else if !head.is_empty() {
            payload.splice(..0, head.iter().copied());
        }
        let parts =
            if format.has_fragments() { payload.len().div_ceil(Self::PART_BYTES) } else { 1 };
        let longest = written.len() + if parts > 1 { Self::PART_BYTES } else { payload.len() };
        if u32::try_from(longest + 32).is_err() {
            return Err(EncodeError { what: "a frame", length: longest });
        }
        let left = parts.max(1) as u64;
        let control = written;
        Ok(OutgoingMessage { format, control, payload, written: 0, sequence, left, is_first: true })
    }

    /// The number of frames that are not written yet.
    #[must_use]
    pub fn frames_left(&self) -> u64 {
        self.left
    }

    /// Appends the next frame. Returns `false`, and appends nothing, if all frames are written.
    pub fn write_frame(&mut self, out: &mut Vec<u8>) -> bool {
        if self.left == 0 {
            return false;
        }
        let start = out.len();
        // The length is filled in at the end. Until then it is that of a tick, which is
        // harmless.
        out.extend([0; 4]);
        let rest = &self.payload[self.written..];
        let part =
            &rest[..if self.left > 1 { Self::PART_BYTES.min(rest.len()) } else { rest.len() }];
        if !self.format.has_headers() {
            out.extend([PASS_THROUGH, tag::VERSION]);
            out.extend(&self.control);
            out.extend((!part.is_empty()).then_some(tag::VERSION));
        } else if self.is_first && self.left == 1 {
            out.extend([tag::VERSION, WHOLE, 0]);
            out.extend(&self.control);
        } else {
            out.extend([
                tag::VERSION,
                if self.is_first { FIRST_FRAGMENT } else { FURTHER_FRAGMENT },
            ]);
            out.extend(self.sequence.to_be_bytes());
            out.extend(self.left.to_be_bytes());
            if self.is_first {
                out.push(0);
                out.extend(&self.control);
            }
        }
        out.extend(part);
        self.written += part.len();
        self.left -= 1;
        self.is_first = false;
        // `new` has checked that it fits.
        let length = u32::try_from(out.len() - start - 4).unwrap_or_default();
        out[start..start + 4].copy_from_slice(&length.to_be_bytes());
        true
    }
}

/// Appends a tick: an empty frame, which is written when there is no other frame to write.
pub fn write_tick(out: &mut Vec<u8>) {
    out.extend([0; 4]);
}
