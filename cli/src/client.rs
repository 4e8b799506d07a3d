//! Requests to an observer. They follow no redirect, go through no proxy, and carry the token only
//! after the observer has asked for one.

use crate::target::ObserverUrl;
use crate::text::printable;
use crate::token::ReadToken;
use serde_json::Value;
use std::io::{BufRead, BufReader, ErrorKind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use thiserror::Error;
use ureq::http::Response;
use ureq::{Agent, Body, Timeout};

/// The longest a whole request takes.
const REQUEST: Duration = Duration::from_secs(10);
const CONNECT: Duration = Duration::from_secs(5);
/// A stream says something every 15 s.
const SILENCE: Duration = Duration::from_secs(20);
/// An observer answers with at most 4 MiB.
const LARGEST: u64 = 8 << 20;
/// The one answer that may have more: 200 000 recorded turns, with the names of their processes.
const LARGEST_RECORDING: u64 = 1 << 30;

/// Why there is no answer of use. Texts of the other side are written out, see
/// [`printable`].
#[derive(Debug, Error)]
pub(crate) enum ApiFailure {
    #[error("no observer answers at {url}: {error}")]
    NoAnswer {
        url: String,
        error: String,
        /// Whether there was a connection, so that a request may have come through.
        reached: bool,
    },
    #[error(
        "the observer wants a token: name its file with --token-file, or set KRARUP_OBSERVER_TOKEN"
    )]
    TokenMissing,
    #[error("the observer refuses: {message} ({status} {code})")]
    Refused { status: u16, code: String, message: String },
    #[error("{url} answers with status {status}, and not as an observer does")]
    NoObserver { url: String, status: u16 },
}

/// How long a request may take.
#[derive(Clone, Copy)]
enum RequestTimes {
    /// The whole answer comes at once.
    Whole,
    /// The answer begins after this time, and may be long.
    Late(Duration),
    /// Parts come one after the other, for ever or for this time.
    Stream { longest: Option<Duration> },
}

/// A client of one observer.
pub(crate) struct ApiClient {
    agent: Agent,
    url: ObserverUrl,
    token: Option<ReadToken>,
    /// The observer has asked for a token.
    asked: AtomicBool,
}

impl ApiClient {
    pub(crate) fn new(url: ObserverUrl, token: Option<ReadToken>) -> Self {
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .max_idle_connections(0)
            .user_agent(concat!("krarup/", env!("CARGO_PKG_VERSION")))
            .timeout_connect(Some(CONNECT))
            .build()
            .new_agent();
        ApiClient { agent, url, token, asked: AtomicBool::new(false) }
    }

    /// The text of a route.
    pub(crate) fn text(&self, route: &str) -> Result<String, ApiFailure> {
        let mut answer = self.open(route, RequestTimes::Whole)?;
        let text = answer.body_mut().with_config().limit(LARGEST).lossy_utf8(true).read_to_string();
        text.map_err(|error| self.no_answer(&error))
    }

    /// The body of a route as it came, and its JSON. A node whose checks are down tells so with
    /// the status 503: that is an answer, too.
    pub(crate) fn body(&self, route: &str) -> Result<(String, Value), ApiFailure> {
        let mut answer = self.answer(route, RequestTimes::Whole)?;
        let status = answer.status().as_u16();
        let text = answer.body_mut().with_config().limit(LARGEST).lossy_utf8(true).read_to_string();
        let text = text.map_err(|error| self.no_answer(&error))?;
        let body = serde_json::from_str::<Value>(&text).ok();
        let is_answer = |body: &Value| {
            body.is_object() && (status == 200 || status == 503 && body["status"] == "down")
        };
        match body {
            Some(body) if is_answer(&body) => Ok((text, body)),
            body => Err(self.refused(status, &body.unwrap_or_default())),
        }
    }

    /// The text of a recording, which the observer gives when its time is over.
    pub(crate) fn late(&self, route: &str, after: Duration) -> Result<String, ApiFailure> {
        let mut answer = self.open(route, RequestTimes::Late(after))?;
        let body = answer.body_mut().with_config().limit(LARGEST_RECORDING).lossy_utf8(true);
        body.read_to_string().map_err(|error| self.no_answer(&error))
    }

    /// The JSON of a route.
    pub(crate) fn json(&self, route: &str) -> Result<Value, ApiFailure> {
        let text = self.text(route)?;
        serde_json::from_str(&text).map_err(|_| self.no_observer(200))
    }

    /// The body of a stream, as it comes. A read of it fails after 20 s without a byte, and after `longest` in all.
    pub(crate) fn stream(
        &self,
        route: &str,
        longest: Option<Duration>,
    ) -> Result<impl BufRead + use<>, ApiFailure> {
        let body = self.open(route, RequestTimes::Stream { longest })?.into_body();
        // A stream has no end; its lines are bounded where they are read.
        Ok(BufReader::new(body.into_with_config().limit(u64::MAX).reader()))
    }

    /// Posts a message, with the token if there is one. The status and the text of the answer.
    pub(crate) fn post(
        &self,
        route: &str,
        headers: &[(&str, String)],
        body: &[u8],
    ) -> Result<(u16, String), ApiFailure> {
        let request = self.agent.post(self.url.route(route)).config();
        let mut request = request.timeout_global(Some(REQUEST + CONNECT)).build();
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        if let Some(token) = &self.token {
            request = request.header("authorization", token.bearer());
        }
        let mut answer = request.send(body).map_err(|error| self.no_answer(&error))?;
        let status = answer.status().as_u16();
        let own = answer.headers().get("content-type");
        let is_json = own.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
        let text = answer.body_mut().with_config().limit(LARGEST).lossy_utf8(true).read_to_string();
        let text = text.map_err(|error| self.no_answer(&error))?;
        if status < 300 {
            return Ok((status, text));
        }
        let body: Value = serde_json::from_str(&text).unwrap_or_default();
        // Errors of the protocol are answers, too.
        if is_json && body["jsonrpc"] == "2.0" {
            return Ok((status, text));
        }
        Err(self.refused(status, &body))
    }

    fn open(&self, route: &str, times: RequestTimes) -> Result<Response<Body>, ApiFailure> {
        let answer = self.answer(route, times)?;
        if answer.status().as_u16() == 200 {
            return Ok(answer);
        }
        Err(self.refusal(answer))
    }

    /// The answer of a route, whatever it says.
    fn answer(&self, route: &str, times: RequestTimes) -> Result<Response<Body>, ApiFailure> {
        let with = self.asked.load(Ordering::Relaxed);
        let mut answer = self.send(route, times, with)?;
        if answer.status().as_u16() == 401 && !with && self.token.is_some() {
            self.asked.store(true, Ordering::Relaxed);
            answer = self.send(route, times, true)?;
        }
        Ok(answer)
    }

    fn send(
        &self,
        route: &str,
        times: RequestTimes,
        with: bool,
    ) -> Result<Response<Body>, ApiFailure> {
        let request = self.agent.get(self.url.route(route)).config();
        let request = match times {
            RequestTimes::Whole => request.timeout_global(Some(REQUEST)),
            RequestTimes::Late(after) => {
                request.timeout_recv_response(Some(after + REQUEST)).timeout_per_read(Some(SILENCE))
            }
            RequestTimes::Stream { longest } => request
                .timeout_recv_response(Some(REQUEST))
                .timeout_per_read(Some(SILENCE))
                .timeout_global(longest),
        };
        let mut request = request.build();
        if let Some(token) = self.token.as_ref().filter(|_| with) {
            request = request.header("authorization", token.bearer());
        }
        request.call().map_err(|error| self.no_answer(&error))
    }

    fn refusal(&self, mut answer: Response<Body>) -> ApiFailure {
        let status = answer.status().as_u16();
        let text = answer.body_mut().with_config().limit(1 << 16).lossy_utf8(true).read_to_string();
        let body: Value = serde_json::from_str(&text.unwrap_or_default()).unwrap_or_default();
        self.refused(status, &body)
    }

    fn refused(&self, status: u16, body: &Value) -> ApiFailure {
        let error = &body["error"];
        match (error["code"].as_str(), error["message"].as_str()) {
            (Some("token_missing"), _) => ApiFailure::TokenMissing,
            (Some(code), Some(message)) => {
                ApiFailure::Refused { status, code: printable(code), message: printable(message) }
            }
            _ => self.no_observer(status),
        }
    }

    /// The failure of a stream that was lost.
    pub(crate) fn lost(&self, why: &str) -> ApiFailure {
        let (url, error) = (self.url.as_str().to_owned(), printable(why));
        ApiFailure::NoAnswer { url, error, reached: true }
    }

    fn no_answer(&self, error: &ureq::Error) -> ApiFailure {
        let reached = match error {
            ureq::Error::Io(error) => error.kind() != ErrorKind::ConnectionRefused,
            ureq::Error::Timeout(phase) => !matches!(phase, Timeout::Resolve | Timeout::Connect),
            ureq::Error::HostNotFound | ureq::Error::ConnectionFailed => false,
            _ => true,
        };
        let error = match error {
            ureq::Error::Io(error) => error.to_string(),
            ureq::Error::Timeout(phase) => format!("timed out ({phase})"),
            error => error.to_string(),
        };
        let (url, error) = (self.url.as_str().to_owned(), printable(&error));
        ApiFailure::NoAnswer { url, error, reached }
    }

    /// The failure of an answer that no observer gives.
    pub(crate) fn no_observer(&self, status: u16) -> ApiFailure {
        ApiFailure::NoObserver { url: self.url.as_str().to_owned(), status }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread::{self, JoinHandle};

    const TOKEN: &str = "read-read-read-read-read-read-read-read";

    /// A server that gives each connection the next of these answers; its end has their heads.
    fn server(answers: Vec<String>) -> (ObserverUrl, JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = ObserverUrl::read(&listener.local_addr().unwrap().to_string()).unwrap();
        let heads = thread::spawn(move || {
            let answer = |answer: String| {
                let (mut stream, _) = listener.accept().unwrap();
                let (mut head, mut byte) = (Vec::new(), [0]);
                while !head.ends_with(b"\r\n\r\n") {
                    stream.read_exact(&mut byte).unwrap();
                    head.push(byte[0]);
                }
                stream.write_all(answer.as_bytes()).unwrap();
                String::from_utf8(head).unwrap().to_ascii_lowercase()
            };
            answers.into_iter().map(answer).collect()
        });
        (url, heads)
    }

    fn answer(status: &str, body: &str) -> String {
        format!(
            "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
    }

    #[test]
    fn v81_a_token_is_sent_only_after_it_was_asked_for() {
        let missing = r#"{"error":{"code":"token_missing","message":"m","parameter":null}}"#;
        let (url, heads) = server(vec![
            answer("200 OK", "{}"),
            answer("401 Unauthorized", missing),
            answer("200 OK", "{\"a\":1}"),
            answer("200 OK", "{}"),
        ]);
        let client = ApiClient::new(url, ReadToken::of(TOKEN));
        client.json("/api/v1/node").unwrap();
        assert_eq!(client.json("/api/v1/node").unwrap()["a"], 1);
        client.json("/api/v1/node").unwrap();
        let bearer = format!("authorization: bearer {TOKEN}");
        let sent: Vec<bool> =
            heads.join().unwrap().iter().map(|head| head.contains(&bearer)).collect();
        assert_eq!(sent, [false, false, true, true]);
    }

    #[test]
    fn v81_what_is_no_observer_is_told_so_and_followed_nowhere() {
        let refusal = r#"{"error":{"code":"busy\u001b","message":"\u009b512","parameter":null}}"#;
        let (url, heads) = server(vec![
            "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"
                .to_owned(),
            answer("200 OK", "<html>"),
            answer("404 Not Found", "nothing"),
            answer("503 Service Unavailable", refusal),
            answer("401 Unauthorized", r#"{"error":{"code":"token_missing","message":"m"}}"#),
            "SSH-2.0-OpenSSH\r\n".to_owned(),
        ]);
        let client = ApiClient::new(url, None);
        let failed = || client.json("/api/v1/node").unwrap_err().to_string();
        assert!(failed().contains("answers with status 302"));
        assert!(failed().contains("answers with status 200, and not as an observer does"));
        assert!(failed().contains("answers with status 404"));
        assert_eq!(failed(), "the observer refuses: \\u{9b}512 (503 busy\\u{1b})");
        assert!(failed().contains("--token-file"));
        assert!(failed().starts_with("no observer answers at http://127.0.0.1:"));
        assert_eq!(heads.join().unwrap().len(), 6);
    }

    #[test]
    fn v81_a_stream_that_only_says_that_it_is_alive_ends() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = ObserverUrl::read(&listener.local_addr().unwrap().to_string()).unwrap();
        let alive = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
            stream.write_all(head.as_bytes()).unwrap();
            // Until the client has gone.
            while stream.write_all(b": alive\n\n").is_ok() {}
        });
        let client = ApiClient::new(url, None);
        let mut source = client.stream("/", Some(Duration::from_millis(50))).unwrap();
        let error = crate::events::next_event(&mut source).unwrap_err();
        assert!(error.to_string().contains("timeout"), "{error}");
        drop(source);
        alive.join().unwrap();
    }
}
