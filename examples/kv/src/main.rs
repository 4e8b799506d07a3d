//! A key-value server: the one of Elixir's guide to Mix and OTP, as an application of Krarup.
//!
//! A client creates buckets and keeps values in them, with one line for each command:
//!
//! ```sh
//! cargo run --release --package kv                    # serves with the settings of kv.toml
//! KV__APPLICATION__KV__SETTINGS__PORT=4041 cargo run --release --package kv    # a variable goes before the file
//! cargo run --release --package kv -- FILE            # with those of another file
//! cargo run --release --package kv -- --demo          # talks to itself, and ends
//! nc 127.0.0.1 4040
//! CREATE shopping
//! PUT shopping milk 1
//! GET shopping milk
//! ```
//!
//! | file | concept | in Elixir's guide |
//! |---|---|---|
//! | `application` | the settings and the tree: start reading here | `mix.exs`, `KV.Application`, `KV.Supervisor` |
//! | `registry` | which bucket has which name | `KV.Registry` |
//! | `bucket` | keys and values: an agent | `KV.Bucket` |
//! | `buckets` | the dynamic supervisor of the buckets | `DynamicSupervisor` |
//! | `connection` | the process of a client | a task of `Task.Supervisor`, `KVServer` |
//! | `protocol` | what lines mean and how they are answered, without any process | `KVServer.Command` |
//! | `demo`, `signals` | the demonstration; Ctrl-C and SIGTERM |  |
//!
//! What it promises, and the tests in `tests/` that hold it to that: in a simulation, with
//! simulated sockets and under several seeds, and on a node, over TCP.
//!
//! | | statement | tests |
//! |---|---|---|
//! | 1 | Each command has its answer; what is no command is `UNKNOWN COMMAND`. | `kv_1_..` in `protocol` and `commands` |
//! | 2 | A bucket is an agent below a dynamic supervisor, temporary, found in a registry by its name. | `kv_2_..` in `commands` |
//! | 3 | `CREATE` of a bucket that is there leaves it as it is; of a thousand at once of one name one is made. | `kv_3_..` in `commands` |
//! | 4 | A bucket that is killed is `NOT FOUND` at the next command; its name can be created again, empty. | `kv_4_..` in `bucket_ends` |
//! | 5 | The end of the supervisor of the buckets takes them all and leaves the server; the end of the owner of the registry restarts both. | `kv_5_..` in `bucket_ends` |
//! | 6 | Each connection is its own process; one that sends garbage, half a line or nothing disturbs no other. | `kv_6_..` in `hostile` |
//! | 7 | One bucket more than `buckets` is `FULL`. | `kv_7_..` in `commands` |
//! | 8 | A stop answers what has begun, closes the port, and leaves no process. | `kv_8_..` in `stopping` |
//! | 9 | Whichever process is killed, and whenever: an answered `PUT` is read back, or its bucket is gone. | `kv_9_..` in `kills` |
//!
//! The last one tries a few hundred seeds. `KV_SEEDS=10000 cargo test --package kv kv_9` tries ten
//! thousand.

#![forbid(unsafe_code)]

mod application;
mod bucket;
mod buckets;
mod connection;
mod demo;
mod protocol;
mod registry;
#[cfg(test)]
mod tests;

use application::{KvSettings, SERVER, kv};
use connection::Connection;
use krarup::NodeBuilder;
use krarup::io::{AcceptorAddress, AcceptorRequest};
use krarup::prelude::*;
use krarup::settings::Settings;
use krarup::signals::Signals;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use tokio::runtime;

fn main() -> ExitCode {
    let argument = std::env::args_os().nth(1);
    let outcome = match argument {
        Some(argument) if argument == "--demo" => demonstrate(),
        Some(file) => serve(file.into()),
        None => serve(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("kv.toml")),
    };
    outcome.unwrap_or_else(|reason| {
        eprintln!("kv: {reason}");
        ExitCode::FAILURE
    })
}

/// Serves until a signal arrives, or the application gives up.
fn serve(settings: PathBuf) -> Result<ExitCode> {
    let settings = Settings::read(settings)?.with_env("KV")?;
    let node = NodeBuilder::from_settings(&settings)?.application(kv()).start()?;
    println!("kv: serving on {}", address(&node)?);
    let runtime = runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let mut signals = runtime.block_on(async { Signals::new() })?;
    let asked = node.clone();
    runtime.spawn(async move {
        println!("kv: {}, stopping", signals.next().await);
        tokio::select! {
            _ = asked.stop() => {}
            () = signals.exit_at_the_next() => {}
        }
    });
    let stopped = node.stopped().wait()?;
    println!("kv: {stopped}");
    Ok(stopped.exit_code())
}

/// Serves on any port, talks to itself, and stops.
fn demonstrate() -> Result<ExitCode> {
    let settings = KvSettings { port: 0, buckets: demo::BUCKETS };
    let node = Node::builder("kv@localhost").application(kv().settings(settings)).start()?;
    let address = address(&node)?;
    println!("kv: serving on {address}");
    for tree in node.tree() {
        print!("{tree}");
    }
    demo::run(address)?;
    node.stop().wait()?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the address that the server listens on.
fn address(node: &Node) -> Result<SocketAddr> {
    let server: AcceptorAddress<Connection> = node.lookup(SERVER)?;
    Ok(server.call(AcceptorRequest::Address).wait()?)
}
