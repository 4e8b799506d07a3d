//! Idle workers wait for sockets themselves, and what arrives is seen while others run handlers: rule I10.
//!
//! A program of its own: all nodes of a program share the wait.

use krarup_gen::Result;
use krarup_io::{Acceptor, AcceptorRequest, Channel, Lines, Protocol};
use krarup_node::{DispatcherOptions, Node};
use parking_lot::{Mutex, MutexGuard};
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// The time an answer may take before the test fails. Tests wait for events and never sleep.
const PATIENCE: Duration = Duration::from_secs(30);

/// The tests run one after the other: a worker of one would wait for the sockets of another.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock()
}

/// Answers each line with the same one. At `block` its handler keeps its worker until the test releases it.
#[derive(Clone)]
struct Blocking {
    begun: Sender<()>,
    release: Arc<Mutex<Receiver<()>>>,
}

impl Protocol for Blocking {
    type Message = ();
    type Codec = Lines;

    fn codec(&self) -> Lines {
        Lines::new(100)
    }

    async fn received(&mut self, channel: &mut Channel<Self>, line: String) -> Result {
        if line == "block" {
            self.begun.send(()).unwrap();
            self.release.lock().recv_timeout(PATIENCE).unwrap();
        }
        channel.send(&line)?;
        Ok(())
    }
}

/// A node that answers lines, and the test's ends of a handler that blocks.
struct Answering {
    node: Node,
    address: SocketAddr,
    begun: Receiver<()>,
    release: Sender<()>,
}

impl Answering {
    fn new(workers: usize) -> Self {
        let ((begins, begun), (release, released)) = (channel(), channel());
        let protocol = Blocking { begun: begins, release: Arc::new(Mutex::new(released)) };
        // A spare worker would stand in for one that is held for long.
        let options = DispatcherOptions::new().workers(workers).spare_workers(0);
        let node = Node::builder("idle@localhost").options(options).start().unwrap();
        let any_port = ([127, 0, 0, 1], 0).into();
        let factory = move || protocol.clone();
        let acceptor = node.spawn(move || Acceptor::new(any_port, factory)).wait().unwrap();
        let address = acceptor.call(AcceptorRequest::Address).wait().unwrap();
        Answering { node, address, begun, release }
    }

    fn connect(&self) -> Caller {
        let caller = TcpStream::connect(self.address).unwrap();
        caller.set_read_timeout(Some(PATIENCE)).unwrap();
        caller.set_nodelay(true).unwrap();
        Caller(BufReader::new(caller))
    }

    /// A worker is held by a handler from here on, until [`Answering::release`].
    fn block(&self, caller: &mut Caller) {
        caller.send("block");
        self.begun.recv_timeout(PATIENCE).unwrap();
    }

    fn release(&self, caller: &mut Caller) {
        self.release.send(()).unwrap();
        assert_eq!(caller.answer(), "block");
    }
}

struct Caller(BufReader<TcpStream>);

impl Caller {
    fn send(&mut self, line: &str) {
        self.0.get_mut().write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn answer(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn asks(&mut self, line: &str) {
        self.send(line);
        assert_eq!(self.answer(), line);
    }
}

#[test]
fn i10_a_request_is_seen_by_the_idle_worker_itself() {
    const REQUESTS: u64 = 10_000;
    let _alone = alone();
    let server = Answering::new(1);
    let mut caller = server.connect();
    caller.asks("hello");
    let stats = || server.node.stats().dispatchers.swap_remove(0);
    // The thread of the sockets queues the connection from outside. It steps in only when the
    // system has put the worker aside for some milliseconds, so sooner or later a request is not its own.
    let by_worker = (0..REQUESTS).any(|request| {
        // The connection has had its turn, and waits to be woken.
        while stats().parked == 0 {
            std::thread::yield_now();
        }
        let before = stats().injected;
        caller.asks(&request.to_string());
        stats().injected == before
    });
    assert!(by_worker);
    drop(caller);
    server.node.stop().wait().unwrap();
}

#[test]
fn i10_a_request_is_answered_while_a_handler_holds_the_worker_that_has_polled_last() {
    let _alone = alone();
    let server = Answering::new(2);
    let (mut first, mut second) = (server.connect(), server.connect());
    for round in 0..20 {
        second.asks("before");
        server.block(&mut first);
        second.asks(&round.to_string());
        server.release(&mut first);
    }
    drop((first, second));
    server.node.stop().wait().unwrap();
}

#[test]
fn i10_a_request_to_another_node_is_answered_while_all_workers_of_one_are_held() {
    let _alone = alone();
    let (held, free) = (Answering::new(1), Answering::new(1));
    let (mut first, mut second) = (held.connect(), free.connect());
    for round in 0..20 {
        held.block(&mut first);
        second.asks(&round.to_string());
        held.release(&mut first);
    }
    // No worker waits any more where the other node's sockets are.
    drop(first);
    held.node.stop().wait().unwrap();
    second.asks("after");
    drop(second);
    free.node.stop().wait().unwrap();
}
