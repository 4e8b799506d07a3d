//! The dispatcher without threads: whoever makes a process ready runs it (rule R5).
//!
//! ```text
//!   a plain thread sends ──► its own list ──► turn, turn, .. until the list is empty ──► send returns
//!   a process sends      ──► the list of its thread ──► after that process's turn
//! ```
//!
//! For tests: `send` returns when the message is handled, and all that followed from it.
//! A process made ready by a timer runs on the timer's thread. Never inside the turn of
//! another process: that one may hold what this one needs, so it waits in the list until
//! that turn is over, whichever dispatcher runs it (rule R1).

use super::turn;
use krarup_act::{Ready, TurnLimits, is_in_process, when_free};
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
    /// Something is in the list: cheaper to ask than the list, which has a destructor.
    static WAITS: Cell<bool> = const { Cell::new(false) };
    /// This thread works its list off.
    static WORKS: Cell<bool> = const { Cell::new(false) };
}

/// After a turn on this thread: runs what became ready in it. `begin` is told of each turn.
#[inline]
pub(crate) fn after_turn(begin: impl Fn(u64)) {
    if WAITS.get() {
        work(begin);
    }
}

#[cold]
fn work(begin: impl Fn(u64)) {
    if WORKS.replace(true) {
        return;
    }
    // Taken out one by one: a turn puts more in.
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
            // Not under the lock of a pool, which the turn may need.
            when_free(|| after_turn(|_| {}));
        }
    }

    fn run(&self, ready: Ready) -> Option<Ready> {
        self.turns.fetch_add(1, Ordering::Relaxed);
        turn::run(ready, &self.limits)
    }

    pub(crate) fn stats(&self) -> DispatcherStats {
        let turns = self.turns.load(Ordering::Relaxed);
        DispatcherStats::new(self.name.clone(), 0).with(|stats| {
            (stats.turns, stats.scheduled) = (turns, turns);
        })
    }
}
