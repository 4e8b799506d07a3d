//! Waits for a future on a plain thread, and the two wakers of code that polls a future by itself.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

/// Polls a future on this thread until it is ready, and parks between polls.
pub(crate) fn block_on<T>(mut future: Pin<&mut (dyn Future<Output = T> + Send)>) -> T {
    let unpark = Arc::new(Unpark { thread: thread::current(), woken: WokenFlag::default() });
    let waker = Waker::from(Arc::clone(&unpark));
    let mut cx = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
            return output;
        }
        while !unpark.woken.take() {
            thread::park();
        }
    }
}

/// A waker that records that it was woken: for a driver that polls when it has nothing else to
/// do.
#[derive(Default)]
pub(crate) struct WokenFlag(AtomicBool);

impl WokenFlag {
    /// Whether it was woken since the last call.
    pub(crate) fn take(&self) -> bool {
        self.0.swap(false, Ordering::AcqRel)
    }

    /// Notes a wake-up. Returns whether it is the first since the last [`WokenFlag::take`].
    fn raise(&self) -> bool {
        !self.0.swap(true, Ordering::AcqRel)
    }
}

impl Wake for WokenFlag {
    fn wake(self: Arc<Self>) {
        self.raise();
    }
}

/// Wakes by unparking a thread. Other code may unpark the thread too: the flag says whether this
/// waker was woken.
struct Unpark {
    thread: Thread,
    woken: WokenFlag,
}

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.woken.raise() {
            self.thread.unpark();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn wake_ups_are_taken_once_however_many_there_were() {
        let flag = Arc::new(WokenFlag::default());
        assert!(!flag.take());
        let waker = Waker::from(Arc::clone(&flag));
        waker.wake_by_ref();
        waker.wake();
        assert!(flag.take() && !flag.take());
        assert!(flag.raise() && !flag.raise());
    }
}
