//! `registry`: look-ups in a registry by key, beside look-ups in a hash map behind a read lock, in one
//! run (rule G9); and the memory of a key.
//!
//! Rounds of both alternate, and the best of each counts: on one thread, and on all processors at
//! once. The last line is the bytes of memory for each key, with one process for each.

use super::lifecycle::resident_bytes;
use super::{WorkloadResult, share};
use crate::failure::WorkloadFailure;
use crate::measurement::{Measurement, as_f64};
use crate::message::BenchMessage;
use krarup::groups::Registry;
use krarup::{Actor, Address, Context, Node, Result};
use std::collections::HashMap;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};

const ROUNDS: usize = 5;
/// How many processes register at a time, so that the queues of the node do not grow.
const BATCH: usize = 1000;
/// How long the actors get to become idle.
const REST: Duration = Duration::from_millis(300);

type Keys = Registry<u64, BenchMessage>;
type ReadLockedMap = RwLock<HashMap<u64, Address<BenchMessage>>>;

/// Registers itself at its first `Value`.
struct Session {
    number: u64,
    keys: Keys,
    handled: Arc<AtomicU64>,
}

impl Actor for Session {
    type Message = BenchMessage;

    async fn handle_message(
        &mut self,
        ctx: &mut Context<BenchMessage>,
        message: BenchMessage,
    ) -> Result {
        if let BenchMessage::Value { .. } = message {
            ctx.register_in(&self.keys, self.number)?;
        }
        self.handled.fetch_add(1, Ordering::Release);
        Ok(())
    }
}

pub(super) fn run(
    node: &Node,
    look_ups: u64,
    processes: usize,
) -> Result<Vec<Measurement>, WorkloadFailure> {
    let keys = Keys::new();
    let (sessions, memory) = sessions(node, processes, &keys)?;
    let map: ReadLockedMap = RwLock::new((0..).zip(sessions.iter().cloned()).collect());
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let in_map =
        |key| map.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned().is_some();
    let in_registry = |key| keys.get(&key).is_some();
    let mut best: [Option<Measurement>; 4] = Default::default();
    for _ in 0..ROUNDS {
        let round = [
            looked_up("registry-map-1", look_ups, processes, 1, in_map)?,
            looked_up("registry-1", look_ups, processes, 1, in_registry)?,
            looked_up("registry-map", look_ups, processes, threads, in_map)?,
            looked_up("registry", look_ups, processes, threads, in_registry)?,
        ];
        for (best, new) in best.iter_mut().zip(round) {
            if best.as_ref().is_none_or(|best| new.is_better_than(best)) {
                *best = Some(new);
            }
        }
    }
    Ok(best.into_iter().flatten().chain([memory]).collect())
}

/// Spawns processes with a key each, and measures the memory of the keys.
fn sessions(
    node: &Node,
    count: usize,
    keys: &Keys,
) -> Result<(Vec<Address<BenchMessage>>, Measurement), WorkloadFailure> {
    let handled = Arc::default();
    let mut sessions = Vec::with_capacity(count);
    for number in 0..count as u64 {
        let session = Session { number, keys: keys.clone(), handled: Arc::clone(&handled) };
        sessions.push(node.spawn(move || session).start()?);
    }
    // Each has run and has handled a message before.
    all(&sessions, BenchMessage::Start, &handled)?;
    thread::sleep(REST);
    let (before, begin) = (resident_bytes()?, Instant::now());
    all(&sessions, BenchMessage::Value { from: 0, number: 0 }, &handled)?;
    let took = begin.elapsed();
    thread::sleep(REST);
    let grown = resident_bytes()?.saturating_sub(before);
    let (count, figure) = (count as u64, as_f64(grown) / as_f64(count as u64));
    Ok((sessions, Measurement::with_figure("registry-bytes", count, took, figure)))
}

/// Sends a message to all, some at a time, and waits until they have handled it.
fn all(
    sessions: &[Address<BenchMessage>],
    message: BenchMessage,
    handled: &AtomicU64,
) -> Result<(), WorkloadFailure> {
    for some in sessions.chunks(BATCH) {
        let due = handled.load(Ordering::Acquire) + some.len() as u64;
        for session in some {
            session.send(message).map_err(|_| WorkloadFailure::Ended)?;
        }
        while handled.load(Ordering::Acquire) < due {
            thread::yield_now();
        }
    }
    Ok(())
}

/// Looks up keys in a mixed order on several threads at once.
fn looked_up(
    name: &str,
    look_ups: u64,
    keys: usize,
    threads: usize,
    look_up: impl Fn(u64) -> bool + Sync,
) -> WorkloadResult {
    let each = share(look_ups, threads)?;
    let begin = Instant::now();
    let found: u64 = thread::scope(|scope| {
        let run = |thread: u64| {
            let look_up = &look_up;
            scope.spawn(move || {
                let key = |number: u64| {
                    (number + thread).wrapping_mul(0x9E37_79B9_7F4A_7C15) % keys as u64
                };
                (0..each).filter(|number| look_up(black_box(key(*number)))).count() as u64
            })
        };
        let running: Vec<_> = (0..threads as u64).map(run).collect();
        running.into_iter().map(|thread| thread.join().unwrap_or_default()).sum()
    });
    if found == each * threads as u64 {
        Ok(Measurement::of(name, found, begin.elapsed() * u32::try_from(threads).unwrap_or(1)))
    } else {
        Err(WorkloadFailure::Ended)
    }
}
