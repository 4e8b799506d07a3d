//! A service from nothing: a counter that its supervisor may restart, behind HTTP.
//!
//! ```sh
//! cargo run -p krarup-axum --example counter                   # shows itself, and ends
//! cargo run -p krarup-axum --example counter 127.0.0.1:8080    # serves until Ctrl-C
//! curl -X POST 127.0.0.1:8080/count
//! ```

use axum::Router;
use axum::routing::post;
use krarup::prelude::*;
use krarup_axum::{ByName, CallRejection, HttpServer, NamedProcess, Processes};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use tokio::runtime::Handle;

#[derive(Default)]
struct Counter(u64);

enum Count {
    Next(Reply<u64>),
    Crash(Reply<u64>),
}

impl Actor for Counter {
    type Message = Count;

    async fn handle_message(&mut self, _: &mut Context<Count>, count: Count) -> Result {
        match count {
            Count::Next(reply) => {
                self.0 += 1;
                reply.send(self.0);
                Ok(())
            }
            Count::Crash(_reply) => Err(Reason::error("told to")),
        }
    }
}

impl NamedProcess for Counter {
    const NAME: &'static str = "counter";
    type Message = Count;
    type Command = Count;
}

async fn count(counter: ByName<Counter>) -> Result<String, CallRejection> {
    Ok(counter.call(Count::Next).await?.to_string())
}

async fn crash(counter: ByName<Counter>) -> Result<String, CallRejection> {
    Ok(counter.call(Count::Crash).await?.to_string())
}

#[tokio::main]
async fn main() -> Result {
    let told = std::env::args().nth(1);
    let address: SocketAddr = told.as_deref().unwrap_or("127.0.0.1:0").parse()?;
    let node = Node::builder("counter@localhost").tokio(Handle::current()).start()?;
    let outcome = serve(&node, address, told.is_some()).await;
    // The server first, then the counter.
    node.stop().await?;
    outcome
}

async fn serve(node: &Node, address: SocketAddr, until_ctrl_c: bool) -> Result {
    let processes = Processes::new().with::<Counter>(node)?;
    let routes = Router::new().route("/count", post(count)).route("/crash", post(crash));
    let server = HttpServer::new(address, routes.with_state(processes));
    let http = server.child("http");
    let tree = || {
        Supervisor::one_for_one()
            .intensity(3, Duration::from_secs(5))
            .child(ChildSpec::worker("counter", Counter::default).name(Counter::NAME))
            .child(http)
    };
    node.spawn(tree).name("tree").await?;
    let address = server.bound().unwrap_or(address);
    println!("serving on http://{address}");
    if until_ctrl_c {
        return Ok(tokio::signal::ctrl_c().await?);
    }
    let shown = tokio::task::spawn_blocking(move || show(address)).await?;
    Ok(shown?)
}

/// A client that counts to two, crashes the counter, and counts again.
fn show(address: SocketAddr) -> std::io::Result<()> {
    for path in ["/count", "/count", "/crash", "/count"] {
        let mut stream = TcpStream::connect(address)?;
        let head = format!("POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n");
        stream.write_all(format!("{head}content-length: 0\r\n\r\n").as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let status = answer.lines().next().unwrap_or_default();
        println!("{path}: {status}: {}", answer.lines().last().unwrap_or_default());
    }
    Ok(())
}
