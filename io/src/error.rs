//! Why a connection is closed, and what could not be done.

use crate::codecs::codec::CodecError;
use krarup_gen::Reason;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// Why a connection is closed: what [`crate::Protocol::closed`] hears.
///
/// | variant | an accepted connection ends with | a client with |
/// |---|---|---|
/// | `Local` | [`Reason::Normal`] | [`Reason::Normal`] |
/// | `Aborted` | [`Reason::Normal`] | [`Reason::Normal`] |
/// | `Peer` | [`Reason::Normal`] | this error |
/// | `Stopped` | the reason it was stopped with | the reason it was stopped with |
/// | `Crashed` | what the callback failed with | what the callback failed with |
/// | any other | a shutdown with this detail | this error |
///
/// So a client that has lost its server is started again by its supervisor, and that a stranger
/// breaks off is no failure of an accepted connection.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Closed {
    /// The protocol closed it, and all that was sent has been written.
    #[error("closed")]
    Local,
    /// The protocol broke it off: the peer gets a reset.
    #[error("broken off")]
    Aborted,
    /// The peer sends no more, and all that was sent to it has been written.
    #[error("closed by the peer")]
    Peer,
    /// It was asked to stop, and all that was sent has been written.
    #[error("stopped: {0}")]
    Stopped(Reason),
    /// The connection failed: a reset, most often.
    #[error("connection failed: {message}")]
    Failed {
        /// The kind of failure.
        kind: io::ErrorKind,
        /// What the system says.
        message: String,
    },
    /// What the peer sent is no frame.
    #[error("malformed: {0}")]
    Malformed(CodecError),
    /// Nothing went either way for this long.
    #[error("idle for {0:?}")]
    Idle(Duration),
    /// The peer took nothing of what waited for it.
    #[error("the peer took none of {waiting} bytes for {limit:?}")]
    Stalled {
        /// The bytes that waited.
        waiting: usize,
        /// For how long.
        limit: Duration,
    },
    /// It was closed, and the peer had not taken all that was sent after this time.
    #[error("closed with {waiting} bytes unsent after {limit:?}")]
    Unsent {
        /// The bytes that waited.
        waiting: usize,
        /// The time.
        limit: Duration,
    },
    /// A frame took longer than this.
    #[error("a frame took more than {0:?}")]
    SlowFrame(Duration),
    /// A callback failed or panicked.
    #[error("crashed: {0}")]
    Crashed(Reason),
}

impl Closed {
    pub(crate) fn failed(error: &io::Error) -> Self {
        Closed::Failed { kind: error.kind(), message: error.to_string() }
    }

    /// What the process ends with.
    pub(crate) fn reason(&self, is_client: bool) -> Reason {
        match self {
            Closed::Local | Closed::Aborted => Reason::Normal,
            Closed::Peer if !is_client => Reason::Normal,
            Closed::Stopped(reason) | Closed::Crashed(reason) => reason.clone(),
            lost if is_client => lost.clone().into(),
            lost => Reason::shutdown(lost.clone()),
        }
    }
}

/// Something was not sent; nothing of it was written.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The peer is slower than this side: it has not taken enough of what waits.
    #[error(
        "{waiting} bytes wait to be sent: a frame of {frame} would exceed the limit of {limit}"
    )]
    Full {
        /// The bytes that wait.
        waiting: usize,
        /// The length of what was to be sent.
        frame: usize,
        /// The most that may wait.
        limit: usize,
    },
    /// It would exceed the limit if nothing else waited.
    #[error("a frame of {frame} bytes exceeds the limit of {limit}")]
    TooLarge {
        /// Its length.
        frame: usize,
        /// The most that may wait.
        limit: usize,
    },
    /// The connection is closed, or is being closed.
    #[error("the connection is closed")]
    Closed,
    /// The codec cannot write it.
    #[error(transparent)]
    Codec(#[from] CodecError),
}

impl WriteError {
    /// Whether it could be sent later.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        matches!(self, WriteError::Full { .. })
    }
}

/// An acceptor or a UDP socket does not listen.
#[derive(Debug, thiserror::Error)]
#[error("cannot bind {address}: {source}")]
pub struct BindError {
    /// The address that was asked for.
    pub address: SocketAddr,
    /// What the system says.
    pub source: io::Error,
}

/// A client is not connected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The system says so.
    #[error("cannot connect to {address}: {source}")]
    Failed {
        /// The address that was asked for.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// It took too long.
    #[error("not connected to {address} within {limit:?}")]
    Timeout {
        /// The address that was asked for.
        address: SocketAddr,
        /// The time.
        limit: Duration,
    },
}
