//! The messages between a node and the port mapper, epmd: registration and look-up.
//!
//! Requests are preceded by a length of 2 bytes. Answers have no length and are read until
//! they are complete. In this module a name is the part of a node's name before the `@`.

use crate::reader::{Reader, Short};

/// The default port of epmd.
pub const EPMD_PORT: u16 = 4369;

const REGISTER: u8 = 120;
const REGISTERED: u8 = 118;
const REGISTERED_OLD: u8 = 121;
const LOOK_UP: u8 = 122;
const FOUND: u8 = 119;
/// The version of the distribution protocol.
const VERSION: u16 = 6;
const HIDDEN: u8 = 72;
const VISIBLE: u8 = 77;
const TCP: u8 = 0;

/// An error of a message to or from epmd.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EpmdError {
    /// The answer is of another kind than expected.
    #[error("epmd answered {found}, expected {expected}")]
    Answer {
        /// The expected first byte.
        expected: u8,
        /// The received first byte.
        found: u8,
    },
    /// The name is taken: a node of this name is registered already.
    #[error("epmd does not register {name:?}: the name is taken by another node (result {result})")]
    NotRegistered {
        /// The name.
        name: String,
        /// The result code of epmd.
        result: u8,
    },
    /// The node does not support TCP with version 6 of the protocol.
    #[error(
        "the node speaks protocol {protocol}, versions {low} to {high}, not TCP with version 6"
    )]
    Version {
        /// The protocol; 0 is TCP.
        protocol: u8,
        /// The lowest version.
        low: u16,
        /// The highest version.
        high: u16,
    },
    /// The answer is for another node than requested.
    #[error("epmd was asked for {asked:?} and answered for {found:?}")]
    OtherName {
        /// The requested name.
        asked: String,
        /// The name in the answer.
        found: String,
    },
    /// A name is empty or longer than 255 bytes.
    #[error("a name of {bytes} bytes cannot be registered or looked up")]
    Name {
        /// The length of the name.
        bytes: usize,
    },
}

/// A request to epmd to register a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Register<'a> {
    /// The name, without the host.
    pub name: &'a str,
    /// The port at which the node listens.
    pub port: u16,
    /// Whether the node is hidden. A Krarup node is always hidden.
    pub hidden: bool,
}

impl Register<'_> {
    /// Appends the request.
    ///
    /// # Errors
    /// [`EpmdError::Name`].
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), EpmdError> {
        let name = name_length(self.name)?;
        out.extend((13 + name).to_be_bytes());
        out.push(REGISTER);
        out.extend(self.port.to_be_bytes());
        out.extend([if self.hidden { HIDDEN } else { VISIBLE }, TCP]);
        out.extend([VERSION.to_be_bytes(), VERSION.to_be_bytes(), name.to_be_bytes()].concat());
        out.extend(self.name.as_bytes());
        // No extra fields.
        out.extend([0, 0]);
        Ok(())
    }

    /// Reads the answer: the creation that epmd proposes, or `None` if the answer is not
    /// complete yet. The node stays registered while the connection is open.
    ///
    /// # Errors
    /// [`EpmdError::NotRegistered`], [`EpmdError::Answer`].
    pub fn read_answer(&self, bytes: &[u8]) -> Result<Option<u32>, EpmdError> {
        let mut reader = Reader::new(bytes);
        let creation = |reader: &mut Reader<'_>| -> Result<Result<(u8, u32), u8>, Short> {
            let first = reader.u8()?;
            match first {
                REGISTERED => Ok(Ok((reader.u8()?, reader.u32()?))),
                REGISTERED_OLD => Ok(Ok((reader.u8()?, reader.u16()?.into()))),
                other => Ok(Err(other)),
            }
        };
        match creation(&mut reader) {
            Err(_) => Ok(None),
            Ok(Ok((0, creation))) => Ok(Some(creation)),
            Ok(Ok((result, _))) => {
                Err(EpmdError::NotRegistered { name: self.name.to_owned(), result })
            }
            Ok(Err(found)) => Err(EpmdError::Answer { expected: REGISTERED, found }),
        }
    }
}

/// A request to epmd for the port of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookUp<'a> {
    /// The name, without the host.
    pub name: &'a str,
}

/// The registration of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registered {
    /// The port at which the node listens.
    pub port: u16,
    /// Whether the node is hidden.
    pub hidden: bool,
}

impl LookUp<'_> {
    /// Appends the request.
    ///
    /// # Errors
    /// [`EpmdError::Name`].
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), EpmdError> {
        let name = name_length(self.name)?;
        out.extend((1 + name).to_be_bytes());
        out.push(LOOK_UP);
        out.extend(self.name.as_bytes());
        Ok(())
    }

    /// Reads the answer: `None` if it is not complete yet, `Some(None)` if there is no
    /// such node.
    ///
    /// # Errors
    /// [`EpmdError::Version`] for a node of another protocol or version,
    /// [`EpmdError::OtherName`], [`EpmdError::Answer`].
    pub fn read_answer(&self, bytes: &[u8]) -> Result<Option<Option<Registered>>, EpmdError> {
        let mut reader = Reader::new(bytes);
        match (reader.u8(), reader.u8()) {
            (Ok(FOUND), Ok(0)) => {}
            (Ok(FOUND), Ok(_)) => return Ok(Some(None)),
            (Ok(FOUND) | Err(_), _) => return Ok(None),
            (Ok(found), _) => return Err(EpmdError::Answer { expected: FOUND, found }),
        }
        let Ok(answer) = PortAnswer::read(&mut reader) else { return Ok(None) };
        let PortAnswer { port, kind, protocol, high, low, name } = answer;
        if protocol != TCP || low > VERSION || high < VERSION {
            return Err(EpmdError::Version { protocol, low, high });
        }
        if name != self.name.as_bytes() {
            let found = String::from_utf8_lossy(&name[..name.len().min(255)]).into_owned();
            return Err(EpmdError::OtherName { asked: self.name.to_owned(), found });
        }
        Ok(Some(Some(Registered { port, hidden: kind == HIDDEN })))
    }
}

struct PortAnswer<'a> {
    port: u16,
    kind: u8,
    protocol: u8,
    high: u16,
    low: u16,
    name: &'a [u8],
}

impl<'a> PortAnswer<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, Short> {
        let answer = PortAnswer {
            port: reader.u16()?,
            kind: reader.u8()?,
            protocol: reader.u8()?,
            high: reader.u16()?,
            low: reader.u16()?,
            name: reader.counted_u16()?,
        };
        // Extra fields with unknown contents.
        reader.counted_u16()?;
        Ok(answer)
    }
}

fn name_length(name: &str) -> Result<u16, EpmdError> {
    match name.len() {
        0 => Err(EpmdError::Name { bytes: 0 }),
        bytes => u8::try_from(bytes).map(u16::from).map_err(|_| EpmdError::Name { bytes }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The requests and answers recorded from epmd.
    fn recorded() -> Vec<(Vec<u8>, Vec<u8>)> {
        let hex = |line: &str| -> Vec<u8> {
            let digits = &line[2..];
            let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
            (0..digits.len()).step_by(2).map(byte).collect()
        };
        let recording = include_str!("../tests/golden/epmd.txt");
        let lines: Vec<_> = recording.lines().filter(|line| !line.starts_with('#')).collect();
        lines.chunks(2).map(|two| (hex(two[0]), hex(two[1]))).collect()
    }

    const SHOP: Register<'_> = Register { name: "shop", port: 4711, hidden: true };

    #[test]
    fn zhs8_a_registration_is_accepted_by_epmd_and_a_taken_name_is_an_error() {
        let [(request, answer), (_, taken), ..] = &recorded()[..] else { panic!() };
        let mut out = Vec::new();
        SHOP.write(&mut out).unwrap();
        assert_eq!(&out, request);
        assert!(SHOP.read_answer(answer).unwrap().is_some());
        for end in 0..answer.len() {
            assert_eq!(SHOP.read_answer(&answer[..end]), Ok(None));
        }
        assert!(matches!(SHOP.read_answer(taken), Err(EpmdError::NotRegistered { result: 1, .. })));
        assert_eq!(SHOP.read_answer(&[121, 0, 0, 7]), Ok(Some(7)));
        assert!(matches!(SHOP.read_answer(&[1]), Err(EpmdError::Answer { found: 1, .. })));
    }

    #[test]
    fn zhs9_a_look_up_returns_the_port_or_no_node() {
        let [.., (request, answer), (_, none)] = &recorded()[..] else { panic!() };
        let shop = LookUp { name: "shop" };
        let mut out = Vec::new();
        shop.write(&mut out).unwrap();
        assert_eq!(&out, request);
        let found = Registered { port: 4711, hidden: true };
        assert_eq!(shop.read_answer(answer), Ok(Some(Some(found))));
        for end in 0..answer.len() {
            assert_eq!(shop.read_answer(&answer[..end]), Ok(None), "cut at {end}");
        }
        assert_eq!(shop.read_answer(none), Ok(Some(None)));
        assert!(matches!(
            LookUp { name: "x" }.read_answer(answer),
            Err(EpmdError::OtherName { .. })
        ));
        let mut old = answer.clone();
        old[7] = 5;
        assert!(matches!(shop.read_answer(&old), Err(EpmdError::Version { high: 5, .. })));
    }

    #[test]
    fn names_have_1_to_255_bytes() {
        let mut out = Vec::new();
        assert_eq!(LookUp { name: "" }.write(&mut out), Err(EpmdError::Name { bytes: 0 }));
        let long = "x".repeat(256);
        assert_eq!(LookUp { name: &long }.write(&mut out), Err(EpmdError::Name { bytes: 256 }));
        assert!(out.is_empty());
    }
}
