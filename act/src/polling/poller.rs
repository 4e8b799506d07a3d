//! What an idle worker can wait for, besides its queues: the sockets of the program.

use crate::process::crash::contain;
use krarup_gen::one_line;
use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Waker;

/// Something outside the node that makes processes ready, and that a worker of a dispatcher can wait for itself. Without
/// workers a thread of its own has to wait for it, and to hand everything on.
///
/// One thread at a time polls or waits. A worker does so between two turns, when it looks for work, and wakes what it is given
/// after it has left that search: a woken process may run at once.
pub trait Poller: Send + Sync {
    /// Adds what has become ready since the last time, without waiting. Adds nothing if another thread does this.
    fn poll(&self, woken: &mut Vec<Waker>);

    /// Waits until something is ready, which it adds, or until [`wake`](Poller::wake), and possibly for no reason.
    /// Asks `still` first, when no other thread can poll or wait any more, and returns at once if that says no: another thread may
    /// have been given a wake of before.
    ///
    /// Returns false at once if another thread waits: the worker waits elsewhere then, and calls [`is_back`](Poller::is_back)
    /// afterwards. It is woken by `elsewhere` if it had better come here.
    fn wait(&self, woken: &mut Vec<Waker>, still: &dyn Fn() -> bool, elsewhere: &Waker) -> bool;

    /// A worker that this poller has sent elsewhere no longer waits.
    fn is_back(&self, elsewhere: &Waker);

    /// Ends the wait that is under way, or the next poll or wait of any thread.
    fn wake(&self);
}

static INSTALLED: AtomicBool = AtomicBool::new(false);
static POLLER: RwLock<Option<Arc<dyn Poller>>> = RwLock::new(None);

/// Has all workers of the program wait with this poller, in place of one that was there.
pub fn install_poller(poller: Arc<dyn Poller>) {
    let before = {
        let mut installed = POLLER.write();
        INSTALLED.store(true, Ordering::Relaxed);
        installed.replace(poller)
    };
    drop(before);
}

/// Takes back [`install_poller`], if it is still this one.
pub fn remove_poller<P: Poller>(poller: &Arc<P>) {
    let removed = {
        let mut installed = POLLER.write();
        let is_this = |there: &mut Arc<dyn Poller>| {
            std::ptr::addr_eq(Arc::as_ptr(there), Arc::as_ptr(poller))
        };
        let removed = installed.take_if(is_this);
        INSTALLED.store(installed.is_some(), Ordering::Relaxed);
        removed
    };
    drop(removed);
}

/// Returns what the workers of the program wait with.
#[inline]
#[must_use]
pub fn poller() -> Option<Arc<dyn Poller>> {
    // Only a hint: it is asked for again and again.
    if !INSTALLED.load(Ordering::Relaxed) {
        return None;
    }
    POLLER.read().clone()
}

/// Wakes what a [`Poller`] has reported. A panic in one waker does not affect the others. No lock may be held: a woken process may run
/// at once, on a dispatcher without threads.
pub fn wake_polled(woken: impl IntoIterator<Item = Waker>) {
    for waker in woken {
        if let Err(panic) = contain(|| waker.wake()) {
            // The log subscriber is user code too.
            let _ = contain(|| {
                tracing::error!(target: "krarup", panic = %one_line(&panic), "a waker of a socket panicked");
            });
        }
    }
}
