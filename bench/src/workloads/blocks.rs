//! `blocks`: a call to each of the building blocks above actors, beside one to an actor, in one run.
//!
//! A caller makes its calls one after the other, as in `call`; what serves them differs. Rounds of all alternate,
//! and the best of each counts.
//!
//! | line | what is called |
//! |---|---|
//! | `blocks-actor` | an actor, by its address |
//! | `blocks-name` | the same, by a name that is looked up again when its process ends |
//! | `blocks-group` | a member of a group of four, chosen for each call |
//! | `blocks-state` | a state actor |
//! | `blocks-step` | a step process |
//! | `blocks-grain` | a grain, by its key |
//! | `blocks-grains` | grains in turn, of as many keys as the count says |

use super::call::{Increment, Successor};
use super::{WorkloadResult, share};
use crate::failure::WorkloadFailure;
use crate::latch::Latch;
use crate::measurement::Measurement;
use crate::message::BenchMessage;
use crate::peers::start;
use krarup::grains::{GrainAddress, GrainCalls, Grains};
use krarup::groups::Groups;
use krarup::state::{Scope, StateActor, StateAddress, StateCalls, Stateful};
use krarup::step::{Commands, StepEvent, StepOutput, StepProcess, Stepped};
use krarup::{Actor, Address, Context, NamedAddress, Node, Reason, Recipient, Result};
use std::collections::VecDeque;
use std::sync::Arc;

/// Each is a workload of its own too, whose instructions can be counted.
pub(super) const NAMES: [&str; 7] = [
    "blocks-actor",
    "blocks-name",
    "blocks-group",
    "blocks-state",
    "blocks-step",
    "blocks-grain",
    "blocks-grains",
];
const ROUNDS: usize = 5;
const MEMBERS: usize = 4;
const NAME: &str = "successor";
const GROUP: &str = "successors";

/// What serves the calls.
trait BlockServer: Send + 'static {
    fn call(&mut self, number: u64) -> impl Future<Output = Result<u64>> + Send;
}

/// Makes its calls, and checks each reply.
struct BlockCaller<S> {
    server: S,
    calls: u64,
    latch: Latch,
}

impl<S: BlockServer> Actor for BlockCaller<S> {
    type Message = BenchMessage;

    async fn handle_message(&mut self, ctx: &mut Context<BenchMessage>, _: BenchMessage) -> Result {
        for number in 0..self.calls {
            let next = self.server.call(number).await?;
            if next != number + 1 {
                return Err(Reason::error(format!("{number} was answered with {next}")));
            }
        }
        self.latch.count_down();
        ctx.stop();
        Ok(())
    }
}

impl BlockServer for Address<Increment> {
    async fn call(&mut self, number: u64) -> Result<u64> {
        Ok(Address::call(self, |reply| Increment { number, reply }).await?)
    }
}

impl BlockServer for NamedAddress<Increment> {
    async fn call(&mut self, number: u64) -> Result<u64> {
        Ok(NamedAddress::call(self, move |reply| Increment { number, reply }).await?)
    }
}

impl BlockServer for Groups {
    async fn call(&mut self, number: u64) -> Result<u64> {
        let member: Option<Recipient<Increment>> = self.any(GROUP);
        let member = member.ok_or_else(|| Reason::error("the group is empty"))?;
        Ok(member.call(move |reply| Increment { number, reply }).await?)
    }
}

/// Grains by number, of which it calls one after the other.
struct InTurn {
    grains: GrainAddress<u64, Increment>,
    keys: u64,
}

impl BlockServer for InTurn {
    async fn call(&mut self, number: u64) -> Result<u64> {
        let key = number % self.keys;
        Ok(self.grains.call_to(key, |reply| Increment { number, reply }).await?)
    }
}

/// Answers as [`Successor`] does.
struct StateSuccessor;

impl StateActor for StateSuccessor {
    type Notice = ();
    type Ask = Increment;
    type Reply = ();
    type Event = ();

    async fn handle_notice(_: &mut Scope<Self>, (): ()) -> Result {
        Ok(())
    }

    async fn handle_ask(_: &mut Scope<Self>, request: Increment) -> Result {
        request.reply.send(request.number + 1);
        Ok(())
    }
}

impl BlockServer for StateAddress<StateSuccessor> {
    async fn call(&mut self, number: u64) -> Result<u64> {
        Ok(self.ask(|reply| Increment { number, reply }).await?)
    }
}

/// Answers as [`Successor`] does.
struct StepSuccessor;

impl StepProcess for StepSuccessor {
    type Value = ();
    type Message = Increment;

    fn init(&mut self, _: &Context<Increment>, _: &str, _: Vec<()>) -> Result {
        Ok(())
    }

    fn step(
        &mut self,
        events: &mut VecDeque<StepEvent<(), Increment>>,
        out: &mut StepOutput<()>,
    ) -> Result {
        for event in events.drain(..) {
            match event {
                StepEvent::Message { message, .. } => message.reply.send(message.number + 1),
                StepEvent::Cancel(_) => out.done(()),
                StepEvent::Completed { .. } => {}
            }
        }
        Ok(())
    }
}

/// The time of `calls` calls by one process.
fn calls(node: &Node, name: &str, calls: u64, server: impl BlockServer) -> WorkloadResult {
    let done = Latch::new(1);
    let latch = done.clone();
    let caller = node.spawn(move || BlockCaller { server, calls, latch }).start()?;
    let took = done.time(|| start([&caller]))?;
    Ok(Measurement::of(name, calls, took))
}

/// Calls each block `size` times in each round, or only the one of this name, in one round;
/// `blocks-grains` has `keys` grains.
pub(super) fn run(
    node: &Node,
    only: Option<&str>,
    size: u64,
    keys: u64,
) -> Result<Vec<Measurement>, WorkloadFailure> {
    share(size, 1)?;
    share(keys, 1)?;
    let actor = node.spawn(|| Successor).name(NAME).start()?;
    let named: Result<NamedAddress<Increment>, _> = node.named_address(NAME);
    let named = named.map_err(|_| WorkloadFailure::Ended)?;
    for _ in 0..MEMBERS {
        let member = node.spawn(|| Successor).start()?;
        let joined = node.groups().join(GROUP, &member.recipient());
        joined.map_err(|_| WorkloadFailure::Ended)?;
    }
    let state = node.spawn(|| Stateful::new(StateSuccessor)).start()?;
    let step = || Stepped::new(StepSuccessor, Arc::new(Commands::new()), "", []);
    let step = node.spawn(step).start()?;
    let grains = node.spawn(|| Grains::new(|_: &u64| Successor)).start()?;
    let in_turn = |keys| InTurn { grains: grains.clone(), keys };
    let call = |name| match name {
        "blocks-name" => calls(node, name, size, named.clone()),
        "blocks-group" => calls(node, name, size, node.groups()),
        "blocks-state" => calls(node, name, size, state.clone()),
        "blocks-step" => calls(node, name, size, step.clone()),
        "blocks-grain" => calls(node, name, size, in_turn(1)),
        "blocks-grains" => calls(node, name, size, in_turn(keys)),
        _ => calls(node, name, size, actor.clone()),
    };
    let mut best = Vec::<Measurement>::new();
    for _ in 0..only.map_or(ROUNDS, |_| 1) {
        let names = NAMES.into_iter().filter(|name| only.is_none_or(|only| only == *name));
        let round = names.map(call).collect::<Result<Vec<_>, _>>()?;
        if best.is_empty() {
            best.extend(round);
        } else {
            for (best, new) in best.iter_mut().zip(round) {
                if new.is_better_than(best) {
                    *best = new;
                }
            }
        }
    }
    Ok(best)
}
