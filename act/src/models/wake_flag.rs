//! A signal from one thread to another.

use super::checker::{Condvar, Mutex};
use futures_task::{ArcWake, WakerRef, waker_ref};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Signals one waiting thread, for a wake-up or any other event.
#[derive(Default)]
pub(super) struct WakeSignal {
    notified: Mutex<bool>,
    rings: Condvar,
}

impl WakeSignal {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(WakeSignal::default())
    }

    pub(super) fn notify(&self) {
        *self.notified.lock() = true;
        self.rings.notify_all();
    }

    /// Waits for a signal and clears it.
    pub(super) fn wait(&self) {
        let mut notified = self.notified.lock();
        while !*notified {
            notified = self.rings.wait(notified);
        }
        *notified = false;
    }

    /// Returns a waker that sets the signal.
    pub(super) fn waker(self: &Arc<Self>) -> WakerRef<'_> {
        waker_ref(self)
    }
}

impl ArcWake for WakeSignal {
    fn wake_by_ref(signal: &Arc<Self>) {
        signal.notify();
    }
}

/// Runs a future on this thread.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let signal = WakeSignal::new();
    let waker = signal.waker();
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        signal.wait();
    }
}
