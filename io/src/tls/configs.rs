//! PEM texts become the configurations of rustls.

use super::error::TlsError;
use super::version::TlsVersion;
use rustls::client::Resumption;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::fmt::Display;
use std::sync::Arc;

const CERTIFICATES: &str = "certificates";
const AUTHORITY: &str = "certificates of the authority";

/// The texts.
pub(super) struct TlsPem<'a> {
    pub(super) certificates: &'a [u8],
    pub(super) key: &'a [u8],
    pub(super) authority: &'a [u8],
}

/// What connections use, of either side.
pub(super) struct TlsConfigs {
    pub(super) client: Arc<ClientConfig>,
    pub(super) server: Arc<ServerConfig>,
    identity: Arc<TlsIdentity>,
}

/// Who this side is, and who judges the other one.
struct TlsIdentity {
    certificates: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    authority: Arc<RootCertStore>,
}

impl TlsConfigs {
    pub(super) fn new(pem: &TlsPem<'_>, only: Option<TlsVersion>) -> Result<Self, TlsError> {
        let key = PrivateKeyDer::from_pem_slice(pem.key)
            .map_err(|error| TlsError::Pem { what: "key", why: error.to_string() })?;
        let mut authority = RootCertStore::empty();
        for certificate in read(AUTHORITY, pem.authority)? {
            authority.add(certificate).map_err(|error| TlsError::Authority(error.to_string()))?;
        }
        let certificates = read(CERTIFICATES, pem.certificates)?;
        let identity = TlsIdentity { certificates, key, authority: Arc::new(authority) };
        TlsConfigs::of(Arc::new(identity), only).map_err(TlsError::Certificate)
    }

    /// The same certificates, with this version only. Never with the others: it would be spoken
    /// what was ruled out.
    pub(super) fn only(&self, version: TlsVersion) -> Result<Self, TlsError> {
        TlsConfigs::of(Arc::clone(&self.identity), Some(version)).map_err(TlsError::Certificate)
    }

    fn of(identity: Arc<TlsIdentity>, only: Option<TlsVersion>) -> Result<Self, String> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let versions = &TlsVersion::supported(only);
        let TlsIdentity { certificates, key, authority } = &*identity;
        let (certificates, authority) = (certificates.clone(), Arc::clone(authority));
        let mut client = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions)
            .map_err(text)?
            .with_root_certificates(Arc::clone(&authority))
            .with_client_auth_cert(certificates.clone(), key.clone_key())
            .map_err(text)?;
        // Each connection is proved anew.
        client.resumption = Resumption::disabled();
        let verifier =
            WebPkiClientVerifier::builder_with_provider(authority, Arc::clone(&provider))
                .build()
                .map_err(text)?;
        let mut server = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .map_err(text)?
            .with_client_cert_verifier(verifier)
            .with_single_cert(certificates, key.clone_key())
            .map_err(text)?;
        server.session_storage = Arc::new(NoServerSessionStorage {});
        server.send_tls13_tickets = 0;
        Ok(TlsConfigs { client: Arc::new(client), server: Arc::new(server), identity })
    }
}

fn text(error: impl Display) -> String {
    error.to_string()
}

fn read(what: &'static str, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let read = read.map_err(|error| TlsError::Pem { what, why: error.to_string() })?;
    if read.is_empty() { Err(TlsError::Empty { what }) } else { Ok(read) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, KeyPair};

    #[test]
    fn zhs11_a_version_that_cannot_be_the_only_one_is_an_error_and_never_all_versions() {
        let [key, other] = [(); 2].map(|()| KeyPair::generate().unwrap());
        let params = CertificateParams::new(["localhost".to_owned()]).unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        let pem = |key: &KeyPair| {
            let (certificates, key) = (pem.clone(), key.serialize_pem());
            let pem = TlsPem {
                certificates: certificates.as_bytes(),
                key: key.as_bytes(),
                authority: certificates.as_bytes(),
            };
            TlsConfigs::new(&pem, None)
        };
        let mut configs = pem(&key).unwrap_or_else(|error| panic!("{error}"));
        for version in [TlsVersion::Tls12, TlsVersion::Tls13] {
            assert!(configs.only(version).is_ok());
        }
        // The key of another certificate.
        let TlsIdentity { certificates, authority, .. } = &*configs.identity;
        let key = PrivateKeyDer::from_pem_slice(other.serialize_pem().as_bytes()).unwrap();
        let (certificates, authority) = (certificates.clone(), Arc::clone(authority));
        configs.identity = Arc::new(TlsIdentity { certificates, key, authority });
        for version in [TlsVersion::Tls12, TlsVersion::Tls13] {
            assert!(matches!(configs.only(version), Err(TlsError::Certificate(_))));
        }
    }
}
