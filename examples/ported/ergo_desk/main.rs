//! A desk that takes orders over TCP, ported from Ergo to Krarup.
//!
//! ```sh
//! cargo run --package ported-examples --bin ergo_desk              # the operations, in virtual time
//! cargo run --package ported-examples --bin ergo_desk -- --serve   # over TCP
//! ```
//!
//! | file | concept | in `ergo/desk.go` |
//! |---|---|---|
//! | `application` | the application, and its supervisor | `desk`, `sup` |
//! | `board` | a topic, a timer, an inspection | `board` |
//! | `listener` | a subscriber that comes back | `listener` |
//! | `makers` | a pool of three | `makers`, `maker` |
//! | `front` | lines over TCP | `front`, with a meta process |
//! | `script` | what both do | `main` |
//!
//! `ergo.trace` is what the original prints with Ergo 3.1.0; the test says in which lines the two differ, and
//! `docs/porting/ergo_desk.md` why.

#![forbid(unsafe_code)]

mod application;
mod board;
#[cfg(test)]
#[path = "../compared.rs"]
mod compared;
mod front;
mod listener;
mod makers;
mod script;
#[cfg(test)]
mod tests;

use application::{desk, tcp};
use front::{Connection, FRONT};
use krarup::io::{AcceptorAddress, AcceptorRequest};
use krarup::prelude::*;
use std::process::ExitCode;

fn main() -> ExitCode {
    let outcome = match std::env::args().nth(1).as_deref() {
        Some("--serve") => serve(),
        _ => script::run(&Simulation::new(1)).map(|trace| print!("{trace}")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("ergo_desk: {reason}");
            ExitCode::FAILURE
        }
    }
}

/// Serves until the node stops.
fn serve() -> Result {
    let node = Node::builder("desk@localhost").application(desk(tcp)).start()?;
    let acceptor: AcceptorAddress<Connection> = node.lookup(FRONT)?;
    println!("make PRODUCT on {}", acceptor.call(AcceptorRequest::Address).wait()?);
    node.stopped().wait()?;
    Ok(())
}
