//! A copy of [`IdleWorkers`](crate::dispatcher::sleep::IdleWorkers) from which one line at a
//! time is left out.

use super::protocol::SleepProtocol;
use crate::dispatcher::worker_parker::{WorkerParker, WorkerUnparker};
use crate::sync::{AtomicUsize, Mutex, Ordering, fence};

/// The fault of [`Varied`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum VariedFault {
    None,
    /// The pushing thread reads the counters without a fence after its push.
    WakesWithoutFence,
    /// The parking worker reads the queues without a fence after its counters.
    ParksWithoutFence,
    /// It reads the queues before it is on the stack.
    LooksFirst,
    /// It does not read the queues once more.
    DoesNotLook,
    /// The last searcher that finds work wakes no other worker.
    HandsNothingOn,
    /// It looks for more work while it still counts as searching.
    LeavesAfterItsLook,
    /// It looks without a fence after its counter.
    HandsOnWithoutFence,
    /// A searcher ends without waking a worker in its place.
    LeavesInSilence,
}

/// `IdleWorkers` with a fault.
pub(super) struct Varied {
    fault: VariedFault,
    searching: AtomicUsize,
    parked: AtomicUsize,
    stack: Mutex<Vec<usize>>,
    unparkers: Vec<WorkerUnparker>,
}

impl Varied {
    pub(super) fn with(fault: VariedFault) -> impl FnOnce(&[WorkerParker]) -> Self {
        move |parkers| Varied {
            fault,
            searching: AtomicUsize::new(0),
            parked: AtomicUsize::new(0),
            stack: Mutex::new(Vec::new()),
            unparkers: parkers.iter().map(|parker| parker.unparker().clone()).collect(),
        }
    }

    fn unpark_one(&self) {
        let worker = {
            let mut stack = self.stack.lock();
            if self.searching.load(Ordering::Relaxed) > 0 {
                return;
            }
            let Some(worker) = stack.pop() else { return };
            self.parked.fetch_sub(1, Ordering::Relaxed);
            self.searching.fetch_add(1, Ordering::Relaxed);
            worker
        };
        self.unparkers[worker].unpark();
    }

    fn leave_stack(&self, worker: usize) -> bool {
        let mut stack = self.stack.lock();
        let Some(place) = stack.iter().rposition(|parked| *parked == worker) else { return false };
        stack.remove(place);
        self.parked.fetch_sub(1, Ordering::Relaxed);
        self.searching.fetch_add(1, Ordering::Relaxed);
        true
    }
}

impl SleepProtocol for Varied {
    fn wake_one(&self) {
        if self.fault != VariedFault::WakesWithoutFence {
            fence(Ordering::SeqCst);
        }
        if self.searching.load(Ordering::Relaxed) == 0 && self.parked.load(Ordering::Relaxed) > 0 {
            self.unpark_one();
        }
    }

    fn wake_all(&self) {
        self.unparkers.iter().for_each(WorkerUnparker::unpark);
    }

    fn start_searching(&self) {
        self.searching.fetch_add(1, Ordering::SeqCst);
    }

    fn found(&self, any_work: impl FnOnce() -> bool) {
        let mut any_work = Some(any_work);
        let mut look = || any_work.take().is_some_and(|any_work| any_work());
        let seen = self.fault == VariedFault::LeavesAfterItsLook && look();
        if self.searching.fetch_sub(1, Ordering::SeqCst) == 1
            && self.fault != VariedFault::HandsNothingOn
        {
            if self.fault != VariedFault::HandsOnWithoutFence {
                fence(Ordering::SeqCst);
            }
            if seen || look() {
                self.wake_one();
            }
        }
    }

    fn leave(&self, any_work: impl FnOnce() -> bool) {
        if self.fault == VariedFault::LeavesInSilence {
            self.searching.fetch_sub(1, Ordering::SeqCst);
        } else {
            self.found(any_work);
        }
    }

    fn park(&self, worker: usize, parker: &WorkerParker, any_work: impl FnOnce() -> bool) -> bool {
        let mut any_work = Some(any_work);
        let mut look = || any_work.take().is_some_and(|any_work| any_work());
        let seen = self.fault == VariedFault::LooksFirst && look();
        {
            let mut stack = self.stack.lock();
            stack.push(worker);
            self.parked.fetch_add(1, Ordering::Relaxed);
            self.searching.fetch_sub(1, Ordering::Relaxed);
        }
        if self.fault != VariedFault::ParksWithoutFence {
            fence(Ordering::SeqCst);
        }
        if (seen || (self.fault != VariedFault::DoesNotLook && look())) && self.leave_stack(worker)
        {
            return false;
        }
        parker.park();
        self.leave_stack(worker);
        true
    }
}
