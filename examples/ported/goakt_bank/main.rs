//! A bank in the manner of the examples of `GoAkt`, ported to Krarup.
//!
//! ```sh
//! cargo run --package ported-examples --bin goakt_bank              # in virtual time
//! ```
//!
//! | file | concept | in `goakt/bank.go` |
//! |---|---|---|
//! | `bank` | the tree, the accounts by name | `main`, `teller` |
//! | `account` | a stash, a pipe, an idle end, a restart in place | `account` |
//! | `ledger` | a slow service | `ledger` |
//! | `interest` | a timer that is paused, a topic | `Schedule`, `PauseSchedule` in `main` |
//! | `auditors` | a pool of three | a router, `auditor` |
//! | `script` | what is done with it | `main` |
//!
//! `docs/porting/goakt_bank.md` sets both side by side.

#![forbid(unsafe_code)]

mod account;
mod auditors;
mod bank;
mod interest;
mod ledger;
mod script;
#[cfg(test)]
mod tests;

use krarup::prelude::*;
use std::process::ExitCode;

fn main() -> ExitCode {
    match script::run(&Simulation::new(1)) {
        Ok(trace) => {
            print!("{trace}");
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("goakt_bank: {reason}");
            ExitCode::FAILURE
        }
    }
}
