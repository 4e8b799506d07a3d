//! A service that counts words, sheds load and recovers from crashes: a typical use of Krarup.
//!
//! `POST /words` gives a text to a bounded pool of workers. Each result is added to an
//! aggregator, which `GET /top` queries. A full pool answers 503 at once. A job beyond the
//! pool's rate (`--rate`) gets a 429 that says when to come back. A late result is a 504,
//! and a text that crashes its worker is a 500 for that client alone. `GET /health` and
//! `GET /tree` show what the processes report about themselves.
//!
//! ```sh
//! cargo run --release --package gateway -- --demo 10     # see it under load
//! cargo run --release --package gateway                  # serve on 127.0.0.1:8080
//! curl -d 'the cat and the hat' '127.0.0.1:8080/words?delay_ms=100'
//! curl -d 'now crash-me' 127.0.0.1:8080/words
//! curl 127.0.0.1:8080/health
//! ```
//!
//! | file | concept |
//! |---|---|
//! | `tree` | the processes and their supervision: start reading here |
//! | `worker`, `tally`, `aggregator`, `frequent` | what the service does |
//! | `job`, `gateway` | how a job gets to a worker, and what happens when no result comes back |
//! | `named` | the way to a process that may be replaced |
//! | `listener`, `service`, `query`, `body`, `answer`, `health` | HTTP |
//! | `observing` | the view into the node: a page, an API, probes, metrics |
//! | `flags`, `panics` | the program around the service |
//! | `demo`, `load`, `view` | the demonstration under load |

#![forbid(unsafe_code)]

mod aggregator;
mod answer;
mod body;
mod demo;
mod flags;
mod frequent;
mod gateway;
mod health;
mod job;
mod listener;
mod load;
mod named;
mod observing;
mod panics;
mod query;
mod service;
mod tally;
mod tree;
mod view;
mod worker;

use flags::{Asked, Options};
use gateway::Gateway;
use krarup::prelude::*;
use krarup::signals::Signals;
use panics::Report;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

/// How long the whole tree may take to stop: longer than the listener may take.
const STOP: Duration = Duration::from_secs(20);

/// The exit code for a bad command line, as shell built-ins use it.
const BAD_USAGE: u8 = 2;

fn main() -> ExitCode {
    let options = match flags::parse(lexopt::Parser::from_env()) {
        Ok(Asked::Run(options)) => options,
        Ok(Asked::Help) => {
            let _ = io::stdout().write_all(flags::HELP.as_bytes());
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("gateway: {error} (--help explains the flags)");
            return ExitCode::from(BAD_USAGE);
        }
    };
    panics::report(if options.demo.is_some() { Report::Nothing } else { Report::Lines });
    match run(options) {
        Ok(code) => code,
        Err(reason) => {
            eprintln!("gateway: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: Options) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    // The node's workers enter the runtime, so a process may await a socket.
    let node = Node::builder("gateway@localhost").tokio(runtime.handle().clone()).start()?;
    let outcome = runtime.block_on(serve(&node, options));
    // Whatever the outcome, stop the tree first, in order, and then the threads.
    node.stop().timeout(STOP).wait()?;
    runtime.shutdown_timeout(Duration::from_secs(1));
    outcome
}

/// Starts the tree and waits until it is asked to stop.
async fn serve(node: &Node, options: Options) -> Result<ExitCode> {
    let mut signals = Signals::new()?;
    let gateway = Gateway::new(node, options.clone());
    let started = tree::start(node, &options, service::routes(gateway)).await;
    let (supervisor, address) = started.map_err(|error| match error {
        // A supervisor that cannot start reports which child failed, and why.
        SpawnError::Init(Reason::ShutdownWith(failed)) => Reason::Error(failed),
        error => error.into(),
    })?;
    eprintln!("gateway: serving on http://{address}");
    if let Some(observe) = options.observe {
        let observer = observing::start(node, observe).await?;
        eprintln!("gateway: observer on {}", observer.url());
    }
    let outcome = tokio::select! {
        well = work(&options, address, &mut signals) => Ok(well),
        end = supervisor.watch() => {
            Err(Reason::error(format!("the supervisor gave up: {}", end.reason)))
        }
    };
    tokio::spawn(signals.exit_at_the_next());
    let well = outcome?;
    // A demonstration ends with a stop under load.
    let drained = options.demo.is_none() || demo::drain(node, address, &options, STOP).await;
    Ok(if well && drained { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Serves until a signal arrives or the demonstration is over. Returns whether all went well.
async fn work(options: &Options, address: SocketAddr, signals: &mut Signals) -> bool {
    let Some(length) = options.demo else {
        let signal = signals.next().await;
        eprintln!("gateway: {signal}: answering the accepted requests");
        return true;
    };
    let ended = async {
        let _ = tokio::time::timeout(length, signals.next()).await;
    };
    demo::run(address, options, length, ended).await
}
