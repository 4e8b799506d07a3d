//! A signal from one thread to another.

use super::checker::{Condvar, Mutex};
use futures_task::{ArcWake, WakerRef, waker_ref};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Signals one waiting thread, for a wake-up or any other event.
#[derive(Default)]
pub(super) struct WakeSignal {
    rung: Mutex<bool>,
    rings: Condvar,
}

impl WakeSignal {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(WakeSignal::default())
    }

    pub(super) fn ring(&self) {
        *self.rung.lock() = true;
        self.rings.notify_all();
    }

    /// Waits for a signal and clears it.
    pub(super) fn wait(&self) {
        let mut rung = self.rung.lock();
        while !*rung {
            rung = self.rings.wait(rung);
        }
        *rung = false;
    }

    /// Returns a waker that sets the signal.
    pub(super) fn waker(self: &Arc<Self>) -> WakerRef<'_> {
        waker_ref(self)
    }
}

impl ArcWake for WakeSignal {
    fn wake_by_ref(bell: &Arc<Self>) {
        bell.ring();
    }
}

/// Runs a future on this thread.
pub(super) fn block_on<F: Future>(future: F) -> F::Output {
    let bell = WakeSignal::new();
    let waker = bell.waker();
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        bell.wait();
    }
}
