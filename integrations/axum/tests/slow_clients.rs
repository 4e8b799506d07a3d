//! Clients that do not send what they announced, or do not read what they asked for (rule Q11): real sockets.
//! The times themselves are tested on a clock that is paused, beside the code.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::response::Response;
use axum::routing::{get, post};
use krarup::prelude::*;
use krarup_axum::HttpServer;
use std::convert::Infallible;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::pin::Pin;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::task::{Poll, ready};
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

const ANY: ([u8; 4], u16) = ([127, 0, 0, 1], 0);
const HOUR: Duration = Duration::from_secs(3600);
const MOMENT: Duration = Duration::from_millis(20);

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// A node with this server alone, and its process.
fn serve(name: &str, runtime: &Runtime, server: &HttpServer) -> (Node, Pid) {
    let node = Node::builder(name).tokio(runtime.handle().clone()).start().unwrap();
    let server = server.clone();
    let process = node.spawn(move || server).wait().unwrap();
    (node, process.pid())
}

fn connect(address: SocketAddr) -> BufReader<TcpStream> {
    let client = TcpStream::connect(address).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    BufReader::new(client)
}

fn send(client: &BufReader<TcpStream>, text: &str) {
    client.get_ref().write_all(text.as_bytes()).unwrap();
}

/// Reads lines until one has this in it.
fn read_until(client: &mut BufReader<TcpStream>, end: &str) {
    let mut line = String::new();
    while !line.contains(end) {
        line.clear();
        assert!(client.read_line(&mut line).unwrap() > 0, "closed before {end:?}");
    }
}

/// What the server sends until it closes the connection.
fn rest(mut client: BufReader<TcpStream>) -> String {
    let mut rest = Vec::new();
    match client.read_to_end(&mut rest) {
        Ok(_) => {}
        // The server has not read all that was sent.
        Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
        Err(error) => panic!("{error}"),
    }
    String::from_utf8(rest).unwrap()
}

/// How many connections the server has accepted, and how many are open.
fn connections(node: &Node, server: Pid) -> (u64, u64) {
    let shown = node.inspect(server).wait().unwrap();
    let number = |name| shown.number(name).unwrap();
    (number("accepted"), number("connections"))
}

/// An answer without an end.
struct Endless;

impl hyper::body::Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> Poll<Option<Result<hyper::body::Frame<Bytes>, Infallible>>> {
        static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
        Poll::Ready(Some(Ok(hyper::body::Frame::data(Bytes::from_static(&ZEROS)))))
    }
}

async fn endless() -> Response {
    Response::new(Body::new(Endless))
}

/// An answer of lines that come one by one.
struct Lines(UnboundedReceiver<&'static str>);

impl hyper::body::Body for Lines {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> Poll<Option<Result<hyper::body::Frame<Bytes>, Infallible>>> {
        let line = ready!(self.0.poll_recv(cx));
        Poll::Ready(
            line.map(|line| Ok(hyper::body::Frame::data(Bytes::from_static(line.as_bytes())))),
        )
    }
}

#[test]
fn q11_a_client_that_sends_no_body_loses_its_place() {
    let runtime = runtime();
    let routes = Router::new().route("/", post(async |body: String| body).get(async || "here"));
    let server = HttpServer::new(ANY, routes).connections(1);
    let server = server.head_timeout(HOUR).body_timeout(MOMENT);
    let (node, _) = serve("q11_body", &runtime, &server);
    for (kind, begin) in [("content-length: 1000", "1"), ("transfer-encoding: chunked", "8\r\n1")] {
        let slow = connect(server.bound().unwrap());
        send(&slow, &format!("POST / HTTP/1.1\r\nhost: x\r\n{kind}\r\n\r\n{begin}"));
        // There is one place.
        let mut next = connect(server.bound().unwrap());
        send(&next, "GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        read_until(&mut next, "here");
        let answer = rest(slow);
        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
        assert!(answer.ends_with("nothing of the body for 20ms"), "{answer}");
    }
    node.stop().wait().unwrap();
}

#[test]
fn q11_a_body_may_come_in_pieces() {
    let runtime = runtime();
    let (got, gets) = channel();
    let echo = move |mut body: Body| {
        let got = got.clone();
        async move {
            let mut all = Vec::new();
            while let Some(frame) =
                std::future::poll_fn(|cx| hyper::body::Body::poll_frame(Pin::new(&mut body), cx))
                    .await
            {
                let piece = frame.unwrap().into_data().unwrap();
                all.extend_from_slice(&piece);
                got.send(piece.len()).unwrap();
            }
            String::from_utf8(all).unwrap()
        }
    };
    let server = HttpServer::new(ANY, Router::new().route("/", post(echo)));
    for (name, limit) in [("q11_hour", HOUR), ("q11_off", Duration::MAX)] {
        let server = server.clone().body_timeout(limit);
        let (node, _) = serve(name, &runtime, &server);
        let mut client = connect(server.bound().unwrap());
        send(
            &client,
            "POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 5\r\n\r\n",
        );
        for piece in ["p", "i", "e", "c", "e"] {
            send(&client, piece);
            assert_eq!(gets.recv().unwrap(), 1);
        }
        read_until(&mut client, "piece");
        node.stop().wait().unwrap();
    }
}

#[test]
fn q11_a_client_that_reads_no_answer_loses_its_place() {
    let runtime = runtime();
    let routes = Router::new().route("/endless", get(endless)).route("/", get(async || "here"));
    let server = HttpServer::new(ANY, routes).connections(1);
    let server = server.head_timeout(HOUR).write_timeout(MOMENT);
    let (node, _) = serve("q11_write", &runtime, &server);
    let slow = connect(server.bound().unwrap());
    send(&slow, "GET /endless HTTP/1.1\r\nhost: x\r\n\r\n");
    // There is one place.
    let mut next = connect(server.bound().unwrap());
    send(&next, "GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    read_until(&mut next, "here");
    node.stop().wait().unwrap();
    drop(slow);
}

#[test]
fn q11_a_large_answer_is_sent_to_a_client_that_reads_it() {
    let runtime = runtime();
    let large = 64 << 20;
    let routes = Router::new().route("/", get(async move || vec![0_u8; large]));
    let server = HttpServer::new(ANY, routes).write_timeout(HOUR);
    let (node, _) = serve("q11_large", &runtime, &server);
    let client = connect(server.bound().unwrap());
    send(&client, "GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    assert!(rest(client).len() > large);
    node.stop().wait().unwrap();
}

#[test]
fn q11_handlers_that_wait_and_streams_without_events_are_not_limited() {
    let runtime = runtime();
    let (begun, begins) = channel();
    let (go_on, goes_on) = tokio::sync::oneshot::channel::<()>();
    let (events, of_events) = unbounded_channel();
    let once = Arc::new(Mutex::new(Some(goes_on)));
    // It has a body that it does not read, as a handler that looks something up first.
    let waits = move |_: Body| {
        let goes_on = once.lock().unwrap().take().expect("one request");
        begun.send(()).unwrap();
        async move {
            goes_on.await.unwrap();
            "it has waited"
        }
    };
    let once = Arc::new(Mutex::new(Some(of_events)));
    let events_of = move || {
        let events = once.lock().unwrap().take().expect("one request");
        std::future::ready(Response::new(Body::new(Lines(events))))
    };
    let routes = Router::new()
        .route("/waits", post(waits))
        .route("/events", get(events_of))
        .route("/body", post(async |body: String| body))
        .route("/endless", get(endless));
    let server = HttpServer::new(ANY, routes);
    let server = server.head_timeout(HOUR).body_timeout(MOMENT).write_timeout(MOMENT);
    let (node, process) = serve("q11_waits", &runtime, &server);
    let mut waiting = connect(server.bound().unwrap());
    send(&waiting, "POST /waits HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n1");
    begins.recv().unwrap();
    let mut listening = connect(server.bound().unwrap());
    send(&listening, "GET /events HTTP/1.1\r\nhost: x\r\n\r\n");
    events.send("the first\n").unwrap();
    read_until(&mut listening, "the first");

    // What begins after them and is limited has its end: they would have had it before.
    let late = connect(server.bound().unwrap());
    send(&late, "POST /body HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n1");
    assert!(rest(late).starts_with("HTTP/1.1 400 "));
    let late = connect(server.bound().unwrap());
    send(&late, "GET /endless HTTP/1.1\r\nhost: x\r\n\r\n");
    let is_cut_off = |(accepted, open)| accepted == 4 && open <= 2;
    while !is_cut_off(connections(&node, process)) {}

    go_on.send(()).unwrap();
    read_until(&mut waiting, "it has waited");
    events.send("the second\n").unwrap();
    read_until(&mut listening, "the second");
    drop(events);
    node.stop().wait().unwrap();
    drop(late);
}
