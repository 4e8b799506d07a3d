//! An HTTP service from nothing: tokio, axum, a tree of processes, an end in order. All of it is here.
//!
//! ```sh
//! cargo run --package recipes --bin http_service -- 127.0.0.1:8080
//! curl -X POST 127.0.0.1:8080/votes/ann            # 1
//! curl -d 'the cat and the hat' 127.0.0.1:8080/words
//! curl -X POST 127.0.0.1:8080/crash                # 500, and the next request is served
//! curl 127.0.0.1:8080/health
//! kill -TERM %1                                    # answers what it has accepted, and ends with code 0
//! ```

use axum::Router;
use axum::extract::Path;
use axum::routing::{get, post};
use krarup::prelude::*;
use krarup::signals::Signals;
use krarup_axum::{ByName, CallRejection, HttpServer, NamedProcess, Processes};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::runtime::Handle;

// What the service knows: a state that one process owns.

#[derive(Default)]
struct Votes(BTreeMap<String, u64>);

enum Vote {
    For(String, Reply<u64>),
    Crash(Reply<u64>),
}

impl Actor for Votes {
    type Message = Vote;

    async fn handle_message(&mut self, _: &mut Context<Vote>, vote: Vote) -> Result {
        match vote {
            Vote::For(name, reply) => {
                let count = self.0.entry(name).or_default();
                *count += 1;
                reply.send(*count);
                Ok(())
            }
            Vote::Crash(_reply) => Err(Reason::error("asked to crash")),
        }
    }
}

impl NamedProcess for Votes {
    const NAME: &'static str = "votes";
    type Message = Vote;
    type Command = Vote;
}

// What the service does: work that several processes share, and of which there may be too much.

struct Words;

struct Count {
    text: String,
    reply: Reply<usize>,
}

impl Actor for Words {
    type Message = Count;

    async fn handle_message(&mut self, ctx: &mut Context<Count>, job: Count) -> Result {
        // A slow back end, as it were: a word takes 50 ms.
        let words = job.text.split_whitespace().count();
        ctx.sleep(Duration::from_millis(50) * u32::try_from(words)?).await;
        job.reply.send(words);
        Ok(())
    }
}

impl NamedProcess for Words {
    const NAME: &'static str = "words";
    type Message = Count;
    type Command = PoolCommand;
}

// The routes: an error of a call is a response, 503 with `Retry-After` if the pool is full.

async fn vote(votes: ByName<Votes>, Path(name): Path<String>) -> Result<String, CallRejection> {
    Ok(votes.call(move |reply| Vote::For(name.clone(), reply)).await?.to_string())
}

async fn crash(votes: ByName<Votes>) -> Result<String, CallRejection> {
    Ok(votes.call(Vote::Crash).await?.to_string())
}

async fn words(words: ByName<Words>, text: String) -> Result<String, CallRejection> {
    Ok(words.call(move |reply| Count { text: text.clone(), reply }).await?.to_string())
}

async fn health(words: ByName<Words>) -> Result<String, CallRejection> {
    let pool = words.address()?.inspect().await?;
    Ok(format!("{pool}\n"))
}

#[tokio::main]
async fn main() -> Result {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let address: SocketAddr = address.parse()?;
    // Its workers enter the runtime. It is stopped when `serve` has returned, in whatever way.
    let node = Node::builder("votes@localhost").tokio(Handle::current());
    node.run_async(async |node| serve(node, address).await).await
}

/// Starts the tree, and returns when the service should end.
async fn serve(node: &Node, address: SocketAddr) -> Result {
    let mut signals = Signals::new()?;
    let processes = Processes::new().with::<Votes>(node)?.with::<Words>(node)?;
    let routes = Router::new()
        .route("/votes/{name}", post(vote))
        .route("/words", post(words))
        .route("/crash", post(crash))
        .route("/health", get(health))
        .with_state(processes);
    let server = HttpServer::new(address, routes).drain(Duration::from_secs(8));
    let http = server.child("http");
    // The first child is started first and stopped last: the server is the last.
    let tree = || {
        Supervisor::one_for_one()
            .intensity(5, Duration::from_secs(10))
            .child(ChildSpec::worker("votes", Votes::default).name(Votes::NAME))
            .child(
                ChildSpec::supervisor("words", || Pool::new(2, || Words).mailbox(4))
                    .name(Words::NAME),
            )
            .child(http)
    };
    let tree = node.spawn(tree).name("tree").await?;
    println!("serving on http://{}", server.bound().unwrap_or(address));
    tokio::select! {
        signal = signals.next() => {
            println!("{signal}: answering what was accepted");
            // Asked a second time, it ends at once.
            tokio::spawn(signals.exit_at_the_next());
            Ok(())
        }
        // The supervisor has given up: end with an error, so that what watches this program starts it again.
        end = tree.watch() => Err(Reason::error(format!("the tree has ended: {}", end.reason))),
    }
}
