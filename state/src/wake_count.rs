//! A waker for tests: it counts how often it was woken.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

/// How often a waker was woken.
#[derive(Default)]
pub(crate) struct WakeCount(AtomicUsize);

impl WakeCount {
    /// Makes a counter and a waker that increments it.
    pub(crate) fn with_waker() -> (Arc<Self>, Waker) {
        let count = Arc::new(WakeCount::default());
        (Arc::clone(&count), Waker::from(count))
    }

    /// Returns the number of wake-ups since the start, or since the last [`WakeCount::take`].
    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns the number of wake-ups, and counts from zero again.
    pub(crate) fn take(&self) -> usize {
        self.0.swap(0, Ordering::Relaxed)
    }
}

impl Wake for WakeCount {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn each_wake_up_is_counted_once_through_any_handle() {
    let (count, waker) = WakeCount::with_waker();
    waker.wake_by_ref();
    let other = waker.clone();
    other.wake();
    assert_eq!((count.count(), count.take(), count.count()), (2, 2, 0));
    waker.wake();
    assert_eq!(count.take(), 1);
}
