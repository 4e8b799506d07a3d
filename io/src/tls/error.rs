//! Why certificates cannot be used.

use std::io;
use std::path::PathBuf;

/// Why [`Tls`](crate::Tls) cannot be made of certificates and keys (feature `io-tls`).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read.
    #[error("{path} cannot be read: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A text is not PEM, or not of what it should be.
    #[error("the {what} cannot be read as PEM: {why}")]
    Pem {
        /// The certificates, the key, or the certificates of the authority.
        what: &'static str,
        /// The error of the reader.
        why: String,
    },
    /// A text has no certificate.
    #[error("there is no certificate among the {what}")]
    Empty {
        /// The certificates, or the certificates of the authority.
        what: &'static str,
    },
    /// The own certificate and its key cannot be used: the key is not that of the certificate, or of
    /// an unknown kind.
    #[error("the certificate and its key cannot be used: {0}")]
    Certificate(String),
    /// A certificate of the authority cannot be used.
    #[error("a certificate of the authority cannot be used: {0}")]
    Authority(String),
    /// The name of a server is neither a host name nor an address.
    #[error("{0:?} is neither the name of a host nor an address")]
    ServerName(String),
    /// There are no files to be read again.
    #[error("these certificates were not read from files")]
    NotFromFiles,
}
