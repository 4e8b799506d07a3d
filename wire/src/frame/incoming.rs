//! Incoming frames: from bytes to messages.

use super::atom_cache::AtomCache;
use super::error::FrameError;
use super::format::{FIRST_FRAGMENT, FURTHER_FRAGMENT, FrameFormat, PASS_THROUGH, WHOLE};
use super::fragments::{FragmentLimits, Fragments, Sequence};
use crate::control::ControlMessage;
use crate::etf::{Atom, Atoms, DecodeError, Decoder, Limits, Term, WriteLimits, tag};
use crate::reader::Reader;
use std::borrow::Cow;

/// The limits on what a peer may send and keep open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FrameLimits {
    /// The greatest length of a frame, in bytes.
    pub frame_bytes: usize,
    /// The greatest length of a payload in fragments, in bytes.
    pub message_bytes: usize,
    /// The greatest number of bytes of all messages that are open in fragments, with their
    /// control messages.
    pub fragment_bytes: usize,
    /// The greatest number of messages that are open in fragments.
    pub sequences: usize,
    /// The capacity of the table of shared atoms: [`Atoms`].
    pub atoms: usize,
    /// The limits of a term: of a control message, and of a payload.
    pub terms: Limits,
}

impl FrameLimits {
    /// The default limits (rule Zmsg6): frames of 129 MiB, messages of 128 MiB, 256 MiB in
    /// all, 64 messages at a time, [`Atoms::DEFAULT_CAPACITY`], [`Limits::DEFAULT`].
    pub const DEFAULT: FrameLimits = FrameLimits {
        frame_bytes: 129 << 20,
        message_bytes: WriteLimits::MESSAGE_BYTES,
        fragment_bytes: 256 << 20,
        sequences: 64,
        atoms: Atoms::DEFAULT_CAPACITY,
        terms: Limits::DEFAULT,
    };
}

impl Default for FrameLimits {
    fn default() -> Self {
        FrameLimits::DEFAULT
    }
}

/// The decoder of a connection's frames, with the state that later frames refer to.
#[derive(Debug)]
pub struct Frames {
    format: FrameFormat,
    limits: FrameLimits,
    cache: AtomCache,
    fragments: Fragments,
    atoms: Atoms,
}

/// The result of a read.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
#[expect(clippy::large_enum_variant, reason = "it is taken apart where it is returned")]
pub enum FrameRead<'a> {
    /// The bytes are not a complete frame. No bytes were used.
    Incomplete {
        /// The number of bytes of the frame, once its length is known; 4 before.
        wanted: usize,
    },
    /// An empty frame, which shows that the peer is alive.
    Tick {
        /// The number of bytes used.
        used: usize,
    },
    /// A fragment, which was stored.
    Fragment {
        /// The number of bytes used.
        used: usize,
    },
    /// A message.
    Message {
        /// The number of bytes used.
        used: usize,
        /// The message.
        message: IncomingMessage<'a>,
    },
}

/// A control message, with its payload if it has one.
#[derive(Clone, Debug, PartialEq)]
pub struct IncomingMessage<'a> {
    /// The control message.
    pub control: ControlMessage,
    /// The message, reason or arguments.
    pub payload: Option<Payload<'a>>,
}

/// A payload that was not decoded yet. Whether it is a valid term is found only when it is
/// decoded, so an invalid payload affects that message alone (rule Zmsg8).
#[derive(Clone, Debug, PartialEq)]
pub struct Payload<'a> {
    bytes: Cow<'a, [u8]>,
    /// The atoms listed in the header.
    cached: Vec<Atom>,
    limits: Limits,
}

impl Payload<'_> {
    /// Returns a decoder for the payload.
    #[must_use]
    pub fn decoder(&self) -> Decoder<'_> {
        Decoder::with_limits(&self.bytes, self.limits).cached(&self.cached)
    }

    /// Decodes the payload as a term, with its atoms shared in the table.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn term(&self, atoms: &mut Atoms) -> Result<Term, DecodeError> {
        self.decoder().atoms(atoms).last_term()
    }

    /// The number of bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether it has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the payload with owned bytes.
    #[must_use]
    pub fn into_owned(self) -> Payload<'static> {
        let Payload { bytes, cached, limits } = self;
        Payload { bytes: Cow::Owned(bytes.into_owned()), cached, limits }
    }
}

impl Frames {
    /// The size of a frame's length prefix in bytes.
    const LENGTH_BYTES: usize = 4;

    /// Creates a decoder that has received nothing yet.
    #[must_use]
    pub fn new(format: FrameFormat, limits: FrameLimits) -> Self {
        let FrameLimits { sequences, fragment_bytes: bytes, message_bytes: message, .. } = limits;
        Frames {
            format,
            limits,
            cache: AtomCache::default(),
            fragments: Fragments::new(FragmentLimits { sequences, bytes, message }),
            atoms: Atoms::new(limits.atoms),
        }
    }

    /// The number of messages that are open in fragments.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.fragments.len()
    }

    /// Returns the shared atoms of this connection, for [`Payload::term`].
    pub fn atoms(&mut self) -> &mut Atoms {
        &mut self.atoms
    }

    /// Reads one frame from the beginning of the received and unused bytes.
    ///
    /// # Errors
    /// [`FrameError`]; the connection must be closed.
    pub fn read<'a>(&mut self, bytes: &'a [u8]) -> Result<FrameRead<'a>, FrameError> {
        let mut reader = Reader::new(bytes);
        let Ok(length) = reader.u32() else {
            return Ok(FrameRead::Incomplete { wanted: Self::LENGTH_BYTES });
        };
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let limit = self.limits.frame_bytes;
        if length > limit {
            return Err(FrameError::TooLong { length, limit });
        }
        let Ok(frame) = reader.take(length) else {
            return Ok(FrameRead::Incomplete { wanted: length.saturating_add(Self::LENGTH_BYTES) });
        };
        let used = reader.offset();
        if frame.is_empty() {
            return Ok(FrameRead::Tick { used });
        }
        Ok(match self.frame(frame)? {
            Some(message) => FrameRead::Message { used, message },
            None => FrameRead::Fragment { used },
        })
    }

    /// Decodes a frame without its length. Returns `None` for a fragment that is not the last.
    fn frame<'a>(&mut self, frame: &'a [u8]) -> Result<Option<IncomingMessage<'a>>, FrameError> {
        let mut reader = Reader::new(frame);
        if !self.format.has_headers() {
            expect(&mut reader, PASS_THROUGH, "112")?;
            expect(&mut reader, tag::VERSION, "131")?;
            return self.passed_through(reader.rest()).map(Some);
        }
        expect(&mut reader, tag::VERSION, "131")?;
        let offset = reader.offset();
        match reader.u8()? {
            WHOLE => {
                let cached = self.listed(&mut reader)?;
                let (control, payload) = self.control(reader.rest(), &cached)?;
                Ok(Some(self.message(control, payload.into(), cached)?))
            }
            FIRST_FRAGMENT if self.format.has_fragments() => {
                let (sequence, left) = (reader.u64()?, reader.u64()?);
                let cached = self.listed(&mut reader)?;
                let bytes = reader.rest();
                let (control, part) = self.control(bytes, &cached)?;
                if !control.has_payload() {
                    return Err(FrameError::Payload { bytes: part.len() });
                }
                let control = bytes.get(..bytes.len() - part.len()).unwrap_or_default();
                let whole = self.fragments.first(sequence, left, (control, cached), part)?;
                self.put_together(whole)
            }
            FURTHER_FRAGMENT if self.format.has_fragments() => {
                let (sequence, left) = (reader.u64()?, reader.u64()?);
                let whole = self.fragments.further(sequence, left, reader.rest())?;
                self.put_together(whole)
            }
            found => Err(FrameError::Header { offset, expected: "the kind of a frame", found }),
        }
    }

    /// Decodes a frame without a header, where each term has its own version byte.
    fn passed_through<'a>(&self, bytes: &'a [u8]) -> Result<IncomingMessage<'a>, FrameError> {
        let (control, rest) = self.control(bytes, &[])?;
        let mut reader = Reader::new(rest);
        if control.has_payload() && !rest.is_empty() {
            expect(&mut reader, tag::VERSION, "131")?;
        }
        self.message(control, reader.rest().into(), Vec::new())
    }

    fn listed(&mut self, reader: &mut Reader<'_>) -> Result<Vec<Atom>, FrameError> {
        let offset = reader.offset();
        match reader.u8()? {
            found if found > 0 && !self.format.has_cache() => {
                Err(FrameError::Header { offset, expected: "no cached atoms", found })
            }
            count => self.cache.read(reader, count, &mut self.atoms),
        }
    }

    /// Returns the control message and the bytes after it.
    fn control<'a>(
        &self,
        bytes: &'a [u8],
        cached: &[Atom],
    ) -> Result<(ControlMessage, &'a [u8]), FrameError> {
        let mut decoder = Decoder::with_limits(bytes, self.limits.terms).cached(cached);
        let control = ControlMessage::read(&mut decoder)?;
        Ok((control, bytes.get(decoder.offset()..).unwrap_or_default()))
    }

    fn message<'a>(
        &self,
        control: ControlMessage,
        bytes: Cow<'a, [u8]>,
        cached: Vec<Atom>,
    ) -> Result<IncomingMessage<'a>, FrameError> {
        let payload = match (control.has_payload(), bytes.is_empty()) {
            (true, true) => return Err(FrameError::NoPayload),
            (false, false) => return Err(FrameError::Payload { bytes: bytes.len() }),
            (true, false) => Some(Payload { bytes, cached, limits: self.limits.terms }),
            (false, true) => None,
        };
        Ok(IncomingMessage { control, payload })
    }

    /// Decodes a message whose fragments have all arrived.
    fn put_together(
        &self,
        whole: Option<Sequence>,
    ) -> Result<Option<IncomingMessage<'static>>, FrameError> {
        let Some(Sequence { control, cached, payload, .. }) = whole else { return Ok(None) };
        let (control, _) = self.control(&control, &cached)?;
        self.message(control, payload.into(), cached).map(Some)
    }
}

fn expect(reader: &mut Reader<'_>, byte: u8, expected: &'static str) -> Result<(), FrameError> {
    let offset = reader.offset();
    match reader.u8()? {
        found if found == byte => Ok(()),
        found => Err(FrameError::Header { offset, expected, found }),
    }
}
