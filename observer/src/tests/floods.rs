//! Clients that send much, slowly, or anything.

use super::client::{PATIENCE, TOKEN, connect, get, observed, quick, send, until};
use super::metrics::{scrape, value};
use crate::http::route::PATTERNS;
use crate::limits::{self, DoorLimits};
use crate::{Observer, Token};
use krarup_act::{Context, behavior_fn};
use krarup_node::Node;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Numbers that look random, from a seed.
struct FloodNumbers(u64);

impl FloodNumbers {
    fn below(&mut self, most: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % most
    }

    fn one_of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }

    /// Words of a grammar, and sometimes a byte that is none of it.
    fn text(&mut self, words: &[&str], most: usize) -> Vec<u8> {
        let mut text = Vec::new();
        for _ in 0..self.below(most) {
            text.extend_from_slice(self.one_of(words).as_bytes());
            if self.below(20) == 0 {
                text.push(self.below(256).to_le_bytes()[0]);
            }
        }
        text
    }
}

const QUERY: [&str; 22] = [
    "&",
    "=",
    "limit",
    "after",
    "-1",
    "0",
    "500",
    "18446744073709551616",
    "%",
    "%00",
    "%ff",
    "+",
    "q",
    "sort",
    "cpu",
    "topics",
    "node",
    "trace:1",
    "timeout_ms",
    "parent",
    "min_main",
    "1e9",
];
const JSON: [&str; 24] = [
    "{",
    "}",
    "[",
    "]",
    "\"",
    ",",
    ":",
    "\"reason\"",
    "\"seconds\"",
    "\"id\"",
    "\"jsonrpc\"",
    "\"2.0\"",
    "\"method\"",
    "\"tools/call\"",
    "\"params\"",
    "\"name\"",
    "\"kill\"",
    "1",
    "-1",
    "1e999",
    "null",
    "true",
    "\\u0000",
    "\\ud800",
];

#[test]
fn v39_any_parameters_and_bodies_leave_the_observer_serving() {
    let seconds = std::env::var("FUZZ_SECONDS").ok().and_then(|it| it.parse().ok());
    let until = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let (node, observer) = observed(|it| it);
    let mut numbers = FloodNumbers(seconds.unwrap_or(11));
    let mut answers = 0;
    while answers < 400 || until.is_some_and(|until| Instant::now() < until) {
        let route = PATTERNS[numbers.below(PATTERNS.len() - 1)];
        let action = numbers.one_of(&["kill", "exit", "suspend", "resume", "resize", "dance"]);
        let number = numbers.one_of(&["0", "99999999", "18446744073709551616", "x", "%31"]);
        let route = route.replace("{action}", action).replace("{file}", "app.js");
        let route = route.replace("{id}", number).replace("{seq}", number).replace("{n}", number);
        if route == "/api/v1/stream" {
            continue;
        }
        let posts = numbers.below(2) == 0;
        let body = if posts { numbers.text(&JSON, 60) } else { Vec::new() };
        let mut request = format!("{} {route}?", if posts { "POST" } else { "GET" }).into_bytes();
        // What is no target at all is the matter of another test.
        request.extend(numbers.text(&QUERY, 12).into_iter().filter(u8::is_ascii_graphic));
        let head = format!(
            " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {TOKEN}\r\n\
             Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
             Content-Length: {}\r\n\r\n",
            body.len()
        );
        request.extend_from_slice(head.as_bytes());
        request.extend_from_slice(&body);
        let reply = send(observer.address(), &request);
        let shown = String::from_utf8_lossy(&request);
        assert!((200..500).contains(&reply.status) || reply.status > 500, "{shown}: {reply:?}");
        answers += 1;
    }
    assert_eq!(get(observer.address(), "/api/v1/node").status, 200);
    node.stop().wait().unwrap();
}

#[test]
fn v41_a_head_that_trickles_is_closed_and_probes_answer_meanwhile() {
    let (node, observer) = observed(|it| it);
    let address = observer.address();
    let (tell, ended) = mpsc::channel();
    for _ in 0..50 {
        let tell = tell.clone();
        thread::spawn(move || {
            let mut stream = connect(address);
            stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
            let head = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nX: ";
            let mut bytes = head.iter().chain(std::iter::repeat(&b'x'));
            let mut byte = [0];
            // Each byte is a sign of life, and buys no time.
            while stream.write_all(&[*bytes.next().unwrap()]).is_ok() {
                match stream.read(&mut byte) {
                    Ok(0) => break,
                    Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => break,
                    _ => {}
                }
            }
            tell.send(()).unwrap();
        });
    }
    for _ in 0..50 {
        assert_eq!(get(address, "/readyz").status, 200);
    }
    for _ in 0..50 {
        ended.recv_timeout(PATIENCE).unwrap();
    }
    node.stop().wait().unwrap();
}

#[test]
fn v43_no_event_of_a_stream_is_larger_than_half_a_mebibyte() {
    let (node, observer) = observed(|it| it);
    // Quotes are doubled by JSON, controls are six bytes each.
    let name = |number: usize| format!("{number:05}{}", "\u{1}".repeat(240));
    let sleeper = || {
        behavior_fn(|mut ctx: Context<()>| async move {
            loop {
                ctx.receive().await;
            }
        })
    };
    for number in 0..450 {
        node.spawn(sleeper).name(name(number)).wait().unwrap();
    }
    let mut stream = connect(observer.address());
    let query = "topics=processes&limit=500&period_ms=200";
    write!(stream, "GET /api/v1/stream?{query} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    let data = lines.filter_map(|line| line.strip_prefix("data: ").map(str::to_owned)).nth(1);
    let data = data.unwrap();
    assert!(data.len() > 100_000 && data.len() <= limits::EVENT, "{} bytes", data.len());
    let body: serde_json::Value = serde_json::from_str(&data).unwrap();
    let rows = body["processes"].as_array().unwrap().len();
    assert!(body["matched"].as_u64() >= Some(450) && rows < 450, "{rows} rows");
    assert_eq!(body["limit"], 250, "the answer says that it has fewer");
    let list = get(observer.address(), "/api/v1/processes?limit=500");
    assert!(list.body.len() > limits::EVENT, "a list that is asked for is whole");
    node.stop().wait().unwrap();
}

/// Asks the open door, as an orchestrator does.
fn probe(address: SocketAddr) -> u16 {
    get(address, "/livez").status
}

#[test]
fn v44_a_flood_at_the_main_door_leaves_the_probes_their_places() {
    let limits = DoorLimits { connections: 2, refusals: 0, requests: 1, ..quick() };
    let limits = DoorLimits { head: Duration::from_secs(20), ..limits };
    let (node, observer) = observed(|it| it.limits(limits).probes("127.0.0.1:0"));
    let probes = observer.probes_address().unwrap();
    let (tell, told) = mpsc::channel::<()>();
    let (go, goes) = mpsc::channel::<()>();
    let goes = std::sync::Mutex::new(goes);
    let stuck = move || {
        behavior_fn(move |_: Context<()>| async move {
            let _ = tell.send(());
            let _ = goes.lock().map(|goes| goes.recv());
            Ok::<(), krarup_gen::Reason>(())
        })
    };
    let stuck = node.spawn(stuck).start().unwrap();
    told.recv().unwrap();
    // One request holds the only place of the main door, and one connection the rest.
    let mut asking = connect(observer.address());
    let target = format!("/api/v1/processes/{}/inspect?timeout_ms=5000", stuck.pid().id());
    write!(asking, "GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let idle = connect(observer.address());
    let began = Instant::now();
    loop {
        let mut closed = connect(observer.address());
        closed.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        // A connection beyond the most is closed at once.
        if matches!(closed.read(&mut [0]), Ok(0)) {
            break;
        }
        let _ = closed.shutdown(Shutdown::Both);
        assert!(began.elapsed() < PATIENCE, "there is room");
    }
    assert_eq!(probe(probes), 200);
    go.send(()).unwrap();
    drop((idle, asking));
    node.stop().wait().unwrap();
}

#[test]
fn v44_answers_beyond_what_may_wait_are_refused() {
    let limits = DoorLimits { unsent: 70 << 10, ..quick() };
    let (node, observer) = observed(|it| it.limits(limits));
    let name = |number: usize| format!("{number:05}{}", "\u{1}".repeat(240));
    for number in 0..60 {
        let sleeper = || {
            behavior_fn(|mut ctx: Context<()>| async move {
                loop {
                    ctx.receive().await;
                }
            })
        };
        node.spawn(sleeper).name(name(number)).wait().unwrap();
    }
    let large = get(observer.address(), "/api/v1/processes?limit=500");
    assert_eq!((large.status, large.code().as_str()), (503, "busy"), "{}", large.body.len());
    assert_eq!(get(observer.address(), "/api/v1/processes?limit=1").status, 200);
    node.stop().wait().unwrap();
}

#[test]
fn v46_a_flood_of_lists_does_at_most_four_walks_a_second() {
    let spacing = Duration::from_millis(250);
    let (node, observer) = observed(|it| it.limits(DoorLimits { walk: spacing, ..quick() }));
    let address = observer.address();
    let walks = || {
        let found = scrape(address);
        let walks = value(&found, "krarup_observer_samples_total", &[]);
        (Instant::now(), walks)
    };
    let (began, before) = walks();
    let flood = || {
        let ask = |_| assert_eq!(get(address, "/api/v1/processes?sort=cpu").status, 200);
        (0..25).for_each(ask);
    };
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(flood);
        }
    });
    let (ended, after) = walks();
    let most = (ended - began).as_secs_f64() / spacing.as_secs_f64() + 2.0;
    assert!(after - before <= most, "{} walks, {most} at most", after - before);
    node.stop().wait().unwrap();
}

#[test]
fn v48_a_token_is_in_no_answer_and_no_debug_text() {
    let read = "read-read-read-read-read-read-read-read";
    let tokens = |it: Observer| it.read_token(Token::new(read).unwrap());
    let settings = tokens(Observer::new().action_token(Token::new(TOKEN).unwrap()));
    let debug = format!("{settings:?} {:?}", Token::new(TOKEN).unwrap());
    assert!(!debug.contains(TOKEN) && !debug.contains(read), "{debug}");
    let (node, observer) = observed(tokens);
    let address = observer.address();
    for pattern in PATTERNS.iter().filter(|pattern| **pattern != "/api/v1/stream") {
        let path = pattern.replace("{file}", "app.js").replace("{action}", "kill");
        let path = path.replace("{id}", "1").replace("{seq}", "1").replace("{n}", "1");
        for (method, token) in [("GET", TOKEN), ("GET", read), ("POST", TOKEN), ("POST", read)] {
            for place in ["Authorization: Bearer ", "Cookie: token=", "X-Token: "] {
                let request = format!(
                    "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
                     Content-Type: application/json\r\nContent-Length: 2\r\n{place}{token}\r\n\r\n{{}}"
                );
                let reply = send(address, request.as_bytes());
                let said = reply.head + &reply.body;
                assert!(!said.contains(token), "{method} {path} {place}: {said}");
            }
        }
    }
    node.stop().wait().unwrap();
}

#[test]
fn v40_a_slow_body_holds_no_place_among_the_requests_in_work() {
    let limits = DoorLimits { requests: 1, body: Duration::from_secs(20), ..quick() };
    let (node, observer) = observed(|it| it.limits(limits));
    let victim = node.whereis("observer.sampler").unwrap().id();
    let mut slow: Vec<TcpStream> = Vec::new();
    for _ in 0..4 {
        let mut stream = connect(observer.address());
        write!(
            stream,
            "POST /api/v1/processes/{victim}/kill HTTP/1.1\r\nHost: localhost\r\n\
             Content-Type: application/json\r\nAuthorization: Bearer {TOKEN}\r\n\
             Content-Length: 2\r\n\r\n{{"
        )
        .unwrap();
        slow.push(stream);
    }
    // All four are at their bodies when the connections have been seen.
    let http = node.whereis("observer.http").unwrap().id();
    let inspected = format!("/api/v1/processes/{http}/inspect");
    until(observer.address(), &inspected, |reply| {
        reply.status == 200 && reply.json()["items"]["connections"].as_u64() >= Some(5)
    });
    assert_eq!(get(observer.address(), "/api/v1/node").status, 200);
    for mut stream in slow {
        stream.write_all(b"}").unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"HTTP/1.1 409");
        stream.shutdown(Shutdown::Write).unwrap();
    }
    node.stop().wait().unwrap();
}

#[test]
fn v35_no_route_is_without_the_guard() {
    let node = Node::start("guarded@localhost").unwrap();
    let observer = Observer::new().listen("127.0.0.1:0").start(&node).wait().unwrap();
    for pattern in PATTERNS {
        let path = pattern.replace("{file}", "app.js").replace("{action}", "kill");
        let path = path.replace("{id}", "1").replace("{seq}", "1").replace("{n}", "1");
        let path = if path == "other" { "/other" } else { &path };
        for method in ["GET", "HEAD", "POST", "OPTIONS"] {
            for (headers, cause) in [
                ("Host: evil.example", "a name"),
                ("Host: localhost\r\nOrigin: http://evil.example", "an origin"),
                ("Host: localhost\r\nOrigin: null", "no origin"),
                ("Host: localhost\r\nSec-Fetch-Site: cross-site", "a fetch"),
                ("Host: localhost\r\nSec-Fetch-Site: same-site", "a fetch of the site"),
            ] {
                let request = format!(
                    "{method} {path} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n\
                     Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}"
                );
                let reply = send(observer.address(), request.as_bytes());
                assert_eq!(reply.status, 403, "{method} {path}: {cause}");
            }
        }
    }
    node.stop().wait().unwrap();
}
