//! Cuts the bytes of a connection into handshake messages, and later into frames.

use bytes::{Bytes, BytesMut};
use krarup_io::{Codec, CodecError};
use krarup_wire::frame::FrameLimits;
use krarup_wire::handshake::{Handshake, Lengths};

/// Whole messages with their lengths: of 2 bytes during the handshake, over TLS of 4, and of 4 bytes
/// afterwards.
#[derive(Debug)]
pub(crate) struct Framing {
    lengths: Lengths,
    is_up: bool,
    /// The bytes of an incomplete message.
    left: usize,
    /// Whether bytes have come since the last look.
    heard: bool,
}

impl Framing {
    pub(crate) fn new(lengths: Lengths) -> Self {
        Framing { lengths, is_up: false, left: 0, heard: false }
    }

    /// From now on lengths have 4 bytes.
    pub(crate) fn up(&mut self) {
        self.is_up = true;
    }

    /// Whether any byte has come since the last call: also one of a message that is not complete
    /// (rule Zlive1).
    pub(crate) fn has_heard(&mut self) -> bool {
        std::mem::take(&mut self.heard)
    }
}

impl Codec for Framing {
    type Frame = Bytes;
    type Item = [u8];

    fn decode(&mut self, buffer: &mut BytesMut) -> Result<Option<Bytes>, CodecError> {
        self.heard |= buffer.len() > self.left;
        self.left = buffer.len();
        let is_short = !self.is_up && self.lengths == Lengths::Two;
        let most = if self.is_up { FrameLimits::DEFAULT.frame_bytes } else { Handshake::MAX_BYTES };
        let (length, limit) = match (is_short, &buffer[..]) {
            (true, [a, b, ..]) => (2 + usize::from(u16::from_be_bytes([*a, *b])), 2 + most),
            (false, [a, b, c, d, ..]) => {
                let length = u32::from_be_bytes([*a, *b, *c, *d]);
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                (length.saturating_add(4), 4 + most)
            }
            _ => return Ok(None),
        };
        if length > limit {
            return Err(CodecError::TooLong { length, limit });
        }
        let message = (buffer.len() >= length).then(|| buffer.split_to(length).freeze());
        self.left = buffer.len();
        Ok(message)
    }

    fn encode(&mut self, bytes: &[u8], out: &mut BytesMut) -> Result<(), CodecError> {
        out.extend_from_slice(bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zhs2_any_cut_of_the_bytes_gives_the_same_messages() {
        let bytes = [&[0, 3, 1, 2, 3][..], &[0, 0, 0, 2, 9, 9], &[0, 0, 0, 0]].concat();
        for cut in 0..bytes.len() {
            let (mut framing, mut buffer, mut found) =
                (Framing::new(Lengths::Two), BytesMut::new(), Vec::new());
            for part in [&bytes[..cut], &bytes[cut..]] {
                buffer.extend_from_slice(part);
                while let Some(message) = framing.decode(&mut buffer).unwrap() {
                    framing.up();
                    found.push(message.to_vec());
                }
            }
            let expected = [&[0, 3, 1, 2, 3][..], &[0, 0, 0, 2, 9, 9], &[0, 0, 0, 0]];
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn zhs11_over_tls_the_lengths_of_the_handshake_have_4_bytes() {
        let mut framing = Framing::new(Lengths::Four);
        let mut buffer = BytesMut::from(&[0, 0, 0, 2, 8, 9, 0, 0][..]);
        assert_eq!(&framing.decode(&mut buffer).unwrap().unwrap()[..], [0, 0, 0, 2, 8, 9]);
        assert_eq!(framing.decode(&mut buffer).unwrap(), None);
        assert!(framing.decode(&mut BytesMut::from(&[0, 0, 4, 1][..])).is_err());
    }

    #[test]
    fn zlive1_every_byte_is_heard_and_none_is_heard_twice() {
        let (mut framing, mut buffer) = (Framing::new(Lengths::Two), BytesMut::new());
        for byte in [0, 2, 7, 8, 0] {
            buffer.extend_from_slice(&[byte]);
            let _ = framing.decode(&mut buffer).unwrap();
            let _ = framing.decode(&mut buffer).unwrap();
            assert_eq!([framing.has_heard(), framing.has_heard()], [true, false]);
            let _ = framing.decode(&mut buffer).unwrap();
            assert!(!framing.has_heard());
        }
    }

    #[test]
    fn zhs7_a_handshake_message_over_1024_bytes_and_a_huge_frame_are_errors() {
        let mut framing = Framing::new(Lengths::Two);
        assert!(framing.decode(&mut BytesMut::from(&[4, 1][..])).is_err());
        framing.up();
        assert!(framing.decode(&mut BytesMut::from(&[255; 4][..])).is_err());
    }
}
