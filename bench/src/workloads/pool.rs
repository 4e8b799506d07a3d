//! `pool` and `pool-native`: a stream of messages over workers that share it.

use super::stream::{Counter, Sender, following};
use super::{Outcome, share};
use crate::latch::Latch;
use crate::measurement::Measurement;
use crate::message::Message;
use crate::peers::{spawn_many, start};
use krarup::{Actor, Address, Context, Node, Pool, Result};
use std::sync::Arc;

/// A pool written by hand: an actor that hands each message to the next worker.
struct Router {
    workers: Vec<Address<Message>>,
    next: usize,
}

impl Actor for Router {
    type Message = Message;

    async fn handle_message(&mut self, _: &mut Context<Message>, message: Message) -> Result {
        self.workers[self.next].send(message)?;
        self.next = following(self.next, self.workers.len());
        Ok(())
    }
}

/// `messages` over a router to `workers`. Two hops each, counted once.
pub(super) fn by_hand(node: &Node, messages: u64, workers: usize) -> Outcome {
    let each = share(messages, workers)?;
    let messages = each * workers as u64;
    let done = Latch::new(workers as u64);
    let workers = spawn_many(node, workers, |_| Counter { left: each, latch: done.clone() })?;
    let router = node.spawn(move || Router { workers, next: 0 }).start()?;
    let receivers = Arc::new([router]);
    let producer = node.spawn(move || Sender::new(0, receivers, messages)).start()?;
    let took = done.time(|| start([&producer]))?;
    Ok(Measurement::of("pool", messages, took))
}

/// Tells the latch of every message it handles.
struct Worker {
    latch: Latch,
}

impl Actor for Worker {
    type Message = Message;

    async fn handle_message(&mut self, _: &mut Context<Message>, _: Message) -> Result {
        self.latch.count_down();
        Ok(())
    }
}

/// `messages` to a [`Pool`] of `workers`.
pub(super) fn native(node: &Node, messages: u64, workers: usize) -> Outcome {
    share(messages, workers)?;
    let done = Latch::new(messages);
    let latch = done.clone();
    let factory = move || Worker { latch: latch.clone() };
    // A pool routes once its workers have started.
    let pool = node.spawn(move || Pool::new(workers, factory)).wait()?;
    let receivers = Arc::new([pool]);
    let producer = node.spawn(move || Sender::new(0, receivers, messages)).start()?;
    let took = done.time(|| start([&producer]))?;
    Ok(Measurement::of("pool-native", messages, took))
}
