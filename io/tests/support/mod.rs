//! A protocol that a test controls, and a server that runs it.

#![allow(dead_code, reason = "each test file uses a part")]

use krarup_act::Address;
use krarup_gen::{Down, Exit, Pid, Reason, Result};
use krarup_io::{
    Acceptor, AcceptorRequest, Channel, Closed, CodecError, ConnectionOptions, Lines, Protocol,
    WriteError,
};
use krarup_node::Node;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// The time an event may take before the test fails. Tests wait for events and never sleep.
const PATIENCE: Duration = Duration::from_secs(30);
/// The longest line of a puppet.
pub(crate) const LONGEST: usize = 1 << 20;

/// A function for a puppet to run.
pub(crate) struct Act(pub(crate) Doing);

type Doing = Box<dyn FnOnce(&mut Channel<Puppet>) -> Result + Send>;

/// An event of a connection that the test receives.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ConnectionEvent {
    Connected(Pid),
    Line(String),
    Drained,
    Ended,
    Malformed(CodecError),
    Stopping,
    Closed(Closed),
    Dropped,
    Down(Reason),
    Exit(Reason),
}

/// A connection that reports its events to a test. It understands these lines:
///
/// | line | effect |
/// |---|---|
/// | `say X` | sends X |
/// | `close`, `abort` | closes or aborts the connection |
/// | `fail`, `panic` | fails or panics |
/// | `pause` | stops reading |
/// | `hang` | waits forever |
/// | `pour`, `pour X` | sends until a send fails, then fails with that error, or with X |
/// | any other | no effect |
pub(crate) struct Puppet {
    pub(crate) seen: Sender<ConnectionEvent>,
    /// Keeps its own direction open when the peer has closed its own.
    pub(crate) keeps_half: bool,
    /// Does not close when it is to stop, and traps exits.
    pub(crate) stubborn: bool,
}

impl Drop for Puppet {
    fn drop(&mut self) {
        let _ = self.seen.send(ConnectionEvent::Dropped);
    }
}

impl Protocol for Puppet {
    type Message = Act;
    type Codec = Lines;

    fn codec(&self) -> Lines {
        Lines::new(LONGEST)
    }

    async fn connected(&mut self, channel: &mut Channel<Self>) -> Result {
        channel.context().trap_exits(self.stubborn);
        let _ = self.seen.send(ConnectionEvent::Connected(channel.address().pid()));
        Ok(())
    }

    async fn received(&mut self, channel: &mut Channel<Self>, line: String) -> Result {
        let _ = self.seen.send(ConnectionEvent::Line(line.clone()));
        match line.split_once(' ').unwrap_or((&line, "")) {
            ("say", text) => channel.send_or_wait(text).await?,
            ("close", _) => channel.close(),
            ("abort", _) => channel.abort(),
            ("pause", _) => channel.pause(),
            ("hang", _) => std::future::pending().await,
            ("pour", why) => {
                let error = loop {
                    if let Err(error) = channel.send_or_wait(&"x".repeat(100_000)).await {
                        break error;
                    }
                };
                // The connection stays closed, and no bytes wait any more.
                assert_eq!(channel.send("x"), Err(WriteError::Closed));
                assert_eq!(channel.flush().await, Err(WriteError::Closed));
                assert_eq!(channel.waiting(), 0);
                return Err(if why.is_empty() { error.into() } else { Reason::error(why) });
            }
            ("fail", why) => return Err(Reason::error(why)),
            ("panic", why) => panic!("{why}"),
            _ => {}
        }
        Ok(())
    }

    async fn handle_message(&mut self, channel: &mut Channel<Self>, act: Act) -> Result {
        (act.0)(channel)
    }

    async fn drained(&mut self, _: &mut Channel<Self>) -> Result {
        let _ = self.seen.send(ConnectionEvent::Drained);
        Ok(())
    }

    async fn ended(&mut self, channel: &mut Channel<Self>) -> Result {
        let _ = self.seen.send(ConnectionEvent::Ended);
        if !self.keeps_half {
            channel.close();
        }
        Ok(())
    }

    async fn malformed(&mut self, channel: &mut Channel<Self>, error: &CodecError) -> Result {
        let _ = self.seen.send(ConnectionEvent::Malformed(error.clone()));
        channel.send("what?")?;
        Ok(())
    }

    async fn stopping(&mut self, channel: &mut Channel<Self>) -> Result {
        let _ = self.seen.send(ConnectionEvent::Stopping);
        if !self.stubborn {
            channel.send("bye")?;
            channel.close();
        }
        Ok(())
    }

    async fn handle_down(&mut self, _: &mut Channel<Self>, down: Down) -> Result {
        let _ = self.seen.send(ConnectionEvent::Down(down.reason));
        Ok(())
    }

    async fn handle_exit(&mut self, _: &mut Channel<Self>, exit: Exit) -> Result {
        let _ = self.seen.send(ConnectionEvent::Exit(exit.reason));
        Ok(())
    }

    async fn closed(&mut self, channel: &mut Channel<Self>, why: &Closed) {
        assert_eq!(channel.send("too late"), Err(WriteError::Closed));
        let _ = self.seen.send(ConnectionEvent::Closed(why.clone()));
    }
}

/// Any free port of this machine.
pub(crate) fn any_port() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}

/// A server of puppets.
pub(crate) struct Served {
    pub(crate) node: Node,
    pub(crate) acceptor: Address<AcceptorRequest<Act>>,
    pub(crate) address: SocketAddr,
    seen: Receiver<ConnectionEvent>,
}

type Factory = Box<dyn Fn() -> Puppet + Send + Sync>;
pub(crate) type PuppetAcceptor = Acceptor<Puppet, Factory>;

impl Served {
    pub(crate) fn new() -> Self {
        Self::with(ConnectionOptions::new(), |acceptor| acceptor)
    }

    /// A server whose puppets keep their own direction open.
    pub(crate) fn half_open() -> Self {
        Self::made(ConnectionOptions::new(), true, false, |acceptor| acceptor)
    }

    /// A server whose puppets do not close when they are to stop.
    pub(crate) fn stubborn(drain: Duration) -> Self {
        Self::made(ConnectionOptions::new(), false, true, move |acceptor| acceptor.drain(drain))
    }

    pub(crate) fn with(
        options: ConnectionOptions,
        set: impl FnOnce(PuppetAcceptor) -> PuppetAcceptor + Send + 'static,
    ) -> Self {
        Self::made(options, false, false, set)
    }

    fn made(
        options: ConnectionOptions,
        keeps_half: bool,
        stubborn: bool,
        set: impl FnOnce(PuppetAcceptor) -> PuppetAcceptor + Send + 'static,
    ) -> Self {
        let (sender, seen) = channel();
        let node = Node::start("sockets@localhost").unwrap();
        let factory: Factory =
            Box::new(move || Puppet { seen: sender.clone(), keeps_half, stubborn });
        let acceptor = node
            .spawn(move || set(Acceptor::new(any_port(), factory).options(options)))
            .wait()
            .unwrap();
        let address = acceptor.call(AcceptorRequest::Address).wait().unwrap();
        Served { node, acceptor, address, seen }
    }

    /// Returns the next event of any connection.
    pub(crate) fn next(&self) -> ConnectionEvent {
        self.seen.recv_timeout(PATIENCE).expect("nothing more is seen")
    }

    /// Asserts that this is the next event.
    pub(crate) fn expect(&self, seen: &ConnectionEvent) {
        assert_eq!(self.next(), *seen);
    }

    /// Skips to the reason for which a connection was closed.
    pub(crate) fn closed(&self) -> Closed {
        loop {
            if let ConnectionEvent::Closed(why) = self.next() {
                return why;
            }
        }
    }

    /// Connects a client. Returns it and the address of its connection.
    pub(crate) fn connect(&self) -> (Peer, Address<Act>) {
        let peer = Peer::connect(self.address);
        let ConnectionEvent::Connected(pid) = self.next() else { panic!("not connected") };
        (peer, self.node.address_of(pid).unwrap())
    }

    /// Connects another client, when events of an earlier one may still arrive.
    pub(crate) fn connect_next(&self) -> (Peer, Address<Act>) {
        let peer = Peer::connect(self.address);
        loop {
            if let ConnectionEvent::Connected(pid) = self.next() {
                return (peer, self.node.address_of(pid).unwrap());
            }
        }
    }

    pub(crate) fn stop(self) {
        self.node.stop().wait().unwrap();
    }
}

/// A plain socket as a client.
pub(crate) struct Peer(pub(crate) BufReader<TcpStream>);

impl Peer {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        Self::of(TcpStream::connect(address).unwrap())
    }

    /// Connects to a server that may refuse the connection, as soon as it is made.
    pub(crate) fn try_connect(address: SocketAddr) -> std::io::Result<Self> {
        TcpStream::connect(address).map(Self::of)
    }

    fn of(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Peer(BufReader::new(stream))
    }

    pub(crate) fn stream(&self) -> &TcpStream {
        self.0.get_ref()
    }

    pub(crate) fn say(&mut self, line: &str) {
        self.0.get_mut().write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// Sends a line. Returns whether there was an answer.
    pub(crate) fn asks(&mut self, line: &str) -> bool {
        let said = self.0.get_mut().write_all(format!("{line}\n").as_bytes());
        said.is_ok() && self.0.read_line(&mut String::new()).is_ok_and(|count| count > 0)
    }

    /// Returns the next line, or `None` at the end.
    pub(crate) fn hear(&mut self) -> Option<String> {
        let mut line = String::new();
        let count = self.0.read_line(&mut line).unwrap();
        (count > 0).then(|| line.trim_end().to_owned())
    }

    /// Reads everything to the end.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        self.0.read_to_end(&mut rest).unwrap();
        rest
    }

    /// Reads everything to the end or to a reset.
    pub(crate) fn last_bytes(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        if let Err(error) = self.0.read_to_end(&mut rest) {
            assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        }
        rest
    }

    /// Whether the next read fails with a reset.
    pub(crate) fn is_reset(&mut self) -> bool {
        self.0.read(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::ConnectionReset)
    }

    /// Whether the connection is closed, in whatever way.
    pub(crate) fn is_over(&mut self) -> bool {
        match self.0.read(&mut [0]) {
            Ok(count) => count == 0,
            Err(error) => error.kind() == ErrorKind::ConnectionReset,
        }
    }
}
