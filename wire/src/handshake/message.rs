//! The messages of the handshake of version 6, without their length prefixes.
//!
//! | first byte | message |
//! |---|---|
//! | `N` | name: flags:8 creation:4 length:2 name; further bytes are ignored |
//! | `N` | challenge: flags:8 challenge:4 creation:4 length:2 name; further bytes are ignored |
//! | `s` | status: a text |
//! | `r` | reply: challenge:4 digest:16 |
//! | `a` | acknowledgement: digest:16 |

use super::digest::DIGEST_BYTES;
use crate::flags::DistributionFlags;
use crate::reader::{Reader, Short};

/// Why a handshake message cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// The message ended too early.
    #[error("a {message} message is cut short: {short}")]
    Short {
        /// The name of the message.
        message: &'static str,
        /// The place.
        short: Short,
    },
    /// The message has more bytes than it may have.
    #[error("a {message} message has {left} bytes too many")]
    Long {
        /// The name of the message.
        message: &'static str,
        /// The number of excess bytes.
        left: usize,
    },
    /// Another message was expected.
    #[error("a {message} message expected, found one that begins with {found}")]
    Other {
        /// The name of the expected message.
        message: &'static str,
        /// The first byte of the received message.
        found: u8,
    },
    /// A name or a status is not UTF-8.
    #[error("the text of a {message} message is not UTF-8")]
    Utf8 {
        /// The name of the message.
        message: &'static str,
    },
}

/// The first message of the dialling node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NameMessage<'a> {
    pub(super) flags: DistributionFlags,
    pub(super) creation: u32,
    pub(super) name: &'a str,
}

/// The first message of the dialled node, after its status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChallengeMessage<'a> {
    pub(super) flags: DistributionFlags,
    pub(super) challenge: u32,
    pub(super) creation: u32,
    pub(super) name: &'a str,
}

/// The answer to a challenge, with a challenge of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReplyMessage {
    pub(super) challenge: u32,
    pub(super) digest: [u8; DIGEST_BYTES],
}

impl<'a> NameMessage<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, MessageError> {
        read("name", b'N', bytes, |reader| {
            let flags = DistributionFlags::from_bits(reader.u64()?);
            let creation = reader.u32()?;
            let name = reader.counted_u16()?;
            reader.take(reader.left())?;
            Ok((flags, creation, name))
        })
        .and_then(|(flags, creation, name)| {
            Ok(NameMessage { flags, creation, name: text("name", name)? })
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.push(b'N');
        out.extend(self.flags.bits().to_be_bytes());
        out.extend(self.creation.to_be_bytes());
        write_name(self.name, out);
    }
}

impl<'a> ChallengeMessage<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, MessageError> {
        read("challenge", b'N', bytes, |reader| {
            let flags = DistributionFlags::from_bits(reader.u64()?);
            let (challenge, creation) = (reader.u32()?, reader.u32()?);
            let name = reader.counted_u16()?;
            reader.take(reader.left())?;
            Ok((flags, challenge, creation, name))
        })
        .and_then(|(flags, challenge, creation, name)| {
            Ok(ChallengeMessage { flags, challenge, creation, name: text("challenge", name)? })
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.push(b'N');
        out.extend(self.flags.bits().to_be_bytes());
        out.extend(self.challenge.to_be_bytes());
        out.extend(self.creation.to_be_bytes());
        write_name(self.name, out);
    }
}

impl ReplyMessage {
    pub(super) fn read(bytes: &[u8]) -> Result<Self, MessageError> {
        read("reply", b'r', bytes, |reader| {
            Ok(ReplyMessage { challenge: reader.u32()?, digest: reader.array()? })
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.push(b'r');
        out.extend(self.challenge.to_be_bytes());
        out.extend(self.digest);
    }
}

pub(super) fn read_acknowledgement(bytes: &[u8]) -> Result<[u8; DIGEST_BYTES], MessageError> {
    read("acknowledgement", b'a', bytes, Reader::array)
}

pub(super) fn write_acknowledgement(digest: [u8; DIGEST_BYTES], out: &mut Vec<u8>) {
    out.push(b'a');
    out.extend(digest);
}

pub(super) fn read_status(bytes: &[u8]) -> Result<&str, MessageError> {
    read("status", b's', bytes, |reader| reader.take(reader.left()))
        .and_then(|status| text("status", status))
}

pub(super) fn write_status(status: &str, out: &mut Vec<u8>) {
    out.push(b's');
    out.extend(status.as_bytes());
}

/// Reads the fields after the first byte. No bytes may be left.
fn read<'a, T>(
    message: &'static str,
    first: u8,
    bytes: &'a [u8],
    fields: impl FnOnce(&mut Reader<'a>) -> Result<T, Short>,
) -> Result<T, MessageError> {
    let mut reader = Reader::new(bytes);
    let short = |short| MessageError::Short { message, short };
    let found = reader.u8().map_err(short)?;
    if found != first {
        return Err(MessageError::Other { message, found });
    }
    let fields = fields(&mut reader).map_err(short)?;
    match reader.left() {
        0 => Ok(fields),
        left => Err(MessageError::Long { message, left }),
    }
}

fn text<'a>(message: &'static str, bytes: &'a [u8]) -> Result<&'a str, MessageError> {
    str::from_utf8(bytes).map_err(|_| MessageError::Utf8 { message })
}

/// Appends a name of at most 255 bytes.
fn write_name(name: &str, out: &mut Vec<u8>) {
    out.extend(u16::try_from(name.len()).unwrap_or_default().to_be_bytes());
    out.extend(name.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zhs2_a_reply_an_acknowledgement_and_no_other_message_is_longer_or_shorter() {
        let long = |message, left| Err(MessageError::Long { message, left });
        let mut bytes = Vec::new();
        let reply = ReplyMessage { challenge: 7, digest: [9; DIGEST_BYTES] };
        reply.write(&mut bytes);
        bytes.push(0);
        assert_eq!(ReplyMessage::read(&bytes).map(drop), long("reply", 1));
        assert!(ReplyMessage::read(&bytes[..21]).is_ok());
        assert!(matches!(ReplyMessage::read(&bytes[..20]), Err(MessageError::Short { .. })));
        let mut bytes = Vec::new();
        write_acknowledgement([9; DIGEST_BYTES], &mut bytes);
        bytes.push(0);
        assert_eq!(read_acknowledgement(&bytes).map(drop), long("acknowledgement", 1));
        assert_eq!(read_acknowledgement(&bytes[..17]), Ok([9; DIGEST_BYTES]));
    }
}
