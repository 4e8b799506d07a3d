//! Bytes as they come.

use super::codec::{Codec, CodecError};
use bytes::{Bytes, BytesMut};

/// Bytes as they come: a frame is whatever was read at once.
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
