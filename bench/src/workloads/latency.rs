//! `latency`: how long a message from outside takes to reach a busy actor.

use super::share;
use crate::failure::WorkloadFailure;
use crate::latch::Latch;
use crate::measurement::{Measurement, as_f64};
use crate::message::BenchMessage;
use hdrhistogram::Histogram;
use krarup::{Actor, Context, Node, Result};
use std::fs;
use std::hint;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// How long the receiver works for each message.
const WORK: Duration = Duration::from_micros(25);
const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Records the age of each message, and then works.
struct Receiver {
    /// The origin of the times in the messages.
    epoch: Instant,
    left: u64,
    seen: Histogram<u64>,
    /// Receives the histogram at the end.
    results: mpsc::Sender<Histogram<u64>>,
    latch: Latch,
}

impl Actor for Receiver {
    type Message = BenchMessage;

    async fn handle_message(
        &mut self,
        _: &mut Context<BenchMessage>,
        message: BenchMessage,
    ) -> Result {
        let arrived = Instant::now();
        if let BenchMessage::Value { number: sent, .. } = message {
            self.seen.saturating_record(nanos(arrived - self.epoch).saturating_sub(sent).max(1));
        }
        while arrived.elapsed() < WORK {
            hint::spin_loop();
        }
        self.left -= 1;
        if self.left == 0 {
            // The main thread holds the other end until the latch opens.
            let _ = self.results.send(self.seen.clone());
            self.latch.count_down();
        }
        Ok(())
    }
}

/// A thread outside the node sends `messages` messages, `rate` of them per second.
pub(super) fn run(
    node: &Node,
    messages: u64,
    rate: usize,
) -> Result<Vec<Measurement>, WorkloadFailure> {
    share(messages, 1)?;
    share(rate as u64, 1)?;
    let done = Latch::new(1);
    let (results, seen) = mpsc::channel();
    let epoch = Instant::now();
    let receiver = Receiver {
        epoch,
        left: messages,
        seen: Histogram::new_with_bounds(1, 10 * NANOS_PER_SECOND, 3)?,
        results,
        latch: done.clone(),
    };
    let receiver = node.spawn(move || receiver).start()?;
    sleep_precisely();
    let took = done.time(|| {
        let begin = Instant::now();
        for message in 0..messages {
            let due = Duration::from_nanos(message * NANOS_PER_SECOND / rate as u64);
            while let Some(early) = due.checked_sub(begin.elapsed()) {
                thread::sleep(early);
            }
            let sent = nanos(epoch.elapsed());
            receiver
                .send(BenchMessage::Value { from: 0, number: sent })
                .map_err(|_| WorkloadFailure::Ended)?;
        }
        Ok(())
    })?;
    let seen = seen.recv().map_err(|_| WorkloadFailure::Ended)?;
    let line = |(name, quantile)| {
        let nanos = as_f64(seen.value_at_quantile(quantile));
        Measurement::with_figure(&format!("latency-{name}"), messages, took, nanos)
    };
    Ok([("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)].map(line).into())
}

/// Makes the sleeps of this thread precise to the nanosecond instead of 50 us. Where Linux does
/// not support this the pace is less even, and nothing else changes.
fn sleep_precisely() {
    let _ = fs::write("/proc/self/timerslack_ns", "1");
}

/// A duration in nanoseconds: enough for centuries.
fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
