//! Fuzzing of everything that reads bytes from a peer. It runs on stable Rust:
//!
//! ```text
//! FUZZ_SECONDS=3600 .ci/run fuzz                    for a time, in release with overflow checks
//! cargo test -p krarup-wire --test fuzz             a fixed number of inputs
//! FUZZ_SEED=7 FUZZ_INPUTS=1000000 cargo test ..     another seed, another number
//! ```
//!
//! ```text
//!  recordings of OTP ─┐
//!                     ├─► corpus ─► change: bytes, lengths, terms, pieces ─┐
//!  random terms ──────┘                                                    ├─► every target
//!  frames, control messages and handshakes, written here, then changed ────┘
//! ```
//!
//! No input may panic, run without an end, overflow the stack, or leave the process
//! with more memory than [`MOST_MEMORY`]. What is read must be written to bytes that are read to
//! the same value. A failure prints its input; the seed and the number of the input repeat it.

mod chance;
mod corpus;
mod exchange;
mod generate;
mod mutate;
mod targets;
mod types;

use chance::Chance;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

/// The inputs of an ordinary test run.
const INPUTS: u64 = 6_000;
/// The greatest memory of the process, in bytes. Inputs are at most some 100 KiB long.
const MOST_MEMORY: usize = 512 << 20;
/// The stack of the thread that decodes: half of what a thread has by default. A typed read of 256
/// levels is recursive; without optimisation a large enum takes between 512 KiB and this.
const STACK: usize = 1 << 20;

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok().filter(|text| !text.is_empty())?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}

/// Runs one input against all targets.
fn run(corpus: &[Vec<u8>], chance: &mut Chance, current: &mut Vec<u8>) {
    *current = match chance.below(4) {
        0 => generate::encoded_term(chance),
        _ => chance.choose(corpus).clone(),
    };
    mutate::mutate(current, corpus, chance);
    targets::terms(current);
    types::typed(current);
    targets::control(current);
    targets::frame(current);
    targets::handshake(current);
    targets::epmd(current);
    match chance.below(8) {
        0 => exchange::handshake(chance),
        1 => exchange::frames(chance),
        2 => exchange::control(chance),
        3 => targets::printed(&generate::term(chance)),
        _ => {}
    }
}

fn fuzz() {
    let seed = number("FUZZ_SEED").unwrap_or(4_711);
    let seconds = number("FUZZ_SECONDS");
    let most = number("FUZZ_INPUTS").or(seconds.map(|_| u64::MAX)).unwrap_or(INPUTS);
    let corpus = corpus::recorded();
    assert!(corpus.len() > 400, "only {} recordings", corpus.len());
    let (began, mut slowest) = (Instant::now(), Duration::ZERO);
    let mut input = 0;
    while input < most {
        // Each input has a seed of its own, so that it can be repeated alone.
        let mut chance = Chance::new(seed, input);
        let (start, mut current) = (Instant::now(), Vec::new());
        let ended = catch_unwind(AssertUnwindSafe(|| run(&corpus, &mut chance, &mut current)));
        if let Err(panic) = ended {
            eprintln!("FUZZ_SEED={seed}, input {input} fails: {current:02x?}");
            resume_unwind(panic);
        }
        slowest = slowest.max(start.elapsed());
        input += 1;
        if seconds.is_some_and(|seconds| began.elapsed() >= Duration::from_secs(seconds)) {
            break;
        }
    }
    println!("seed {seed}, {input} inputs in {:?}, the slowest {slowest:?}", began.elapsed());
}

/// Returns the peak memory of the process in bytes, where the system tells it.
fn peak_memory() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<usize>().ok()? << 10)
}

#[test]
fn zsec9_no_input_panics_recurses_without_a_bound_or_takes_more_memory_than_one() {
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(fuzz).unwrap();
    thread.join().unwrap_or_else(|panic| resume_unwind(panic));
    if let Some(peak) = peak_memory() {
        println!("peak memory {} MiB", peak >> 20);
        assert!(peak < MOST_MEMORY, "{peak}");
    }
}
