//! A soak: a tree of three levels under load and random deaths for as long as you like, on the
//! real dispatcher; and whatever was sent, set, linked or named is accounted for, to the last.
//!
//! ```sh
//! cargo run --release --example soak -- --minutes 60
//! cargo run --release --example soak -- --seconds 20 --seed 7 --processes 5000
//! ```
//!
//! Storms and rests take turns. In a storm, threads and processes flood, call, kill, let panic,
//! stop, name, link, monitor, set timers and resize pools. Then everything comes to rest, and
//! it is looked whether
//!
//! | what | holds |
//! |---|---|
//! | messages, each kind | sent = handled + refused + dead-lettered, where the dead letters are those the node told of |
//! | calls | none has waited for a minute; at rest everybody answers |
//! | monitors, links | whoever watches has heard of every end, once |
//! | timers | each that was set has rung, or went with its process; none rang early |
//! | names, aliases | as many as the living have |
//! | processes | every one is idle, has a living parent, and every bond has two ends |
//! | memory | what is allocated stays flat: see [`memory`] |
//!
//! At the end the tree is stopped, and nothing may be left. Anything lost ends the program with
//! exit code 1, what was lost, and the seed. The seed draws what the threads do; in what
//! order they meet is up to the machine.
//!
//! | file | concept |
//! |---|---|
//! | `tree`, `worker`, `watcher` | the processes |
//! | `letter`, `ledger`, `postmaster` | what is counted, and the node's own count of dead letters |
//! | `forces` | what storms |
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

/// Longer than anything takes: what takes that long is stuck.
const STUCK: Duration = Duration::from_mins(1);

/// The threads that storm; processes do too.
const FORCES: u64 = 3;

/// The exit code for a bad command line, as the shell's own commands have it.
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

/// Storms and rests until the time is over: what was lost.
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
            // Threads that never return cannot be joined, and hold the node.
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

    // The end: nothing is left of the tree, nor of who came and went beside it.
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

/// Ends the program if it does not end itself: where timers are lost, so are the time limits of
/// what waits here.
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

/// How many threads there are when they are no more than before, or after a while. One that was
/// joined is counted a moment longer by the operating system.
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
    /// Lets the forces loose for this long; false if one of them is stuck.
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
