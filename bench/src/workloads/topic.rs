//! `topic`: one actor publishes to `receivers` subscribers, beside one that sends to each of them,
//! in one run (rule E13).
//!
//! Rounds of both alternate, and the best of each counts. In one turn the actor publishes one event,
//! or sends one message to each receiver. The numbers are those of messages and of deliveries. A
//! third line is for events to nobody.

use super::{WorkloadResult, share};
use crate::failure::WorkloadFailure;
use crate::latch::Latch;
use crate::measurement::Measurement;
use crate::message::BenchMessage;
use crate::peers::{spawn_many, start};
use krarup::topics::{Publisher, Topic};
use krarup::{Actor, Address, Context, Node, Result};
use std::sync::Arc;

const ROUNDS: usize = 5;

pub(super) fn run(
    node: &Node,
    messages: u64,
    receivers: usize,
) -> Result<Vec<Measurement>, WorkloadFailure> {
    let mut best: [Option<Measurement>; 3] = [None, None, None];
    for _ in 0..ROUNDS {
        let round = [
            one_by_one(node, messages, receivers)?,
            published(node, "topic", messages, receivers)?,
            published(node, "topic-nobody", messages, 0)?,
        ];
        for (best, new) in best.iter_mut().zip(round) {
            if best.as_ref().is_none_or(|best| new.is_better_than(best)) {
                *best = Some(new);
            }
        }
    }
    Ok(best.into_iter().flatten().collect())
}

/// Counts its messages, then signals.
struct Listener {
    left: u64,
    ready: Latch,
    latch: Latch,
    topic: Option<Topic<BenchMessage>>,
}

impl Actor for Listener {
    type Message = BenchMessage;

    async fn init(&mut self, ctx: &mut Context<BenchMessage>) -> Result {
        if let Some(topic) = self.topic.take() {
            ctx.subscribe(&topic).start()?;
        }
        self.ready.count_down();
        Ok(())
    }

    async fn handle_message(&mut self, _: &mut Context<BenchMessage>, _: BenchMessage) -> Result {
        self.left -= 1;
        if self.left == 0 {
            self.latch.count_down();
        }
        Ok(())
    }
}

/// Does one round in each turn.
struct Announcer<F> {
    rounds: u64,
    announce: F,
    latch: Option<Latch>,
}

impl<F: FnMut(BenchMessage) -> Result + Send + 'static> Actor for Announcer<F> {
    type Message = BenchMessage;

    async fn handle_message(&mut self, ctx: &mut Context<BenchMessage>, _: BenchMessage) -> Result {
        (self.announce)(BenchMessage::Value { from: 0, number: self.rounds })?;
        self.rounds -= 1;
        if self.rounds > 0 {
            ctx.address().send(BenchMessage::Start)?;
        } else if let Some(latch) = &self.latch {
            latch.count_down();
        }
        Ok(())
    }
}

fn one_by_one(node: &Node, messages: u64, receivers: usize) -> WorkloadResult {
    let rounds = share(messages, receivers)?;
    let (listeners, done) = listeners(node, rounds, receivers, None)?;
    let listeners: Arc<[_]> = listeners.into();
    let announce = move |message| listeners.iter().try_for_each(|to| Ok(to.send(message)?));
    let announcer = Announcer { rounds, announce, latch: None };
    let announcer = node.spawn(move || announcer).start()?;
    let took = done.time(|| start([&announcer]))?;
    Ok(Measurement::of("topic-sends", rounds * receivers as u64, took))
}

fn published(node: &Node, name: &str, messages: u64, receivers: usize) -> WorkloadResult {
    let publisher: Publisher<BenchMessage> =
        node.open_unnamed_topic().open().map_err(|_| WorkloadFailure::Ended)?;
    let rounds = share(messages, receivers.max(1))?;
    let (_listeners, done) = listeners(node, rounds, receivers, Some(&publisher))?;
    let latch = (receivers == 0).then(|| done.clone());
    let announce = move |message| {
        publisher.publish(message)?;
        Ok(())
    };
    let announcer = Announcer { rounds, announce, latch };
    let announcer = node.spawn(move || announcer).start()?;
    let took = done.time(|| start([&announcer]))?;
    Ok(Measurement::of(name, rounds * receivers.max(1) as u64, took))
}

/// Spawns receivers that are ready, and a latch of their ends.
fn listeners(
    node: &Node,
    left: u64,
    count: usize,
    publisher: Option<&Publisher<BenchMessage>>,
) -> Result<(Vec<Address<BenchMessage>>, Latch), WorkloadFailure> {
    let (ready, done) = (Latch::new(count as u64), Latch::new(count.max(1) as u64));
    let mut made = Vec::new();
    ready.time(|| {
        made = spawn_many(node, count, |_| Listener {
            left,
            ready: ready.clone(),
            latch: done.clone(),
            topic: publisher.map(Publisher::topic),
        })?;
        Ok(())
    })?;
    Ok((made, done))
}
