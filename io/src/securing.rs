//! Whether a connection uses TLS, and as which side.

use crate::wire::SocketStream;
use std::io;

#[cfg(feature = "tls")]
use crate::tls::Tls;

/// What is put between a stream and its users.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub(crate) enum Securing {
    /// Nothing.
    #[default]
    Clear,
    /// TLS, as the side that has accepted.
    #[cfg(feature = "tls")]
    Accepts(Tls),
    /// TLS, as the side that has dialled a server of this name.
    #[cfg(feature = "tls")]
    Dials(Tls, String),
}

impl Securing {
    #[cfg_attr(
        not(feature = "tls"),
        expect(clippy::unnecessary_wraps, reason = "only TLS can fail")
    )]
    pub(crate) fn secure(&self, stream: SocketStream) -> io::Result<SocketStream> {
        match self {
            Securing::Clear => Ok(stream),
            #[cfg(feature = "tls")]
            Securing::Accepts(tls) => Ok(stream.secured(tls.accepting()?)),
            #[cfg(feature = "tls")]
            Securing::Dials(tls, server) => Ok(stream.secured(tls.dialling(server)?)),
        }
    }

    /// Whether an error while connecting is one of TLS.
    pub(crate) fn has_failed(&self, error: &io::Error) -> bool {
        use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
        let is_of_tls = matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof);
        !matches!(self, Securing::Clear) && is_of_tls
    }
}
