//! A cache in memory, written for Erlang/OTP and ported to Krarup: a process for each key, with a lease.
//!
//! ```sh
//! cargo run --package ported-examples --bin erlang_cache               # runs script.txt in virtual time
//! cargo run --package ported-examples --bin erlang_cache -- --serve    # serves lines on a port of its own choice
//! ```
//!
//! The folder `erlang` holds the original. `docs/porting/erlang_cache.md` sets clause beside clause.
//!
//! | file | concept | in Erlang |
//! |---|---|---|
//! | `application` | the tree, and the two applications: start reading here | `lc_app`, `lc_sup`, `lc_element_sup`, `lc_tcp_app`, `lc_tcp_sup`, the `.app` files |
//! | `events` | the stream of events | `lc_events`, `lc_tap` |
//! | `store` | which process holds which key | `lc_store` |
//! | `element` | the value of one key, and its lease | `lc_element` |
//! | `cache` | what users call | `lease_cache` |
//! | `connection` | a line is a command | `lc_tcp` |
//! | `script`, `client` | the operations of a file, in virtual time | `lc_script` |
//!
//! The tests run `script.txt` on both, and compare what they print.

#![forbid(unsafe_code)]

mod application;
mod cache;
mod client;
mod connection;
mod element;
mod events;
#[path = "../../kv/src/tests/pipe.rs"]
mod pipe;
mod script;
mod store;
#[cfg(test)]
mod tests;

use application::{SERVER, cache, line_protocol, server};
use connection::Connection;
use krarup::io::{AcceptorAddress, AcceptorRequest};
use krarup::prelude::*;
use std::process::ExitCode;

/// The operations that both programs run.
const SCRIPT: &str = include_str!("script.txt");

fn main() -> ExitCode {
    let outcome = match std::env::args().nth(1).as_deref() {
        Some("--serve") => serve(),
        _ => script::run(&Simulation::new(1), SCRIPT).map(|trace| print!("{trace}")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("erlang_cache: {reason}");
            ExitCode::FAILURE
        }
    }
}

/// Serves until the node stops.
fn serve() -> Result {
    let node = Node::builder("cache@localhost")
        .application(cache())
        .application(line_protocol(server))
        .start()?;
    let acceptor: AcceptorAddress<Connection> = node.lookup(SERVER)?;
    println!("INSERT, LOOKUP, DELETE on {}", acceptor.call(AcceptorRequest::Address).wait()?);
    node.stopped().wait()?;
    Ok(())
}
