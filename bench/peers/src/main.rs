//! Measures what a service does most, on Krarup and on what people would write without it, in one run.
//!
//! ```text
//! bench-peers [--rounds N] [--seconds N] [WORKLOAD[=SIZE]]...
//! ```
//!
//! | workload | size | Krarup | peer |
//! |---|---|---|---|
//! | `echo` | connections | a protocol of bytes | a tokio task for each connection |
//! | `line` | connections | a protocol of lines, a store that is an actor | tasks, a store that is a task |
//! | `words` | connections | axum before a pool of 4 workers, 64 requests waiting at each | axum, semaphores |
//! | `counter` | connections | krarup-axum: `HttpServer`, an actor `ByName`, on the threads that serve HTTP | axum, a number behind a mutex |
//! | `counter-workers` | connections | the same, on the node's own workers | the same |
//! | `counter-task` | connections | as `counter` | axum, a number that a task has |
//! | `counter-limits` | connections | as `counter` | hyper and axum's routes, a number that a task has; limits for the head of a request and for the answer of the task |
//! | `limited` | connections | axum, krarup-tower's `PoolLayer` with 4 workers, 64 requests waiting at each | axum, tower's `LoadShed` and `ConcurrencyLimit` of 260 |
//! | `limited-buffer` | connections | the same | axum, tower's `LoadShed`, `Buffer` of 256 and `ConcurrencyLimit` of 4 |
//! | `timers` | timers that wait | `send_after` and `cancel` | `sleep`, polled once and dropped |
//! | `timers-fire` | timers | `send_after` | a task that sleeps, for each |
//! | `block` | jobs | `Context::block` | `spawn_blocking` |
//! | `restarts` | crashes | a supervisor | a loop that spawns the task again |
//!
//! Each side of a workload is a process of its own with two threads for its work. The sides take turns
//! in every round, and a ratio is that of the medians of all rounds, better than 1 if Krarup is better.
//! For those whose size is connections this process is the client: every connection has one request under
//! way. Their figures are requests a second, the processor time of the server for each, which depends
//! least on what else the machine does, the 50th and 99th percentiles of the latencies in microseconds,
//! and the server's memory for each connection in bytes; those of the others are nanoseconds.
//!
//! `bench-peers serve WORKLOAD SIDE`, with the side `krarup` or `peer`, is a server alone: it prints its
//! address, and ends with its input. `wrk.sh` loads such servers with another client.
//!
//! The exit code is 1 for wrong arguments, and 2 for a measurement that fails.

mod arguments;
mod failure;
mod load;
mod servers;
mod side;
mod side_process;
mod table;
mod within;
mod workload;

use crate::arguments::{PeerArguments, PeerRun};
use crate::failure::PeerFailure;
use crate::side::PeerSide;
use crate::table::RatioTable;
use crate::workload::Workload;
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let run = match PeerArguments::from_command_line() {
        Ok(arguments) => arguments.run,
        Err(error) => {
            eprintln!("bench-peers: {error}");
            return ExitCode::from(1);
        }
    };
    let done = match run {
        PeerRun::Serve(workload, side) => servers::serve(workload, side),
        PeerRun::Measure(workload, side, size) => {
            within::measure(workload, side, size).map(|figure| println!("{figure}"))
        }
        PeerRun::Compare { rounds, seconds, workloads } => compare(rounds, seconds, &workloads),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench-peers: {error}");
            ExitCode::from(2)
        }
    }
}

fn compare(rounds: u32, seconds: u64, workloads: &[(Workload, usize)]) -> Result<(), PeerFailure> {
    println!("{}", RatioTable::HEAD);
    for &(workload, size) in workloads {
        let mut table = RatioTable::new(workload, size);
        for _ in 0..rounds {
            for side in PeerSide::BOTH {
                let figures = if workload.is_served() {
                    side_process::of_server(workload, side, size, seconds)?
                } else {
                    side_process::of_process(workload, side, size)?
                };
                table.add(side, figures);
            }
        }
        print!("{table}");
        let _ = std::io::stdout().flush();
    }
    Ok(())
}
