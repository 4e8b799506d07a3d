//! Measures one message-passing workload on a Krarup node.
//!
//! ```text
//! bench-krarup [--workers N] [--throughput N] [--idle-observer] WORKLOAD [SIZE] [COUNT]
//! ```
//!
//! Prints one line, or three lines for `latency`:
//!
//! ```text
//! workload krarup messages seconds ns_per_message
//! ```
//!
//! The last column is bytes per idle actor for `mem`, and nanoseconds from send to handler for
//! `latency`. The exit code is 0, 1 (bad arguments), 2 (no end within two minutes, so messages
//! were lost) or 3 (unknown workload; nothing is printed).
//!
//! With `--idle-observer`, which needs the feature `observer`, the node has an observer at which
//! nobody looks (rule V59).
//!
//! Every workload runs on two workers, or `N`, with turns of 64 messages, or `N`, and keeps one rule, the *own turn*: for one message that
//! it handles, a sender sends at most [`workloads::OWN_TURN`] messages.

#![forbid(unsafe_code)]

mod arguments;
mod failure;
mod latch;
mod measurement;
mod message;
mod peers;
mod workloads;
mod xorshift;

use crate::arguments::Arguments;
use crate::failure::WorkloadFailure;
use krarup::Node;
use krarup::dispatcher::DispatcherOptions;
use std::process::ExitCode;

fn main() -> ExitCode {
    match measure() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("bench-krarup: {failure}");
            failure.exit_code()
        }
    }
}

fn measure() -> Result<(), WorkloadFailure> {
    let arguments = Arguments::parse(std::env::args().skip(1))?;
    let mut options = DispatcherOptions::new().workers(arguments.workers);
    if let Some(messages) = arguments.throughput {
        options = options.throughput(messages);
    }
    let node = Node::builder("bench@localhost").options(options).start()?;
    if arguments.idle_observer {
        observe(&node)?;
    }
    for measurement in workloads::run(&node, &arguments)? {
        println!("{measurement}");
    }
    Ok(())
}

#[cfg(feature = "observer")]
fn observe(node: &Node) -> Result<(), WorkloadFailure> {
    let started = krarup::observer::Observer::new().listen("127.0.0.1:0").start(node).wait();
    started.map(drop).map_err(|error| WorkloadFailure::Observer(error.to_string()))
}

#[cfg(not(feature = "observer"))]
fn observe(_: &Node) -> Result<(), WorkloadFailure> {
    Err(WorkloadFailure::Observer("built without the feature `observer`".to_owned()))
}
