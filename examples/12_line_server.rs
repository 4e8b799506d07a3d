//! 12. A line protocol: a store that any number of clients talk to.
//!
//! The store is an actor and each client a connection, and a connection calls the store like
//! any other process. A client that watches gets every change, in the words of the command
//! that made it: the store sends it to the connection's address. A client that does not read
//! its changes is aborted, so that it slows down no other client. Whatever clients do, memory
//! is bounded: by the number of connections, the length of a line and the number of keys.
//!
//! ```sh
//! cargo run --release --features io --example 12_line_server                     # shows itself
//! cargo run --release --features io --example 12_line_server -- 127.0.0.1:7001   # serves
//! nc 127.0.0.1 7001
//! set colour deep blue
//! get colour
//! ```

mod serving;

use krarup::Target;
use krarup::io::{
    Acceptor, AcceptorAddress, AcceptorRequest, Channel, Closed, CodecError, ConnectionOptions,
    Lines, Protocol,
};
use krarup::prelude::*;
use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// The longest line, in bytes.
const LINE: usize = 1024;
/// The most open connections. Each waits for at most one answer of the store, so at most
/// this many requests wait there.
const CONNECTIONS: usize = 10_000;
/// The most keys in the store.
const KEYS: usize = 10_000;

/// The requests that the store handles.
enum Request {
    Set(String, String, Reply<Result<(), Full>>),
    Get(String, Reply<Option<String>>),
    Delete(String, Reply<bool>),
    /// Sends every change to this connection, until it has ended.
    Watch(Address<Change>, Reply<()>),
}

/// The store holds as many keys as it may.
struct Full;

/// A change, as it is sent to the watchers.
#[derive(Clone)]
struct Change(String);

#[derive(Default)]
struct Store {
    values: BTreeMap<String, String>,
    watchers: HashMap<Pid, Address<Change>>,
}

impl Store {
    fn tell(&self, ctx: &Context<Request>, change: &Change) {
        for (pid, watcher) in &self.watchers {
            if watcher.send(change.clone()).is_err_and(|error| error.is_full()) {
                // A watcher must not miss a change and continue as if it had not.
                ctx.exit(*pid, Reason::shutdown(TooSlow));
            }
        }
    }
}

/// The reason why a watcher is aborted.
#[derive(Debug)]
struct TooSlow;

impl std::error::Error for TooSlow {}

impl std::fmt::Display for TooSlow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("it takes its changes too slowly")
    }
}

impl Actor for Store {
    type Message = Request;

    async fn handle_message(&mut self, ctx: &mut Context<Request>, request: Request) -> Result {
        match request {
            Request::Set(key, value, reply) => {
                if self.values.len() >= KEYS && !self.values.contains_key(&key) {
                    reply.send(Err(Full));
                    return Ok(());
                }
                self.tell(ctx, &Change(format!("set {key} {value}")));
                self.values.insert(key, value);
                reply.send(Ok(()));
            }
            Request::Get(key, reply) => reply.send(self.values.get(&key).cloned()),
            Request::Delete(key, reply) => {
                let was_there = self.values.remove(&key).is_some();
                if was_there {
                    self.tell(ctx, &Change(format!("delete {key}")));
                }
                reply.send(was_there);
            }
            Request::Watch(watcher, reply) => {
                if self.watchers.insert(watcher.pid(), watcher.clone()).is_none() {
                    ctx.monitor(watcher.pid());
                }
                reply.send(());
            }
        }
        Ok(())
    }

    async fn handle_down(&mut self, _: &mut Context<Request>, down: Down) -> Result {
        if let Target::Pid(pid) = down.target {
            self.watchers.remove(&pid);
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
    /// Returns the answer to a line.
    async fn answer(&self, channel: &mut Channel<Self>, line: &str) -> Result<String, CallError> {
        let (command, rest) = line.split_once(' ').unwrap_or((line, ""));
        let (key, value) = match rest.split_once(' ') {
            Some((key, value)) => (key.to_owned(), Some(value.to_owned())),
            None => (rest.to_owned(), None),
        };
        Ok(match (command, value) {
            ("set", Some(value)) if !key.is_empty() => {
                match self.store.call(|reply| Request::Set(key, value, reply)).await? {
                    Ok(()) => "ok".to_owned(),
                    Err(Full) => format!("error: there are {KEYS} keys already"),
                }
            }
            ("get", None) if !key.is_empty() => {
                match self.store.call(|reply| Request::Get(key, reply)).await? {
                    Some(value) => format!("value {value}"),
                    None => "none".to_owned(),
                }
            }
            ("delete", None) if !key.is_empty() => {
                let was_there = self.store.call(|reply| Request::Delete(key, reply)).await?;
                if was_there { "ok".to_owned() } else { "none".to_owned() }
            }
            ("watch", None) if key.is_empty() => {
                let watcher = channel.address();
                self.store.call(|reply| Request::Watch(watcher, reply)).await?;
                "watching".to_owned()
            }
            _ => {
                // The answer is never longer than a line may be.
                let begin: String = line.chars().take(20).collect();
                format!("error: {begin:?}: set K V, get K, delete K, watch, quit")
            }
        })
    }
}

impl Protocol for Session {
    type Message = Change;
    type Codec = Lines;

    fn codec(&self) -> Lines {
        Lines::new(LINE)
    }

    async fn received(&mut self, channel: &mut Channel<Self>, line: String) -> Result {
        if line == "quit" {
            channel.send_or_wait("bye").await?;
            channel.close();
            return Ok(());
        }
        let answer = match self.answer(channel, &line).await {
            Ok(answer) => answer,
            // The store is overloaded or restarts.
            Err(error) => format!("error: {error}"),
        };
        Ok(channel.send_or_wait(&answer).await?)
    }

    async fn handle_message(&mut self, channel: &mut Channel<Self>, change: Change) -> Result {
        if channel.send(&change.0).is_err() {
            channel.abort();
        }
        Ok(())
    }

    async fn malformed(&mut self, channel: &mut Channel<Self>, error: &CodecError) -> Result {
        // The connection is closed in any case. Whether the client reads the reason is up to it.
        let _ = channel.send(&format!("error: {error}"));
        Ok(())
    }

    async fn closed(&mut self, channel: &mut Channel<Self>, why: &Closed) {
        // Visible with `RUST_LOG` and a subscriber.
        tracing::debug!(peer = %channel.peer(), %why, "a client is gone");
    }
}

fn main() -> Result {
    let wanted = serving::told_address()?;
    let address = wanted.unwrap_or(([127, 0, 0, 1], 0).into());
    let node = Node::start("store@localhost")?;
    let store = node.spawn(Store::default).name("store").mailbox(CONNECTIONS).wait()?;
    let limits = ConnectionOptions::new()
        .idle_timeout(Duration::from_secs(600))
        .frame_timeout(Duration::from_secs(30))
        .stall_timeout(Duration::from_secs(10));
    let session = move || Session { store: store.clone() };
    let server: AcceptorAddress<Session> = node
        .spawn(move || Acceptor::new(address, session).limit(CONNECTIONS).options(limits))
        .name("lines")
        .wait()?;
    let address = server.call(AcceptorRequest::Address).wait()?;
    println!("serving on {address}");
    if wanted.is_some() {
        serving::serve(&server)?;
    } else {
        show(address)?;
        println!("server: {}", server.inspect().wait()?);
    }
    node.stop().wait()
}

/// Two clients: one watches what the other changes.
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
    println!("end of the connection: {:?}", client.hear()?);
    watcher.say("quit")
}

/// A client of the demonstration.
struct Demo(BufReader<TcpStream>);

impl Demo {
    fn connect(address: SocketAddr) -> Result<Self> {
        Ok(Demo(BufReader::new(TcpStream::connect(address)?)))
    }

    /// Sends a line and shows the answer.
    fn say(&mut self, line: &str) -> Result {
        self.0.get_mut().write_all(format!("{line}\n").as_bytes())?;
        let shown: String = line.chars().take(40).collect();
        println!("{shown:<24} {}", self.hear()?);
        Ok(())
    }

    /// Returns the next line; an empty one at the end of the stream.
    fn hear(&mut self) -> Result<String> {
        let mut line = String::new();
        self.0.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }
}
