//! The [`Codec`] trait and its error.

use bytes::BytesMut;
use std::error::Error;
use std::sync::Arc;

/// Cuts a stream of bytes into frames, and writes frames as bytes.
///
/// A connection reads into a buffer and lets its codec take frames off it until no whole
/// frame is left. Then it reads again. A codec may keep state between two calls.
/// Ready-made codecs: [`Lines`](crate::Lines), [`Prefixed`](crate::Prefixed), [`Raw`](crate::Raw).
///
/// An error ends the connection: in a stream that cannot be decoded, the start of the next
/// frame is unknown. A protocol can notify the peer in
/// [`Protocol::malformed`](crate::Protocol::malformed).
///
/// ```
/// use bytes::{Buf, BytesMut};
/// # mod krarup { pub use krarup_io as io; }
/// use krarup::io::{Codec, CodecError};
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
    /// The type of received frames.
    type Frame: Send + 'static;
    /// The type of sent frames. They are passed by reference, so a frame is copied once,
    /// and the sender keeps it if the send is refused.
    type Item: ?Sized + Sync;

    /// Takes the next whole frame off the buffer. `None` leaves the buffer as it is until
    /// more bytes have arrived. It must not take bytes of a frame off and keep them.
    ///
    /// # Errors
    /// The bytes are not a frame, or begin one that is too long. A codec that keeps
    /// waiting for more bytes is stopped by
    /// [`ConnectionOptions::read_limit`](crate::ConnectionOptions::read_limit).
    fn decode(&mut self, buffer: &mut BytesMut) -> Result<Option<Self::Frame>, CodecError>;

    /// Takes the next frame off the rest of the buffer, after the peer has closed its
    /// sending side. The default decodes, and treats remaining bytes as an unfinished frame.
    ///
    /// # Errors
    /// The errors of [`Codec::decode`], and [`CodecError::Unfinished`].
    fn decode_end(&mut self, buffer: &mut BytesMut) -> Result<Option<Self::Frame>, CodecError> {
        let frame = self.decode(buffer)?;
        if frame.is_none() && !buffer.is_empty() {
            return Err(CodecError::Unfinished { bytes: buffer.len() });
        }
        Ok(frame)
    }

    /// Returns how many bytes of an incomplete frame this codec waits for at most, its own marks
    /// included, or `None`, the default, if it does not know. It is the limit of a connection
    /// that has no [`read_limit`](crate::ConnectionOptions::read_limit) of its own.
    fn longest(&self) -> Option<usize> {
        None
    }

    /// Appends a frame to `out`. A frame for which there is no room has been encoded, too, before it
    /// was refused, and is encoded again when it is sent again. So a number or a key that the next
    /// frame depends on must not be changed here.
    ///
    /// # Errors
    /// The frame cannot be encoded in a way that the peer would decode as one frame. Bytes
    /// that were already written for it are discarded.
    fn encode(&mut self, item: &Self::Item, out: &mut BytesMut) -> Result<(), CodecError>;
}

/// An error of a codec: bytes that are not a frame, or a frame that cannot be encoded.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CodecError {
    /// A frame is longer than allowed.
    #[error("a frame of {} bytes or more: the limit is {limit}", length)]
    TooLong {
        /// A lower bound of its length.
        length: usize,
        /// The longest length allowed, in bytes.
        limit: usize,
    },
    /// The stream ended within a frame.
    #[error("the stream ended after {bytes} bytes of a frame")]
    Unfinished {
        /// The number of bytes that had arrived.
        bytes: usize,
    },
    /// A line is not UTF-8.
    #[error("a line is not UTF-8 from byte {at} on")]
    NotUtf8 {
        /// The position of the first invalid byte.
        at: usize,
    },
    /// A line contains a line break, so one of the two sides would read it as two lines.
    #[error("a line has a line break at byte {at}")]
    LineBreak {
        /// The position of the line break.
        at: usize,
    },
    /// An error of a user's codec.
    #[error("{0}")]
    Other(#[source] Arc<dyn Error + Send + Sync>),
}

impl CodecError {
    /// Creates an error of a user's codec from a text or a boxed error.
    pub fn other(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        CodecError::Other(Arc::from(error.into()))
    }
}

/// Errors are compared by their messages, because the inner errors have no other way to be
/// compared.
impl PartialEq for CodecError {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}
