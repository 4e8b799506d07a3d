//! 12. A line protocol: a store that any number of clients talk to.
//!
//! The store is an actor, each client a connection, and a connection asks the store as any process
//! asks another. A client that watches is told of every change, in the words of the command that
//! made it: the store sends to the connection's address. It is told as long as it reads; one that
//! does not is broken off, and slows nobody down. Whatever clients do, the memory is bounded: by the
//! connections, the length of a line, the keys.
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
/// Connections at one time. Each waits for one answer of the store at most, so that many requests
/// can wait there, and no more.
const CONNECTIONS: usize = 10_000;
/// Keys at one time.
const KEYS: usize = 10_000;

/// What the store does.
enum Request {
    Set(String, String, Reply<Result<(), Full>>),
    Get(String, Reply<Option<String>>),
    Delete(String, Reply<bool>),
    /// Tells this connection of every change, until it is gone.
    Watch(Address<Change>, Reply<()>),
}

/// There are as many keys as there may be.
struct Full;

/// A change, as those who watch hear of it.
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
                // It cannot miss one and go on as if it had not.
                ctx.exit(*pid, Reason::shutdown(TooSlow));
            }
        }
    }
}

/// Why a watcher is broken off.
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
    /// The answer to a line.
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
                // Whatever it is, the answer is no longer than a line may be.
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
            // The store is too busy, or begins anew.
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
    let wanted = serving::told_address()?;
    let address = wanted.unwrap_or(([127, 0, 0, 1], 0).into());
    let node = Node::start("store@localhost")?;
    let store = node.spawn(Store::default).name("store").mailbox(CONNECTIONS).wait()?;
    let limits = ConnectionOptions::new()
        .idle_timeout(Duration::from_mins(10))
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
