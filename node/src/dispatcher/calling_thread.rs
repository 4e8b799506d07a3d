//! The dispatcher without threads: the thread that makes a process ready runs it (rule R5).
//!
//! ```text
//!   a plain thread sends ──► its own list ──► turn, turn, .. until the list is empty ──► send returns
//!   a process sends      ──► the list of its thread ──► after that process's turn
//! ```
//!
//! This dispatcher is for tests: `send` returns when the message has been handled, and
//! everything that followed from it. A process made ready by a timer runs on the timer's thread.
//!
//! A process never runs inside the turn of another process, because that process may hold what
//! this one needs. It waits in the list until that turn is over, whichever dispatcher runs it
//! (rule R1).

use super::turn;
use krarup_act::{Ready, TurnLimits, is_in_process, outside_traces, when_free};
use krarup_gen::DispatcherStats;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) struct Calling {
    name: String,
    limits: TurnLimits,
    turns: AtomicU64,
}

thread_local! {
    static LIST: RefCell<VecDeque<(Arc<Calling>, Ready)>> = const { RefCell::new(VecDeque::new()) };
    /// Whether the list holds anything. Cheaper to read than the list, which has a destructor.
    static WAITS: Cell<bool> = const { Cell::new(false) };
    /// Whether this thread is running the processes in its list.
    static WORKS: Cell<bool> = const { Cell::new(false) };
}

/// Runs what became ready during a turn on this thread. Calls `begin` with the process number
/// before each turn.
#[inline]
pub(crate) fn after_turn(begin: impl Fn(u64)) {
    if WAITS.get() {
        work(begin);
    }
}

/// Calls `wakes`, between two turns of a worker, and then runs what became ready on this thread. Calls `begin` as [`after_turn`] does.
pub(crate) fn deferred(wakes: impl FnOnce(), begin: impl Fn(u64)) {
    let works = WORKS.replace(true);
    wakes();
    WORKS.set(works);
    after_turn(begin);
}

#[cold]
fn work(begin: impl Fn(u64)) {
    if WORKS.replace(true) {
        return;
    }
    // Pop one at a time: a turn can push more.
    while let Some((calling, ready)) = LIST.with_borrow_mut(VecDeque::pop_front) {
        begin(ready.pid().id());
        if let Some(again) = calling.run(ready) {
            LIST.with_borrow_mut(|list| list.push_back((calling, again)));
        }
    }
    WAITS.set(false);
    WORKS.set(false);
}

impl Calling {
    pub(crate) fn new(name: String, limits: TurnLimits) -> Arc<Self> {
        Arc::new(Calling { name, limits, turns: AtomicU64::new(0) })
    }

    pub(crate) fn schedule(self: &Arc<Self>, ready: Ready) {
        let mut ready = Some(ready);
        let _ = LIST.try_with(|list| {
            list.borrow_mut().extend(ready.take().map(|ready| (Arc::clone(self), ready)));
            WAITS.set(true);
        });
        // A thread that is being torn down has no list.
        while let Some(now) = ready {
            ready = self.run(now);
        }
        if !is_in_process() {
            // Not under the lock of a pool: the turn may need that lock.
            when_free(|| after_turn(|_| {}));
        }
    }

    fn run(&self, ready: Ready) -> Option<Ready> {
        self.turns.fetch_add(1, Ordering::Relaxed);
        outside_traces(|| turn::run(ready, &self.limits))
    }

    pub(crate) fn stats(&self) -> DispatcherStats {
        let turns = self.turns.load(Ordering::Relaxed);
        DispatcherStats::new(self.name.clone(), 0).with(|stats| {
            (stats.turns, stats.scheduled) = (turns, turns);
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::{DispatcherOptions, Node};
    use krarup_act::{Context, Received, behavior_fn};
    use krarup_gen::Result;

    #[test]
    fn r5_what_becomes_ready_while_a_worker_wakes_others_runs_after_that_and_is_announced() {
        let options = DispatcherOptions::calling_thread();
        let node = Node::builder("r5deferred").options(options).start().unwrap();
        let handled = Arc::new(AtomicU64::new(0));
        let counts = Arc::clone(&handled);
        let count = behavior_fn(move |mut ctx: Context<u64>| async move {
            while let Received::Message(more) = ctx.receive().await {
                counts.fetch_add(more, Ordering::Relaxed);
            }
            Result::Ok(())
        });
        let process = node.spawn(move || count).wait().unwrap();
        let announced = RefCell::new(Vec::new());
        let wakes = || {
            process.send(7).unwrap();
            assert_eq!(handled.load(Ordering::Relaxed), 0);
        };
        deferred(wakes, |pid| announced.borrow_mut().push(pid));
        assert_eq!(handled.load(Ordering::Relaxed), 7);
        assert_eq!(*announced.borrow(), [process.pid().id()]);
        process.send(1).unwrap();
        assert_eq!((handled.load(Ordering::Relaxed), announced.borrow().len()), (8, 1));
        node.stop().wait().unwrap();
    }
}
