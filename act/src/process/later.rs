//! What has to wait until this thread holds no lock of a route.
//!
//! A [`crate::Route`] hands messages on from the sender's thread, under a lock of its own. What
//! may run a user's code on the way waits until that lock is free: the destructor of a
//! message that makes room, the conversion of a subscriber, the turn of a process that runs on
//! the calling thread. It may come back to the same route, and would wait for itself there.

use super::crash::{contain, tell};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

type Job = Box<dyn FnOnce()>;

thread_local! {
    /// How many locks of routes this thread holds.
    static HELD: Cell<u32> = const { Cell::new(0) };
    /// Whether anything waits: cheaper to ask than the list, which has a destructor.
    static WAITS: Cell<bool> = const { Cell::new(false) };
    static LATER: RefCell<VecDeque<Job>> = const { RefCell::new(VecDeque::new()) };
}

/// Stands for a lock of a route, made by [`hold`]; to be dropped after that.
#[derive(Debug)]
#[must_use = "what waits for the lock runs when this is dropped"]
pub struct Held(());

/// This thread is about to take the lock of a route: what may come back to it waits until
/// what is returned is dropped. For routes that send under a lock of their own.
#[inline]
pub fn hold() -> Held {
    HELD.set(HELD.get() + 1);
    Held(())
}

impl Drop for Held {
    #[inline]
    fn drop(&mut self) {
        HELD.set(HELD.get() - 1);
        if WAITS.get() && HELD.get() == 0 {
            work();
        }
    }
}

#[cold]
fn work() {
    while let Some(job) = LATER.with_borrow_mut(VecDeque::pop_front) {
        if let Err(panic) = contain(job) {
            tell(|| tracing::error!(target: "krarup", %panic, "what waited for a route panicked"));
        }
    }
    WAITS.set(false);
}

/// Runs `job` now, or when this thread holds no lock of a route any more; before the send
/// returns that holds it. For hosts that run processes on the thread that makes them ready.
pub fn when_free(job: impl FnOnce() + 'static) {
    if HELD.get() == 0 {
        return job();
    }
    LATER.with_borrow_mut(|later| later.push_back(Box::new(job)));
    WAITS.set(true);
}
