//! A queue that is filled on any thread and emptied by one process, which it wakes if it is idle.
//!
//! Whether the process is idle changes under the same lock as the queue, so no item is missed between
//! its last look and its parking (rules R2, W3). A running process is not woken: it looks itself. It
//! takes the lock only if there is something: what it misses by that, [`WakeQueue::rest`] finds.

use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Waker;

pub(crate) struct WakeQueue<T> {
    state: Mutex<WakeState<T>>,
    /// There is an item. Written under the lock.
    queued: AtomicBool,
    /// There is a sleeper. Written under the lock, and set by the process alone.
    asleep: AtomicBool,
}

struct WakeState<T> {
    items: Vec<T>,
    /// The waker of the process, while it is idle.
    sleeper: Option<Waker>,
    /// Nothing is taken any more.
    closed: bool,
}

impl<T> Default for WakeQueue<T> {
    fn default() -> Self {
        WakeQueue {
            state: Mutex::new(WakeState { items: Vec::new(), sleeper: None, closed: false }),
            queued: AtomicBool::new(false),
            asleep: AtomicBool::new(false),
        }
    }
}

// A waker may be a user's, and an item too: they are cloned and dropped while no lock is held.
impl<T> WakeQueue<T> {
    /// Adds an item, and wakes the process if it is idle. Returns the item if the queue is closed.
    pub(crate) fn push(&self, item: T) -> Result<(), T> {
        let sleeper = {
            let mut state = self.state.lock();
            if state.closed {
                return Err(item);
            }
            state.items.push(item);
            self.queued.store(true, Ordering::Release);
            self.asleep.store(false, Ordering::Relaxed);
            state.sleeper.take()
        };
        if let Some(sleeper) = sleeper {
            sleeper.wake();
        }
        Ok(())
    }

    /// Whether there is no item, of those whose [`WakeQueue::push`] happens before this.
    pub(crate) fn is_empty(&self) -> bool {
        !self.queued.load(Ordering::Acquire)
    }

    /// Takes the items, in order.
    pub(crate) fn take(&self) -> Vec<T> {
        if self.is_empty() {
            return Vec::new();
        }
        let mut state = self.state.lock();
        self.queued.store(false, Ordering::Relaxed);
        std::mem::take(&mut state.items)
    }

    /// Marks the process as running: it need not be woken.
    pub(crate) fn run(&self) {
        if self.asleep.load(Ordering::Relaxed) {
            let sleeper = {
                let mut state = self.state.lock();
                self.asleep.store(false, Ordering::Relaxed);
                state.sleeper.take()
            };
            drop(sleeper);
        }
    }

    /// Marks the process as idle. Returns false, and does not, if there is an item.
    pub(crate) fn rest(&self, waker: &Waker) -> bool {
        let mut sleeper = Some(waker.clone());
        let mut state = self.state.lock();
        let quiet = state.items.is_empty();
        if quiet {
            std::mem::swap(&mut state.sleeper, &mut sleeper);
            self.asleep.store(true, Ordering::Relaxed);
        }
        drop(state);
        drop(sleeper);
        quiet
    }

    /// Closes the queue and returns the items. Later ones are refused.
    pub(crate) fn close(&self) -> Vec<T> {
        let (items, sleeper) = {
            let mut state = self.state.lock();
            state.closed = true;
            (std::mem::take(&mut state.items), state.sleeper.take())
        };
        drop(sleeper);
        items
    }

    /// Whether nobody has the lock.
    #[cfg(test)]
    pub(crate) fn is_free(&self) -> bool {
        self.state.try_lock().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wake_count::WakeCount;

    #[test]
    fn w3_an_item_for_a_running_process_wakes_nothing_and_is_seen_before_parking() {
        let queue = WakeQueue::default();
        let (wakes, waker) = WakeCount::with_waker();
        assert_eq!(queue.push(1), Ok(()));
        assert!(!queue.is_empty() && !queue.rest(&waker));
        assert_eq!((queue.take(), wakes.count()), (vec![1], 0));
        assert!(queue.is_empty() && queue.take().is_empty());
        // It is idle: the first item wakes it, the second finds it woken.
        assert!(queue.rest(&waker));
        assert_eq!((queue.push(2), queue.push(3)), (Ok(()), Ok(())));
        assert_eq!((queue.take(), wakes.count()), (vec![2, 3], 1));
        // It rests, and runs again for another reason.
        assert!(queue.rest(&waker));
        queue.run();
        assert_eq!((queue.push(4), wakes.count()), (Ok(()), 1));
        // It has ended.
        assert_eq!(queue.close(), [4]);
        assert_eq!((queue.push(5), wakes.count()), (Err(5), 1));
    }
}
