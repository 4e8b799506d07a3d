//! A stream of messages: its sender and its receiver.

use super::OWN_TURN;
use crate::latch::Latch;
use crate::message::BenchMessage;
use krarup::{Actor, Address, Context, Result};
use std::sync::Arc;

/// Sends messages to its receivers in turn, at most [`OWN_TURN`] at a time.
pub(super) struct StreamSender<C> {
    number: u32,
    receivers: Arc<[Address<BenchMessage, C>]>,
    /// How many messages are still to be sent.
    left: u64,
    next: usize,
}

impl<C> StreamSender<C> {
    pub(super) fn new(number: u32, receivers: Arc<[Address<BenchMessage, C>]>, left: u64) -> Self {
        StreamSender { number, receivers, left, next: 0 }
    }
}

impl<C: Send + 'static> Actor for StreamSender<C> {
    type Message = BenchMessage;

    async fn handle_message(&mut self, ctx: &mut Context<BenchMessage>, _: BenchMessage) -> Result {
        for _ in 0..self.left.min(OWN_TURN) {
            let message = BenchMessage::Value { from: self.number, number: self.left };
            self.receivers[self.next].send(message)?;
            self.left -= 1;
            self.next = following(self.next, self.receivers.len());
        }
        if self.left > 0 {
            ctx.address().send(BenchMessage::Start)?;
        }
        Ok(())
    }
}

/// Counts its share of messages, then signals.
pub(super) struct Counter {
    pub(super) left: u64,
    pub(super) latch: Latch,
}

impl Actor for Counter {
    type Message = BenchMessage;

    async fn handle_message(&mut self, _: &mut Context<BenchMessage>, _: BenchMessage) -> Result {
        self.left -= 1;
        if self.left == 0 {
            self.latch.count_down();
        }
        Ok(())
    }
}

/// The next index, wrapping around. It compares, because a division would cost as much as a
/// send.
pub(super) fn following(place: usize, places: usize) -> usize {
    if place + 1 == places { 0 } else { place + 1 }
}
