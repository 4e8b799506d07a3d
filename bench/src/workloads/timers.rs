//! `timers` and `timers-fire`: the cost of a timer, however many are set.

use super::{OWN_TURN, WorkloadResult, share};
use crate::failure::WorkloadFailure;
use crate::latch::Latch;
use crate::measurement::Measurement;
use crate::message::BenchMessage;
use crate::peers::start;
use krarup::{Actor, Context, Node, Ref, Result};
use std::collections::VecDeque;
use std::time::Duration;

/// Delays of timers that are not to fire, spaced by 1 s in scattered order. They cover all
/// levels of the wheel up to half a day.
fn far(number: u64) -> Duration {
    Duration::from_secs(3_600 + number.wrapping_mul(7_919) % 40_000)
}

/// Keeps `waiting` timers set. For each timer that it sets it cancels the oldest.
struct TimerHolder {
    /// How many timers are to be set before the measurement starts.
    waiting: u64,
    /// How many timers are to be set and cancelled.
    left: u64,
    set: VecDeque<Ref>,
    ready: Latch,
    done: Latch,
}

impl Actor for TimerHolder {
    type Message = BenchMessage;

    async fn handle_message(&mut self, ctx: &mut Context<BenchMessage>, _: BenchMessage) -> Result {
        for _ in 0..OWN_TURN {
            if self.waiting > 0 {
                self.waiting -= 1;
                self.set.push_back(ctx.send_after(far(self.waiting), BenchMessage::Start));
                if self.waiting == 0 {
                    self.ready.count_down();
                    return Ok(());
                }
            } else {
                self.left -= 1;
                self.set.push_back(ctx.send_after(far(self.left), BenchMessage::Start));
                if let Some(oldest) = self.set.pop_front() {
                    ctx.disarm(oldest);
                }
                if self.left == 0 {
                    self.done.count_down();
                    return Ok(());
                }
            }
        }
        ctx.address().send(BenchMessage::Start)?;
        Ok(())
    }
}

/// One actor sets and cancels `timers` timers while `waiting` others are set.
pub(super) fn set_and_cancel(node: &Node, timers: u64, waiting: usize) -> WorkloadResult {
    share(timers, 1)?;
    share(waiting as u64, 1)?;
    let (ready, done) = (Latch::new(1), Latch::new(1));
    let holder = TimerHolder {
        waiting: waiting as u64,
        left: timers,
        set: VecDeque::with_capacity(waiting + 1),
        ready: ready.clone(),
        done: done.clone(),
    };
    let holder = node.spawn(move || holder).start()?;
    start([&holder])?;
    ready.wait()?;
    let took = done.time(|| start([&holder]))?;
    Ok(Measurement::of("timers", timers, took))
}

/// Sets all its timers and lets them fire.
struct Setter {
    left: u64,
    fired: Latch,
}

impl Actor for Setter {
    type Message = BenchMessage;

    async fn handle_message(
        &mut self,
        ctx: &mut Context<BenchMessage>,
        message: BenchMessage,
    ) -> Result {
        if let BenchMessage::Value { .. } = message {
            self.fired.count_down();
            return Ok(());
        }
        for _ in 0..self.left.min(OWN_TURN) {
            self.left -= 1;
            let value = BenchMessage::Value { from: 0, number: self.left };
            ctx.send_after(Duration::from_micros(self.left % 1_000), value);
        }
        if self.left > 0 {
            ctx.address().send(BenchMessage::Start)?;
        }
        Ok(())
    }
}

/// `among` actors share `timers` timers, each due within a millisecond, while no other timer
/// waits. The time ends when the last timer has been handled.
pub(super) fn fire(node: &Node, timers: u64, among: usize) -> WorkloadResult {
    let each = share(timers, among)?;
    let fired = Latch::new(each * among as u64);
    let setters = (0..among)
        .map(|_| {
            let setter = Setter { left: each, fired: fired.clone() };
            Ok(node.spawn(move || setter).start()?)
        })
        .collect::<Result<Vec<_>, WorkloadFailure>>()?;
    let took = fired.time(|| start(&setters))?;
    Ok(Measurement::of("timers-fire", each * among as u64, took))
}
