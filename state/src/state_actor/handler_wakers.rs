//! The wakers of a state actor's handlers and promises.
//!
//! Each handler and each promise has a waker of its own. When it is woken, the waker
//! records its key and wakes the process if the process is idle. A running process
//! examines the recorded keys itself. Whether the process is idle changes under the same
//! lock, so no wake-up is lost between its last look and its parking (rule R2).

use crate::table::TableKey;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};

/// The handler or promise that a waker belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorkKey {
    Handler(TableKey),
    Promise(TableKey),
}

#[derive(Default)]
pub(crate) struct HandlerWakers {
    state: Mutex<WakeState>,
}

#[derive(Default)]
struct WakeState {
    woken: Vec<WorkKey>,
    /// The waker of the process, while it is idle.
    sleeper: Option<Waker>,
}

impl HandlerWakers {
    /// Creates a waker for this handler or promise.
    pub(crate) fn waker(self: &Arc<Self>, of: WorkKey) -> Arc<HandlerWaker> {
        Arc::new(HandlerWaker { of, woken: AtomicBool::new(false), wakers: Arc::clone(self) })
    }

    /// Takes the keys that were woken since the last call, in order.
    pub(crate) fn take(&self) -> Vec<WorkKey> {
        std::mem::take(&mut self.state.lock().woken)
    }

    /// Marks the process as running: it need not be woken.
    pub(crate) fn wake_actor(&self) {
        // A waker may be a user's: clone and drop it while no lock is held, here and below.
        let sleeper = self.state.lock().sleeper.take();
        drop(sleeper);
    }

    /// Marks the process as idle. Returns false, and does not, if a key was woken.
    pub(crate) fn rest(&self, waker: &Waker) -> bool {
        let mut sleeper = Some(waker.clone());
        let mut state = self.state.lock();
        let quiet = state.woken.is_empty();
        if quiet {
            std::mem::swap(&mut state.sleeper, &mut sleeper);
        }
        drop(state);
        drop(sleeper);
        quiet
    }
}

/// The waker of one handler or promise.
pub(crate) struct HandlerWaker {
    of: WorkKey,
    woken: AtomicBool,
    wakers: Arc<HandlerWakers>,
}

impl HandlerWaker {
    /// Clears the flag before the handler or promise is polled. A later wake-up is a new one.
    pub(crate) fn still(&self) {
        self.woken.store(false, Ordering::Release);
    }

    /// Whether it was woken since.
    pub(crate) fn was_woken(&self) -> bool {
        self.woken.load(Ordering::Acquire)
    }
}

impl Wake for HandlerWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.woken.swap(true, Ordering::AcqRel) {
            return;
        }
        let sleeper = {
            let mut state = self.wakers.state.lock();
            state.woken.push(self.of);
            state.sleeper.take()
        };
        if let Some(sleeper) = sleeper {
            sleeper.wake();
        }
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
        let handler_waker = wakers.waker(WorkKey::Handler(key));
        let (process, waker) = WakeCount::with_waker();
        wakers.wake_actor();
        Waker::from(Arc::clone(&handler_waker)).wake();
        assert!(!wakers.rest(&waker), "it has not resumed the woken handler");
        assert_eq!(wakers.take(), [WorkKey::Handler(key)]);
        handler_waker.still();
        assert!(wakers.rest(&waker));
        assert_eq!(process.count(), 0);
        Waker::from(Arc::clone(&handler_waker)).wake();
        assert_eq!(process.take(), 1);
        // The process was woken and is running: another wake-up need not wake it.
        let other = wakers.waker(WorkKey::Promise(key));
        Waker::from(other).wake();
        assert_eq!(process.count(), 0);
        assert_eq!(wakers.take(), [WorkKey::Handler(key), WorkKey::Promise(key)]);
        handler_waker.still();
        Waker::from(Arc::clone(&handler_waker)).wake();
        // A waker whose wake-up was not examined yet records it only once.
        Waker::from(handler_waker).wake();
        assert_eq!(wakers.take(), [WorkKey::Handler(key)]);
    }
}
