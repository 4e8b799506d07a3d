//! `spawn`, `mem` and `crowd`: what it costs to make an actor, to end it and to keep it.

use super::{OWN_TURN, WorkloadResult, pingpong, share};
use crate::failure::WorkloadFailure;
use crate::latch::Latch;
use crate::measurement::{Measurement, as_f64};
use crate::message::BenchMessage;
use crate::peers::start;
use krarup::{Actor, Address, Context, Node, Result};
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// Spawns children and sends each of them a message.
struct Parent {
    /// Children still to be spawned.
    left: u64,
    latch: Latch,
}

impl Actor for Parent {
    type Message = BenchMessage;

    async fn handle_message(&mut self, ctx: &mut Context<BenchMessage>, _: BenchMessage) -> Result {
        for _ in 0..self.left.min(OWN_TURN) {
            let dropped = self.latch.clone();
            let child = ctx.spawn(move || StoppingActor { dropped }).start()?;
            child.send(BenchMessage::Value { from: 0, number: self.left })?;
            self.left -= 1;
        }
        if self.left > 0 {
            ctx.address().send(BenchMessage::Start)?;
        }
        Ok(())
    }
}

/// Stops on its first message, and signals when its state is dropped.
struct StoppingActor {
    dropped: Latch,
}

impl Actor for StoppingActor {
    type Message = BenchMessage;

    async fn handle_message(&mut self, ctx: &mut Context<BenchMessage>, _: BenchMessage) -> Result {
        ctx.stop();
        Ok(())
    }
}

impl Drop for StoppingActor {
    fn drop(&mut self) {
        self.dropped.count_down();
    }
}

/// One parent spawns and ends `children`.
pub(super) fn spawn(node: &Node, children: u64) -> WorkloadResult {
    share(children, 1)?;
    let done = Latch::new(children);
    let parent = Parent { left: children, latch: done.clone() };
    let parent = node.spawn(move || parent).start()?;
    let took = done.time(|| start([&parent]))?;
    Ok(Measurement::of("spawn", children, took))
}

/// Handles one message, signals, and idles from then on.
struct IdleActor {
    latch: Latch,
}

impl Actor for IdleActor {
    type Message = BenchMessage;

    async fn handle_message(&mut self, _: &mut Context<BenchMessage>, _: BenchMessage) -> Result {
        self.latch.count_down();
        Ok(())
    }
}

/// Memory in use before anything is measured: the node's tables and threads have theirs.
const WARM_UP: u64 = 1000;
/// How long what runs has to come to rest.
const REST: Duration = Duration::from_millis(300);

/// Bytes of memory for each of `actors` that idle, with one address of each.
pub(super) fn memory(node: &Node, actors: u64) -> WorkloadResult {
    share(actors, 1)?;
    let warm = idle(node, WARM_UP)?;
    let before = resident_bytes()?;
    let begin = Instant::now();
    let addresses = idle(node, actors)?;
    let took = begin.elapsed();
    thread::sleep(REST);
    let grown = resident_bytes()?.saturating_sub(before);
    drop((warm, addresses));
    Ok(Measurement::with_figure("mem", actors, took, as_f64(grown) / as_f64(actors)))
}

/// Two actors play ping-pong while `actors` others idle.
pub(super) fn crowd(node: &Node, rounds: u64, actors: u64) -> WorkloadResult {
    share(actors, 1)?;
    let addresses = idle(node, actors)?;
    let played = pingpong::run(node, "crowd", rounds, 1);
    drop(addresses);
    played
}

/// Actors that have handled a message each.
fn idle(node: &Node, actors: u64) -> Result<Vec<Address<BenchMessage>>, WorkloadFailure> {
    let done = Latch::new(actors);
    let addresses = (0..actors)
        .map(|number| {
            let actor = IdleActor { latch: done.clone() };
            let address = node.spawn(move || actor).start()?;
            address
                .send(BenchMessage::Value { from: 0, number })
                .map_err(|_| WorkloadFailure::Ended)?;
            Ok(address)
        })
        .collect::<Result<_, WorkloadFailure>>()?;
    done.wait()?;
    Ok(addresses)
}

/// What this program has in memory, as Linux tells it.
fn resident_bytes() -> Result<u64, WorkloadFailure> {
    fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|status| resident_kilobytes(&status))
        .map(|kilobytes| kilobytes * 1024)
        .ok_or_else(|| WorkloadFailure::Unsupported("mem".to_owned()))
}

fn resident_kilobytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::resident_kilobytes;

    #[test]
    fn resident_memory_is_found_among_the_other_lines() {
        let status = "Name:\tbench\nVmHWM:\t    5000 kB\nVmRSS:\t    4104 kB\nThreads:\t4\n";
        assert_eq!(resident_kilobytes(status), Some(4104));
        assert_eq!(resident_kilobytes("Name:\tbench\n"), None);
    }
}
