//! The alternative names of the subject of a certificate.
//!
//! ```text
//!   Certificate { tbs { .., [3] extensions { { oid 2.5.29.17, octets { names } }, .. } }, .. }
//!                                                                     │
//!                                             [1] mailbox  [2] host  [7] address
//! ```
//!
//! The certificate was verified before, and so is well formed. What is not is no name.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const SEQUENCE: u8 = 0x30;
const OBJECT_IDENTIFIER: u8 = 0x06;
const OCTETS: u8 = 0x04;
const EXTENSIONS: u8 = 0xa3;
const MAILBOX: u8 = 0x81;
const HOST: u8 = 0x82;
const ADDRESS: u8 = 0x87;
/// 2.5.29.17.
const ALTERNATIVE_NAMES: [u8; 3] = [0x55, 0x1d, 0x11];

/// The names in a certificate, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CertificateNames {
    /// Names of hosts (`DNS:`), which may begin with `*.`.
    pub hosts: Vec<String>,
    /// Names of the form `local@host` (`email:`): mailboxes, or nodes of a cluster.
    pub mailboxes: Vec<String>,
    /// Addresses (`IP:`).
    pub addresses: Vec<IpAddr>,
}

impl CertificateNames {
    /// Reads the names of a certificate in DER.
    pub(super) fn of(certificate: &[u8]) -> Self {
        let mut names = CertificateNames::default();
        let Some(list) = alternative_names(certificate) else { return names };
        let mut list = Der(list);
        while let Some((tag, value)) = list.next() {
            let text = || str::from_utf8(value).map(ToOwned::to_owned).ok();
            match tag {
                MAILBOX => names.mailboxes.extend(text()),
                HOST => names.hosts.extend(text()),
                ADDRESS => names.addresses.extend(address(value)),
                _ => {}
            }
        }
        names
    }
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    let four = <[u8; 4]>::try_from(bytes).map(|four| IpAddr::from(Ipv4Addr::from(four)));
    let sixteen = || <[u8; 16]>::try_from(bytes).map(|bytes| IpAddr::from(Ipv6Addr::from(bytes)));
    four.or_else(|_| sixteen()).ok()
}

/// The bytes of the list of names.
fn alternative_names(certificate: &[u8]) -> Option<&[u8]> {
    let certificate = Der(certificate).only(SEQUENCE)?;
    let tbs = Der(certificate).only(SEQUENCE)?;
    let extensions = Der(tbs).only(EXTENSIONS)?;
    let mut extensions = Der(Der(extensions).only(SEQUENCE)?);
    while let Some((_, extension)) = extensions.next() {
        if Der(extension).only(OBJECT_IDENTIFIER)? == ALTERNATIVE_NAMES {
            return Der(Der(extension).only(OCTETS)?).only(SEQUENCE);
        }
    }
    None
}

/// Elements of DER, one after the other.
struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    /// The contents of the first element with this tag.
    fn only(mut self, wanted: u8) -> Option<&'a [u8]> {
        loop {
            let (tag, contents) = self.next()?;
            if tag == wanted {
                return Some(contents);
            }
        }
    }

    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, mut rest) = rest.split_first()?;
        let mut length = usize::from(first);
        if first & 0x80 != 0 {
            let count = usize::from(first & 0x7f);
            let (bytes, after) = rest.split_at_checked(count)?;
            if count > 4 {
                return None;
            }
            length = bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
            rest = after;
        }
        let (contents, after) = rest.split_at_checked(length)?;
        self.0 = after;
        Some((tag, contents))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, KeyPair, SanType};

    fn certificate(names: Vec<SanType>) -> Vec<u8> {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.subject_alt_names = names;
        params.is_ca = rcgen::IsCa::ExplicitNoCa;
        let key = KeyPair::generate().unwrap();
        params.self_signed(&key).unwrap().der().to_vec()
    }

    #[test]
    fn zsec10_the_names_of_a_certificate_are_read() {
        let (v4, v6): (IpAddr, IpAddr) = ([10, 0, 0, 7].into(), Ipv6Addr::LOCALHOST.into());
        let names = certificate(vec![
            SanType::DnsName("a.example".try_into().unwrap()),
            SanType::Rfc822Name("calc@a.example".try_into().unwrap()),
            SanType::IpAddress(v4),
            SanType::URI("spiffe://example/calc".try_into().unwrap()),
            SanType::DnsName("*.b.example".try_into().unwrap()),
            SanType::IpAddress(v6),
        ]);
        let expected = CertificateNames {
            hosts: vec!["a.example".to_owned(), "*.b.example".to_owned()],
            mailboxes: vec!["calc@a.example".to_owned()],
            addresses: vec![v4, v6],
        };
        assert_eq!(CertificateNames::of(&names), expected);
        assert_eq!(CertificateNames::of(&certificate(vec![])), CertificateNames::default());
    }

    #[test]
    fn zsec10_no_bytes_make_the_reader_of_names_fail() {
        let whole = certificate(vec![SanType::DnsName("a.example".try_into().unwrap())]);
        for end in 0..whole.len() {
            assert_eq!(CertificateNames::of(&whole[..end]), CertificateNames::default());
        }
        // Each byte replaced by the ends of its range.
        for at in 0..whole.len() {
            for byte in [0, 0x7f, 0x80, 0x84, 0xff] {
                let mut changed = whole.clone();
                changed[at] = byte;
                let _ = CertificateNames::of(&changed);
            }
        }
    }
}
