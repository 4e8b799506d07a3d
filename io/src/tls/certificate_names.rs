//! The alternative names of the subject of a certificate.
//!
//! ```text
//!   Certificate { tbs { .., [3] extensions { { oid 2.5.29.17, octets { names } }, .. } }, .. }
//!                                                                     │
//!                                             [1] mailbox  [2] host  [7] address
//! ```
//!
//! The certificate was verified before, but not these names: what of them cannot be read is counted.

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

/// The names in a certificate, in its order (feature `io-tls`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CertificateNames {
    /// Names of hosts (`DNS:`), which may begin with `*.`.
    pub hosts: Vec<String>,
    /// Names of the form `local@host` (`email:`): mailboxes, or nodes of a cluster.
    pub mailboxes: Vec<String>,
    /// Addresses (`IP:`).
    pub addresses: Vec<IpAddr>,
    /// How many names could not be read. Who decides by the names should refuse a certificate that
    /// has any: it may be restricted by the one that is missing here.
    pub unreadable: usize,
}

/// The bytes are no DER, or lack something.
#[derive(Debug)]
struct Malformed;

impl CertificateNames {
    /// Reads the names of a certificate in DER.
    pub(super) fn of(certificate: &[u8]) -> Self {
        let mut names = CertificateNames::default();
        if names.read(certificate).is_err() {
            names.unreadable += 1;
        }
        names
    }

    fn read(&mut self, certificate: &[u8]) -> Result<(), Malformed> {
        let Some(list) = alternative_names(certificate)? else { return Ok(()) };
        let mut list = Der(list);
        while let Some((tag, value)) = list.next()? {
            let text = || str::from_utf8(value).map(ToOwned::to_owned).ok();
            let is_read = match tag {
                MAILBOX => add(&mut self.mailboxes, text()),
                HOST => add(&mut self.hosts, text()),
                ADDRESS => add(&mut self.addresses, address(value)),
                _ => true,
            };
            self.unreadable += usize::from(!is_read);
        }
        Ok(())
    }
}

/// Adds a name if it was read. Returns whether it was.
fn add<T>(names: &mut Vec<T>, name: Option<T>) -> bool {
    let before = names.len();
    names.extend(name);
    names.len() > before
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    let four = <[u8; 4]>::try_from(bytes).map(|four| IpAddr::from(Ipv4Addr::from(four)));
    let sixteen = || <[u8; 16]>::try_from(bytes).map(|bytes| IpAddr::from(Ipv6Addr::from(bytes)));
    four.or_else(|_| sixteen()).ok()
}

/// The bytes of the list of names, if there is one.
fn alternative_names(certificate: &[u8]) -> Result<Option<&[u8]>, Malformed> {
    let certificate = Der(certificate).required(SEQUENCE)?;
    let tbs = Der(certificate).required(SEQUENCE)?;
    let Some(extensions) = Der(tbs).find(EXTENSIONS)? else { return Ok(None) };
    let mut extensions = Der(Der(extensions).required(SEQUENCE)?);
    while let Some((_, extension)) = extensions.next()? {
        if Der(extension).required(OBJECT_IDENTIFIER)? == ALTERNATIVE_NAMES {
            let octets = Der(extension).required(OCTETS)?;
            return Der(octets).required(SEQUENCE).map(Some);
        }
    }
    Ok(None)
}

/// Elements of DER, one after the other.
struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    /// The contents of the first element with this tag, which must be there.
    fn required(self, wanted: u8) -> Result<&'a [u8], Malformed> {
        self.find(wanted)?.ok_or(Malformed)
    }

    /// The contents of the first element with this tag.
    fn find(mut self, wanted: u8) -> Result<Option<&'a [u8]>, Malformed> {
        while let Some((tag, contents)) = self.next()? {
            if tag == wanted {
                return Ok(Some(contents));
            }
        }
        Ok(None)
    }

    fn next(&mut self) -> Result<Option<(u8, &'a [u8])>, Malformed> {
        let Some((&tag, rest)) = self.0.split_first() else { return Ok(None) };
        let (&first, mut rest) = rest.split_first().ok_or(Malformed)?;
        let mut length = usize::from(first);
        if first & 0x80 != 0 {
            let count = usize::from(first & 0x7f);
            let (bytes, after) = rest.split_at_checked(count).ok_or(Malformed)?;
            if count > 4 {
                return Err(Malformed);
            }
            length = bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
            rest = after;
        }
        let (contents, after) = rest.split_at_checked(length).ok_or(Malformed)?;
        self.0 = after;
        Ok(Some((tag, contents)))
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
            unreadable: 0,
        };
        assert_eq!(CertificateNames::of(&names), expected);
        assert_eq!(CertificateNames::of(&certificate(vec![])), CertificateNames::default());
    }

    #[test]
    fn zsec10_no_bytes_make_the_reader_of_names_fail() {
        let whole = certificate(vec![SanType::DnsName("a.example".try_into().unwrap())]);
        for end in 0..whole.len() {
            let names = CertificateNames::of(&whole[..end]);
            assert_eq!(names, CertificateNames { unreadable: 1, ..CertificateNames::default() });
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

    #[test]
    fn zsec10_names_that_cannot_be_read_are_counted() {
        let list = |names: &[u8]| {
            let mut list = vec![SEQUENCE, u8::try_from(names.len()).unwrap()];
            list.extend_from_slice(names);
            let extension = rcgen::CustomExtension::from_oid_content(&[2, 5, 29, 17], list);
            let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
            params.custom_extensions = vec![extension];
            let key = KeyPair::generate().unwrap();
            CertificateNames::of(params.self_signed(&key).unwrap().der())
        };
        let host = [HOST, 1, b'a'];
        let of = |more: &[u8]| list(&[&host[..], more].concat());
        assert_eq!(of(&[]).unreadable, 0);
        for odd in [
            // No text, no address, and an element that is longer than its list.
            &[MAILBOX, 2, 0xff, 0xfe][..],
            &[HOST, 1, 0x80],
            &[ADDRESS, 3, 10, 0, 0],
            &[MAILBOX, 9, b'a'],
            &[MAILBOX],
        ] {
            let names = of(odd);
            assert_eq!((names.unreadable, names.hosts), (1, vec!["a".to_owned()]), "{odd:?}");
        }
        // Names of other kinds are none of these.
        assert_eq!(of(&[0x86, 1, b'u']).unreadable, 0);
    }
}
