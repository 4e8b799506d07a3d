//! The address of an observer, as it is given on the command line.

use std::fmt::Write;
use thiserror::Error;
use ureq::http::Uri;

/// Where an observer is: `http://`, an authority, perhaps a path that a proxy has put before its
/// routes; without a slash at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ObserverUrl(String);

/// Why a text is no address of an observer.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum UrlError {
    #[error(
        "{0:?} needs TLS, which this program does not have: put a proxy before the observer, and go through it"
    )]
    Tls(String),
    #[error("{0:?} is not the address of an observer, such as http://127.0.0.1:9414")]
    Invalid(String),
}

impl ObserverUrl {
    /// Reads an address. `http://` may be left out.
    pub(crate) fn read(text: &str) -> Result<Self, UrlError> {
        let invalid = || UrlError::Invalid(text.to_owned());
        if text.starts_with("https://") {
            return Err(UrlError::Tls(text.to_owned()));
        }
        let rest = text.strip_prefix("http://").unwrap_or(text).trim_end_matches('/');
        let strange = |letter: char| !letter.is_ascii_graphic() || "@?#\\".contains(letter);
        if rest.is_empty() || rest.contains("://") || rest.contains(strange) {
            return Err(invalid());
        }
        let url = format!("http://{rest}");
        let uri: Uri = url.parse().map_err(|_| invalid())?;
        let host = uri.host().unwrap_or_default();
        let has_port = uri
            .authority()
            .is_some_and(|it| it.as_str().len() == host.len() || uri.port_u16().is_some());
        if host.is_empty() || !has_port {
            return Err(invalid());
        }
        Ok(ObserverUrl(url))
    }

    /// The address of a route: `route` begins with a slash.
    pub(crate) fn route(&self, route: &str) -> String {
        format!("{}{route}", self.0)
    }

    /// The address as a text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// A text as a part of a query.
pub(crate) fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() {
            encoded.push(char::from(byte));
        } else {
            // Writing to a text cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v81_an_address_is_read_or_named_as_wrong() {
        for good in [
            "127.0.0.1:9414",
            "http://127.0.0.1:9414",
            "http://127.0.0.1:9414/",
            "localhost",
            "http://[::1]:80",
        ] {
            ObserverUrl::read(good).unwrap();
        }
        let below = ObserverUrl::read("http://ops.example/krarup/").unwrap();
        assert_eq!(below.route("/tree"), "http://ops.example/krarup/tree");
        for bad in [
            "",
            "http://",
            "ftp://a",
            "http://a b",
            "http://a?x",
            "http://u@a",
            "a\u{1b}",
            "http://a:x",
            "http://a:99999",
            "ä",
        ] {
            assert_eq!(ObserverUrl::read(bad), Err(UrlError::Invalid(bad.to_owned())));
        }
        assert!(matches!(ObserverUrl::read("https://a"), Err(UrlError::Tls(_))));
    }
}
