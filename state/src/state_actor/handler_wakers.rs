//! The wakers of a state actor's handlers and promises.
//!
//! Each handler and each promise has a waker of its own. When it is woken, the waker
//! records its key and wakes the process if the process is idle. A running process
//! examines the recorded keys itself. Whether the process is idle changes under the same
//! lock, so no wake-up is lost between its last look and its parking (rule R2).

use crate::table::TableKey;
use crate::wake_queue::WakeQueue;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::task::{Wake, Waker};

/// The handler or promise that a waker belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorkKey {
    Handler(TableKey),
    Promise(TableKey),
}

/// The keys that were woken.
pub(crate) type HandlerWakers = WakeQueue<WorkKey>;

/// The waker of one handler or promise, made once for all its polls.
pub(crate) struct HandlerWaker {
    shared: Arc<SharedWaker>,
    waker: Waker,
}

struct SharedWaker {
    key: AtomicU64,
    is_promise: bool,
    woken: AtomicBool,
    wakers: Arc<HandlerWakers>,
}

impl HandlerWaker {
    pub(crate) fn new(wakers: &Arc<HandlerWakers>, of: WorkKey) -> Self {
        let (key, is_promise) = match of {
            WorkKey::Handler(key) => (key, false),
            WorkKey::Promise(key) => (key, true),
        };
        let shared = Arc::new(SharedWaker {
            key: AtomicU64::new(key.number()),
            is_promise,
            woken: AtomicBool::new(false),
            wakers: Arc::clone(wakers),
        });
        HandlerWaker { waker: Waker::from(Arc::clone(&shared)), shared }
    }

    pub(crate) fn waker(&self) -> &Waker {
        &self.waker
    }

    /// Clears the flag before the handler or promise is polled. A later wake-up is a new one.
    pub(crate) fn still(&self) {
        self.shared.woken.store(false, Ordering::Release);
    }

    /// Whether it was woken since.
    pub(crate) fn was_woken(&self) -> bool {
        self.shared.woken.load(Ordering::Acquire)
    }

    /// Whether nobody else has it, so that it may belong to another handler from now on.
    pub(crate) fn is_alone(&self) -> bool {
        let alone = Arc::strong_count(&self.shared) == 2;
        // Pairs with the release of the clone that was dropped last: who had it has read the key.
        fence(Ordering::Acquire);
        alone
    }

    /// Makes it the waker of another handler; see [`HandlerWaker::is_alone`].
    pub(crate) fn belongs_to(&self, handler: TableKey) {
        self.shared.key.store(handler.number(), Ordering::Relaxed);
        self.still();
    }
}

impl Wake for SharedWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.woken.swap(true, Ordering::AcqRel) {
            return;
        }
        let key = TableKey::from_number(self.key.load(Ordering::Relaxed));
        let of = if self.is_promise { WorkKey::Promise(key) } else { WorkKey::Handler(key) };
        // Never refused: these queues are not closed.
        let _ = self.wakers.push(of);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Table;
    use crate::wake_count::WakeCount;

    #[test]
    fn o5_a_woken_handler_keeps_the_process_from_parking_and_later_wakes_it() {
        let wakers: Arc<HandlerWakers> = Arc::default();
        let key = Table::default().insert_with(|_| ());
        let handler_waker = HandlerWaker::new(&wakers, WorkKey::Handler(key));
        let (process, waker) = WakeCount::with_waker();
        wakers.run();
        handler_waker.waker().wake_by_ref();
        assert!(!wakers.rest(&waker), "it has not resumed the woken handler");
        assert_eq!(wakers.take(), [WorkKey::Handler(key)]);
        handler_waker.still();
        assert!(wakers.rest(&waker));
        assert_eq!(process.count(), 0);
        handler_waker.waker().wake_by_ref();
        assert_eq!(process.take(), 1);
        // The process was woken and is running: another wake-up need not wake it.
        let other = HandlerWaker::new(&wakers, WorkKey::Promise(key));
        other.waker().wake_by_ref();
        assert_eq!(process.count(), 0);
        assert_eq!(wakers.take(), [WorkKey::Handler(key), WorkKey::Promise(key)]);
        handler_waker.still();
        handler_waker.waker().wake_by_ref();
        // A waker whose wake-up was not examined yet records it only once.
        let kept = handler_waker.waker().clone();
        kept.wake();
        assert_eq!(wakers.take(), [WorkKey::Handler(key)]);
    }

    #[test]
    fn o5_a_waker_that_somebody_has_kept_does_not_become_that_of_another_handler() {
        let wakers: Arc<HandlerWakers> = Arc::default();
        let mut table = Table::default();
        let (first, second) = (table.insert_with(|_| ()), table.insert_with(|_| ()));
        let waker = HandlerWaker::new(&wakers, WorkKey::Handler(first));
        let kept = waker.waker().clone();
        assert!(!waker.is_alone());
        drop(kept);
        assert!(waker.is_alone());
        waker.waker().wake_by_ref();
        waker.belongs_to(second);
        assert!(!waker.was_woken());
        waker.waker().wake_by_ref();
        assert_eq!(wakers.take(), [WorkKey::Handler(first), WorkKey::Handler(second)]);
    }
}
