//! A server that tells of a node that is not there: what it answers is a value that a test changes.
//!
//! It serves the page's own files with the policy of the observer, and the routes that the page
//! reads. So a test says what the page is told, to the field, and sees what the page makes of it.

use crate::scene::Scene;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The action token of every node that is told.
pub(crate) const TOKEN: &str = "a-token-of-thirty-two-characters!";
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

struct Shared {
    scene: Mutex<Scene>,
    changed: Condvar,
}

/// A running server.
pub(crate) struct Told {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

impl Told {
    pub(crate) fn start(scene: Scene) -> Self {
        Self::at("127.0.0.1:0".parse().expect("an address"), scene)
    }

    /// Starts at an address that another one had.
    pub(crate) fn at(address: SocketAddr, scene: Scene) -> Self {
        let listener = TcpListener::bind(address).expect("the address is free");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared { scene: Mutex::new(scene), changed: Condvar::new() });
        let serving = Arc::clone(&shared);
        let accepting = thread::spawn(move || {
            for stream in listener.incoming() {
                if lock(&serving.scene).ended {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let serving = Arc::clone(&serving);
                // A client that goes away ends its connection, and nothing else.
                thread::spawn(move || {
                    let _gone = serve(&serving, stream);
                });
            }
        });
        Told { address, shared, accepting: Some(accepting) }
    }

    pub(crate) fn url(&self, route: &str) -> String {
        format!("http://{}/{route}", self.address)
    }

    pub(crate) fn scene(&self) -> MutexGuard<'_, Scene> {
        lock(&self.shared.scene)
    }

    /// Changes what is told, and tells it to the streams at once.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Scene)) {
        {
            let mut scene = self.scene();
            change(&mut scene);
            scene.changes += 1;
        }
        self.shared.changed.notify_all();
    }

    /// Waits until the scene is so.
    pub(crate) fn wait(&self, what: &str, mut holds: impl FnMut(&Scene) -> bool) {
        let scene = self.scene();
        let limit = Duration::from_secs(20);
        let (_scene, out) = self
            .shared
            .changed
            .wait_timeout_while(scene, limit, |scene| !holds(scene))
            .unwrap_or_else(PoisonError::into_inner);
        assert!(!out.timed_out(), "not within {limit:?}: {what}");
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        self.change(|scene| scene.ended = true);
        // The accepting thread looks once more.
        drop(TcpStream::connect(self.address));
        if let Some(accepting) = self.accepting.take() {
            drop(accepting.join());
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Request {
    method: String,
    path: String,
    query: BTreeMap<String, String>,
    token: Option<String>,
    body: Value,
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (mut length, mut token) = (0, None);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().ok()?,
            "authorization" => token = Some(value.trim_start_matches("Bearer ").to_owned()),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let query = query.split('&').filter_map(|pair| pair.split_once('='));
    Some(Request {
        method,
        path: path.to_owned(),
        query: query.map(|(name, value)| (name.to_owned(), decoded(value))).collect(),
        token,
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
    })
}

fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut at, mut out) = (0, Vec::new());
    while at < bytes.len() {
        let hex = bytes.get(at + 1..at + 3).and_then(|hex| std::str::from_utf8(hex).ok());
        match (bytes[at], hex.and_then(|hex| u8::from_str_radix(hex, 16).ok())) {
            (b'%', Some(byte)) => {
                out.push(byte);
                at += 2;
            }
            (b'+', _) => out.push(b' '),
            (byte, _) => out.push(byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn serve(shared: &Shared, stream: TcpStream) -> Option<()> {
    let request = read(&stream)?;
    let mut stream = stream;
    if request.path == "/api/v1/stream" {
        return events(shared, stream, &request);
    }
    let (status, kind, body) = answer(shared, &request);
    shared.changed.notify_all();
    let policy = if request.path == "/" {
        format!("content-security-policy: {POLICY}\r\n")
    } else {
        String::new()
    };
    let head = format!(
        "HTTP/1.1 {status} told\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n{policy}\
         x-content-type-options: nosniff\r\ncache-control: no-store\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(&body).ok()
}

type Answer = (u16, &'static str, Vec<u8>);

fn told(status: u16, body: &Value) -> Answer {
    (status, "application/json", body.to_string().into_bytes())
}

fn refused(status: u16, code: &str) -> Answer {
    told(
        status,
        &json!({"error": {"code": code, "message": format!("it is {code}"), "parameter": null}}),
    )
}

/// The folder of the page's files.
pub(crate) fn assets() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("assets")
}

fn answer(shared: &Shared, request: &Request) -> Answer {
    let query: Vec<String> =
        request.query.iter().map(|(name, value)| format!("{name}={value}")).collect();
    lock(&shared.scene).asked.push(format!(
        "{} {}?{}",
        request.method,
        request.path,
        query.join("&")
    ));
    let file = if request.path == "/" {
        Some("index.html")
    } else {
        request.path.strip_prefix("/assets/")
    };
    if let Some(file) = file {
        let Ok(body) = fs::read(assets().join(file)) else { return refused(404, "no_route") };
        let kind = match file.rsplit('.').next() {
            Some("html") => "text/html; charset=utf-8",
            Some("js") => "text/javascript; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            _ => "image/svg+xml",
        };
        return (200, kind, body);
    }
    let mut scene = lock(&shared.scene);
    if request.path == "/health" {
        return told(200, &scene.bodies["health"]);
    }
    let Some(route) = request.path.strip_prefix("/api/v1/") else {
        return refused(404, "no_route");
    };
    if request.method == "POST" {
        return act(&mut scene, route, request);
    }
    let parts: Vec<&str> = route.split('/').collect();
    match parts[..] {
        ["node"] => told(200, &scene.node),
        ["processes"] => told(200, &scene.list(&request.query)),
        ["processes", id] => match scene.process(id) {
            Some(process) => told(200, &process),
            None => refused(404, "no_process"),
        },
        [ring] if scene.rings.contains_key(ring) => {
            let after =
                request.query.get("after").and_then(|after| after.parse().ok()).unwrap_or(0);
            told(200, &scene.ring(ring, after))
        }
        _ => match scene.bodies.get(route) {
            Some(body) => told(200, body),
            None if parts[0] == "crashes" => refused(404, "no_entry"),
            None => refused(404, "no_route"),
        },
    }
}

fn act(scene: &mut Scene, route: &str, request: &Request) -> Answer {
    let Some(token) = &request.token else { return refused(401, "token_missing") };
    if token != TOKEN {
        return refused(401, "token_wrong");
    }
    let action = route.rsplit('/').next().unwrap_or(route).to_owned();
    if let Some((status, code)) = scene.refusals.get(action.as_str()) {
        return refused(*status, code);
    }
    scene.done.push((route.to_owned(), request.body.clone()));
    told(200, &json!({"done": true, "action": action, "pid": null, "trace": 1, "recording": 1}))
}

fn events(shared: &Shared, mut stream: TcpStream, request: &Request) -> Option<()> {
    let topics: Vec<String> = request.query["topics"].split(',').map(str::to_owned).collect();
    let period = request.query.get("period_ms").and_then(|ms| ms.parse().ok()).unwrap_or(1000);
    let head = "HTTP/1.1 200 told\r\ncontent-type: text/event-stream\r\ncache-control: no-store\r\n\r\nretry: 2000\n";
    stream.write_all(head.as_bytes()).ok()?;
    let hello = json!({"topics": topics, "period_ms": period, "streams": 1, "max_streams": 64});
    stream.write_all(format!("event: hello\ndata: {hello}\n\n").as_bytes()).ok()?;
    lock(&shared.scene).streams += 1;
    shared.changed.notify_all();
    let ended = pour(shared, &mut stream, request, &topics, Duration::from_millis(period));
    lock(&shared.scene).streams -= 1;
    shared.changed.notify_all();
    ended
}

fn pour(
    shared: &Shared,
    stream: &mut TcpStream,
    request: &Request,
    topics: &[String],
    period: Duration,
) -> Option<()> {
    let mut number = 0;
    let mut seen: BTreeMap<String, i64> = BTreeMap::new();
    let mut first = true;
    loop {
        let mut text = String::new();
        let changes = {
            let scene = lock(&shared.scene);
            if scene.ended {
                return None;
            }
            for topic in topics {
                let body = match topic.as_str() {
                    "node" => scene.node.clone(),
                    "processes" => scene.list(&request.query),
                    ring if scene.rings.contains_key(ring) => {
                        let last = seen.entry(topic.clone()).or_insert(-2);
                        let body = scene.ring(ring, *last);
                        let next = body["next_seq"].as_i64().unwrap_or(1) - 1;
                        let fresh = *last != -2 && next > *last;
                        *last = next;
                        if !fresh {
                            continue;
                        }
                        body
                    }
                    other => scene.bodies.get(other).cloned().unwrap_or_else(|| json!({})),
                };
                number += 1;
                let id = number.to_string();
                let body = body.to_string();
                let parts = ["event: ", topic, "\nid: ", &id, "\ndata: ", &body, "\n\n"];
                text.extend(parts);
            }
            scene.changes
        };
        stream.write_all(text.as_bytes()).ok()?;
        // The rings begin with what comes from now on.
        if std::mem::take(&mut first) {
            continue;
        }
        let scene = lock(&shared.scene);
        let same = |scene: &mut Scene| scene.changes == changes;
        drop(shared.changed.wait_timeout_while(scene, period, same));
    }
}
