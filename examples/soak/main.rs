//! A soak test: a tree of three levels under load and random kills, for as long as you like,
//! on the real dispatcher. Everything that was sent, set, linked or named is accounted for.
//!
//! ```sh
//! cargo run --release --example soak -- --minutes 60
//! cargo run --release --example soak -- --seconds 20 --seed 7 --processes 5000
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
//! | `letter`, `ledger`, `postmaster` | the counts of messages, and the node's own count of dead letters |
//! | `forces` | the threads of a storm |
//! | `audit`, `memory` | what must hold at rest |
//! | `flags` | the command line |
//! | `audit`, `memory` | what must hold at rest |
//! | `flags` | the command line |

#![forbid(unsafe_code)]

mod audit;
mod dice;
mod flags;
mod forces;
mod ledger;
mod letter;
mod memory;
mod postmaster;
mod tree;
mod watcher;
mod worker;

use audit::Audit;
use flags::{Asked, Options};
use forces::Force;
use krarup::prelude::*;
use ledger::Ledger;
use memory::Memory;
use postmaster::{Postmaster, Tally};
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Longer than any operation takes: one that takes this long is stuck.
const STUCK: Duration = Duration::from_mins(1);

/// The number of threads that storm. The workers send messages too.
const FORCES: u64 = 3;

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
    let ledger = Ledger::new();
    end_at_last(&ledger, options);
    let threads_before = memory::threads();
    let node = Node::start("soak@localhost")?;
    let postmaster = node.spawn(Postmaster::default).name("postmaster").wait()?;
    node.subscribe_dead_letters(postmaster.recipient());
    let of_tree = ledger.clone();
    let root = node.spawn(move || tree::root(&of_tree)).name("root").wait()?;
    let audit = Audit { node: &node, ledger: &ledger, top: [root.pid(), postmaster.pid()] };
    tree::populate(&node, options.processes);

    let mut memory = Memory::default();
    let began = Instant::now();
    let mut round = 0;
    while began.elapsed() < options.time && ledger.losses().is_empty() {
        round += 1;
        let left = options.time.saturating_sub(began.elapsed());
        let storm = Storm { node: &node, ledger: &ledger, options, round };
        if !storm.rage(left.min(options.round())) {
            // Threads that never return cannot be joined, and they hold the node.
            return Ok(ledger.losses());
        }
        tree::populate(&node, options.processes);
        if !audit.comes_to_rest() {
            break;
        }
        audit.everyone_answers();
        let tally = tally(&postmaster)?;
        audit.accounts(&tally);
        memory.note(began.elapsed());
        if options.is_long() || ledger.losses().is_empty() {
            println!("{:>6.0?}  {}  {memory}", began.elapsed(), ledger.line());
        }
    }
    println!("{}", ledger.summary(&tally(&postmaster)?));
    ledger.lose_if(memory.has_grown(), || format!("memory: {memory}"));

    // At the end nothing may be left of the tree, nor of the brief processes outside it.
    let stopped = root.stop().timeout(STUCK).wait();
    ledger.lose_if(stopped.is_err(), || format!("the tree does not stop: {stopped:?}"));
    audit.nothing_is_left(postmaster.pid());
    let tally = tally(&postmaster)?;
    audit.accounts_at_the_end(&tally);
    postmaster.stop().timeout(STUCK).wait()?;
    let stopped = node.stop().wait();
    ledger.lose_if(stopped.is_err(), || format!("the node does not stop: {stopped:?}"));
    audit.node_is_empty();
    let threads = threads_at_last(threads_before);
    ledger.lose_if(threads > threads_before, || {
        format!("{threads:?} threads are left of {threads_before:?}")
    });
    Ok(ledger.losses())
}

/// Ends the program if it does not end by itself. If timers are lost, the time limits of
/// the waits in this program are lost too.
fn end_at_last(ledger: &Arc<Ledger>, options: &Options) {
    let (ledger, seed) = (Arc::clone(ledger), options.seed);
    let limit = options.time + 6 * STUCK;
    thread::spawn(move || {
        thread::sleep(limit);
        ledger.losses().iter().for_each(|loss| println!("LOST: {loss}"));
        println!("LOST: the end: nothing has come of waiting for it for {limit:?}; --seed {seed}");
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

fn tally(postmaster: &Address<postmaster::Post>) -> Result<Tally> {
    Ok(postmaster.call(postmaster::Post::Tally).timeout(STUCK).wait()?)
}

struct Storm<'a> {
    node: &'a Node,
    ledger: &'a Arc<Ledger>,
    options: &'a Options,
    round: u64,
}

impl Storm<'_> {
    /// Runs the threads of the storm for this long. Returns false if one of them is stuck.
    fn rage(&self, time: Duration) -> bool {
        let over = Arc::new(AtomicBool::new(false));
        let (done, all_done) = mpsc::channel();
        self.ledger.storm(true);
        for number in 0..FORCES {
            let seed = self.options.seed ^ (self.round * FORCES + number).rotate_left(32);
            let mut force = Force::new(self.node, self.ledger, seed);
            let (over, done) = (Arc::clone(&over), done.clone());
            thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    force.act();
                }
                drop(force);
                let _ = done.send(());
            });
        }
        drop(done);
        thread::sleep(time);
        over.store(true, Ordering::Relaxed);
        let until = Instant::now() + 2 * STUCK;
        let ended = (0..FORCES).all(|_| {
            all_done.recv_timeout(until.saturating_duration_since(Instant::now())).is_ok()
        });
        self.ledger.storm(false);
        self.ledger.lose_if(!ended, || "a thread has panicked, or never returns".to_owned());
        ended
    }
}
