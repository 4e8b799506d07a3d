//! `/api/v1/stream`.

use super::client::{PATIENCE, connect, get, observed, quick, send, until};
use crate::limits::DoorLimits;
use krarup_act::{Context, behavior_fn};
use krarup_gen::Reason;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// A reader of events.
pub(super) struct EventReader {
    lines: BufReader<TcpStream>,
}

impl EventReader {
    pub(super) fn open(address: SocketAddr, query: &str) -> EventReader {
        let mut stream = connect(address);
        let request = format!("GET /api/v1/stream?{query} HTTP/1.1\r\nHost: {address}\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut events = EventReader { lines: BufReader::new(stream) };
        let head = events.line();
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        while !events.line().is_empty() {}
        events
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        assert!(self.lines.read_line(&mut line).unwrap() > 0, "the end");
        line.trim_end().to_owned()
    }

    /// The next event: its name, its number, its data.
    pub(super) fn next(&mut self) -> (String, Option<u64>, Value) {
        let (mut event, mut id) = (String::new(), None);
        loop {
            let line = self.line();
            if let Some(name) = line.strip_prefix("event: ") {
                name.clone_into(&mut event);
            } else if let Some(number) = line.strip_prefix("id: ") {
                id = number.parse().ok();
            } else if let Some(data) = line.strip_prefix("data: ") {
                return (event, id, serde_json::from_str(data).unwrap());
            }
        }
    }

    pub(super) fn named(&mut self, wanted: &str) -> Value {
        loop {
            let (name, _, data) = self.next();
            if name == wanted {
                return data;
            }
        }
    }
}

#[test]
fn v42_a_stream_says_hello_and_sends_each_topic_at_once_and_by_number() {
    let (node, observer) = observed(|it| it);
    let mut events = EventReader::open(
        observer.address(),
        "topics=node,processes,crashes&period_ms=200&limit=1",
    );
    let (name, id, hello) = events.next();
    assert_eq!((name.as_str(), id), ("hello", None));
    assert_eq!((&hello["max_streams"], &hello["period_ms"]), (&64.into(), &200.into()));
    let (name, id, data) = events.next();
    assert_eq!((name.as_str(), id, &data["node"]), ("node", Some(1), &"observed@localhost".into()));
    let (name, id, data) = events.next();
    assert_eq!((name.as_str(), id), ("processes", Some(2)));
    assert_eq!(data["processes"].as_array().map(Vec::len), Some(1));
    assert_eq!(data["sample"]["watchers"], 1);
    let crashes = || behavior_fn(|_: Context<()>| async { Err::<(), _>(Reason::error("boom")) });
    node.spawn(crashes).name("fragile").start().unwrap();
    let crash = events.named("crashes");
    assert_eq!(
        (&crash["items"][0]["name"], &crash["items"][0]["reason"]),
        (&"fragile".into(), &"boom".into())
    );
    let stopping = std::thread::spawn(move || node.stop().wait());
    assert_eq!(events.named("bye")["reason"], "stopping");
    let mut rest = Vec::new();
    let _ = events.lines.read_to_end(&mut rest);
    stopping.join().unwrap().unwrap();
}

#[test]
fn v42_beyond_the_most_streams_are_refused_and_the_next_gets_a_free_place() {
    let limits = DoorLimits { streams: 3, ..quick() };
    let (node, observer) = observed(|it| it.limits(limits));
    let target = "/api/v1/stream?topics=node";
    let mut open: Vec<EventReader> =
        (0..3).map(|_| EventReader::open(observer.address(), "topics=node")).collect();
    let refused = get(observer.address(), target);
    assert_eq!((refused.status, refused.code().as_str()), (503, "too_many_streams"));
    let head = format!("HEAD {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert_eq!(send(observer.address(), head.as_bytes()).status, 200);
    open.pop();
    let began = Instant::now();
    loop {
        let mut stream = connect(observer.address());
        stream
            .write_all(format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes())
            .unwrap();
        let mut status = [0; 12];
        stream.read_exact(&mut status).unwrap();
        if status.ends_with(b"200") {
            break;
        }
        assert!(began.elapsed() < PATIENCE);
    }
    drop(open);
    let idle = |reply: &super::client::HttpReply| reply.json()["sample"]["watchers"] == 0;
    until(observer.address(), "/api/v1/node", idle);
    node.stop().wait().unwrap();
}

#[test]
fn v43_a_reader_that_takes_nothing_is_cut_off() {
    let limits = DoorLimits { write: Duration::from_millis(300), ..quick() };
    let (node, observer) = observed(|it| it.limits(limits));
    let spawned: Vec<_> = (0..500)
        .map(|_| {
            node.spawn(|| {
                behavior_fn(|mut ctx: Context<()>| async move {
                    loop {
                        ctx.receive().await;
                    }
                })
            })
            .wait()
            .unwrap()
        })
        .collect();
    let stream = connect(observer.address());
    (&stream)
        .write_all(b"GET /api/v1/stream?topics=processes&limit=500&period_ms=200 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .unwrap();
    until(observer.address(), "/api/v1/node", |reply| reply.json()["sample"]["watchers"] == 1);
    until(observer.address(), "/api/v1/node", |reply| reply.json()["sample"]["watchers"] == 0);
    drop((spawned, stream));
    node.stop().wait().unwrap();
}

#[test]
fn v39_topics_that_are_none_are_refused() {
    let (node, observer) = observed(|it| it);
    for bad in [
        "",
        "topics=",
        "topics=x",
        "topics=node,node",
        "topics=node&period_ms=199",
        "topics=node&limit=0",
    ] {
        assert_eq!(
            get(observer.address(), &format!("/api/v1/stream?{bad}")).code(),
            "bad_parameter",
            "{bad}"
        );
    }
    node.stop().wait().unwrap();
}
