//! Timers that are set and cancelled while others wait, and timers that fire.

use super::{Measured, node};
use crate::failure::PeerFailure;
use crate::servers::runtime;
use krarup::{Actor, Context, Reason, Ref, Reply, Result};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tokio::time::{Sleep, sleep};

/// How many timers are set and cancelled.
const TIMERS: usize = 300_000;
/// How many timers are set in one turn.
const TURN: usize = 1000;

/// Delays that are not over before the end.
fn far(number: usize) -> Duration {
    Duration::from_secs(3_600 + number as u64 * 7_919 % 40_000)
}

/// Delays within a hundredth of a second.
fn near(number: usize) -> Duration {
    Duration::from_millis(number as u64 % 10)
}

enum Told {
    /// Set this many; then, set and cancel.
    Set(usize, Reply<()>),
    Cancel(usize, Reply<()>),
    Fire(usize, Reply<()>),
    Fired,
}

#[derive(Default)]
struct Holder {
    set: VecDeque<Ref>,
    fired: Option<(usize, Reply<()>)>,
}

impl Actor for Holder {
    type Message = Told;

    async fn handle_message(&mut self, ctx: &mut Context<Told>, told: Told) -> Result {
        match told {
            Told::Set(left, reply) => {
                for number in 0..left.min(TURN) {
                    self.set.push_back(ctx.send_after(far(left + number), Told::Fired));
                }
                match left.saturating_sub(TURN) {
                    0 => reply.send(()),
                    left => ctx.address().send(Told::Set(left, reply))?,
                }
            }
            Told::Cancel(left, reply) => {
                for number in 0..left.min(TURN) {
                    self.set.push_back(ctx.send_after(far(left + number), Told::Fired));
                    if let Some(oldest) = self.set.pop_front() {
                        ctx.disarm(oldest);
                    }
                }
                match left.saturating_sub(TURN) {
                    0 => reply.send(()),
                    left => ctx.address().send(Told::Cancel(left, reply))?,
                }
            }
            Told::Fire(left, reply) => {
                self.fired = Some((left, reply));
                for number in 0..left {
                    ctx.send_after(near(number), Told::Fired);
                }
            }
            Told::Fired => {
                if let Some((due, reply)) = self.fired.take() {
                    match due - 1 {
                        0 => reply.send(()),
                        due => self.fired = Some((due, reply)),
                    }
                }
            }
        }
        Ok(())
    }
}

pub(super) fn krarup(waiting: usize) -> Measured {
    let node = node()?;
    let holder = node.spawn(Holder::default).wait().map_err(Reason::from)?;
    let told = |tell: fn(usize, Reply<()>) -> Told, count| {
        holder.call(|reply| tell(count, reply)).no_timeout().wait().map_err(Reason::from)
    };
    told(Told::Set, waiting)?;
    let begin = Instant::now();
    told(Told::Cancel, TIMERS)?;
    Ok((begin.elapsed(), TIMERS))
}

/// A timer of tokio that is set: one that was polled.
fn set(after: Duration) -> Pin<Box<Sleep>> {
    let mut timer = Box::pin(sleep(after));
    let mut context = std::task::Context::from_waker(Waker::noop());
    let polled = timer.as_mut().poll(&mut context);
    assert!(polled == Poll::Pending, "it is not over yet");
    timer
}

pub(super) fn tokio(waiting: usize) -> Measured {
    let task = runtime()?.block_on(async move {
        tokio::spawn(async move {
            let mut timers: VecDeque<_> = (0..waiting).map(|number| set(far(number))).collect();
            let begin = Instant::now();
            for number in 0..TIMERS {
                timers.push_back(set(far(number)));
                drop(timers.pop_front());
                if number % TURN == 0 {
                    tokio::task::yield_now().await;
                }
            }
            begin.elapsed()
        })
        .await
    });
    Ok((task.map_err(|_| PeerFailure::Ended)?, TIMERS))
}

pub(super) fn krarup_fire(timers: usize) -> Measured {
    let node = node()?;
    let holder = node.spawn(Holder::default).wait().map_err(Reason::from)?;
    let begin = Instant::now();
    let call = holder.call(|reply| Told::Fire(timers, reply)).no_timeout();
    call.wait().map_err(Reason::from)?;
    Ok((begin.elapsed(), timers))
}

pub(super) fn tokio_fire(timers: usize) -> Measured {
    let took = runtime()?.block_on(async move {
        tokio::spawn(async move {
            let begin = Instant::now();
            let mut tasks = JoinSet::new();
            for number in 0..timers {
                tasks.spawn(sleep(near(number)));
            }
            while tasks.join_next().await.is_some() {}
            begin.elapsed()
        })
        .await
    });
    Ok((took.map_err(|_| PeerFailure::Ended)?, timers))
}
