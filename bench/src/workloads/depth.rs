//! `depth`: how the number of waiting messages changes the cost of one.

use super::{WorkloadResult, share};
use crate::failure::WorkloadFailure;
use crate::latch::Latch;
use crate::measurement::Measurement;
use krarup::{Actor, Address, Context, Node, Result};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

enum DrainItem {
    /// Wait, with the worker, until the mailbox is filled.
    Wait,
    Number(u64),
}

/// Handles nothing while this is locked.
type Barrier = Arc<Mutex<()>>;

fn locked(barrier: &Barrier) -> MutexGuard<'_, ()> {
    barrier.lock().unwrap_or_else(PoisonError::into_inner)
}

struct EmptiesMailbox {
    barrier: Barrier,
    /// Signalled when the actor is about to wait.
    waits: Latch,
    done: Latch,
}

impl Actor for EmptiesMailbox {
    type Message = DrainItem;

    async fn handle_message(&mut self, _: &mut Context<DrainItem>, item: DrainItem) -> Result {
        match item {
            DrainItem::Wait => {
                self.waits.count_down();
                drop(locked(&self.barrier));
            }
            DrainItem::Number(number) => {
                // Numbers count down, so the last one is 0.
                if number == 0 {
                    self.done.count_down();
                }
            }
        }
        Ok(())
    }
}

/// Fills a mailbox with `depth` messages from outside, and has them handled, until there were
/// `messages` of them. Filling and handling are both measured.
pub(super) fn run(node: &Node, messages: u64, depth: usize) -> WorkloadResult {
    let rounds = share(messages, depth)?;
    let mut took = Duration::ZERO;
    for _ in 0..rounds {
        took += one_round(node, depth as u64)?;
    }
    Ok(Measurement::of("depth", rounds * depth as u64, took))
}

fn one_round(node: &Node, depth: u64) -> Result<Duration, WorkloadFailure> {
    let barrier = Barrier::default();
    let (waits, done) = (Latch::new(1), Latch::new(1));
    let drain =
        EmptiesMailbox { barrier: Arc::clone(&barrier), waits: waits.clone(), done: done.clone() };
    let drain = node.spawn(move || drain).start()?;
    let send = |to: &Address<_>, item| to.send(item).map_err(|_| WorkloadFailure::Ended);
    let held = locked(&barrier);
    send(&drain, DrainItem::Wait)?;
    waits.wait()?;
    done.time(|| {
        (0..depth).rev().try_for_each(|number| send(&drain, DrainItem::Number(number)))?;
        drop(held);
        Ok(())
    })
}
