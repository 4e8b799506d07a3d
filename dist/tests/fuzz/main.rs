//! Fuzzing of a whole connection: a peer that has the cookie sends changed frames to a node.
//!
//! ```text
//! FUZZ_SECONDS=3600 .ci/run fuzz                    for a time, in release with overflow checks
//! cargo test -p krarup-dist --test fuzz             a fixed number of connections
//! FUZZ_SEED=7 FUZZ_INPUTS=100000 cargo test ..      another seed, another number
//! ```
//!
//! Each input is one connection: flags, and some frames in pieces of any size. Most frames are
//! right, so that the connection gets into many states; the others are changed as those of the fuzz
//! test of `krarup-wire`. No input may panic, stop the node, or leave a bond, a call or a connection.

#[path = "../../../wire/tests/fuzz/chance.rs"]
mod chance;
mod frames;
#[path = "../../../wire/tests/fuzz/generate.rs"]
#[allow(dead_code, reason = "a part is used")]
mod generate;
#[path = "../../../wire/tests/fuzz/mutate.rs"]
mod mutate;
#[path = "../support/mod.rs"]
mod support;

use chance::Chance;
use frames::Known;
use krarup_dist::ClusterCalls;
use krarup_wire::DistributionFlags;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use support::raw::{RawPeer, closed, until};
use support::served::{table, works};
use support::{Member, Worker};

/// The connections of an ordinary test run.
const INPUTS: u64 = 300;
/// The greatest memory of the process, in bytes.
const MOST_MEMORY: usize = 768 << 20;
/// The name of the node under test.
const LABEL: &str = "fuzz";

static PANICS: AtomicU64 = AtomicU64::new(0);

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok().filter(|text| !text.is_empty())?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}

/// The optional flags: each may be missing.
fn flags(chance: &mut Chance) -> u64 {
    let optional = DistributionFlags::OFFERED.without(DistributionFlags::MANDATORY).bits();
    let some = if chance.one_in(2) { u64::MAX } else { chance.next() };
    DistributionFlags::MANDATORY.bits() | optional & some
}

/// Runs one connection.
fn connection(a: &Member, corpus: &mut Vec<Vec<u8>>, chance: &mut Chance) {
    let flags = flags(chance);
    let name = format!("x{}@127.0.0.1", chance.below(3));
    let mut peer = RawPeer::connect(&name, "secret", flags, a).unwrap();
    // A node that was ended by an earlier connection is there again.
    let stock = match a.node.whereis("stock") {
        Some(_) => None,
        None => a.node.spawn(Worker::default).name("stock").wait().ok(),
    };
    drop(stock);
    let known = Known::new(&mut peer);
    let mut bytes = Vec::new();
    for _ in 0..=chance.below(40) {
        let mut frame = frames::frame(&mut peer, &known, flags, chance);
        if chance.one_in(6) {
            // The change may hit the length.
            mutate::mutate(&mut frame, corpus, chance);
        } else if corpus.len() < 500 {
            corpus.push(frame.clone());
        }
        bytes.extend(frame);
    }
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        let (piece, after) = rest.split_at((1 + chance.below(3_000)).min(rest.len()));
        if !peer.write(piece) {
            break;
        }
        rest = after;
    }
    if chance.one_in(2) {
        let _ = peer.stream.shutdown(std::net::Shutdown::Write);
        closed(&peer.stream);
    }
}

#[test]
fn zsec9_no_frames_of_a_peer_panic_stop_the_node_or_leave_anything() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        PANICS.fetch_add(1, Ordering::SeqCst);
        before(info);
    }));
    let seed = number("FUZZ_SEED").unwrap_or(4_711);
    let seconds = number("FUZZ_SECONDS");
    let most = number("FUZZ_INPUTS").or(seconds.map(|_| u64::MAX)).unwrap_or(INPUTS);
    let a = Member::with(&format!("{LABEL}_a@127.0.0.1"), "secret", |cluster| cluster.groups("pg"));
    let b = Member::start(&format!("{LABEL}_b@127.0.0.1"), "secret", &[&a]);
    a.worker("stock");
    assert!(works(&a, &b));
    // The desk is beyond reach: it is not exported, and its pid is sent to nobody.
    let began = Instant::now();
    let (mut input, mut corpus) = (0, vec![vec![131, 68, 0]]);
    while input < most {
        // Each input has a seed of its own.
        let mut chance = Chance::new(seed, input);
        connection(&a, &mut corpus, &mut chance);
        assert_eq!(PANICS.load(Ordering::SeqCst), 0, "FUZZ_SEED={seed}, input {input}");
        input += 1;
        if input.is_multiple_of(50) {
            assert!(a.cluster.nodes().unwrap().iter().any(|node| node.as_str() == b.name));
        }
        if seconds.is_some_and(|seconds| began.elapsed() >= Duration::from_secs(seconds)) {
            break;
        }
    }
    until("the connections are gone", || table(&a, "connections") == 1);
    until("named nodes are forgotten", || table(&a, "known_nodes") == 1);
    assert_eq!((table(&a, "calls"), table(&a, "dials"), table(&a, "handshakes")), (0, 0, 0));
    if a.node.whereis("stock").is_none() {
        a.node.spawn(Worker::default).name("stock").wait().unwrap();
    }
    assert!(works(&a, &b));
    let scope = || a.node.inspect(a.node.whereis("pg").unwrap()).wait().unwrap();
    until("no scope is known", || scope().number("peer_scopes") == Some(0));
    assert_eq!((scope().number("peer_weight"), a.node.groups().names()), (Some(0), vec![]));
    assert_eq!(PANICS.load(Ordering::SeqCst), 0, "FUZZ_SEED={seed}");
    println!("seed {seed}, {input} connections in {:?}", began.elapsed());
    if let Some(peak) = peak_memory() {
        println!("peak memory {} MiB", peak >> 20);
        assert!(peak < MOST_MEMORY, "{peak}");
    }
}

/// Returns the peak memory of the process in bytes, where the system tells it.
fn peak_memory() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<usize>().ok()? << 10)
}
