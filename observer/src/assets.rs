//! The page: files that are part of the program.

use crate::http::answer::{HttpAnswer, answer, set};
use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{CACHE_CONTROL, ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH};
use std::hash::{DefaultHasher, Hash, Hasher};

/// The page itself.
pub(crate) fn page() -> HttpAnswer {
    let mut page =
        answer(StatusCode::OK, krarup_page::HTML, Bytes::from_static(krarup_page::PAGE.as_bytes()));
    set(&mut page, "content-security-policy", krarup_page::POLICY);
    page
}

/// A file of the page, if there is one of this name.
pub(crate) fn asset(name: &str, headers: &HeaderMap) -> Option<HttpAnswer> {
    krarup_page::file(name).map(|found| file(found.kind, found.text, headers))
}

fn file(kind: &'static str, text: &'static str, headers: &HeaderMap) -> HttpAnswer {
    let tag = tag(text);
    let has = headers.get_all(IF_NONE_MATCH).iter().any(|known| {
        known
            .to_str()
            .unwrap_or_default()
            .split(',')
            .any(|known| known.trim().trim_start_matches("W/") == tag)
    });
    let mut answer = if has {
        answer(StatusCode::NOT_MODIFIED, kind, Bytes::new())
    } else {
        answer(StatusCode::OK, kind, Bytes::from_static(text.as_bytes()))
    };
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        answer.headers_mut().insert(ETAG, tag);
    }
    answer
}

/// A file changes only with the program, and then its tag does, too.
fn tag(text: &str) -> String {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    format!("\"{:016x}\"", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v66_a_file_that_the_browser_has_is_not_sent_again() {
        let page = page();
        let policy = page.headers()["content-security-policy"].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'"));
        assert_eq!(page.headers()[CACHE_CONTROL], "no-store");
        let mut headers = HeaderMap::new();
        let first = asset("app.js", &headers).unwrap();
        assert_eq!(
            (first.status(), &first.headers()[CACHE_CONTROL]),
            (StatusCode::OK, &HeaderValue::from_static("no-cache"))
        );
        headers.insert(IF_NONE_MATCH, first.headers()[ETAG].clone());
        assert_eq!(asset("app.js", &headers).unwrap().status(), StatusCode::NOT_MODIFIED);
        assert_eq!(asset("tree.js", &headers).unwrap().status(), StatusCode::OK);
        assert!(asset("../Cargo.toml", &headers).is_none());
    }
}
