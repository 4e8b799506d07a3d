//! How a user's callbacks are run.

use krarup_act::contain;
use krarup_gen::Result;
use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll};

/// Runs a callback, and `meanwhile` whenever it waits: what it has sent goes out.
pub(crate) async fn driven<F: Future>(
    mut meanwhile: impl FnMut(&mut Context<'_>),
    callback: F,
) -> F::Output {
    let mut callback = pin!(callback);
    poll_fn(|cx| {
        let polled = callback.as_mut().poll(cx);
        if polled.is_pending() {
            meanwhile(cx);
        }
        polled
    })
    .await
}

/// Logs. A subscriber is a user's code as well, and its panic is no reason to leave undone what
/// comes after it.
pub(crate) fn log(event: impl FnOnce()) {
    let _ = contain(event);
}

/// Runs a future; a panic comes back as a reason (rule D4), and the future is not polled again.
pub(crate) async fn contained<F: Future>(future: F) -> Result<F::Output> {
    let mut future = pin!(future);
    poll_fn(|cx| match contain(|| future.as_mut().poll(cx)) {
        Ok(polled) => polled.map(Ok),
        Err(panic) => Poll::Ready(Err(panic)),
    })
    .await
}
