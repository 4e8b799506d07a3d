//! Work that waits until this thread holds no lock of a route.
//!
//! A [`Route`](crate::Route) hands messages on from the sender's thread, under a lock of its own.
//! Code of users on that path waits until the lock is released: the destructor of a message that
//! makes room, the conversion of a subscriber, the turn of a process that runs on the calling
//! thread. Such code may send to the same route, and would deadlock on its lock.

use super::crash::{contain, log_contained};
use krarup_gen::one_line;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::marker::PhantomData;

type DeferredJob = Box<dyn FnOnce()>;

thread_local! {
    /// How many locks of routes this thread holds.
    static HELD: Cell<u32> = const { Cell::new(0) };
    /// Whether any job waits. Cheaper to read than the list, which has a destructor.
    static WAITS: Cell<bool> = const { Cell::new(false) };
    static LATER: RefCell<VecDeque<DeferredJob>> = const { RefCell::new(VecDeque::new()) };
}

/// A guard for the time in which a lock of a route is held; made by [`hold`].
///
/// It must be dropped after the lock, on the thread that made it. It must never be forgotten,
/// because deferred jobs would then wait for ever. For this reason it is not public.
#[must_use = "what waits for the lock runs when this is dropped"]
pub(crate) struct DeferGuard(PhantomData<*const ()>);

/// Announces that this thread is about to take the lock of a route. Jobs that might take that
/// lock wait until the returned guard is dropped.
#[inline]
pub(crate) fn hold() -> DeferGuard {
    HELD.set(HELD.get() + 1);
    DeferGuard(PhantomData)
}

/// Runs `f`, which takes the lock of a route and releases it again.
///
/// Code that might use the same route runs after `f`, before this returns, also if `f` panics:
/// the destructor of a message that made room, a subscriber of dead letters. Use it in routes
/// that send under a lock of their own.
///
/// ```
/// # use krarup_act::{Address, holding};
/// # use std::sync::Mutex;
/// fn hand_on(to: &Mutex<Address<u32>>, message: u32) -> bool {
///     holding(|| to.lock().is_ok_and(|to| to.forward(message, 0).is_ok()))
/// }
/// # let _ = hand_on;
/// ```
#[inline]
pub fn holding<T>(f: impl FnOnce() -> T) -> T {
    let _held = hold();
    f()
}

impl Drop for DeferGuard {
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
            log_contained(
                || tracing::error!(target: "krarup", panic = %one_line(&panic), "deferred work of a route panicked"),
            );
        }
    }
    WAITS.set(false);
}

/// Runs `job` now, or as soon as this thread holds no lock of a route.
///
/// A deferred job runs before the send that holds the lock returns. For hosts that run
/// processes on the thread that makes them ready.
pub fn when_free(job: impl FnOnce() + 'static) {
    if HELD.get() == 0 { job() } else { defer(Box::new(job)) }
}

#[cold]
fn defer(job: DeferredJob) {
    LATER.with_borrow_mut(|later| later.push_back(job));
    WAITS.set(true);
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::rc::Rc;

    #[test]
    fn m7_deferred_work_runs_after_the_route_lock_also_after_a_panic() {
        let told = Rc::new(Cell::new(0));
        let tell = || {
            let told = Rc::clone(&told);
            when_free(move || told.set(told.get() + 1));
        };
        let seen = holding(|| {
            tell();
            holding(tell);
            told.get()
        });
        assert_eq!((seen, told.get()), (0, 2));
        let panicked = contain(|| {
            holding(|| {
                tell();
                panic!("a route");
            });
        });
        assert!(panicked.is_err());
        assert_eq!(told.get(), 3);
        // No lock counts as held from then on.
        tell();
        assert_eq!(told.get(), 4);
        // A job that panics does not stop the jobs after it.
        holding(|| {
            when_free(|| panic!("what waited"));
            tell();
        });
        assert_eq!(told.get(), 5);
    }
}
