//! Measures what an observer costs, idle and watched, in one run (rules V59 to V65).
//!
//! ```text
//! cargo run --release -p bench-krarup --features observer --bin bench-observer -- WHAT [SECONDS] [PROCESSES ..]
//! ```
//!
//! | `WHAT` | measures |
//! |---|---|
//! | `idle` | V59, V60: a ring with an observer at which nobody looks |
//! | `watched` | V61, V62: rings of `PROCESSES` (10000 100000), read by a stream |
//! | `turns` | V63: the turns of walks over `PROCESSES` (1000000) at rest |
//! | `memory` | V64: the memory while processes crash, clients watch and scrape |
//! | `storm` | V65: a storm of crashes, with and without an observer |
//!
//! `SECONDS` (5) is the length of a measured window, of `memory` (3600) that of the run. Each line
//! has the rule, the figure, its bar, and whether it is kept. Speeds are told by the second of CPU
//! time, because other programs take cores from both halves of a comparison; by the second of
//! wall time beside that. `bench/count.sh` counts what an idle observer costs in instructions and
//! allocations (`BENCH_OBSERVER=1`). Linux only.

#![forbid(unsafe_code)]

mod client;
mod crashes;
mod figures;
mod idle;
mod ring;
mod system;
mod turns;
mod watched;

use cap::Cap;
use std::alloc::System;
use std::env;
use std::error::Error;
use std::time::Duration;

/// Counts the bytes that are allocated: the resident memory follows its high-water marks.
#[global_allocator]
static ALLOCATED: Cap<System> = Cap::new(System, usize::MAX);

type Measured<T = ()> = Result<T, Box<dyn Error>>;

fn main() -> Measured {
    let mut words = env::args().skip(1);
    let what = words.next().unwrap_or_default();
    let seconds = words.next().map(|word| word.parse()).transpose()?;
    let sizes = words.map(|word| word.parse()).collect::<Result<Vec<usize>, _>>()?;
    let sizes = |default: &[usize]| if sizes.is_empty() { default.to_vec() } else { sizes.clone() };
    let window = |default| Duration::from_secs(seconds.unwrap_or(default));
    match what.as_str() {
        "idle" => idle::run(window(5)),
        "watched" => watched::run(window(5), &sizes(&[10_000, 100_000])),
        "turns" => sizes(&[1_000_000]).iter().try_for_each(|size| turns::run(*size)),
        "memory" => crashes::memory(window(3600)),
        "storm" => crashes::storm(window(5)),
        _ => {
            Err("usage: bench-observer idle|watched|turns|memory|storm [SECONDS] [PROCESSES ..]"
                .into())
        }
    }
}
