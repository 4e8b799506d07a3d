//! Panics become reasons (rule D4).

use krarup_gen::{Panic, Reason};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::{Arc, Once};
use std::task::{Context, Poll};

thread_local! {
    /// Where the last panic on this thread was raised.
    static LOCATION: RefCell<Option<String>> = const { RefCell::new(None) };
    /// A panic that is raised now is expected.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Puts a hook before the process-wide panic hook that notes where a panic was raised:
/// what is caught carries only its message. Called by a host when it starts; the hook
/// that was there still runs, and so does one that is set later, at the price of
/// reasons without a location.
pub fn note_panic_locations() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let location = info.location().map(ToString::to_string);
            // A panic while this thread is torn down has no place to be noted.
            let _ = LOCATION.try_with(|last| *last.borrow_mut() = location);
            // Where a panic aborts, its message is the last that is heard.
            let quiet = cfg!(panic = "unwind") && QUIET.try_with(Cell::get).unwrap_or(false);
            if !quiet {
                previous(info);
            }
        }));
    });
}

/// Runs `f`; a panic comes back as a reason.
///
/// # Errors
/// [`Reason::Panic`].
#[inline]
pub fn contain<T>(f: impl FnOnce() -> T) -> Result<T, Reason> {
    // What `f` was working on is dropped by the caller, never looked at again.
    catch_unwind(AssertUnwindSafe(f)).map_err(reason_of)
}

/// As [`contain`], for a panic that is an answer: it is not reported.
///
/// # Errors
/// [`Reason::Panic`].
pub fn contain_quietly<T>(f: impl FnOnce() -> T) -> Result<T, Reason> {
    let before = QUIET.replace(true);
    let outcome = contain(f);
    QUIET.set(before);
    outcome
}

/// Panics without a word on the screen, and at no place in a program.
pub(crate) fn raise(message: &'static str) -> ! {
    LOCATION.with_borrow_mut(|last| *last = None);
    resume_unwind(Box::new(message));
}

#[cold]
fn reason_of(payload: Box<dyn Any + Send>) -> Reason {
    let message = payload
        .downcast_ref::<&'static str>()
        .map(ToString::to_string)
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a value that is no text".to_owned());
    // A payload whose own destructor panics must not take the worker with it.
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(again);
    }
    Reason::Panic(Arc::new(Panic::new(message, LOCATION.with_borrow_mut(Option::take))))
}

pin_project_lite::pin_project! {
    /// A future whose panics come back as reasons. After one the future must not be
    /// polled again; it says so by being dropped.
    pub struct Contained<F> {
        #[pin]
        future: F,
    }
}

impl<F> Contained<F> {
    /// Guards this future.
    pub fn new(future: F) -> Self {
        Contained { future }
    }
}

impl<F: Future> Future for Contained<F> {
    type Output = Result<F::Output, Reason>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let future = self.project().future;
        match contain(|| future.poll(cx)) {
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
