//! The versions of TLS.

use rustls::{ProtocolVersion, SupportedProtocolVersion};

/// A version of TLS that is spoken here (feature `io-tls`). Older ones are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum TlsVersion {
    /// TLS 1.2.
    Tls12,
    /// TLS 1.3.
    Tls13,
}

impl TlsVersion {
    pub(super) const fn of(version: ProtocolVersion) -> Self {
        if matches!(version, ProtocolVersion::TLSv1_2) {
            TlsVersion::Tls12
        } else {
            TlsVersion::Tls13
        }
    }

    pub(super) fn supported(only: Option<Self>) -> Vec<&'static SupportedProtocolVersion> {
        match only {
            None => vec![&rustls::version::TLS13, &rustls::version::TLS12],
            Some(TlsVersion::Tls12) => vec![&rustls::version::TLS12],
            Some(TlsVersion::Tls13) => vec![&rustls::version::TLS13],
        }
    }
}
