//! Unframed bytes.

use super::codec::{Codec, CodecError};
use bytes::{Bytes, BytesMut};

/// A codec for unframed bytes: a frame is the bytes of one read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Raw;

impl Codec for Raw {
    type Frame = Bytes;
    type Item = [u8];

    fn decode(&mut self, buffer: &mut BytesMut) -> Result<Option<Bytes>, CodecError> {
        Ok((!buffer.is_empty()).then(|| buffer.split().freeze()))
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
    fn i3_raw_bytes_pass_through_unchanged() {
        let mut buffer = BytesMut::from("some");
        for end in [false, true] {
            let decode = |buffer: &mut BytesMut| {
                if end { Raw.decode_end(buffer) } else { Raw.decode(buffer) }
            };
            buffer.extend_from_slice(b" bytes");
            let whole = buffer.clone().freeze();
            assert_eq!(decode(&mut buffer), Ok(Some(whole)));
            assert!(buffer.is_empty());
            assert_eq!(decode(&mut buffer), Ok(None));
        }
        let mut out = BytesMut::from("before ");
        assert_eq!(Raw.encode(b"and after", &mut out), Ok(()));
        assert_eq!(&out[..], b"before and after");
    }
}
