//! A soak test of the cluster: processes call, monitor, tell and group with a real node of OTP, which is
//! killed, suspended and started again at random. Everything that was begun is accounted for.
//!
//! ```sh
//! cargo run --release --package cluster-examples --bin cluster_soak                      # an hour
//! cargo run --release --package cluster-examples --bin cluster_soak -- --seconds 5
//! ```
//!
//! It needs `erl`, and says so where it is not. At the end these hold, or the program prints what does
//! not and ends with exit code 1:
//!
//! | what | holds |
//! |---|---|
//! | calls | each has ended |
//! | monitors | each has told once, those that were removed never |
//! | groups | no member of the other node is left when it is gone |
//! | tables | no call, connection, handshake or dial is left, and few nodes are known |
//! | descriptors, threads | as many as before |
//! | memory | the allocated bytes do not grow: see `examples/soak/memory.rs` |
//!
//! | file | concept |
//! |---|---|
//! | `peer` | the node of OTP: how it starts and ends |
//! | `soaker` | the processes that use it |
//! | `flags` | the command line |

#![forbid(unsafe_code)]

mod flags;
#[path = "../../soak/src/memory.rs"]
mod memory;
mod peer;
mod soaker;

use flags::SoakOptions;
use krarup::cluster::{Cluster, ClusterCalls, Cookie};
use krarup::prelude::*;
use peer::{OtpPeer, PeerEnd};
use soaker::{OnPeer, SoakCounts, SoakStep, Soaker};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// How many processes use the other node.
const SOAKERS: usize = 20;
/// Longer than anything takes.
const STUCK: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    let options = match flags::parse(lexopt::Parser::from_env()) {
        Ok(Some(options)) => options,
        Ok(None) => {
            print!("{}", flags::HELP);
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("cluster_soak: {error} (--help explains the flags)");
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(losses) if losses.is_empty() => ExitCode::SUCCESS,
        Ok(losses) => {
            losses.iter().for_each(|loss| println!("LOST: {loss}"));
            println!("cluster_soak: {} losses; --seed {}", losses.len(), options.seed);
            ExitCode::FAILURE
        }
        Err(reason) => {
            println!("cluster_soak: cannot run: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &SoakOptions) -> Result<Vec<String>> {
    let id = std::process::id();
    let (peer_name, cookie) = (format!("soaked_{id}@127.0.0.1"), format!("soak_{id}"));
    let Some(first) = OtpPeer::start(&peer_name, &cookie) else {
        println!("erl is not here: nothing is soaked");
        return Ok(Vec::new());
    };
    let node = Node::start(format!("soak_{id}@127.0.0.1"))?;
    let cookie_of_ours = Cookie::new(cookie.as_str())?;
    let cluster = move || {
        let cluster = Cluster::new(cookie_of_ours).epmd().tick_time(Duration::from_secs(4));
        cluster.carries::<OnPeer>().groups("pg")
    };
    let cluster = node.spawn_system(cluster).wait()?;
    let (descriptors_before, threads_before) = (descriptors(), memory::threads());
    let counts = Arc::new(SoakCounts::default());
    let mut soakers = Vec::new();
    for number in 0..SOAKERS {
        let (counts, seed) = (Arc::clone(&counts), options.seed << 16 | number as u64);
        let to = cluster.remote::<OnPeer>("stock", peer_name.as_str())?;
        let target = soaker::target_of(&peer_name)?;
        let soaker = move || Soaker::new(counts, to, target, seed);
        soakers.push(node.spawn(soaker).wait()?);
    }
    println!("cluster_soak: {:?}, seed {}, {peer_name}", options.time, options.seed);

    let (began, mut memory) = (Instant::now(), memory::Memory::default());
    let mut dice = soaker::SoakDice(options.seed);
    let (mut peer, mut ends, mut said) = (Some(first), [0_u64; 3], Instant::now());
    let mut losses = Vec::new();
    while began.elapsed() < options.time && losses.is_empty() {
        // It lives for a while.
        thread::sleep(options.life(&mut dice).min(options.time.saturating_sub(began.elapsed())));
        let way = dice.below(3);
        ends[way] += 1;
        if let Some(peer) = peer.take() {
            peer.end([PeerEnd::Kill, PeerEnd::Suspend, PeerEnd::Stop][way]);
        }
        memory.note(began.elapsed());
        if said.elapsed() >= options.every {
            said = Instant::now();
            let elapsed = began.elapsed();
            println!("{elapsed:>6.0?}  {counts}  {ends:?} ends  {memory}");
        }
        losses.extend(tables(&node, cluster.pid(), false)?);
        peer = OtpPeer::start(&peer_name, &cookie);
    }
    // At last the node of OTP ends, and with it everything that is bound to it.
    counts.stop();
    for soaker in &soakers {
        soaker.call(SoakStep::Sync).timeout(STUCK).wait()?;
    }
    drop(peer);
    losses.extend(at_last("every monitor has told", || counts.all_told()));
    losses.extend(at_last("no member is left", || node.groups().pids("soak").is_empty()));
    losses.extend(at_last("the tables are empty", || {
        tables(&node, cluster.pid(), true).is_ok_and(|left| left.is_empty())
    }));
    losses.extend(at_last("the descriptors are closed", || descriptors() <= descriptors_before));
    losses.extend(at_last("the threads are as many", || {
        // One more may wait for the next blocking work.
        memory::threads() <= threads_before.map(|threads| threads + 1)
    }));
    losses.extend(counts.losses());
    if memory.has_grown() {
        losses.push(format!("memory: {memory}"));
    }
    for soaker in soakers {
        soaker.stop().timeout(STUCK).wait()?;
    }
    println!("{:>6.0?}  {counts}  {ends:?} ends (killed, suspended, stopped)", began.elapsed());
    println!("        {memory}, {} descriptors, first {descriptors_before}", descriptors());
    if losses.is_empty() {
        println!("cluster_soak: nothing is lost");
    }
    node.stop().wait()?;
    Ok(losses)
}

/// What of the tables is too much: at rest, or meanwhile.
fn tables(node: &Node, cluster: Pid, is_rest: bool) -> Result<Vec<String>> {
    let inspection = node.inspect(cluster).wait()?;
    let most = |meanwhile| if is_rest { 0 } else { meanwhile };
    let limits = [
        ("calls", most(SOAKERS as u64)),
        ("connections", most(4)),
        ("handshakes", most(4)),
        ("dials", most(4)),
        ("known_nodes", 4),
    ];
    let found = limits.into_iter().filter_map(|(table, most)| {
        let count = inspection.number(table)?;
        (count > most).then(|| format!("{table}: {count}, more than {most}"))
    });
    Ok(found.collect())
}

/// The open descriptors of this program, where that is known.
fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

/// Waits until something holds; the text, if it does not.
fn at_last(what: &str, mut holds: impl FnMut() -> bool) -> Option<String> {
    let began = Instant::now();
    while !holds() {
        if began.elapsed() > STUCK {
            return Some(format!("not within {STUCK:?}: {what}"));
        }
        thread::sleep(Duration::from_millis(10));
    }
    None
}
