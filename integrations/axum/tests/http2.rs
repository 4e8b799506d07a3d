//! Connections of HTTP/2 before their first request (rule Q8), and clients that do not send or read (Q11). The rest is
//! tested with a client of gRPC, in `krarup-tonic`.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::response::Response;
use axum::routing::{get, post};
use krarup::prelude::*;
use krarup_axum::HttpServer;
use std::convert::Infallible;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;
use tokio::runtime::Runtime;

const ANY: ([u8; 4], u16) = ([127, 0, 0, 1], 0);
const HOUR: Duration = Duration::from_secs(3600);

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

/// A node with this server alone, and its process.
fn serve(name: &str, runtime: &Runtime, server: &HttpServer) -> (Node, Pid) {
    let node = Node::builder(name).tokio(runtime.handle().clone()).start().unwrap();
    let server = server.clone();
    let process = node.spawn(move || server).wait().unwrap();
    (node, process.pid())
}

fn connect(address: SocketAddr) -> TcpStream {
    let client = TcpStream::connect(address).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    client
}

/// What the server sends until it closes the connection.
fn rest(mut client: TcpStream) -> Vec<u8> {
    let mut rest = Vec::new();
    match client.read_to_end(&mut rest) {
        Ok(_) => rest,
        // The server has not read all that was sent.
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => rest,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn q8_a_client_that_does_not_begin_http2_is_disconnected() {
    let runtime = runtime();
    let server = HttpServer::new(ANY, Router::new()).http2();
    let (node, _) = serve("q8_http1", &runtime, &server.clone().head_timeout(HOUR));
    let mut client = connect(server.bound().unwrap());
    client.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    assert_eq!(rest(client), b"");
    node.stop().wait().unwrap();
}

#[test]
fn q8_a_client_that_begins_late_is_disconnected() {
    let runtime = runtime();
    let moment = Duration::from_millis(1);
    let server = HttpServer::new(ANY, Router::new()).http2().head_timeout(moment);
    let (node, _) = serve("q8_late", &runtime, &server);
    let mut client = connect(server.bound().unwrap());
    client.write_all(b"PRI * HTTP/2").unwrap();
    assert_eq!(rest(client), b"");
    node.stop().wait().unwrap();
}

#[test]
fn q8_a_client_that_is_silent_is_asked_whether_it_is_there_and_disconnected() {
    let runtime = runtime();
    let moment = Duration::from_millis(20);
    let server = HttpServer::new(ANY, Router::new()).http2().head_timeout(moment);
    let (node, _) = serve("q8_asked", &runtime, &server);
    // The frame's length, kind, flags and stream.
    let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    let ping = [0, 0, 8, 6, 0, 0, 0, 0, 0];
    loop {
        let mut client = connect(server.bound().unwrap());
        client.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap();
        client.write_all(&settings).unwrap();
        // On a busy machine it begins late, and is not asked.
        if rest(client).windows(ping.len()).any(|frame| frame == ping) {
            break;
        }
    }
    node.stop().wait().unwrap();
}

#[test]
fn q8_a_client_that_has_not_begun_does_not_delay_a_stop() {
    let runtime = runtime();
    let server = HttpServer::new(ANY, Router::new()).http2().head_timeout(HOUR).drain(HOUR);
    let (node, process) = serve("q8_silent", &runtime, &server);
    let client = connect(server.bound().unwrap());
    while node.inspect(process).wait().unwrap().number("connections") != Some(1) {}
    let stop = node.stop();
    let stopping = std::thread::spawn(move || stop.wait());
    assert_eq!(rest(client), b"");
    stopping.join().unwrap().unwrap();
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const WINDOW_UPDATE: u8 = 8;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// A frame of HTTP/2 (RFC 9113, section 4.1).
fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let head = [length[1], length[2], length[3], kind, flags, 0, 0, 0, stream];
    [&head, payload].concat()
}

/// The fields of a request for `/` (RFC 7541): the method by its index, `http`, `/`, and the authority `x`.
fn request(method: u8) -> [u8; 6] {
    [0x80 | method, 0x86, 0x84, 0x01, 0x01, b'x']
}

const GET: u8 = 2;
const POST: u8 = 3;

/// The kind and the stream of the next frame, and its payload.
fn next(client: &mut TcpStream) -> (u8, u8, Vec<u8>) {
    let mut head = [0; 9];
    client.read_exact(&mut head).unwrap();
    let mut payload = vec![0; usize::from(head[1]) << 8 | usize::from(head[2])];
    client.read_exact(&mut payload).unwrap();
    (head[3], head[8], payload)
}

#[test]
fn q11_a_stream_whose_body_does_not_come_is_reset_alone() {
    let runtime = runtime();
    let routes = Router::new().route("/", post(async |body: String| body).get(async || "here"));
    let moment = Duration::from_millis(20);
    let server = HttpServer::new(ANY, routes).http2().head_timeout(HOUR).body_timeout(moment);
    let (node, _) = serve("q11_stream", &runtime, &server);
    let mut client = connect(server.bound().unwrap());
    client.write_all(PREFACE).unwrap();
    client.write_all(&frame(SETTINGS, 0, 0, &[])).unwrap();
    client.write_all(&frame(HEADERS, END_HEADERS, 1, &request(POST))).unwrap();
    client.write_all(&frame(DATA, 0, 1, b"1")).unwrap();
    let mut status = None;
    loop {
        match next(&mut client) {
            (HEADERS, 1, fields) => status = fields.first().copied(),
            (RST_STREAM, 1, _) => break,
            _ => {}
        }
    }
    // The index of a status of 400, and then of 200.
    assert_eq!(status, Some(0x8c));
    client.write_all(&frame(HEADERS, END_HEADERS | END_STREAM, 3, &request(GET))).unwrap();
    let answer = std::iter::repeat_with(|| next(&mut client));
    let (_, _, fields) = answer.into_iter().find(|(kind, ..)| *kind == HEADERS).unwrap();
    assert_eq!(fields[0], 0x88);
    drop(client);
    node.stop().wait().unwrap();
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

#[test]
fn q11_a_client_that_reads_no_frames_loses_its_place() {
    let runtime = runtime();
    let routes = Router::new().route("/", get(async || Response::new(Body::new(Endless))));
    let moment = Duration::from_millis(20);
    let server = HttpServer::new(ANY, routes).http2().connections(1);
    let server = server.head_timeout(HOUR).write_timeout(moment);
    let (node, _) = serve("q11_frames", &runtime, &server);
    let mut slow = connect(server.bound().unwrap());
    slow.write_all(PREFACE).unwrap();
    // It has room for all that there may be: streams begin with a window of 2^31 - 1 bytes, and so has the connection.
    slow.write_all(&frame(SETTINGS, 0, 0, &[0, 4, 0x7f, 0xff, 0xff, 0xff])).unwrap();
    slow.write_all(&frame(WINDOW_UPDATE, 0, 0, &0x7fff_0000_u32.to_be_bytes())).unwrap();
    slow.write_all(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &request(GET))).unwrap();
    // There is one place.
    let mut second = connect(server.bound().unwrap());
    second.write_all(PREFACE).unwrap();
    second.write_all(&frame(SETTINGS, 0, 0, &[])).unwrap();
    assert_eq!(next(&mut second).0, SETTINGS);
    drop((slow, second));
    node.stop().wait().unwrap();
}
