//! A soak test: a tree of three levels under load and random kills, for as long as you like,
//! on the real dispatcher. Everything that was sent, set, linked or named is accounted for.
//!
//! ```sh
//! cargo run --release --package soak -- --minutes 60
//! cargo run --release --package soak -- --seconds 20 --seed 7 --processes 5000
//! ```
//!
//! Storms and rests alternate. In a storm, threads and processes flood, call, kill, cause
//! panics, stop, name, link, monitor, set timers and resize pools. Then the tree comes to
//! rest, and these checks run:
//!
//! | what | holds |
//! |---|---|
//! | messages, each kind | sent = handled + refused + dead-lettered, where the dead letters are those the node reported |
//! | calls | none has waited for a minute; at rest every process answers |
//! | monitors, links | a watcher was notified of every end, exactly once |
//! | timers | each that was set has fired, or was dropped with its process; none fired early |
//! | names, aliases | as many as the live processes have |
//! | processes | each is idle and has a live parent, and every link has two ends |
//! | memory | the allocated bytes do not grow: see [`memory`] |
//!
//! At the end the tree is stopped, and nothing may be left. If anything was lost, the
//! program prints the losses and the seed, and ends with exit code 1. The seed determines
//! what the threads do; how they interleave depends on the machine.
//!
//! | file | concept |
//! |---|---|
//! | `tree`, `worker`, `watcher` | the processes |
//! | `message`, `counters`, `dead_letters` | the counts of messages, and the node's own count of dead letters |
//! | `load_thread` | the threads of a storm |
//! | `audit`, `memory` | what must hold at rest |
//! | `flags` | the command line |

#![forbid(unsafe_code)]

mod audit;
mod counters;
mod dead_letters;
mod dice;
mod flags;
mod load_thread;
mod memory;
mod message;
mod tree;
mod watcher;
mod worker;

use audit::Audit;
use counters::Counters;
use dead_letters::{DeadLetterCounter, DeadLetterCounts};
use flags::{Asked, Options};
use krarup::prelude::*;
use load_thread::LoadThread;
use memory::Memory;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Longer than any operation takes: one that takes this long is stuck.
const STUCK: Duration = Duration::from_secs(60);

/// The number of threads that make load. The workers send messages too.
const LOAD_THREADS: u64 = 3;

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
            eprintln!("soak: {error} (--help explains the flags)");
            return ExitCode::from(BAD_USAGE);
        }
    };
    println!(
        "soak: {:?}, seed {}, {} processes in crowds",
        options.time, options.seed, options.processes
    );
    match run(&options) {
        Ok(losses) if losses.is_empty() => {
            println!("soak: nothing is lost");
            ExitCode::SUCCESS
        }
        Ok(losses) => {
            losses.iter().for_each(|loss| println!("LOST: {loss}"));
            println!("soak: {} losses; --seed {}", losses.len(), options.seed);
            ExitCode::FAILURE
        }
        Err(reason) => {
            println!("soak: cannot run: {reason}");
            ExitCode::FAILURE
        }
    }
}

/// Alternates storms and rests until the time is over, and returns what was lost.
fn run(options: &Options) -> Result<Vec<String>> {
    let counters = Counters::new();
    end_at_last(&counters, options);
    let threads_before = memory::threads();
    let node = Node::start("soak@localhost")?;
    let dead_letters = node.spawn(DeadLetterCounter::default).name("dead_letters").wait()?;
    node.subscribe_dead_letters(dead_letters.recipient());
    let of_tree = counters.clone();
    let root = node.spawn(move || tree::root(&of_tree)).name("root").wait()?;
    let audit = Audit { node: &node, counters: &counters, top: [root.pid(), dead_letters.pid()] };
    tree::populate(&node, options.processes);

    let mut memory = Memory::default();
    let began = Instant::now();
    let mut round = 0;
    while began.elapsed() < options.time && counters.losses().is_empty() {
        round += 1;
        let left = options.time.saturating_sub(began.elapsed());
        let storm = Storm { node: &node, counters: &counters, options, round };
        if !storm.run(left.min(options.round())) {
            // Threads that never return cannot be joined, and they hold the node.
            return Ok(counters.losses());
        }
        tree::populate(&node, options.processes);
        if !audit.comes_to_rest() {
            break;
        }
        audit.everyone_answers();
        let counted = counted(&dead_letters)?;
        audit.accounts(&counted);
        memory.note(began.elapsed());
        if options.is_long() || counters.losses().is_empty() {
            println!("{:>6.0?}  {}  {memory}", began.elapsed(), counters.line());
        }
    }
    println!("{}", counters.summary(&counted(&dead_letters)?));
    counters.record_loss_if(memory.has_grown(), || format!("memory: {memory}"));

    // At the end nothing may be left of the tree, nor of the brief processes outside it.
    let stopped = root.stop().timeout(STUCK).wait();
    counters.record_loss_if(stopped.is_err(), || format!("the tree does not stop: {stopped:?}"));
    audit.nothing_is_left(dead_letters.pid());
    let counted = counted(&dead_letters)?;
    audit.accounts_at_the_end(&counted);
    dead_letters.stop().timeout(STUCK).wait()?;
    let stopped = node.stop().wait();
    counters.record_loss_if(stopped.is_err(), || format!("the node does not stop: {stopped:?}"));
    audit.node_is_empty();
    let threads = threads_at_last(threads_before);
    counters.record_loss_if(threads > threads_before, || {
        format!("{threads:?} threads are left of {threads_before:?}")
    });
    Ok(counters.losses())
}

/// Ends the program if it does not end by itself. If timers are lost, the time limits of
/// the waits in this program are lost too.
fn end_at_last(counters: &Arc<Counters>, options: &Options) {
    let (counters, seed) = (Arc::clone(counters), options.seed);
    let limit = options.time + 6 * STUCK;
    thread::spawn(move || {
        thread::sleep(limit);
        counters.losses().iter().for_each(|loss| println!("LOST: {loss}"));
        println!("LOST: the end: the program has not ended within {limit:?}; --seed {seed}");
        std::process::exit(1);
    });
}

/// Waits until there are no more threads than before, or for a while, and returns their
/// number. The operating system counts a joined thread for a moment longer.
fn threads_at_last(before: Option<u64>) -> Option<u64> {
    let began = Instant::now();
    loop {
        let threads = memory::threads();
        if threads <= before || began.elapsed() > Duration::from_secs(5) {
            return threads;
        }
        thread::sleep(Duration::from_millis(1));
    }
}

fn counted(dead_letters: &Address<dead_letters::CounterMessage>) -> Result<DeadLetterCounts> {
    Ok(dead_letters.call(dead_letters::CounterMessage::DeadLetterCounts).timeout(STUCK).wait()?)
}

struct Storm<'a> {
    node: &'a Node,
    counters: &'a Arc<Counters>,
    options: &'a Options,
    round: u64,
}

impl Storm<'_> {
    /// Runs the threads of the storm for this long. Returns false if one of them is stuck.
    fn run(&self, time: Duration) -> bool {
        let over = Arc::new(AtomicBool::new(false));
        let (done, all_done) = mpsc::channel();
        self.counters.storm(true);
        for number in 0..LOAD_THREADS {
            let seed = self.options.seed ^ (self.round * LOAD_THREADS + number).rotate_left(32);
            let mut thread = LoadThread::new(self.node, self.counters, seed);
            let (over, done) = (Arc::clone(&over), done.clone());
            thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    thread.act();
                }
                drop(thread);
                let _ = done.send(());
            });
        }
        drop(done);
        thread::sleep(time);
        over.store(true, Ordering::Relaxed);
        let until = Instant::now() + 2 * STUCK;
        let ended = (0..LOAD_THREADS).all(|_| {
            all_done.recv_timeout(until.saturating_duration_since(Instant::now())).is_ok()
        });
        self.counters.storm(false);
        self.counters
            .record_loss_if(!ended, || "a load thread has panicked or does not return".to_owned());
        ended
    }
}
