//! `pool`, `pool-native` and its variants, `pool-direct`: a stream of messages that workers
//! share. `pool-direct` is the baseline without a pool: the sender sends to the workers in
//! turn.

use super::stream::{Counter, StreamSender, following};
use super::{WorkloadResult, share};
use crate::latch::Latch;
use crate::measurement::Measurement;
use crate::message::BenchMessage;
use crate::peers::{spawn_many, start};
use krarup::pool::{ByKey, LeastLoaded, Pool, TwoChoices};
use krarup::{Actor, Address, Context, Node, Result};
use std::sync::Arc;

/// A pool written by hand: an actor that forwards each message to the next worker.
struct Router {
    workers: Vec<Address<BenchMessage>>,
    next: usize,
}

impl Actor for Router {
    type Message = BenchMessage;

    async fn handle_message(
        &mut self,
        _: &mut Context<BenchMessage>,
        message: BenchMessage,
    ) -> Result {
        self.workers[self.next].send(message)?;
        self.next = following(self.next, self.workers.len());
        Ok(())
    }
}

/// `messages` messages through a router to `workers` workers. Each takes two hops and counts
/// once.
pub(super) fn by_hand(node: &Node, messages: u64, workers: usize) -> WorkloadResult {
    let each = share(messages, workers)?;
    let messages = each * workers as u64;
    let done = Latch::new(workers as u64);
    let workers = spawn_many(node, workers, |_| Counter { left: each, latch: done.clone() })?;
    let router = node.spawn(move || Router { workers, next: 0 }).start()?;
    let receivers = Arc::new([router]);
    let producer = node.spawn(move || StreamSender::new(0, receivers, messages)).start()?;
    let took = done.time(|| start([&producer]))?;
    Ok(Measurement::of("pool", messages, took))
}

/// Signals the latch for every message.
struct BenchWorker {
    latch: Latch,
}

impl Actor for BenchWorker {
    type Message = BenchMessage;

    async fn handle_message(&mut self, _: &mut Context<BenchMessage>, _: BenchMessage) -> Result {
        self.latch.count_down();
        Ok(())
    }
}

/// The kind of pool to measure.
#[derive(Clone, Copy)]
pub(super) enum PoolKind {
    RoundRobin,
    LeastLoaded,
    TwoChoices,
    ByKey,
    /// Round robin, with measured latencies.
    Measured,
}

/// `messages` messages sent directly to `workers` workers.
pub(super) fn direct(node: &Node, messages: u64, workers: usize) -> WorkloadResult {
    share(messages, workers)?;
    let done = Latch::new(messages);
    let receivers = spawn_many(node, workers, |_| BenchWorker { latch: done.clone() })?.into();
    let producer = node.spawn(move || StreamSender::new(0, receivers, messages)).start()?;
    let took = done.time(|| start([&producer]))?;
    Ok(Measurement::of("pool-direct", messages, took))
}

/// `messages` messages to a [`Pool`] of `workers` workers.
pub(super) fn native(node: &Node, kind: PoolKind, messages: u64, workers: usize) -> WorkloadResult {
    share(messages, workers)?;
    let done = Latch::new(messages);
    let latch = done.clone();
    let factory = move || BenchWorker { latch: latch.clone() };
    // A pool routes messages once its workers have started.
    let pool = move || Pool::new(workers, factory);
    let key = |message: &BenchMessage| match message {
        BenchMessage::Value { number, .. } => *number,
        BenchMessage::Start => 0,
    };
    let (name, pool) = match kind {
        PoolKind::RoundRobin => ("pool-native", node.spawn(pool).wait()?),
        PoolKind::LeastLoaded => {
            ("pool-least", node.spawn(|| pool().routing(LeastLoaded::new())).wait()?)
        }
        PoolKind::TwoChoices => ("pool-two", node.spawn(|| pool().routing(TwoChoices)).wait()?),
        PoolKind::ByKey => {
            ("pool-key", node.spawn(move || pool().routing(ByKey::new(key))).wait()?)
        }
        PoolKind::Measured => ("pool-measured", node.spawn(|| pool().measured()).wait()?),
    };
    let receivers = Arc::new([pool]);
    let producer = node.spawn(move || StreamSender::new(0, receivers, messages)).start()?;
    let took = done.time(|| start([&producer]))?;
    Ok(Measurement::of(name, messages, took))
}
