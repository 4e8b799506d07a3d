//! Certificates of an authority that lives as long as a test.

#![allow(dead_code, reason = "each test file uses a part")]

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, CustomExtension, DnType, IsCa, KeyPair,
    KeyUsagePurpose, PKCS_ED25519, SanType,
};

/// An authority.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate and its key, as PEM.
#[derive(Clone)]
pub(crate) struct Issued {
    pub(crate) certificate: String,
    pub(crate) key: String,
    pub(crate) authority: String,
}

impl Authority {
    pub(crate) fn new() -> Self {
        Authority::named("an authority of tests")
    }

    pub(crate) fn named(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().unwrap();
        Authority { issuer: CertifiedIssuer::self_signed(params, key).unwrap() }
    }

    /// Issues a certificate with these names: those with an `@` are of nodes, numbers are
    /// addresses, others are of hosts, and so is what follows `dns:`.
    pub(crate) fn issue(&self, names: &[&str]) -> Issued {
        self.issue_for(names, &KeyPair::generate().unwrap())
    }

    /// As [`Authority::issue`], with signatures that always have the same length: for simulations.
    pub(crate) fn issue_even(&self, names: &[&str]) -> Issued {
        self.issue_for(names, &KeyPair::generate_for(&PKCS_ED25519).unwrap())
    }

    fn issue_for(&self, names: &[&str], key: &KeyPair) -> Issued {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, "a node of tests");
        for name in names {
            let (is_host, name) = match name.strip_prefix("dns:") {
                Some(name) => (true, name),
                None => (false, *name),
            };
            params.subject_alt_names.push(match name.parse() {
                _ if is_host => SanType::DnsName(name.try_into().unwrap()),
                Ok(address) => SanType::IpAddress(address),
                Err(_) if name.contains('@') => SanType::Rfc822Name(name.try_into().unwrap()),
                Err(_) => SanType::DnsName(name.try_into().unwrap()),
            });
        }
        self.signed(&params, key)
    }

    /// Issues a certificate with this list of alternative names, in DER.
    pub(crate) fn issue_with(&self, names: &[u8]) -> Issued {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        let names = CustomExtension::from_oid_content(&[2, 5, 29, 17], names.to_vec());
        params.custom_extensions = vec![names];
        self.signed(&params, &KeyPair::generate().unwrap())
    }

    fn signed(&self, params: &CertificateParams, key: &KeyPair) -> Issued {
        let certificate = params.clone().signed_by(key, &self.issuer).unwrap();
        Issued {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
            authority: self.issuer.pem(),
        }
    }
}
