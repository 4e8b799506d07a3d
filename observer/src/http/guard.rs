//! The guard: which requests are refused before anything is done for them, in a fixed order.
//! Pure.
//!
//! A page of another origin in a browser on this machine can send requests to a loopback
//! address. So the `Host` must be an address or a known name (a name of an attacker's can
//! resolve to this machine), and the `Origin`, if there is one, must be the door's own.

use crate::http::access::{Access, Door};
use crate::http::percent_encoding::text_of;
use crate::http::refusal::{Code, Refusal};
use crate::http::route::{NO_ROUTE, ObserverRoute};
use crate::limits;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, ORIGIN};
use hyper::http::request::Parts;
use hyper::http::uri::{Authority, Scheme};
use hyper::{Method, Version};
use std::net::{Ipv4Addr, Ipv6Addr};

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

/// A request that was let in.
#[derive(Debug)]
pub(crate) struct Admitted {
    pub(crate) route: ObserverRoute,
    /// Whether it is to do something, not to read.
    pub(crate) acts: bool,
}

/// Checks a request whose head has arrived. `flawed`: its bytes were not strict HTTP.
/// The second value is the route, if the path is one, for the metrics.
pub(crate) fn admit(
    access: &Access,
    door: Door,
    parts: &Parts,
    flawed: bool,
) -> Result<Admitted, (Refusal, Option<ObserverRoute>)> {
    let route = check_target(parts, flawed).map_err(|refusal| (refusal, None))?;
    let route = route.filter(|route| door == Door::Main || route.is_probe());
    let refused = |refusal| (refusal, route.clone());
    if door == Door::Main {
        check_host(access, parts).map_err(refused)?;
        check_origin(access, parts).map_err(refused)?;
    }
    let Some(route) = route.clone() else {
        let message = match door {
            Door::Main => ObserverRoute::missing(parts.uri.path()),
            Door::Probes => NO_ROUTE.to_owned(),
        };
        return Err((Refusal::new(Code::NoRoute, message), None));
    };
    let posts = parts.method == Method::POST;
    // What a tool may do is decided when its name is known.
    let acts = posts && route != ObserverRoute::Mcp;
    let known = route.methods().split(", ").any(|method| method == parts.method.as_str());
    if !known {
        let message = format!("the route has {}", route.methods());
        let refusal =
            Refusal { allow: Some(route.methods()), ..Refusal::new(Code::BadMethod, message) };
        return Err((refusal, Some(route)));
    }
    let checked = match door {
        Door::Probes => Ok(()),
        Door::Main => check_token(access, &route, acts, &parts.headers),
    };
    let checked =
        checked.and_then(|()| if posts { check_media_type(&parts.headers) } else { Ok(()) });
    match checked {
        Ok(()) => Ok(Admitted { route, acts }),
        Err(refusal) => Err((refusal, Some(route))),
    }
}

/// The head is one of HTTP, with one host and a path.
fn check_target(parts: &Parts, flawed: bool) -> Result<Option<ObserverRoute>, Refusal> {
    let bad = |message: &str| Refusal::new(Code::BadRequest, message);
    if flawed {
        return Err(bad("the head is not strict HTTP"));
    }
    if parts.version > Version::HTTP_11 {
        return Err(bad("this is not HTTP/1"));
    }
    let mut hosts = parts.headers.get_all(HOST).iter();
    if hosts.next().is_none() {
        return Err(bad("there is no Host"));
    }
    if hosts.next().is_some() {
        return Err(bad("there are several Hosts"));
    }
    let (scheme, authority) = (parts.uri.scheme(), parts.uri.authority());
    let connects = parts.method == Method::CONNECT;
    // A proxy may be asked with the whole address, and hand it on (RFC 9112, 3.2.2).
    let is_address = scheme == Some(&Scheme::HTTP);
    if !connects && !is_address && (authority.is_some() || scheme.is_some()) {
        return Err(bad("the target is neither a path nor an address of http"));
    }
    let length = parts.uri.path_and_query().map_or(0, |target| target.as_str().len());
    let path = parts.uri.path();
    text_of(path, false).map_err(|flaw| bad(&format!("the path {flaw}")))?;
    if length > limits::URI {
        let message = format!("path and query have {length} bytes, more than {}", limits::URI);
        return Err(Refusal::new(Code::UriTooLong, message));
    }
    Ok(ObserverRoute::find(path))
}

/// The header `Host`.
fn host(headers: &HeaderMap) -> &str {
    headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default()
}

/// The host in a target that is a whole address.
fn host_of_target(parts: &Parts) -> Option<&str> {
    let authority = parts.uri.authority().filter(|_| parts.method != Method::CONNECT);
    authority.map(Authority::as_str)
}

/// Both the header and the target must name an allowed host: a name in either of them may be the
/// one that was resolved.
fn check_host(access: &Access, parts: &Parts) -> Result<(), Refusal> {
    for host in [Some(host(&parts.headers)), host_of_target(parts)].into_iter().flatten() {
        if !host_name(host).is_some_and(|name| is_allowed(access, name)) {
            let message =
                format!("{host:?} is neither an address nor localhost nor an allowed host");
            return Err(Refusal::new(Code::BadHost, message));
        }
    }
    Ok(())
}

/// The host without its port.
fn host_name(host: &str) -> Option<&str> {
    let (name, port) = match host.strip_prefix('[') {
        Some(_) => {
            let end = host.find(']')? + 1;
            (&host[..end], &host[end..])
        }
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let is_port = match port.strip_prefix(':') {
        Some(port) => port.len() <= 5 && port.bytes().all(|byte| byte.is_ascii_digit()),
        None => port.is_empty(),
    };
    is_port.then_some(name)
}

fn is_allowed(access: &Access, name: &str) -> bool {
    let inside = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    match inside {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => {
            name.parse::<Ipv4Addr>().is_ok()
                || name.eq_ignore_ascii_case("localhost")
                || access.hosts.iter().any(|host| host.eq_ignore_ascii_case(name))
        }
    }
}

fn check_origin(access: &Access, parts: &Parts) -> Result<(), Refusal> {
    // The host of a whole address counts in place of the header.
    let host = host_of_target(parts).unwrap_or_else(|| host(&parts.headers));
    for origin in parts.headers.get_all(ORIGIN) {
        let origin = origin.to_str().unwrap_or_default();
        let after = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        let own = after.is_some_and(|after| !host.is_empty() && after.eq_ignore_ascii_case(host));
        let allowed = access.origins.iter().any(|allowed| allowed.eq_ignore_ascii_case(origin));
        if !own && !allowed {
            let message = format!("{origin:?} is not an origin of this observer");
            return Err(Refusal::new(Code::BadOrigin, message));
        }
    }
    if parts.headers.get_all(ORIGIN).iter().count() > 1 {
        return Err(Refusal::new(Code::BadOrigin, "there are several Origins"));
    }
    let is = |name: &HeaderName, value: &str| {
        parts
            .headers
            .get_all(name)
            .iter()
            .any(|it| it.as_bytes().eq_ignore_ascii_case(value.as_bytes()))
    };
    let foreign = is(&FETCH_SITE, "cross-site") || is(&FETCH_SITE, "same-site");
    let opens_page =
        is(&FETCH_MODE, "navigate") && parts.method == Method::GET && parts.uri.path() == "/";
    if foreign && !opens_page {
        return Err(Refusal::new(Code::BadOrigin, "a page of another site sent the request"));
    }
    Ok(())
}

fn check_token(
    access: &Access,
    route: &ObserverRoute,
    acts: bool,
    headers: &HeaderMap,
) -> Result<(), Refusal> {
    if acts && access.action_token.is_none() {
        return Err(Refusal::new(
            Code::ReadOnly,
            "this observer has no action token: it only reads",
        ));
    }
    if !acts && (access.read_token.is_none() || !route.has_data()) {
        return Ok(());
    }
    let bearer = bearer(headers);
    let Some(bearer) = bearer else {
        let message = "the header Authorization: Bearer TOKEN is needed";
        return Err(Refusal::new(Code::TokenMissing, message));
    };
    // Both are compared, so that the time does not tell which of them there are.
    let action = access.action_token.as_ref().is_some_and(|token| token.is(bearer));
    let read = access.read_token.as_ref().is_some_and(|token| token.is(bearer));
    if action || (read && !acts) {
        return Ok(());
    }
    Err(Refusal::new(Code::TokenWrong, "the bearer token is not the one for this"))
}

/// Whether a request has the token that opens the actions.
#[cfg(feature = "mcp")]
pub(crate) fn may_act(access: &Access, headers: &HeaderMap) -> Result<(), Refusal> {
    check_token(access, &ObserverRoute::Mcp, true, headers)
}

/// The bearer token of a request, if there is exactly one authorization and it has one.
fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let mut all = headers.get_all(AUTHORIZATION).iter();
    let value = all.next().filter(|_| all.next().is_none())?.as_bytes();
    let (scheme, token) = value.split_at_checked("bearer ".len())?;
    let token = token.trim_ascii();
    (scheme.eq_ignore_ascii_case(b"bearer ") && !token.is_empty()).then_some(token)
}

fn check_media_type(headers: &HeaderMap) -> Result<(), Refusal> {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = value.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(Refusal::new(Code::BadMediaType, "the Content-Type must be application/json"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::Token;
    use hyper::Request;

    const ACTION: &str = "action-action-action-action-action-action";
    const READ: &str = "read-read-read-read-read-read-read-read";

    fn parts(method: &str, path: &str, headers: &[(&str, &str)]) -> Parts {
        let request = Request::builder().method(method).uri(path);
        let request =
            headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        request.body(()).unwrap().into_parts().0
    }

    fn code(access: &Access, method: &str, path: &str, headers: &[(&str, &str)]) -> &'static str {
        let host = [("host", "127.0.0.1:9414")];
        let all = if headers.iter().any(|(name, _)| *name == "host") {
            headers.to_vec()
        } else {
            [&host, headers].concat()
        };
        match admit(access, Door::Main, &parts(method, path, &all), false) {
            Ok(_) => "ok",
            Err((refusal, _)) => refusal.code.text(),
        }
    }

    #[test]
    fn v35_only_addresses_localhost_and_allowed_names_are_hosts() {
        let access = Access { hosts: vec!["observer.example".into()], ..Access::default() };
        for good in [
            "127.0.0.1",
            "127.0.0.1:9414",
            "[::1]",
            "[::1]:80",
            "localhost",
            "LOCALHOST:1",
            "10.0.0.1:65535",
            "observer.example",
            "Observer.Example:8080",
        ] {
            for path in ["/", "/tree", "/api/v1/node", "/livez", "/nowhere"] {
                assert_ne!(code(&access, "GET", path, &[("host", good)]), "bad_host", "{good}");
            }
        }
        for bad in [
            "",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "localhost:x",
            "[::1",
            "::1",
            "[localhost]",
            "user@localhost",
            "127.1",
            "localhost.",
            "localhost:",
            "0x7f.1",
            "localhost:999999",
        ] {
            let expected = if bad == "localhost:" { "ok" } else { "bad_host" };
            for path in ["/", "/tree", "/api/v1/node", "/livez", "/nowhere"] {
                let found = code(&access, "GET", path, &[("host", bad)]);
                assert!(
                    found == expected || (expected == "ok" && found == "no_route"),
                    "{bad}: {found}"
                );
            }
        }
    }

    #[test]
    fn v35_foreign_origins_and_cross_site_fetches_are_refused() {
        let access = Access { origins: vec!["https://ops.example".into()], ..Access::default() };
        for good in ["http://127.0.0.1:9414", "https://127.0.0.1:9414", "https://ops.example"] {
            assert_eq!(code(&access, "GET", "/tree", &[("origin", good)]), "ok", "{good}");
        }
        for bad in [
            "null",
            "",
            "http://127.0.0.1",
            "http://evil.example",
            "ftp://127.0.0.1:9414",
            "127.0.0.1:9414",
        ] {
            assert_eq!(code(&access, "GET", "/tree", &[("origin", bad)]), "bad_origin", "{bad}");
        }
        let two = [("origin", "https://ops.example"), ("origin", "https://ops.example")];
        assert_eq!(code(&access, "GET", "/tree", &two), "bad_origin");
        for site in ["cross-site", "same-site"] {
            let fetch = [("sec-fetch-site", site), ("sec-fetch-mode", "no-cors")];
            assert_eq!(code(&access, "GET", "/", &fetch), "bad_origin");
            let opens = [("sec-fetch-site", site), ("sec-fetch-mode", "navigate")];
            assert_eq!(code(&access, "GET", "/", &opens), "ok");
            assert_eq!(code(&access, "GET", "/tree", &opens), "bad_origin");
            assert_eq!(code(&access, "POST", "/", &opens), "bad_origin");
        }
        for site in ["none", "same-origin"] {
            assert_eq!(code(&access, "GET", "/tree", &[("sec-fetch-site", site)]), "ok");
        }
    }

    #[test]
    fn v35_a_target_that_is_a_whole_address_has_an_allowed_host() {
        let access = Access { hosts: vec!["observer.example".into()], ..Access::default() };
        for host in ["127.0.0.1:9414", "localhost", "[::1]:80", "Observer.Example:8080"] {
            let target = format!("http://{host}/tree");
            assert_eq!(code(&access, "GET", &target, &[]), "ok", "{target}");
            let origin = format!("http://{host}");
            assert_eq!(code(&access, "GET", &target, &[("origin", &origin)]), "ok", "{target}");
        }
        assert_eq!(code(&access, "GET", "http://localhost", &[]), "ok");
        let target = "http://127.0.0.1:9414/tree";
        // An allowed host in one of the two places is no leave for another one.
        assert_eq!(code(&access, "GET", target, &[("host", "evil.example")]), "bad_host");
        for evil in ["evil.example", "localhost.evil.example:80", "user@localhost", "127.1"] {
            let target = format!("http://{evil}/tree");
            assert_eq!(code(&access, "GET", &target, &[]), "bad_host", "{target}");
        }
        for origin in ["http://evil.example", "null", "http://localhost"] {
            assert_eq!(code(&access, "GET", target, &[("origin", origin)]), "bad_origin");
        }
        let site = [("sec-fetch-site", "cross-site")];
        assert_eq!(code(&access, "GET", target, &site), "bad_origin");
        // The other host is that of the target.
        let both = [("host", "localhost"), ("origin", "http://localhost")];
        assert_eq!(code(&access, "GET", target, &both), "bad_origin");
    }

    #[test]
    fn v36_tokens_are_wanted_for_actions_and_for_reading_if_there_is_one() {
        let kill = "/api/v1/processes/1/kill";
        let json = ("content-type", "application/json");
        let open = Access::default();
        assert_eq!(code(&open, "POST", kill, &[json, ("authorization", "Bearer x")]), "read_only");
        assert_eq!(code(&open, "GET", "/tree", &[]), "ok");
        let acts = Access { action_token: Some(Token::new(ACTION).unwrap()), ..Access::default() };
        let right = format!("Bearer {ACTION}");
        let short = format!("Bearer {}", &ACTION[1..]);
        assert_eq!(code(&acts, "POST", kill, &[json]), "token_missing");
        assert_eq!(
            code(&acts, "POST", &format!("{kill}?token={ACTION}"), &[json]),
            "token_missing"
        );
        assert_eq!(code(&acts, "POST", kill, &[json, ("cookie", &right)]), "token_missing");
        assert_eq!(code(&acts, "POST", kill, &[json, ("authorization", ACTION)]), "token_missing");
        assert_eq!(code(&acts, "POST", kill, &[json, ("authorization", &short)]), "token_wrong");
        assert_eq!(code(&acts, "POST", kill, &[json, ("authorization", &right)]), "ok");
        assert_eq!(code(&acts, "POST", kill, &[("authorization", &right)]), "bad_media_type");
        assert_eq!(code(&acts, "GET", "/tree", &[]), "ok");
        let both = Access { read_token: Some(Token::new(READ).unwrap()), ..acts };
        let reads = format!("bearer {READ}");
        assert_eq!(code(&both, "GET", "/tree", &[]), "token_missing");
        assert_eq!(code(&both, "GET", "/tree", &[("authorization", &short)]), "token_wrong");
        for token in [&right, &reads] {
            assert_eq!(code(&both, "GET", "/tree", &[("authorization", token)]), "ok");
        }
        assert_eq!(code(&both, "POST", kill, &[json, ("authorization", &reads)]), "token_wrong");
        assert_eq!(code(&both, "GET", "/", &[]), "ok");
        assert_eq!(code(&both, "GET", "/assets/app.js", &[]), "ok");
    }

    #[test]
    fn v37_other_methods_are_told_which_there_are() {
        for method in ["OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "BREW", "POST"] {
            let request = parts(method, "/tree", &[("host", "localhost")]);
            let (refusal, _) = admit(&Access::default(), Door::Main, &request, false).unwrap_err();
            assert_eq!(
                (refusal.code, refusal.allow),
                (Code::BadMethod, Some("GET, HEAD")),
                "{method}"
            );
        }
        let request = parts("GET", "/api/v1/processes/1/kill", &[("host", "localhost")]);
        let (refusal, _) = admit(&Access::default(), Door::Main, &request, false).unwrap_err();
        assert_eq!((refusal.code, refusal.allow), (Code::BadMethod, Some("POST")));
    }

    #[test]
    fn v38_strange_targets_are_refused_and_reach_no_file() {
        let access = Access::default();
        for path in ["/%ff", "/%", "/%4", "/%zz"] {
            assert_eq!(code(&access, "GET", path, &[]), "bad_request", "{path}");
        }
        for path in [
            "/../etc/passwd",
            "/%2e%2e/etc",
            "/assets/%2e%2e",
            "/assets%2fapp.js",
            "/%00",
            "//tree",
            "/tree\\",
        ] {
            let found = code(&access, "GET", path, &[]);
            assert!(found == "no_route" || found == "ok", "{path}: {found}");
            assert!(found == "no_route" || path.starts_with("/assets/"), "{path}");
        }
        assert_eq!(code(&access, "GET", &"/a".repeat(10_000), &[]), "uri_too_long");
        for target in ["https://127.0.0.1:9414/tree", "127.0.0.1:9414"] {
            assert_eq!(code(&access, "GET", target, &[]), "bad_request", "{target}");
        }
        let nobody = parts("GET", "/tree", &[]);
        assert_eq!(
            admit(&access, Door::Main, &nobody, false).unwrap_err().0.code,
            Code::BadRequest
        );
        let two = [("host", "localhost"), ("host", "localhost")];
        assert_eq!(code(&access, "GET", "/tree", &two), "bad_request");
    }

    #[test]
    fn v36_the_door_for_probes_has_nothing_else_and_asks_for_nothing() {
        let access = Access { read_token: Some(Token::new(READ).unwrap()), ..Access::default() };
        let ask = |path| {
            admit(&access, Door::Probes, &parts("GET", path, &[("host", "pod.example")]), false)
        };
        for path in ["/livez", "/readyz", "/metrics"] {
            assert!(ask(path).is_ok(), "{path}");
        }
        for path in ["/", "/tree", "/api/v1/node", "/health"] {
            assert_eq!(ask(path).unwrap_err().0.code, Code::NoRoute, "{path}");
        }
    }
}
