//! The pool and the supervisors of Ergo's demonstrations, ported to Krarup.
//!
//! ```sh
//! cargo run --package ported-examples --bin ergo_demos
//! ```
//!
//! Each part prints what it does and what came of it, in virtual time. `ergo.trace` is what the same
//! operations print with Ergo 3.1.0; the test says in which lines the two differ, and
//! `docs/porting/ergo_demos.md` why.
//!
//! | file | concept | in Ergo's `demo` |
//! |---|---|---|
//! | `workers` | a pool of three workers, and what is for the pool itself | `MyPool`, `MyWebWorker` |
//! | `supervisors` | three children under each strategy | `MySup` |
//! | `jobs` | children that are started with an argument | the supervisor of `lifecycle` |

#![forbid(unsafe_code)]

#[cfg(test)]
#[path = "../compared.rs"]
mod compared;
mod jobs;
mod supervisors;
#[cfg(test)]
mod tests;
mod workers;

use krarup::prelude::*;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run(&Simulation::new(1)) {
        Ok(trace) => {
            print!("{trace}");
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("ergo_demos: {reason}");
            ExitCode::FAILURE
        }
    }
}

/// Runs all parts, and returns what they print.
fn run(sim: &Simulation) -> Result<String> {
    Ok([workers::run(sim)?, supervisors::run(sim)?, jobs::run(sim)?].concat())
}
