//! `spawn`, `mem` and `crowd`: the cost of making an actor, ending it and keeping it.

use super::{OWN_TURN, WorkloadResult, pingpong, share};
use crate::failure::WorkloadFailure;
use crate::latch::Latch;
use crate::measurement::{Measurement, as_f64};
use crate::message::BenchMessage;
use crate::peers::start;
use krarup::behavior::Behavior;
use krarup::{Actor, Address, Context, Event, First, Machine, Next, Node, Result, StateMachine};
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// Spawns children and sends a message to each of them.
struct Parent {
    /// How many children are still to be spawned.
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

/// One parent spawns `children` actors, which then end.
pub(super) fn spawn(node: &Node, children: u64) -> WorkloadResult {
    share(children, 1)?;
    let done = Latch::new(children);
    let parent = Parent { left: children, latch: done.clone() };
    let parent = node.spawn(move || parent).start()?;
    let took = done.time(|| start([&parent]))?;
    Ok(Measurement::of("spawn", children, took))
}

/// Handles one message, signals, and is idle from then on.
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

/// The same as a state machine.
impl StateMachine for IdleActor {
    type State = ();
    type Message = BenchMessage;
    type Internal = ();
    type Timer = ();

    async fn init(&mut self, _: &mut Context<BenchMessage>) -> Result<First<Self>> {
        Ok(First::state(()))
    }

    async fn handle_event(
        &mut self,
        _: &mut Context<BenchMessage>,
        (): (),
        _: Event<Self>,
    ) -> Result<Next<Self>> {
        self.latch.count_down();
        Ok(Next::keep())
    }
}

/// Actors spawned before the measurement, because the tables and threads of the node use memory
/// too.
const WARM_UP: u64 = 1000;
/// How long the actors get to become idle.
const REST: Duration = Duration::from_millis(300);

/// The bytes of memory for each of `actors` idle actors, with one address each.
pub(super) fn memory(node: &Node, actors: u64) -> WorkloadResult {
    memory_of(node, "mem", actors, |actor| actor)
}

/// The same for state machines (rule F18).
pub(super) fn memory_of_machines(node: &Node, machines: u64) -> WorkloadResult {
    memory_of(node, "mem-machine", machines, Machine::new)
}

fn memory_of<B>(
    node: &Node,
    name: &str,
    actors: u64,
    make: impl Fn(IdleActor) -> B + Clone + Send + 'static,
) -> WorkloadResult
where
    B: Behavior<Message = BenchMessage, Command = BenchMessage>,
{
    share(actors, 1)?;
    let warm = idle(node, WARM_UP, &make)?;
    let before = resident_bytes()?;
    let begin = Instant::now();
    let addresses = idle(node, actors, &make)?;
    let took = begin.elapsed();
    thread::sleep(REST);
    let grown = resident_bytes()?.saturating_sub(before);
    drop((warm, addresses));
    Ok(Measurement::with_figure(name, actors, took, as_f64(grown) / as_f64(actors)))
}

/// Two actors play ping-pong while `actors` others are idle.
pub(super) fn crowd(node: &Node, rounds: u64, actors: u64) -> WorkloadResult {
    share(actors, 1)?;
    let addresses = idle(node, actors, &|actor| actor)?;
    let played = pingpong::run(node, "crowd", rounds, 1);
    drop(addresses);
    played
}

/// Spawns actors and waits until each has handled a message.
fn idle<B>(
    node: &Node,
    actors: u64,
    make: &(impl Fn(IdleActor) -> B + Clone + Send + 'static),
) -> Result<Vec<Address<BenchMessage>>, WorkloadFailure>
where
    B: Behavior<Message = BenchMessage, Command = BenchMessage>,
{
    let done = Latch::new(actors);
    let addresses = (0..actors)
        .map(|number| {
            let actor = IdleActor { latch: done.clone() };
            let make = make.clone();
            let address = node.spawn(move || make(actor)).start()?;
            address
                .send(BenchMessage::Value { from: 0, number })
                .map_err(|_| WorkloadFailure::Ended)?;
            Ok(address)
        })
        .collect::<Result<_, WorkloadFailure>>()?;
    done.wait()?;
    Ok(addresses)
}

/// The resident memory of this program, as Linux reports it.
pub(super) fn resident_bytes() -> Result<u64, WorkloadFailure> {
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
