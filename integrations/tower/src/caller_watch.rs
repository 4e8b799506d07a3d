//! Whether the caller of a request still waits, for the worker that runs the request (rule Q3).
//!
//! ```text
//!   the response, at the caller              the request, at its worker
//!   CallerWaits ───── dropped ────► CallerWatch: its waker is called, and the request is dropped
//! ```

use std::future::Future;
use std::mem::replace;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

enum CallerState {
    Waits,
    /// The request runs, and is to be woken.
    Watched(Waker),
    GivenUp,
}

/// What both sides know. No waker is called, cloned or dropped under its lock.
struct SharedState(Mutex<CallerState>);

impl SharedState {
    fn lock(&self) -> MutexGuard<'_, CallerState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the state, unless the caller has given up. Returns the state before.
    fn set(&self, state: CallerState) -> CallerState {
        let mut now = self.lock();
        match *now {
            CallerState::GivenUp => CallerState::GivenUp,
            _ => replace(&mut now, state),
        }
    }
}

/// Held by the response. When it is dropped the caller has given up, or has its answer.
pub(crate) struct CallerWaits(Arc<SharedState>);

/// Sees that the caller has given up.
pub(crate) struct CallerWatch(Arc<SharedState>);

pub(crate) fn caller_watch() -> (CallerWaits, CallerWatch) {
    let state = Arc::new(SharedState(Mutex::new(CallerState::Waits)));
    (CallerWaits(Arc::clone(&state)), CallerWatch(state))
}

impl Drop for CallerWaits {
    fn drop(&mut self) {
        if let CallerState::Watched(waker) = self.0.set(CallerState::GivenUp) {
            waker.wake();
        }
    }
}

impl CallerWatch {
    /// Awaits the response as long as the caller waits for it.
    pub(crate) async fn unless_given_up<F: Future>(self, response: F) -> Option<F::Output> {
        let mut response = pin!(response);
        std::future::poll_fn(|cx| self.poll(response.as_mut(), cx)).await
    }

    fn poll<F: Future>(
        &self,
        response: Pin<&mut F>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<F::Output>> {
        if let Poll::Ready(response) = response.poll(cx) {
            // A caller that has its answer need not wake the worker.
            drop(self.0.set(CallerState::Waits));
            return Poll::Ready(Some(response));
        }
        match self.0.set(CallerState::Watched(cx.waker().clone())) {
            CallerState::GivenUp => Poll::Ready(None),
            _ => Poll::Pending,
        }
    }
}
