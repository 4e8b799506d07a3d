//! Reassembly of messages from fragments, within bounds (rule Zmsg6).

use super::error::FrameError;
use crate::etf::Atom;
use std::collections::HashMap;

/// The limits on the messages that a peer may keep open.
#[derive(Clone, Copy, Debug)]
pub(super) struct FragmentLimits {
    /// The greatest number of messages at a time.
    pub(super) sequences: usize,
    /// The greatest number of bytes of all messages, with their control messages.
    pub(super) bytes: usize,
    /// The greatest number of bytes of the payload of one message.
    pub(super) message: usize,
}

/// The messages whose fragments have not all arrived.
#[derive(Debug)]
pub(super) struct Fragments {
    limits: FragmentLimits,
    open: HashMap<u64, Sequence>,
    /// The number of bytes of all open messages, with their control messages.
    bytes: usize,
}

/// A message: its control message, the atoms listed in its header, and the payload so far.
#[derive(Debug)]
pub(super) struct Sequence {
    /// The control message as bytes: as a term it may take many times their memory, for as long
    /// as the message is open.
    pub(super) control: Vec<u8>,
    pub(super) cached: Vec<Atom>,
    pub(super) payload: Vec<u8>,
    /// The number of the next fragment. The last one has number 1.
    next: u64,
}

impl Fragments {
    pub(super) fn new(limits: FragmentLimits) -> Self {
        Fragments { limits, open: HashMap::new(), bytes: 0 }
    }

    /// The number of open messages.
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    /// Handles the first fragment of a message of `left` fragments. Returns the message if
    /// there is only one fragment.
    pub(super) fn first(
        &mut self,
        sequence: u64,
        left: u64,
        (control, cached): (&[u8], Vec<Atom>),
        part: &[u8],
    ) -> Result<Option<Sequence>, FrameError> {
        if self.open.contains_key(&sequence) {
            return Err(FrameError::BeganTwice { sequence });
        }
        self.check(part.len(), control.len() + part.len())?;
        let next = left.checked_sub(1).ok_or(FrameError::NoFragments { sequence })?;
        if next > 0 && self.open.len() >= self.limits.sequences {
            return Err(FrameError::Sequences { limit: self.limits.sequences });
        }
        let (control, payload) = (control.to_vec(), part.to_vec());
        let message = Sequence { control, cached, payload, next };
        if next == 0 {
            return Ok(Some(message));
        }
        self.bytes += message.bytes();
        self.open.insert(sequence, message);
        Ok(None)
    }

    /// Handles a further fragment. Returns the message if the fragment is the last.
    pub(super) fn further(
        &mut self,
        sequence: u64,
        left: u64,
        part: &[u8],
    ) -> Result<Option<Sequence>, FrameError> {
        let (expected, before) = self
            .open
            .get(&sequence)
            .map_or((0, 0), |message| (message.next, message.payload.len()));
        if left == 0 || left != expected {
            return Err(FrameError::OutOfTurn { sequence, expected, found: left });
        }
        self.check(before + part.len(), part.len())?;
        if left == 1 {
            let mut message = self.open.remove(&sequence);
            if let Some(message) = &mut message {
                self.bytes -= message.bytes();
                message.payload.extend(part);
            }
            return Ok(message);
        }
        if let Some(message) = self.open.get_mut(&sequence) {
            message.payload.extend(part);
            message.next = left - 1;
            self.bytes += part.len();
        }
        Ok(None)
    }

    /// Checks the length of a message, and `more` bytes of it, against the limits.
    fn check(&self, payload: usize, more: usize) -> Result<(), FrameError> {
        if payload > self.limits.message {
            return Err(FrameError::Message { limit: self.limits.message });
        }
        if self.bytes.saturating_add(more) > self.limits.bytes {
            return Err(FrameError::Fragments { limit: self.limits.bytes });
        }
        Ok(())
    }
}

impl Sequence {
    fn bytes(&self) -> usize {
        self.control.len() + self.payload.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A control message without bytes, so that the limits below count payloads.
    fn head() -> (&'static [u8], Vec<Atom>) {
        (&[], Vec::new())
    }

    fn fragments() -> Fragments {
        Fragments::new(FragmentLimits { sequences: 2, bytes: 10, message: 6 })
    }

    #[test]
    fn zmsg6_interleaved_fragment_sequences_are_reassembled() {
        let mut fragments = fragments();
        assert!(fragments.first(1, 3, head(), b"ab").unwrap().is_none());
        assert!(fragments.first(2, 2, head(), b"x").unwrap().is_none());
        assert!(fragments.further(1, 2, b"cd").unwrap().is_none());
        assert_eq!(fragments.further(2, 1, b"y").unwrap().unwrap().payload, b"xy");
        assert_eq!(fragments.first(7, 1, head(), b"whole").unwrap().unwrap().payload, b"whole");
        assert_eq!(fragments.further(1, 1, b"ef").unwrap().unwrap().payload, b"abcdef");
        assert_eq!((fragments.len(), fragments.bytes), (0, 0));
    }

    #[test]
    fn zmsg6_out_of_order_repeated_or_unknown_fragments_are_errors() {
        let mut fragments = fragments();
        fragments.first(1, 4, head(), b"").unwrap();
        let turn = |expected, found| FrameError::OutOfTurn { sequence: 1, expected, found };
        assert_eq!(fragments.further(1, 2, b"").unwrap_err(), turn(3, 2));
        assert_eq!(fragments.further(1, 4, b"").unwrap_err(), turn(3, 4));
        assert_eq!(fragments.further(1, 0, b"").unwrap_err(), turn(3, 0));
        fragments.further(1, 3, b"").unwrap();
        assert_eq!(fragments.further(1, 3, b"").unwrap_err(), turn(2, 3));
        let unknown = FrameError::OutOfTurn { sequence: 9, expected: 0, found: 1 };
        assert_eq!(fragments.further(9, 1, b"").unwrap_err(), unknown);
        assert_eq!(
            fragments.further(9, 0, b"").unwrap_err(),
            FrameError::OutOfTurn { sequence: 9, expected: 0, found: 0 }
        );
        let twice = FrameError::BeganTwice { sequence: 1 };
        assert_eq!(fragments.first(1, 2, head(), b"").unwrap_err(), twice);
        let none = FrameError::NoFragments { sequence: 3 };
        assert_eq!(fragments.first(3, 0, head(), b"").unwrap_err(), none);
    }

    #[test]
    fn zmsg6_sequences_and_bytes_are_bounded() {
        let mut fragments = fragments();
        fragments.first(1, 9, head(), b"12345").unwrap();
        assert_eq!(fragments.further(1, 8, b"67").unwrap_err(), FrameError::Message { limit: 6 });
        fragments.first(2, 9, head(), b"1234").unwrap();
        assert_eq!(
            fragments.further(2, 8, b"56").unwrap_err(),
            FrameError::Fragments { limit: 10 }
        );
        let error = fragments.first(3, 9, head(), b"").unwrap_err();
        assert_eq!(error, FrameError::Sequences { limit: 2 });
        // A message of one fragment is not kept.
        assert!(fragments.first(3, 1, head(), b"1").unwrap().is_some());
        assert_eq!((fragments.len(), fragments.bytes), (2, 9));
    }

    #[test]
    fn zmsg6_control_messages_count_until_their_message_is_complete() {
        let mut fragments = fragments();
        let control = |bytes: &'static [u8]| (bytes, Vec::new());
        fragments.first(1, 2, control(b"1234567"), b"ab").unwrap();
        let error = fragments.first(2, 2, control(b"1"), b"a").unwrap_err();
        assert_eq!(error, FrameError::Fragments { limit: 10 });
        fragments.first(2, 2, control(b"1"), b"").unwrap();
        assert_eq!(fragments.bytes, 10);
        let error = fragments.further(1, 1, b"c").unwrap_err();
        assert_eq!(error, FrameError::Fragments { limit: 10 });
        let whole = fragments.further(1, 1, b"").unwrap().unwrap();
        assert_eq!((&whole.control[..], &whole.payload[..]), (&b"1234567"[..], &b"ab"[..]));
        assert_eq!(fragments.bytes, 1);
    }
}
