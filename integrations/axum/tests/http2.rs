//! Connections of HTTP/2 before their first request (rule Q8). What follows is tested with a client of gRPC, in
//! `krarup-tonic`.

use axum::Router;
use krarup::prelude::*;
use krarup_axum::HttpServer;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
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
