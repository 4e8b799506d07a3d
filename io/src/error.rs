//! Why a connection is closed, and the errors of binding, connecting and writing.

use crate::codecs::codec::CodecError;
use krarup_gen::Reason;
use std::error::Error;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// Why a connection is closed: the argument of [`Protocol::closed`](crate::Protocol::closed).
///
/// | variant | an accepted connection ends with | a client ends with |
/// |---|---|---|
/// | `Local` | [`Reason::Normal`] | [`Reason::Normal`] |
/// | `Aborted` | [`Reason::Normal`] | [`Reason::Normal`] |
/// | `Peer` | [`Reason::Normal`] | this error |
/// | `Stopped` | the reason it was stopped with | the reason it was stopped with |
/// | `Crashed` | the reason of the callback | the reason of the callback |
/// | any other | a shutdown with this detail | this error |
///
/// So a client that has lost its server is restarted by its supervisor, while an accepted
/// connection does not fail because an unknown client disconnects.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Closed {
    /// The protocol closed it, and all sent frames were written.
    Local,
    /// The protocol aborted it: the peer gets a reset.
    Aborted,
    /// The peer closed its sending side, and all sent frames were written.
    Peer,
    /// It was asked to stop, and all sent frames were written.
    Stopped(Reason),
    /// The connection failed, most often by a reset.
    Failed {
        /// The kind of failure.
        kind: io::ErrorKind,
        /// The message of the operating system.
        message: String,
    },
    /// The received bytes are not a frame.
    Malformed(CodecError),
    /// There was no traffic in either direction for this long.
    Idle(Duration),
    /// The peer took none of the buffered bytes.
    Stalled {
        /// The number of bytes that waited.
        waiting: usize,
        /// The time for which they waited.
        limit: Duration,
    },
    /// It was closed, and the peer had not taken all sent bytes after this time.
    Unsent {
        /// The number of bytes that waited.
        waiting: usize,
        /// The time limit.
        limit: Duration,
    },
    /// A frame took longer than this.
    SlowFrame(Duration),
    /// The handshake of TLS took longer than this.
    SlowHandshake(Duration),
    /// A callback failed or panicked.
    Crashed(Reason),
}

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Closed::Local => f.write_str("closed"),
            Closed::Aborted => f.write_str("aborted"),
            Closed::Peer => f.write_str("closed by the peer"),
            Closed::Stopped(reason) => write!(f, "stopped: {reason}"),
            Closed::Failed { message, .. } => write!(f, "connection failed: {message}"),
            Closed::Malformed(error) => write!(f, "malformed: {error}"),
            Closed::Idle(limit) => write!(f, "idle for {limit:?}"),
            Closed::Stalled { waiting, limit } => {
                write!(f, "the peer read none of {waiting} bytes for {limit:?}")
            }
            Closed::Unsent { waiting, limit } => {
                write!(f, "closed with {waiting} bytes unsent after {limit:?}")
            }
            Closed::SlowFrame(limit) => write!(f, "a frame took more than {limit:?}"),
            Closed::SlowHandshake(limit) => {
                write!(f, "the handshake of TLS took more than {limit:?}")
            }
            Closed::Crashed(reason) => write!(f, "crashed: {reason}"),
        }
    }
}

impl Error for Closed {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Closed::Stopped(reason) | Closed::Crashed(reason) => Some(reason.as_error()),
            Closed::Malformed(error) => Some(error),
            Closed::Local
            | Closed::Aborted
            | Closed::Peer
            | Closed::Failed { .. }
            | Closed::Idle(_)
            | Closed::Stalled { .. }
            | Closed::Unsent { .. }
            | Closed::SlowFrame(_)
            | Closed::SlowHandshake(_) => None,
        }
    }
}

impl Closed {
    pub(crate) fn failed(error: &io::Error) -> Self {
        Closed::Failed { kind: error.kind(), message: error.to_string() }
    }

    /// Returns the reason with which the process ends.
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

/// Why a frame was not sent. Nothing of it was written.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The peer is slower than this side: it has not taken enough of the buffered bytes.
    #[error(
        "{waiting} bytes wait to be sent: a frame of {frame} would exceed the limit of {limit}"
    )]
    Full {
        /// The number of bytes that wait.
        waiting: usize,
        /// The length of the frame.
        frame: usize,
        /// The most bytes that may wait.
        limit: usize,
    },
    /// The frame would exceed the limit even if no other bytes waited.
    #[error("a frame of {frame} bytes exceeds the limit of {limit}")]
    TooLarge {
        /// The length of the frame.
        frame: usize,
        /// The most bytes that may wait.
        limit: usize,
    },
    /// The connection is closed, or is being closed.
    #[error("the connection is closed")]
    Closed,
    /// The codec cannot encode the frame.
    #[error(transparent)]
    Codec(#[from] CodecError),
}

impl WriteError {
    /// Whether the send may succeed later.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        matches!(self, WriteError::Full { .. })
    }
}

/// An acceptor or a UDP socket cannot bind its address.
#[derive(Debug, thiserror::Error)]
#[error("cannot bind {address}: {source}")]
pub struct BindError {
    /// The requested address.
    pub address: SocketAddr,
    /// The error of the operating system.
    pub source: io::Error,
}

/// A client cannot connect.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The operating system reported an error.
    #[error("cannot connect to {address}: {source}")]
    Failed {
        /// The requested address.
        address: SocketAddr,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The connection was made, and its TLS handshake has failed: the certificate of one side is
    /// not good enough for the other one, or the bytes are not TLS.
    #[error("no TLS connection to {address}: {source}")]
    Tls {
        /// The requested address.
        address: SocketAddr,
        /// The error.
        source: io::Error,
    },
    /// The system's resolver knows no address of the host.
    #[error("no address of {host:?}: {source}")]
    Unresolved {
        /// The requested host.
        host: String,
        /// Why: the error of the resolver, or that the name cannot be asked for or has no address.
        source: io::Error,
    },
    /// The system's resolver took too long.
    #[error("no address of {host:?} within {limit:?}")]
    Unanswered {
        /// The requested host.
        host: String,
        /// The time limit.
        limit: Duration,
    },
    /// Connecting took too long.
    #[error("no connection to {address} within {limit:?}")]
    Timeout {
        /// The requested address.
        address: SocketAddr,
        /// The time limit.
        limit: Duration,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind;

    const LIMIT: Duration = Duration::from_secs(7);

    /// All ways to lose a connection, with their messages.
    fn lost() -> Vec<(Closed, &'static str)> {
        vec![
            (
                Closed::failed(&ErrorKind::ConnectionReset.into()),
                "connection failed: connection reset",
            ),
            (
                Closed::Malformed(CodecError::TooLong { length: 9, limit: 8 }),
                "malformed: a frame of 9 bytes or more: the limit is 8",
            ),
            (Closed::Idle(LIMIT), "idle for 7s"),
            (Closed::Stalled { waiting: 3, limit: LIMIT }, "the peer read none of 3 bytes for 7s"),
            (Closed::Unsent { waiting: 3, limit: LIMIT }, "closed with 3 bytes unsent after 7s"),
            (Closed::SlowFrame(LIMIT), "a frame took more than 7s"),
            (Closed::SlowHandshake(LIMIT), "the handshake of TLS took more than 7s"),
        ]
    }

    #[test]
    fn i1_each_cause_of_closing_has_the_reason_in_the_table() {
        let why = Reason::error("why");
        for is_client in [false, true] {
            for closed in [Closed::Local, Closed::Aborted] {
                assert_eq!(closed.reason(is_client), Reason::Normal);
            }
            for reason in [why.clone(), Reason::Normal, Reason::Shutdown] {
                assert_eq!(Closed::Stopped(reason.clone()).reason(is_client), reason);
            }
            assert_eq!(Closed::Crashed(why.clone()).reason(is_client), why);
            for (closed, _) in lost() {
                let reason = closed.reason(is_client);
                assert_eq!(reason.downcast_ref(), Some(&closed));
                assert_eq!(reason.is_abnormal(), is_client, "{reason}");
            }
        }
        assert_eq!(Closed::Peer.reason(false), Reason::Normal);
        let reason = Closed::Peer.reason(true);
        assert!(reason.is_abnormal() && reason.downcast_ref() == Some(&Closed::Peer));
    }

    #[test]
    fn i1_errors_name_the_request_and_the_cause() {
        let source = |error: &dyn Error| error.source().map(ToString::to_string);
        for (closed, says) in lost() {
            assert_eq!(closed.to_string(), says);
            let inner = says.strip_prefix("malformed: ").map(ToOwned::to_owned);
            assert_eq!(source(&closed), inner, "{closed}");
        }
        let kind = ErrorKind::ConnectionReset;
        assert!(matches!(&lost()[0].0, Closed::Failed { kind: same, .. } if *same == kind));
        for (closed, says) in [
            (Closed::Local, "closed"),
            (Closed::Aborted, "aborted"),
            (Closed::Peer, "closed by the peer"),
            (Closed::Stopped(Reason::error("why")), "stopped: why"),
            (Closed::Crashed(Reason::error("why")), "crashed: why"),
        ] {
            assert_eq!(closed.to_string(), says);
            let inner = says.split_once(": ").map(|(_, reason)| reason.to_owned());
            assert_eq!(source(&closed), inner, "{closed}");
        }
        let full = WriteError::Full { waiting: 3, frame: 2, limit: 4 };
        assert_eq!(
            full.to_string(),
            "3 bytes wait to be sent: a frame of 2 would exceed the limit of 4"
        );
        let too_large = WriteError::TooLarge { frame: 5, limit: 4 };
        assert_eq!(too_large.to_string(), "a frame of 5 bytes exceeds the limit of 4");
        let of_codec = WriteError::from(CodecError::LineBreak { at: 2 });
        assert_eq!(of_codec.to_string(), "a line has a line break at byte 2");
        // The text is the codec's own. A user's error is found through it.
        assert_eq!(source(&of_codec), None);
        let users = WriteError::from(CodecError::other("why"));
        assert_eq!((users.to_string(), source(&users)), ("why".into(), Some("why".into())));
        assert_eq!(WriteError::Closed.to_string(), "the connection is closed");
        let others = [too_large, of_codec, WriteError::Closed];
        assert!(full.is_full() && !others.iter().any(WriteError::is_full));
        let address = ([127, 0, 0, 1], 80).into();
        let refused = || io::Error::new(ErrorKind::ConnectionRefused, "refused");
        let timeout = ConnectError::Timeout { address, limit: LIMIT };
        assert_eq!(timeout.to_string(), "no connection to 127.0.0.1:80 within 7s");
        let failed = ConnectError::Failed { address, source: refused() };
        assert_eq!(failed.to_string(), "cannot connect to 127.0.0.1:80: refused");
        let host = || "shop\n.example".to_owned();
        let unresolved = ConnectError::Unresolved { host: host(), source: refused() };
        assert_eq!(unresolved.to_string(), r#"no address of "shop\n.example": refused"#);
        let unanswered = ConnectError::Unanswered { host: host(), limit: LIMIT };
        assert_eq!(unanswered.to_string(), r#"no address of "shop\n.example" within 7s"#);
        let tls = ConnectError::Tls { address, source: refused() };
        assert_eq!(tls.to_string(), "no TLS connection to 127.0.0.1:80: refused");
        let bind = BindError { address, source: refused() };
        assert_eq!(bind.to_string(), "cannot bind 127.0.0.1:80: refused");
        for (error, inner) in [
            (&full as &dyn Error, None),
            (&others[0], None),
            (&WriteError::Closed, None),
            (&timeout, None),
            (&failed, Some("refused")),
            (&unresolved, Some("refused")),
            (&unanswered, None),
            (&tls, Some("refused")),
            (&bind, Some("refused")),
        ] {
            assert_eq!(source(error).as_deref(), inner, "{error}");
        }
    }
}
