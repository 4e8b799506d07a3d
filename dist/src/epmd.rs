//! The port mapper, epmd: where peers listen, and where this node does.
//!
//! Look-ups and registrations are short and rare, and block. They run on a thread for blocking
//! work. A node is registered while its socket to epmd is open.

use crate::error::RegistrationError;
use krarup_wire::epmd::{LookUp, Register};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

/// How long epmd may take.
const LIMIT: Duration = Duration::from_secs(5);
/// The most bytes of an answer.
const MOST: usize = 1024;

/// A registration, which lasts until it is dropped.
#[derive(Debug)]
pub(crate) struct Registration {
    stream: TcpStream,
}

impl Registration {
    /// Whether epmd still holds the connection.
    pub(crate) fn stands(&self) -> bool {
        match self.stream.peek(&mut [0]) {
            Ok(0) => false,
            Ok(_) => true,
            Err(error) => error.kind() == ErrorKind::WouldBlock,
        }
    }
}

/// Registers a node.
pub(crate) fn register(
    host: &str,
    port: u16,
    request: &Register<'_>,
) -> Result<Registration, RegistrationError> {
    let mut stream = connected(host, port)?;
    let mut bytes = Vec::new();
    request.write(&mut bytes)?;
    ask(&mut stream, &bytes, host, port, |answer| request.read_answer(answer))?;
    let failed = |source| RegistrationError::Unreachable { address: at(host, port), source };
    stream.set_nonblocking(true).map_err(failed)?;
    Ok(Registration { stream })
}

/// Returns the addresses at which a node may listen.
pub(crate) fn look_up(
    host: &str,
    port: u16,
    name: &str,
) -> Result<Vec<SocketAddr>, RegistrationError> {
    let mut stream = connected(host, port)?;
    let request = LookUp { name };
    let mut bytes = Vec::new();
    request.write(&mut bytes)?;
    let found = ask(&mut stream, &bytes, host, port, |answer| request.read_answer(answer))?;
    let found = found.ok_or_else(|| RegistrationError::Unknown {
        address: at(host, port),
        name: name.to_owned(),
    })?;
    resolve(host, found.port)
        .map_err(|source| RegistrationError::Unreachable { address: at(host, port), source })
}

/// The error of a socket that has waited for so long says that it would block.
fn late(error: io::Error) -> io::Error {
    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) {
        return io::Error::new(ErrorKind::TimedOut, format!("no answer within {LIMIT:?}"));
    }
    error
}

fn at(host: &str, port: u16) -> String {
    format!("{host}:{port}")
}

fn resolve(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    Ok((host, port).to_socket_addrs()?.collect())
}

fn connected(host: &str, port: u16) -> Result<TcpStream, RegistrationError> {
    let connect = || {
        let mut last = io::Error::from(ErrorKind::NotFound);
        for address in resolve(host, port)? {
            match TcpStream::connect_timeout(&address, LIMIT) {
                Ok(stream) => {
                    stream.set_read_timeout(Some(LIMIT))?;
                    stream.set_write_timeout(Some(LIMIT))?;
                    return Ok(stream);
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    };
    connect().map_err(|source| RegistrationError::Unreachable { address: at(host, port), source })
}

/// Sends a request, and reads until the answer is complete.
fn ask<T>(
    stream: &mut TcpStream,
    request: &[u8],
    host: &str,
    port: u16,
    read: impl Fn(&[u8]) -> Result<Option<T>, krarup_wire::epmd::EpmdError>,
) -> Result<T, RegistrationError> {
    let failed =
        |error| RegistrationError::Unreachable { address: at(host, port), source: late(error) };
    stream.write_all(request).map_err(failed)?;
    let (mut answer, mut part) = (Vec::new(), [0; 256]);
    loop {
        let count = stream.read(&mut part).map_err(failed)?;
        answer.extend_from_slice(&part[..count]);
        if let Some(value) = read(&answer)? {
            return Ok(value);
        }
        if count == 0 || answer.len() > MOST {
            return Err(failed(ErrorKind::UnexpectedEof.into()));
        }
    }
}
