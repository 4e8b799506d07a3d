//! Measures a cluster: the same workloads between nodes of Erlang/OTP and of Krarup, in one run.
//!
//! ```text
//! cargo run --release -p bench-krarup --features cluster --bin bench-cluster -- \
//!     [--rounds N] [--pairs OTP-OTP,OTP-Krarup,..] [--tiny] all|WORKLOAD [SIZE]
//! ```
//!
//! | workload | what | `SIZE` |
//! |---|---|--:|
//! | `call` | one caller, `{add, I, 1}`, round trip | 20 000 calls |
//! | `call32` | 32 callers | 100 000 calls |
//! | `cast` | one sender of `{item, I, <<40 bytes>>}`, 60 bytes in all | 300 000 casts |
//! | `cast8` | 8 senders to 8 receivers | 400 000 casts |
//! | `big` | echoes of 1 MiB and of 10 MiB, one after the other | 200 MiB each |
//! | `beside` | small calls beside 8 echoes of 3 MiB | 300 calls |
//! | `bonds` | link and unlink, monitor and demonitor | 50 000 pairs |
//! | `downs` | monitors that are told the loss of the connection | 100 000 |
//! | `idle` | memory and processor time of idle connections | 100 |
//! | `codec` | reading and writing a call of 101 bytes and a list of 1 000 maps | 200 000 calls |
//!
//! A pair is a client and a server, each a process of the system with a node of its own. All pairs
//! live during the whole run, and take turns in each round, so what else the machine does meets all
//! of them. Printed are the medians, and beside them how many times as fast that is as the median of
//! OTP-OTP: more is better in all rows. Linux only: each node has an address of its own, 127.0.0.x,
//! so no epmd is needed.
//!
//! The exit code is 0, 1 (bad arguments), 2 (a node failed, or did not answer), 3 (unknown workload)
//! or 4 (`erl` or `erlc` is missing, or does not work). Without pairs of OTP no Erlang is needed.

#![forbid(unsafe_code)]

mod agreement;
mod arguments;
mod erlang;
mod failure;
mod figures;
mod idle;
mod pair;
mod rounds;
mod side;
mod side_process;
mod workload;

use crate::arguments::ClusterArguments;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1).peekable();
    let done = match words.next_if(|word| word == agreement::SIDE_FLAG) {
        Some(_) => side::serve(words),
        None => ClusterArguments::parse(words).and_then(|arguments| rounds::run(&arguments)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("bench-cluster: {failure}");
            failure.exit_code()
        }
    }
}
