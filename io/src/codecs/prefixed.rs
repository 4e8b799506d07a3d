//! Frames with a length prefix.

use super::codec::{Codec, CodecError};
use bytes::{Buf, Bytes, BytesMut};

/// The size of the length prefix, in bytes.
const PREFIX: usize = 4;

/// Frames of bytes, each preceded by its length as four bytes, the most significant first
/// (Erlang's `{packet, 4}`).
///
/// ```
/// use bytes::BytesMut;
/// # mod krarup { pub use krarup_io as io; }
/// use krarup::io::{Codec, Prefixed};
///
/// let mut frames = Prefixed::new(1024);
/// let mut wire = BytesMut::new();
/// frames.encode(b"frame", &mut wire)?;
/// assert_eq!(&wire[..], b"\0\0\0\x05frame");
/// assert_eq!(frames.decode(&mut wire)?.as_deref(), Some(&b"frame"[..]));
/// # Ok::<(), krarup_io::CodecError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Prefixed {
    longest: usize,
}

impl Prefixed {
    /// Creates a codec for frames of at most `longest` bytes, not counting the prefix. A
    /// value above 2^32 − 1 counts as 2^32 − 1.
    #[must_use]
    pub fn new(longest: usize) -> Self {
        Prefixed { longest: longest.min(u32::MAX as usize) }
    }

    fn check(&self, length: usize) -> Result<(), CodecError> {
        if length > self.longest {
            return Err(CodecError::TooLong { length, limit: self.longest });
        }
        Ok(())
    }
}

impl Codec for Prefixed {
    type Frame = Bytes;
    type Item = [u8];

    fn decode(&mut self, buffer: &mut BytesMut) -> Result<Option<Bytes>, CodecError> {
        let Some(prefix) = buffer.first_chunk::<PREFIX>() else { return Ok(None) };
        let length = u32::from_be_bytes(*prefix) as usize;
        // Check the length before any byte of the frame is kept: a peer can claim any length.
        self.check(length)?;
        if buffer.len() - PREFIX < length {
            return Ok(None);
        }
        buffer.advance(PREFIX);
        Ok(Some(buffer.split_to(length).freeze()))
    }

    fn longest(&self) -> Option<usize> {
        Some(self.longest.saturating_add(PREFIX))
    }

    fn encode(&mut self, frame: &[u8], out: &mut BytesMut) -> Result<(), CodecError> {
        self.check(frame.len())?;
        let length = u32::try_from(frame.len())
            .map_err(|_| CodecError::TooLong { length: frame.len(), limit: self.longest })?;
        out.reserve(PREFIX + frame.len());
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(frame);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i3_frames_do_not_depend_on_how_the_bytes_are_split() {
        let mut wire = BytesMut::new();
        let mut frames = Prefixed::new(300);
        let sent: [&[u8]; 3] = [b"", b"x", &[7; 300]];
        for frame in sent {
            frames.encode(frame, &mut wire).unwrap();
        }
        for size in 1..=wire.len() {
            let mut buffer = BytesMut::new();
            let mut got = Vec::new();
            for piece in wire.chunks(size) {
                buffer.extend_from_slice(piece);
                while let Some(frame) = frames.decode(&mut buffer).unwrap() {
                    got.push(frame);
                }
            }
            assert_eq!(got, sent, "in pieces of {size}");
        }
    }

    #[test]
    fn i9_frame_limits_of_zero_and_of_usize_max() {
        let mut empty = Prefixed::new(0);
        assert_eq!(empty.decode(&mut BytesMut::from(&[0; 4][..])), Ok(Some(Bytes::new())));
        let error = CodecError::TooLong { length: 1, limit: 0 };
        assert_eq!(empty.decode(&mut BytesMut::from(&[0, 0, 0, 1][..])), Err(error));
        // The limit is at most what the prefix can express.
        assert_eq!(Prefixed::new(usize::MAX).longest, u32::MAX as usize);
    }

    #[test]
    fn i3_a_claimed_length_is_refused_before_its_bytes_come() {
        let claimed = &mut BytesMut::from(&b"\xff\xff\xff\xff"[..]);
        let error = CodecError::TooLong { length: 0xffff_ffff, limit: 300 };
        assert_eq!(Prefixed::new(300).decode(claimed), Err(error));
        assert!(Prefixed::new(3).encode(b"four", &mut BytesMut::new()).is_err());
    }

    #[test]
    fn i3_a_frame_of_the_maximum_length_is_valid_and_one_byte_more_is_an_error() {
        let mut frames = Prefixed::new(3);
        let mut wire = BytesMut::from("before");
        assert_eq!(frames.encode(b"abc", &mut wire), Ok(()));
        let too_long = CodecError::TooLong { length: 4, limit: 3 };
        assert_eq!(frames.encode(b"abcd", &mut wire), Err(too_long.clone()));
        assert_eq!(&wire[..], b"before\0\0\0\x03abc");
        let mut wire = wire.split_off(6);
        assert_eq!(frames.decode(&mut wire), Ok(Some(Bytes::from_static(b"abc"))));
        assert!(wire.is_empty());
        let claimed = &mut BytesMut::from(&b"\0\0\0\x04"[..]);
        assert_eq!(frames.decode(claimed), Err(too_long));
    }

    #[test]
    fn i3_an_unfinished_frame_is_reported_as_unfinished() {
        let mut frames = Prefixed::new(9);
        for rest in [&b"\0"[..], b"\0\0\0\x02", b"\0\0\0\x02a"] {
            let mut wire = BytesMut::from(&b"\0\0\0\x01x"[..]);
            wire.extend_from_slice(rest);
            assert_eq!(frames.decode_end(&mut wire), Ok(Some(Bytes::from_static(b"x"))));
            let error = CodecError::Unfinished { bytes: rest.len() };
            assert_eq!(frames.decode_end(&mut wire), Err(error));
        }
    }
}
