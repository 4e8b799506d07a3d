//! `machine`: state machines beside actors, in one run (rule F18).
//!
//! Rounds of both alternate, and the best of each counts. The numbers of messages are those of
//! the actors; the lines are `machine-pingpong`, `actor-pingpong`, `machine-fanin`,
//! `actor-fanin`, and `machine-timeout` for a state time-out that is set and cancelled.

use super::{OWN_TURN, share};
use crate::failure::WorkloadFailure;
use crate::latch::Latch;
use crate::measurement::Measurement;
use crate::message::BenchMessage;
use crate::peers::start;
use krarup::behavior::Behavior;
use krarup::{
    Actor, Address, Context, Entered, Event, First, Machine, Next, Node, Result, StateMachine,
};
use std::time::Duration;

const ROUNDS: usize = 5;

/// What one process does with a message: the same as an actor and as a machine.
trait Role: Send + 'static {
    fn handle(&mut self, ctx: &mut Context<BenchMessage>, message: BenchMessage) -> Result;
}

struct AsActor<R>(R);

impl<R: Role> Actor for AsActor<R> {
    type Message = BenchMessage;

    async fn handle_message(
        &mut self,
        ctx: &mut Context<BenchMessage>,
        message: BenchMessage,
    ) -> Result {
        self.0.handle(ctx, message)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Only {
    State,
}

struct AsMachine<R>(R);

impl<R: Role> StateMachine for AsMachine<R> {
    type State = Only;
    type Message = BenchMessage;
    type Internal = ();
    type Timer = ();

    async fn init(&mut self, _: &mut Context<BenchMessage>) -> Result<First<Self>> {
        Ok(First::state(Only::State))
    }

    async fn handle_event(
        &mut self,
        ctx: &mut Context<BenchMessage>,
        _: Only,
        event: Event<Self>,
    ) -> Result<Next<Self>> {
        if let Event::Message(message) = event {
            self.0.handle(ctx, message)?;
        }
        Ok(Next::keep())
    }
}

/// Sends each message on to its partner, until it has none left.
struct MachineServer {
    partner: Option<Address<BenchMessage>>,
    left: u64,
    done: Latch,
}

impl Role for MachineServer {
    fn handle(&mut self, _: &mut Context<BenchMessage>, message: BenchMessage) -> Result {
        if let BenchMessage::Value { .. } = message {
            if self.left == 0 {
                self.done.count_down();
                return Ok(());
            }
            self.left -= 1;
        }
        if let Some(partner) = &self.partner {
            partner.send(BenchMessage::Value { from: 0, number: self.left })?;
        }
        Ok(())
    }
}

/// Returns each message to the first player.
struct Returner(Address<BenchMessage>);

impl Role for Returner {
    fn handle(&mut self, _: &mut Context<BenchMessage>, message: BenchMessage) -> Result {
        Ok(self.0.send(message)?)
    }
}

/// Sends its partner to the first player, so that the two know each other.
struct Opens(MachineServer);

impl Role for Opens {
    fn handle(&mut self, ctx: &mut Context<BenchMessage>, message: BenchMessage) -> Result {
        if self.0.partner.is_none() {
            self.0.partner = Some(ctx.lookup("returner")?);
        }
        self.0.handle(ctx, message)
    }
}

/// Counts what it gets.
struct Sink {
    left: u64,
    done: Latch,
}

impl Role for Sink {
    fn handle(&mut self, _: &mut Context<BenchMessage>, _: BenchMessage) -> Result {
        self.left -= 1;
        if self.left == 0 {
            self.done.count_down();
        }
        Ok(())
    }
}

/// Sends to the sink, an own turn at a time.
struct Source {
    to: Address<BenchMessage>,
    left: u64,
}

impl Role for Source {
    fn handle(&mut self, ctx: &mut Context<BenchMessage>, _: BenchMessage) -> Result {
        for _ in 0..self.left.min(OWN_TURN) {
            self.left -= 1;
            self.to.send(BenchMessage::Value { from: 0, number: self.left })?;
        }
        if self.left > 0 {
            ctx.address().send(BenchMessage::Start)?;
        }
        Ok(())
    }
}

/// Nanoseconds for each of `messages`.
fn pingpong<B, C>(
    node: &Node,
    round_trips: u64,
    first: impl FnOnce(Opens) -> B + Send + 'static,
    second: impl FnOnce(Returner) -> C + Send + 'static,
) -> Result<Duration, WorkloadFailure>
where
    B: Behavior<Message = BenchMessage, Command = BenchMessage>,
    C: Behavior<Message = BenchMessage, Command = BenchMessage>,
{
    let done = Latch::new(1);
    let player = Opens(MachineServer { partner: None, left: round_trips, done: done.clone() });
    let player = node.spawn(move || first(player)).start()?;
    let to = player.clone();
    let returner = node.spawn(move || second(Returner(to))).name("returner").start()?;
    let took = done.time(|| start([&player]))?;
    for process in [player, returner] {
        // The next round takes the name.
        process.stop().wait().map_err(|_| WorkloadFailure::Ended)?;
    }
    Ok(took)
}

fn fan_in<B>(
    node: &Node,
    messages: u64,
    among: usize,
    sink: impl FnOnce(Sink) -> B + Send + 'static,
) -> Result<Duration, WorkloadFailure>
where
    B: Behavior<Message = BenchMessage, Command = BenchMessage>,
{
    let each = share(messages, among)?;
    let done = Latch::new(1);
    let role = Sink { left: each * among as u64, done: done.clone() };
    let sink = node.spawn(move || sink(role)).start()?;
    let sources = (0..among)
        .map(|_| {
            let source = Source { to: sink.clone(), left: each };
            Ok(node.spawn(move || AsActor(source)).start()?)
        })
        .collect::<Result<Vec<_>, WorkloadFailure>>()?;
    done.time(|| start(&sources))
}

/// Sets a state time-out, and cancels it with the next event.
struct Sets {
    left: u64,
    done: Latch,
}

impl StateMachine for Sets {
    type State = Only;
    type Message = BenchMessage;
    type Internal = ();
    type Timer = ();

    async fn init(&mut self, _: &mut Context<BenchMessage>) -> Result<First<Self>> {
        Ok(First::state(Only::State))
    }

    async fn enter(
        &mut self,
        _: &mut Context<BenchMessage>,
        _: Only,
        _: Only,
    ) -> Result<Entered<Self>> {
        Ok(Entered::new())
    }

    async fn handle_event(
        &mut self,
        ctx: &mut Context<BenchMessage>,
        _: Only,
        event: Event<Self>,
    ) -> Result<Next<Self>> {
        if let Event::Message(BenchMessage::Start) = event {
            for number in 0..self.left.min(OWN_TURN) {
                ctx.address().send(BenchMessage::Value { from: 0, number })?;
            }
            if self.left == 0 {
                self.done.count_down();
            } else {
                ctx.address().send(BenchMessage::Start)?;
            }
            return Ok(Next::keep());
        }
        self.left -= 1;
        Ok(if self.left.is_multiple_of(2) {
            Next::keep().state_timeout(Duration::from_secs(3600), ())
        } else {
            Next::keep().cancel_state_timeout()
        })
    }
}

/// The same messages without any time-out.
struct SetsNothing(Sets);

impl Role for SetsNothing {
    fn handle(&mut self, ctx: &mut Context<BenchMessage>, message: BenchMessage) -> Result {
        if let BenchMessage::Start = message {
            for number in 0..self.0.left.min(OWN_TURN) {
                ctx.address().send(BenchMessage::Value { from: 0, number })?;
            }
            if self.0.left == 0 {
                self.0.done.count_down();
            } else {
                ctx.address().send(BenchMessage::Start)?;
            }
            return Ok(());
        }
        self.0.left -= 1;
        Ok(())
    }
}

fn timeouts<B>(
    node: &Node,
    messages: u64,
    sets: impl FnOnce(Sets) -> B + Send + 'static,
) -> Result<Duration, WorkloadFailure>
where
    B: Behavior<Message = BenchMessage, Command = BenchMessage>,
{
    let done = Latch::new(1);
    let role = Sets { left: messages, done: done.clone() };
    let process = node.spawn(move || sets(role)).start()?;
    done.time(|| start([&process]))
}

/// The best of some rounds of two ways, taken in turn.
fn best_of(
    mut one: impl FnMut() -> Result<Duration, WorkloadFailure>,
    mut other: impl FnMut() -> Result<Duration, WorkloadFailure>,
) -> Result<(Duration, Duration), WorkloadFailure> {
    let mut best = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        best = (best.0.min(one()?), best.1.min(other()?));
    }
    Ok(best)
}

/// Measures all of it with `size` messages each.
pub(super) fn run(node: &Node, size: u64) -> Result<Vec<Measurement>, WorkloadFailure> {
    share(size, 8)?;
    let trips = size / 2;
    let (machine, actor) = best_of(
        || {
            pingpong(
                node,
                trips,
                |it| Machine::new(AsMachine(it)),
                |it| Machine::new(AsMachine(it)),
            )
        },
        || pingpong(node, trips, AsActor, AsActor),
    )?;
    let (machine_in, actor_in) = best_of(
        || fan_in(node, size, 8, |it| Machine::new(AsMachine(it))),
        || fan_in(node, size, 8, AsActor),
    )?;
    let even = size / 2 * 2;
    let (set, none) = best_of(
        || timeouts(node, even, Machine::new),
        || timeouts(node, even, |it| Machine::new(AsMachine(SetsNothing(it)))),
    )?;
    Ok(vec![
        Measurement::of("machine-pingpong", 2 * trips, machine),
        Measurement::of("actor-pingpong", 2 * trips, actor),
        Measurement::of("machine-fanin", size, machine_in),
        Measurement::of("actor-fanin", size, actor_in),
        Measurement::of("machine-timeout", even / 2, set.saturating_sub(none)),
    ])
}
