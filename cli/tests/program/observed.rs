//! A node with an observer and some processes, and runs of the program.

use krarup::observer::{Observer, RunningObserver, Token};
use krarup::prelude::*;
use std::cell::RefCell;
use std::future::pending;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_krarup");
/// How long a test waits before it fails. Nothing takes as long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
pub(crate) const TOKEN: &str = "read-read-read-read-read-read-read-read";
/// A name that would clear the screen, set the title and turn the line around.
pub(crate) const HOSTILE: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}\r\n\u{9b}31m\u{202e}<b>\"é";

/// Handles its first message for ever, so that the others stay in its mailbox.
pub(crate) struct Stuck;

impl Actor for Stuck {
    type Message = u32;

    async fn handle_message(&mut self, _: &mut Context<u32>, _: u32) -> Result {
        pending().await
    }
}

/// Fails in its first message.
pub(crate) struct Failing;

impl Actor for Failing {
    type Message = ();

    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        Err(Reason::error("the stock is gone"))
    }
}

/// A node with an observer.
pub(crate) struct Observed {
    pub(crate) node: Node,
    pub(crate) observer: RunningObserver,
    stuck: RefCell<Vec<Pid>>,
}

impl Observed {
    pub(crate) fn start(name: &str, change: impl FnOnce(Observer) -> Observer) -> Self {
        let node = Node::start(name).unwrap();
        let observer = change(Observer::new().listen("127.0.0.1:0")).start(&node).wait().unwrap();
        Observed { node, observer, stuck: RefCell::default() }
    }

    /// One that wants a token.
    pub(crate) fn guarded(name: &str) -> Self {
        Observed::start(name, |observer| observer.read_token(Token::new(TOKEN).unwrap()))
    }

    pub(crate) fn url(&self) -> String {
        self.observer.url()
    }

    /// Spawns a process of this name, with so many messages in its mailbox and one in hand.
    pub(crate) fn stuck(&self, name: &str, messages: u32) {
        let process = self.node.spawn(|| Stuck).name(name).wait().unwrap();
        for message in 0..=messages {
            process.send(message).unwrap();
        }
        self.stuck.borrow_mut().push(process.pid());
    }

    /// Ends the node at once.
    pub(crate) fn stop(self) {
        for pid in self.stuck.take() {
            self.node.kill(pid);
        }
        self.node.stop().wait().unwrap();
    }
}

/// Runs the program without a terminal and without a token in its environment.
pub(crate) fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).env_remove("KRARUP_OBSERVER_TOKEN").stdin(Stdio::null());
    command.output().unwrap()
}

pub(crate) fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) fn errors(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Asks until there is an answer.
pub(crate) fn until<T>(mut ask: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = ask() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "what is waited for does not come");
    }
}

/// The address of a port where nobody listens.
pub(crate) fn nowhere() -> String {
    let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", socket.local_addr().unwrap())
}

/// The status and the body of a route.
pub(crate) fn get(address: SocketAddr, target: &str) -> (u16, String) {
    let head = format!("GET {target} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    send(address, &head)
}

/// Sends a request, and reads to the end.
pub(crate) fn send(address: SocketAddr, request: &str) -> (u16, String) {
    let mut socket = TcpStream::connect(address).unwrap();
    socket.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

/// The answer of the tools over HTTP.
pub(crate) fn post_mcp(address: SocketAddr, message: &str) -> serde_json::Value {
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         Content-Length: {}\r\n\r\n{message}",
        message.len()
    );
    serde_json::from_str(&send(address, &head).1).unwrap()
}
