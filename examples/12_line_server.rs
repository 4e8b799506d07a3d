//! 12. A line protocol: a store that any number of clients talk to.
//!
//! The store is an actor, each client a connection, and a connection asks the store as any process
//! asks another. A client that watches is told of every change: the store sends to the connection's
//! address. It is told as long as it reads; one that does not is broken off, and slows nobody down.
//!
//! ```sh
//! cargo run --release --features io --example 12_line_server                     # shows itself
//! cargo run --release --features io --example 12_line_server -- 127.0.0.1:7001   # serves
//! nc 127.0.0.1 7001
//! set colour deep blue
//! get colour
//! ```

use krarup::io::{
    Acceptor, AcceptorAddress, AcceptorRequest, Channel, Closed, CodecError, ConnectionOptions,
    Lines, Protocol,
};
use krarup::prelude::*;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// The longest line, in bytes.
const LINE: usize = 1024;
/// Requests that may wait at the store: beyond, connections wait, and read nothing.
const REQUESTS: usize = 1000;

/// What the store does.
enum Request {
    Set(String, String),
    Get(String, Reply<Option<String>>),
    Delete(String, Reply<bool>),
    /// Tells this connection of every change, until it is gone.
    Watch(Address<Change>),
}

/// A change, as those who watch hear of it.
#[derive(Clone)]
struct Change(String);

#[derive(Default)]
struct Store {
    values: BTreeMap<String, String>,
    watchers: Vec<Address<Change>>,
}

impl Store {
    fn tell(&mut self, change: &Change) {
        // A watcher that is gone, or that does not take its changes, is told no more.
        self.watchers.retain(|watcher| watcher.send(change.clone()).is_ok());
    }
}

impl Actor for Store {
    type Message = Request;

    async fn handle_message(&mut self, _: &mut Context<Request>, request: Request) -> Result {
        match request {
            Request::Set(key, value) => {
                self.tell(&Change(format!("changed {key} {value}")));
                self.values.insert(key, value);
            }
            Request::Get(key, reply) => reply.send(self.values.get(&key).cloned()),
            Request::Delete(key, reply) => {
                let was_there = self.values.remove(&key).is_some();
                if was_there {
                    self.tell(&Change(format!("deleted {key}")));
                }
                reply.send(was_there);
            }
            Request::Watch(watcher) => self.watchers.push(watcher),
        }
        Ok(())
    }

    fn inspect(&self) -> Inspection {
        Inspection::new().with("values", self.values.len()).with("watchers", self.watchers.len())
    }
}

/// One client.
struct Session {
    store: Address<Request>,
}

impl Session {
    /// The answer to a line, or `None` where there is none.
    async fn answer(&self, channel: &mut Channel<Self>, line: &str) -> Result<Option<String>> {
        let (command, rest) = line.split_once(' ').unwrap_or((line, ""));
        let answer = match (command, rest) {
            ("set", rest) => match rest.split_once(' ') {
                Some((key, value)) => {
                    let request = Request::Set(key.to_owned(), value.to_owned());
                    // Waits for room at the store; meanwhile nothing is read from this client.
                    self.store.send_or_wait(request).await.map_err(SendError::without_message)?;
                    "ok".to_owned()
                }
                None => "error: set needs a key and a value".to_owned(),
            },
            ("get", key) if !key.is_empty() => {
                let key = key.to_owned();
                match self.store.call(|reply| Request::Get(key, reply)).await? {
                    Some(value) => format!("value {value}"),
                    None => "none".to_owned(),
                }
            }
            ("delete", key) if !key.is_empty() => {
                let key = key.to_owned();
                let was_there = self.store.call(|reply| Request::Delete(key, reply)).await?;
                if was_there { "ok".to_owned() } else { "none".to_owned() }
            }
            ("watch", "") => {
                let request = Request::Watch(channel.address());
                self.store.send_or_wait(request).await.map_err(SendError::without_message)?;
                "watching".to_owned()
            }
            ("quit", "") => {
                channel.send_or_wait("bye").await?;
                channel.close();
                return Ok(None);
            }
            (other, _) => format!("error: {other:?}: set, get, delete, watch, quit"),
        };
        Ok(Some(answer))
    }
}

impl Protocol for Session {
    type Message = Change;
    type Codec = Lines;

    fn codec(&self) -> Lines {
        Lines::new(LINE)
    }

    async fn received(&mut self, channel: &mut Channel<Self>, line: String) -> Result {
        if let Some(answer) = self.answer(channel, &line).await? {
            channel.send_or_wait(&answer).await?;
        }
        Ok(())
    }

    async fn handle_message(&mut self, channel: &mut Channel<Self>, change: Change) -> Result {
        if channel.send(&change.0).is_err() {
            channel.abort();
        }
        Ok(())
    }

    async fn malformed(&mut self, channel: &mut Channel<Self>, error: &CodecError) -> Result {
        // It is closed in any case; whether it hears why is up to it.
        let _ = channel.send(&format!("error: {error}"));
        Ok(())
    }

    async fn closed(&mut self, channel: &mut Channel<Self>, why: &Closed) {
        // `RUST_LOG` and a subscriber would show this.
        tracing::debug!(peer = %channel.peer(), %why, "a client is gone");
    }
}

fn main() -> Result {
    let wanted: Option<SocketAddr> =
        std::env::args().nth(1).map(|text| text.parse()).transpose()?;
    let address = wanted.unwrap_or(([127, 0, 0, 1], 0).into());
    let node = Node::start("store@localhost")?;
    let store = node.spawn(Store::default).name("store").mailbox(REQUESTS).wait()?;
    let limits = ConnectionOptions::new()
        .idle_timeout(Duration::from_mins(10))
        .frame_timeout(Duration::from_secs(30))
        .stall_timeout(Duration::from_secs(10));
    let session = move || Session { store: store.clone() };
    let server: AcceptorAddress<Session> = node
        .spawn(move || Acceptor::new(address, session).limit(10_000).options(limits))
        .name("lines")
        .wait()?;
    let address = server.call(AcceptorRequest::Address).wait()?;
    println!("serving on {address}");
    if wanted.is_some() {
        server.monitor().wait()?;
    } else {
        show(address)?;
        println!("server: {}", server.inspect().wait()?);
    }
    node.stop().wait()
}

/// Two clients, of which one watches what the other does.
fn show(address: SocketAddr) -> Result {
    let mut watcher = Demo::connect(address)?;
    watcher.say("watch")?;
    let mut client = Demo::connect(address)?;
    for line in ["set colour deep blue", "get colour", "delete colour", "get colour", "hello"] {
        client.say(line)?;
    }
    for _ in 0..2 {
        println!("watcher: {}", watcher.hear()?);
    }
    client.say(&"x".repeat(2 * LINE))?;
    println!("and then: {:?}", client.hear()?);
    watcher.say("quit")
}

/// A client of the demonstration.
struct Demo(BufReader<TcpStream>);

impl Demo {
    fn connect(address: SocketAddr) -> Result<Self> {
        Ok(Demo(BufReader::new(TcpStream::connect(address)?)))
    }

    /// Says a line and shows the answer.
    fn say(&mut self, line: &str) -> Result {
        self.0.get_mut().write_all(format!("{line}\n").as_bytes())?;
        let shown: String = line.chars().take(40).collect();
        println!("{shown:<24} {}", self.hear()?);
        Ok(())
    }

    /// The next line; an empty one at the end.
    fn hear(&mut self) -> Result<String> {
        let mut line = String::new();
        self.0.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }
}
