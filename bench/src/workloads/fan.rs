//! `fanin`, `fanin-threads` and `fanout`: many actors send to one, and one sends to many.

use super::stream::{Counter, StreamSender};
use super::{WorkloadResult, share};
use crate::failure::WorkloadFailure;
use crate::latch::Latch;
use crate::measurement::Measurement;
use crate::message::BenchMessage;
use crate::peers::{spawn_many, start};
use krarup::Node;
use std::sync::Arc;
use std::thread;

/// `senders` actors share `messages` messages to one receiver.
pub(super) fn fan_in(node: &Node, messages: u64, senders: usize) -> WorkloadResult {
    fan(node, "fanin", messages, senders, 1)
}

/// One actor sends `messages` messages to `receivers` actors in turn.
pub(super) fn fan_out(node: &Node, messages: u64, receivers: usize) -> WorkloadResult {
    fan(node, "fanout", messages, 1, receivers)
}

fn fan(node: &Node, name: &str, messages: u64, senders: usize, receivers: usize) -> WorkloadResult {
    // The number of messages from one sender to one receiver.
    let stream = share(share(messages, senders)?, receivers)?;
    let done = Latch::new(receivers as u64);
    let counters = spawn_many(node, receivers, |_| Counter {
        left: stream * senders as u64,
        latch: done.clone(),
    })?;
    let counters: Arc<[_]> = counters.into();
    let senders = spawn_many(node, senders, |number| {
        StreamSender::new(number, Arc::clone(&counters), stream * receivers as u64)
    })?;
    let took = done.time(|| start(&senders))?;
    Ok(Measurement::of(name, stream * (receivers * senders.len()) as u64, took))
}

/// `threads` threads outside the node share `messages` messages to one receiver. The time
/// includes the start of the threads.
pub(super) fn fan_in_threads(node: &Node, messages: u64, threads: usize) -> WorkloadResult {
    let stream = share(messages, threads)?;
    let messages = stream * threads as u64;
    let done = Latch::new(1);
    let counter = Counter { left: messages, latch: done.clone() };
    let counter = node.spawn(move || counter).start()?;
    let took = done.time(|| {
        (0_u32..).take(threads).for_each(|from| {
            let counter = counter.clone();
            thread::spawn(move || -> Result<(), WorkloadFailure> {
                (0..stream).try_for_each(|number| {
                    counter
                        .send(BenchMessage::Value { from, number })
                        .map_err(|_| WorkloadFailure::Ended)
                })
            });
        });
        Ok(())
    })?;
    Ok(Measurement::of("fanin-threads", messages, took))
}
