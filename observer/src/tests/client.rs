//! A node with an observer, and a client that sends any bytes.

use crate::limits::DoorLimits;
use crate::{Observer, RunningObserver, Token};
use krarup_node::Node;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

/// How long a test waits before it fails. Nothing takes as long.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

pub(super) const TOKEN: &str = "action-action-action-action-action-action";

/// Limits without the waits of real ones.
pub(super) fn quick() -> DoorLimits {
    DoorLimits {
        head: Duration::from_millis(300),
        body: Duration::from_millis(300),
        write: Duration::from_secs(1),
        linger: Duration::from_millis(200),
        walk: Duration::ZERO,
        // Not a matter of how busy the machine is.
        collect: PATIENCE,
        ..DoorLimits::default()
    }
}

/// A node, and its observer on any port.
pub(super) fn observed(change: impl FnOnce(Observer) -> Observer) -> (Node, RunningObserver) {
    let node = Node::start("observed@localhost").unwrap();
    let observer = start(&node, change);
    (node, observer)
}

pub(super) fn start(node: &Node, change: impl FnOnce(Observer) -> Observer) -> RunningObserver {
    let token = Token::new(TOKEN).unwrap();
    let observer = Observer::new().listen("127.0.0.1:0").action_token(token).limits(quick());
    change(observer).start(node).wait().unwrap()
}

/// An answer.
#[derive(Debug)]
pub(super) struct HttpReply {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: String,
}

impl HttpReply {
    fn read(bytes: &[u8]) -> HttpReply {
        let text = String::from_utf8_lossy(bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        HttpReply {
            status: status.unwrap_or(0),
            head: head.to_ascii_lowercase(),
            body: body.to_owned(),
        }
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The code of an error.
    pub(super) fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_default().to_owned()
    }
}

pub(super) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Sends bytes, and reads until the server closes.
pub(super) fn send(address: SocketAddr, bytes: &[u8]) -> HttpReply {
    let mut stream = connect(address);
    // The server may refuse before all is written.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let _ = stream.shutdown(Shutdown::Both);
    HttpReply::read(&answer)
}

pub(super) fn get(address: SocketAddr, target: &str) -> HttpReply {
    let request = format!("GET {target} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    send(address, request.as_bytes())
}

pub(super) fn post(address: SocketAddr, target: &str, body: &str) -> HttpReply {
    let length = body.len();
    let head = format!(
        "POST {target} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Authorization: Bearer {TOKEN}\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    send(address, head.as_bytes())
}

/// Asks until an answer is as wanted.
pub(super) fn until(
    address: SocketAddr,
    target: &str,
    wanted: impl Fn(&HttpReply) -> bool,
) -> HttpReply {
    let began = std::time::Instant::now();
    loop {
        let reply = get(address, target);
        if wanted(&reply) {
            return reply;
        }
        assert!(began.elapsed() < PATIENCE, "{target}: {reply:?}");
    }
}
