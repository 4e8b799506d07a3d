//! How the peer of a connection has proved itself.

use super::certificate_names::CertificateNames;
use super::version::TlsVersion;
use rustls::Connection;
use rustls::client::verify_server_name;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::server::ParsedCertificate;

/// The peer of a connection over TLS: its certificate, which is one of the authority (feature `io-tls`; rule Zsec10).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsPeer {
    certificate: CertificateDer<'static>,
    version: TlsVersion,
}

impl TlsPeer {
    /// `None` until the handshake is complete.
    pub(super) fn of(connection: &Connection) -> Option<Self> {
        if connection.is_handshaking() {
            return None;
        }
        let certificate = connection.peer_certificates()?.first()?.clone().into_owned();
        Some(TlsPeer { certificate, version: TlsVersion::of(connection.protocol_version()?) })
    }

    /// Returns the version of TLS.
    #[must_use]
    pub fn version(&self) -> TlsVersion {
        self.version
    }

    /// Returns the certificate, as DER.
    #[must_use]
    pub fn certificate(&self) -> &[u8] {
        &self.certificate
    }

    /// Returns the names in the certificate.
    #[must_use]
    pub fn names(&self) -> CertificateNames {
        CertificateNames::of(&self.certificate)
    }

    /// Whether the certificate is for this host: a name or an address. It is judged as a client
    /// judges that of a server, wildcards included.
    #[must_use]
    pub fn is_for(&self, host: &str) -> bool {
        let certificate = ParsedCertificate::try_from(&self.certificate);
        let (Ok(certificate), Ok(name)) = (certificate, ServerName::try_from(host)) else {
            return false;
        };
        verify_server_name(&certificate, &name).is_ok()
    }
}
