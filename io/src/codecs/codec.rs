//! What a codec is.

use bytes::BytesMut;
use std::error::Error;
use std::sync::Arc;

/// Cuts a stream of bytes into frames, and writes frames as bytes.
///
/// A connection reads into a buffer and has its codec take frames off it, until there is no whole
/// one left; then it reads on. A codec has a state of its own, for what lies between two calls.
/// Ready ones: [`crate::Lines`], [`crate::Prefixed`], [`crate::Raw`].
///
/// An error ends the connection: where a stream cannot be read, nobody knows where its next frame
/// begins. What the peer should hear of that, a protocol says in
/// [`crate::Protocol::malformed`].
///
/// ```
/// use bytes::{Buf, BytesMut};
/// use krarup_io::{Codec, CodecError};
///
/// /// Frames of eight bytes.
/// struct Octets;
///
/// impl Codec for Octets {
///     type Frame = u64;
///     type Item = u64;
///     fn decode(&mut self, buffer: &mut BytesMut) -> Result<Option<u64>, CodecError> {
///         Ok((buffer.len() >= 8).then(|| buffer.get_u64()))
///     }
///     fn encode(&mut self, number: &u64, out: &mut BytesMut) -> Result<(), CodecError> {
///         out.extend_from_slice(&number.to_be_bytes());
///         Ok(())
///     }
/// }
/// # let _ = Octets;
/// ```
pub trait Codec: Send + 'static {
    /// What is received.
    type Frame: Send + 'static;
    /// What is sent, by reference: so it is copied once, and stays the sender's if it is refused.
    type Item: ?Sized + Sync;

    /// Takes the next whole frame off the buffer; `None` leaves what is there until more has
    /// come. It must not take a frame off and keep it.
    ///
    /// # Errors
    /// The bytes are no frame, or begin one that would be too long. A codec that waits for more
    /// and more bytes is ended by [`crate::ConnectionOptions::read_limit`].
    fn decode(&mut self, buffer: &mut BytesMut) -> Result<Option<Self::Frame>, CodecError>;

    /// The peer sends no more: takes the next frame off what is left. The default decodes, and
    /// takes bytes that are left for a frame that was broken off.
    ///
    /// # Errors
    /// Those of [`Codec::decode`], and [`CodecError::Unfinished`].
    fn decode_end(&mut self, buffer: &mut BytesMut) -> Result<Option<Self::Frame>, CodecError> {
        let frame = self.decode(buffer)?;
        if frame.is_none() && !buffer.is_empty() {
            return Err(CodecError::Unfinished { bytes: buffer.len() });
        }
        Ok(frame)
    }

    /// Writes a frame behind what is in `out`.
    ///
    /// # Errors
    /// It cannot be written so that the peer would read it as one. What was written of it is
    /// taken back.
    fn encode(&mut self, item: &Self::Item, out: &mut BytesMut) -> Result<(), CodecError>;
}

/// Bytes that are no frame, or a frame that cannot be bytes.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CodecError {
    /// A frame is longer than allowed.
    #[error("a frame of {} bytes or more: the limit is {limit}", length)]
    TooLong {
        /// How long it is at least.
        length: usize,
        /// The longest allowed, in bytes.
        limit: usize,
    },
    /// The stream ended in the midst of a frame.
    #[error("the stream ended after {bytes} bytes of a frame")]
    Unfinished {
        /// The bytes that had come.
        bytes: usize,
    },
    /// A line is not UTF-8.
    #[error("a line is not UTF-8 from byte {at} on")]
    NotUtf8 {
        /// The first byte that is not.
        at: usize,
    },
    /// A line has a line break in it, which one side or the other would read as two.
    #[error("a line has a line break at byte {at}")]
    LineBreak {
        /// Where.
        at: usize,
    },
    /// What a codec of your own says.
    #[error("{0}")]
    Other(Arc<dyn Error + Send + Sync>),
}

impl CodecError {
    /// An error of a codec of your own, from a text or any boxed error.
    pub fn other(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        CodecError::Other(Arc::from(error.into()))
    }
}

/// Two are equal if they print the same: errors have no other common ground.
impl PartialEq for CodecError {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}
