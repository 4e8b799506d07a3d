//! From the text of an address to a socket that listens on it.

use crate::error::ObserverError;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};

/// The system's queue of connections that are not accepted yet.
const BACKLOG: i32 = 1024;

/// The first address that a text names.
pub(crate) fn resolve(address: &str) -> Result<SocketAddr, ObserverError> {
    let failed = |error| ObserverError::Address { address: address.to_owned(), error };
    let mut found = address.to_socket_addrs().map_err(failed)?;
    found.next().ok_or_else(|| failed(io::Error::other("the host has no address")))
}

/// A socket that listens on an address.
pub(crate) fn bind(address: SocketAddr) -> Result<TcpListener, ObserverError> {
    let bound = || {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        // A port whose last connections are still known to the system can be bound again.
        #[cfg(unix)]
        socket.set_reuse_address(true)?;
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        Ok(TcpListener::from(socket))
    };
    bound().map_err(|error| ObserverError::Bind { address, error })
}
