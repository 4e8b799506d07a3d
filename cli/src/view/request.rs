//! The head of a request, and the guard before all routes. Pure.
//!
//! A page of another origin in a browser on this machine can send requests to a loopback address.
//! So the `Host` must be an address or `localhost` (a name of an attacker's can resolve to this
//! machine), and the `Origin`, if there is one, must be this server's own. It is the guard of an
//! observer; nothing can be written here.

use crate::view::refusal::ViewRefusal;
use std::net::{Ipv4Addr, Ipv6Addr};

/// The most bytes of a head.
pub(crate) const HEAD: usize = 16 << 10;
/// The most bytes of a path and its query.
const TARGET: usize = 4 << 10;

/// A request that was let in as far as its head tells.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ViewRequest {
    pub(crate) method: String,
    /// Begins with a slash.
    pub(crate) path: String,
    pub(crate) query: String,
}

impl ViewRequest {
    /// Reads a head up to its empty line, which may be left out.
    pub(crate) fn read(head: &[u8]) -> Result<Self, ViewRefusal> {
        let bad = |message: &str| ViewRefusal::new(400, "bad_request", message);
        let head = std::str::from_utf8(head).map_err(|_| bad("the head is no UTF-8"))?;
        let head = head.strip_suffix("\r\n\r\n").unwrap_or(head);
        let mut lines = head.split("\r\n");
        let first = lines.next().unwrap_or_default();
        let mut parts = first.split(' ');
        let (Some(method), Some(target), Some("HTTP/1.1" | "HTTP/1.0"), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(bad("the first line is not one of HTTP/1"));
        };
        if head.contains('\0') || head.replace("\r\n", "").contains(['\r', '\n']) {
            return Err(bad("the head is not strict HTTP"));
        }
        if !target.starts_with('/') {
            return Err(bad("the target is not a path"));
        }
        if target.len() > TARGET {
            let message = format!("path and query have {} bytes, more than {TARGET}", target.len());
            return Err(ViewRefusal::new(414, "uri_too_long", message));
        }
        let mut fields = Vec::new();
        for line in lines {
            let (name, value) = line.split_once(':').ok_or_else(|| bad("a line is no field"))?;
            let token =
                |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
            if name.is_empty() || !name.bytes().all(token) {
                return Err(bad("the name of a field is none"));
            }
            fields.push((name, value.trim_matches([' ', '\t'])));
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let request = ViewRequest {
            method: method.to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
        };
        request.check(&fields)?;
        Ok(request)
    }

    fn check(&self, fields: &[(&str, &str)]) -> Result<(), ViewRefusal> {
        let all = |wanted: &str| -> Vec<&str> {
            let named = fields.iter().filter(|(name, _)| name.eq_ignore_ascii_case(wanted));
            named.map(|(_, value)| *value).collect()
        };
        let hosts = all("host");
        let [host] = hosts[..] else {
            return Err(ViewRefusal::new(400, "bad_request", "there is not exactly one Host"));
        };
        if !is_own_host(host) {
            let message = format!("{host:?} is neither an address nor localhost");
            return Err(ViewRefusal::new(403, "bad_host", message));
        }
        let origins = all("origin");
        let own = |origin: &&str| {
            let after = origin.strip_prefix("http://");
            after.is_some_and(|after| after.eq_ignore_ascii_case(host))
        };
        if origins.len() > 1 || !origins.iter().all(own) {
            return Err(ViewRefusal::new(403, "bad_origin", "the Origin is not this server's"));
        }
        let is = |name: &str, wanted: &str| {
            all(name).iter().any(|value| value.eq_ignore_ascii_case(wanted))
        };
        let foreign = is("sec-fetch-site", "cross-site") || is("sec-fetch-site", "same-site");
        let opens = is("sec-fetch-mode", "navigate") && self.method == "GET" && self.path == "/";
        if foreign && !opens {
            let message = "a page of another site sent the request";
            return Err(ViewRefusal::new(403, "bad_origin", message));
        }
        Ok(())
    }
}

/// An address or `localhost`, perhaps with a port.
fn is_own_host(host: &str) -> bool {
    let end = if host.starts_with('[') {
        host.find(']').map_or(host.len(), |end| end + 1)
    } else {
        host.find(':').unwrap_or(host.len())
    };
    let (name, port) = host.split_at(end);
    let has_port = port.is_empty()
        || port
            .strip_prefix(':')
            .is_some_and(|port| port.len() <= 5 && port.bytes().all(|byte| byte.is_ascii_digit()));
    let inside = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    has_port
        && match inside {
            Some(address) => address.parse::<Ipv6Addr>().is_ok(),
            None => name.parse::<Ipv4Addr>().is_ok() || name.eq_ignore_ascii_case("localhost"),
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(head: &str) -> &'static str {
        match ViewRequest::read(head.as_bytes()) {
            Ok(_) => "ok",
            Err(refusal) => refusal.code,
        }
    }

    fn with(fields: &str) -> String {
        format!("GET /tree?a=b HTTP/1.1\r\n{fields}\r\n\r\n")
    }

    #[test]
    fn v26_a_head_is_read() {
        let request = ViewRequest::read(with("Host: 127.0.0.1:1").as_bytes()).unwrap();
        assert_eq!((request.method.as_str(), request.path.as_str()), ("GET", "/tree"));
        assert_eq!(request.query, "a=b");
    }

    #[test]
    fn v26_the_guard_is_that_of_an_observer() {
        for good in
            ["127.0.0.1", "127.0.0.1:9414", "[::1]:80", "localhost", "LOCALHOST:1", "localhost:"]
        {
            assert_eq!(code(&with(&format!("Host: {good}"))), "ok", "{good}");
        }
        for bad in [
            "",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "127.1",
            "[::1",
            "::1",
            "[localhost]",
            "u@localhost",
            "localhost:x",
            "localhost:999999",
            "localhost.",
        ] {
            assert_eq!(code(&with(&format!("Host: {bad}"))), "bad_host", "{bad}");
        }
        let host = "Host: 127.0.0.1:1\r\n";
        for (fields, expected) in [
            ("Origin: http://127.0.0.1:1", "ok"),
            ("Origin: null", "bad_origin"),
            ("Origin: http://evil.example", "bad_origin"),
            ("Origin: http://127.0.0.1:2", "bad_origin"),
            ("Origin: http://127.0.0.1:1\r\nOrigin: http://127.0.0.1:1", "bad_origin"),
            ("Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate", "bad_origin"),
            ("Sec-Fetch-Site: same-site", "bad_origin"),
            ("Sec-Fetch-Site: same-origin", "ok"),
            ("Sec-Fetch-Site: none", "ok"),
            ("Host: 127.0.0.1:1", "bad_request"),
            (" folded: x", "bad_request"),
            ("no field", "bad_request"),
            ("a: b\nc: d", "bad_request"),
            ("a : b", "bad_request"),
        ] {
            assert_eq!(code(&with(&format!("{host}{fields}"))), expected, "{fields}");
        }
        let page = format!(
            "GET / HTTP/1.1\r\n{host}Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n\r\n"
        );
        assert_eq!(code(&page), "ok");
        for bad in [
            "",
            "GET",
            "GET / HTTP/2",
            "GET http://127.0.0.1/ HTTP/1.1",
            "GET  / HTTP/1.1",
            "GET / HTTP/1.1",
        ] {
            assert_eq!(code(&format!("{bad}\r\n\r\n")), "bad_request", "{bad}");
        }
        let long = format!("GET /{} HTTP/1.1\r\n{host}\r\n", "x".repeat(TARGET));
        assert_eq!(code(&long), "uri_too_long");
        assert_eq!(code("GET / HTTP/1.1\r\nHost: a\0\r\n\r\n"), "bad_request");
    }
}
