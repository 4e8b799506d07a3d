//! How workers fall asleep and are woken.
//!
//! A worker is *running* turns, *searching* for a process to run, or *parked*. Two counters hold
//! how many workers search and how many are parked. The indices of the parked workers lie on a
//! stack, the last to park on top, because its caches are warmest.
//!
//! **Waking.** A thread that queues a process wakes one parked worker, unless a worker is
//! searching: the searcher finds the process, or is about to park and looks again. A woken
//! worker starts as a searching one, and the waking thread counts it as such: a second push does
//! not wake a second worker for the same work.
//!
//! **Parking.** A worker first puts itself on the stack and leaves the searchers, and only then
//! looks at all queues once more. That look finds any push before it; a push after it finds the
//! worker on the stack. Both sides put a `SeqCst` fence between their write and their read, so
//! at least one of them sees the other (seeds M10):
//!
//! | the pushing thread | the parking worker |
//! |---|---|
//! | write: push the process | write: stack, counters |
//! | fence | fence |
//! | read: counters | read: queues |
//!
//! **Dozing.** A worker that does not steal at the moment parks for a limited time and then
//! looks again. It lies at the bottom of the stack. A push that only stealing could reach wakes
//! no dozing worker, because that worker wakes by itself.
//!
//! **Handing on.** While a worker searches, pushes wake no worker. So the last searcher looks at
//! all queues once more when it has found work, and wakes another worker if there is more. It
//! leaves the searchers before that look, as a parking worker does, with the same fence.

use super::worker_parker::{WorkerParker, WorkerUnparker};
use crate::sync::{AtomicUsize, Mutex, Ordering, fence};
use std::sync::atomic::AtomicU64;

pub(crate) struct IdleWorkers {
    searching: AtomicUsize,
    parked: AtomicUsize,
    /// Parked workers that will wake by themselves.
    dozing: AtomicUsize,
    /// Parked workers, the last to park at the end.
    stack: Mutex<Vec<usize>>,
    unparkers: Vec<WorkerUnparker>,
    /// Workers woken for work; not part of the protocol.
    wakes: AtomicU64,
}

impl IdleWorkers {
    pub(crate) fn new(parkers: &[WorkerParker]) -> Self {
        IdleWorkers {
            searching: AtomicUsize::new(0),
            parked: AtomicUsize::new(0),
            dozing: AtomicUsize::new(0),
            stack: Mutex::new(Vec::with_capacity(parkers.len())),
            unparkers: parkers.iter().map(|parker| parker.unparker().clone()).collect(),
            wakes: AtomicU64::new(0),
        }
    }

    /// Whether a worker sleeps that will not wake by itself, and no worker searches. Reads
    /// without a fence, so it is a hint, for work that an awake worker will take in any case.
    #[inline]
    pub(crate) fn could_wake(&self) -> bool {
        self.parked.load(Ordering::Relaxed) > self.dozing.load(Ordering::Relaxed)
            && self.searching.load(Ordering::Relaxed) == 0
    }

    /// Whether a worker searches, or sleeps and will not wake by itself. A hint, as above.
    #[inline]
    pub(crate) fn wants_work(&self) -> bool {
        self.searching.load(Ordering::Relaxed) > 0
            || self.parked.load(Ordering::Relaxed) > self.dozing.load(Ordering::Relaxed)
    }

    /// Wakes a parked worker if no worker is searching. Called after a push.
    #[inline]
    pub(crate) fn wake_one(&self) {
        fence(Ordering::SeqCst);
        if self.searching.load(Ordering::Relaxed) == 0 && self.parked.load(Ordering::Relaxed) > 0 {
            self.unpark_one();
        }
    }

    #[cold]
    fn unpark_one(&self) {
        let worker = {
            let mut stack = self.stack.lock();
            // Another push has woken a worker, under this lock.
            if self.searching.load(Ordering::Relaxed) > 0 {
                return;
            }
            let Some(worker) = stack.pop() else { return };
            self.parked.fetch_sub(1, Ordering::Relaxed);
            self.searching.fetch_add(1, Ordering::Relaxed);
            worker
        };
        self.wakes.fetch_add(1, Ordering::Relaxed);
        self.unparkers[worker].unpark();
    }

    /// Wakes this worker if it is parked, for something that concerns it alone.
    pub(crate) fn wake(&self, worker: usize) {
        if self.leave_stack(worker) {
            self.unparkers[worker].unpark();
        }
    }

    /// Wakes all workers: the dispatcher stops.
    pub(crate) fn wake_all(&self) {
        self.unparkers.iter().for_each(WorkerUnparker::unpark);
    }

    /// A worker begins to search.
    pub(crate) fn start_searching(&self) {
        self.searching.fetch_add(1, Ordering::SeqCst);
    }

    /// A searching worker has found something, or stops searching for a reason other than
    /// parking. If it was the last to search and there is more work, it wakes another worker.
    pub(crate) fn found(&self, any_work: impl FnOnce() -> bool) {
        if self.searching.fetch_sub(1, Ordering::SeqCst) == 1 {
            fence(Ordering::SeqCst);
            if any_work() {
                self.wake_one();
            }
        }
    }

    /// Parks a searching worker that has found nothing: calls `sleeps`, which returns when the worker is woken, or for any other
    /// reason. One that `dozes` wakes by itself. Returns false at once if `any_work` returns true. The worker is searching
    /// again when this returns.
    pub(crate) fn park(
        &self,
        worker: usize,
        dozes: bool,
        any_work: impl FnOnce() -> bool,
        sleeps: impl FnOnce(),
    ) -> bool {
        {
            let mut stack = self.stack.lock();
            if dozes {
                stack.insert(0, worker);
                self.dozing.fetch_add(1, Ordering::Relaxed);
            } else {
                stack.push(worker);
            }
            self.parked.fetch_add(1, Ordering::Relaxed);
            self.searching.fetch_sub(1, Ordering::Relaxed);
        }
        fence(Ordering::SeqCst);
        let parks = !(any_work() && self.leave_stack(worker));
        if parks {
            // The worker is off the stack, or wakes by itself: its unpark token is there or on its way,
            // or it needs none.
            sleeps();
            // A worker that `wake_all` woke, or that woke by itself, may still be on the stack.
            self.leave_stack(worker);
        }
        if dozes {
            self.dozing.fetch_sub(1, Ordering::Relaxed);
        }
        parks
    }

    /// Takes a worker off the stack and counts it as searching. Returns false if another thread
    /// has taken it off, which then has counted it.
    fn leave_stack(&self, worker: usize) -> bool {
        let mut stack = self.stack.lock();
        let Some(place) = stack.iter().rposition(|parked| *parked == worker) else { return false };
        stack.remove(place);
        self.parked.fetch_sub(1, Ordering::Relaxed);
        self.searching.fetch_add(1, Ordering::Relaxed);
        true
    }

    pub(crate) fn searching(&self) -> usize {
        self.searching.load(Ordering::Relaxed)
    }

    pub(crate) fn wakes(&self) -> u64 {
        self.wakes.load(Ordering::Relaxed)
    }

    pub(crate) fn parked(&self) -> usize {
        self.parked.load(Ordering::Relaxed)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_searcher_that_has_found_the_only_work_wakes_nobody() {
        let parkers = [WorkerParker::new()];
        let sleep = IdleWorkers::new(&parkers);
        sleep.start_searching();
        let mut wakes = Vec::new();
        let looks = || {
            // The only worker is on the stack. Others have found something.
            for more in [false, true] {
                sleep.start_searching();
                sleep.found(|| more);
                wakes.push(sleep.wakes());
            }
            false
        };
        assert!(sleep.park(0, false, looks, || parkers[0].park()));
        assert_eq!(wakes, [0, 1]);
    }

    #[test]
    fn a_worker_that_has_dozed_does_not_hide_a_parked_one() {
        let parkers = [WorkerParker::new(), WorkerParker::new()];
        let sleep = IdleWorkers::new(&parkers);
        let mut seen = Vec::new();
        for dozes in [true, false] {
            let index = seen.len();
            sleep.start_searching();
            let looks = || {
                seen.push((sleep.parked(), sleep.searching(), sleep.could_wake()));
                !dozes
            };
            assert_eq!(sleep.park(index, dozes, looks, || {}), dozes);
            assert_eq!((sleep.parked(), sleep.searching()), (0, 1));
            sleep.found(|| false);
        }
        // The worker that wakes by itself need not be woken; the other must be.
        assert_eq!(seen, [(1, 0, false), (1, 0, true)]);
        assert_eq!(sleep.wakes(), 0);
    }
}
