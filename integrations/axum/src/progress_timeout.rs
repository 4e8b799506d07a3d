//! A limit of the time without progress (rule Q11).
//!
//! The time runs only while a poll is pending, that is while the server waits for the client. Each progress
//! ends it. Without a pending poll there is no timer, so a client that keeps up costs a comparison.

use crate::client_timeouts::LONGEST;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Sleep, sleep};

/// Limits the time for which polls of one operation may stay pending.
pub(crate) struct ProgressTimeout {
    /// What the client does not do, for the text of the error.
    what: &'static str,
    limit: Duration,
    /// Runs since the first pending poll after the last progress.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl ProgressTimeout {
    /// A limit of [`LONGEST`] is none.
    pub(crate) fn new(what: &'static str, limit: Duration) -> Self {
        ProgressTimeout { what, limit, waiting: None }
    }

    /// Passes on what a poll of the operation has returned.
    ///
    /// # Errors
    /// [`io::ErrorKind::TimedOut`]: the operation is pending for as long as the limit.
    pub(crate) fn watch<T>(
        &mut self,
        cx: &mut Context<'_>,
        polled: Poll<T>,
    ) -> Poll<io::Result<T>> {
        let limit = self.limit;
        if let Poll::Ready(progress) = polled {
            self.waiting = None;
            return Poll::Ready(Ok(progress));
        }
        if limit >= LONGEST {
            return Poll::Pending;
        }
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(limit)));
        waiting.as_mut().poll(cx).map(|()| {
            let text = format!("{} for {limit:?}", self.what);
            Err(io::Error::new(io::ErrorKind::TimedOut, text))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Waker;

    #[tokio::test(start_paused = true)]
    async fn q11_a_timer_runs_only_while_the_client_is_waited_for_and_has_a_limit() {
        let mut cx = Context::from_waker(Waker::noop());
        for (limit, timers) in [(LONGEST / 2, true), (LONGEST, false)] {
            let mut timeout = ProgressTimeout::new("the client is silent", limit);
            assert!(timeout.watch(&mut cx, Poll::Ready(())).is_ready());
            assert!(timeout.waiting.is_none());
            assert!(timeout.watch::<()>(&mut cx, Poll::Pending).is_pending());
            assert_eq!(timeout.waiting.is_some(), timers);
            assert!(timeout.watch(&mut cx, Poll::Ready(())).is_ready());
            assert!(timeout.waiting.is_none());
        }
    }
}
