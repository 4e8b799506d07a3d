//! What may panic in every turn or with every message, and futures (rule D4).
//!
//! These functions are compiled for each future. They have a file of their own, because a debug build compiles
//! what is generic by the file in which it is: a handler that is edited is compiled again with these, and
//! not with all that [`crash`](super::crash) has for other types (docs/decisions.md).

use super::panics::reason_of;
use krarup_gen::Reason;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Does the same as [`contain`](super::crash::contain) without a call in between, for what runs
/// in every turn or with every message.
///
/// # Errors
/// Returns [`Reason::Panic`] if `f` panics.
#[inline]
pub fn contain_inline<T>(f: impl FnOnce() -> T) -> Result<T, Reason> {
    // The caller drops the values that `f` worked on and never looks at them again.
    catch_unwind(AssertUnwindSafe(f)).map_err(reason_of)
}

/// Does the same, and after a panic calls `take` before what was thrown is dropped: that is a user's value, whose
/// destructor may run other processes on this thread.
#[inline]
pub(super) fn contain_and_take<T, L>(
    f: impl FnOnce() -> T,
    take: fn() -> L,
) -> Result<T, (Reason, L)> {
    catch_unwind(AssertUnwindSafe(f)).map_err(|thrown| {
        let left = take();
        (reason_of(thrown), left)
    })
}

pin_project_lite::pin_project! {
    /// A future whose panics are returned as reasons.
    ///
    /// After a panic the future must not be polled again; drop it.
    pub struct Contained<F> {
        #[pin]
        future: F,
    }
}

impl<F> Contained<F> {
    /// Wraps a future.
    pub fn new(future: F) -> Self {
        Contained { future }
    }
}

impl<F: Future> Future for Contained<F> {
    type Output = Result<F::Output, Reason>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let future = self.project().future;
        match contain_inline(|| future.poll(cx)) {
            Ok(poll) => poll.map(Ok),
            Err(reason) => Poll::Ready(Err(reason)),
        }
    }
}

impl<F> fmt::Debug for Contained<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Contained")
    }
}
