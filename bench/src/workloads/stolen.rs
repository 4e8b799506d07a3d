//! `stolen`: one actor makes many others ready and holds its worker until they are done, so all
//! of them are stolen. Prints to standard error how many the stealing worker takes at a time.

use super::WorkloadResult;
use crate::failure::WorkloadFailure;
use crate::latch::Latch;
use crate::measurement::{Measurement, as_f64};
use crate::peers::spawn_many;
use krarup::{Actor, Address, Context, Node, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Counts handled messages in a shared counter.
struct Stolen {
    handled: Arc<AtomicU64>,
}

impl Actor for Stolen {
    type Message = ();

    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        self.handled.fetch_add(1, Ordering::Release);
        Ok(())
    }
}

/// Makes all other actors ready, and waits for them without an await.
struct BlockingActor {
    others: Vec<Address<()>>,
    handled: Arc<AtomicU64>,
    rounds: u64,
    done: u64,
    latch: Latch,
}

impl Actor for BlockingActor {
    type Message = ();

    async fn handle_message(&mut self, ctx: &mut Context<()>, (): ()) -> Result {
        self.done += 1;
        for other in &self.others {
            other.send(())?;
        }
        while self.handled.load(Ordering::Acquire) < self.done * self.others.len() as u64 {
            thread::yield_now();
        }
        if self.done == self.rounds {
            self.latch.count_down();
        } else {
            // Each round gets its own turn. Otherwise a spare worker would fill in.
            ctx.address().send(())?;
        }
        Ok(())
    }
}

/// `size` turns, with `count` processes ready at a time.
pub(super) fn run(node: &Node, size: u64, count: usize) -> WorkloadResult {
    let rounds = super::share(size, count)?;
    let handled = Arc::new(AtomicU64::new(0));
    let others = spawn_many(node, count, |_| Stolen { handled: Arc::clone(&handled) })?;
    let latch = Latch::new(1);
    let holder = BlockingActor { others, handled, rounds, done: 0, latch: latch.clone() };
    let holder = node.spawn(move || holder).start()?;
    let took = latch.time(|| holder.send(()).map_err(|_| WorkloadFailure::Ended))?;
    let dispatchers = node.stats().dispatchers;
    let sum =
        |of: fn(&krarup::observe::DispatcherStats) -> u64| dispatchers.iter().map(of).sum::<u64>();
    let (steals, stolen) = (sum(|stats| stats.steals), sum(|stats| stats.stolen));
    eprintln!(
        "{stolen} stolen in {steals} thefts, {:.1} at a time",
        as_f64(stolen) / as_f64(steals.max(1))
    );
    Ok(Measurement::of("stolen", rounds * count as u64, took))
}
