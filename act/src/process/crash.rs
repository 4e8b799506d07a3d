//! Panics become reasons (rule D4).

use krarup_gen::{Panic, Reason};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::{Arc, Once};
use std::task::{Context, Poll};

/// How many panics a thread remembers: those of destructors that run while it unwinds, and that
/// are caught there, come between a panic and whoever catches it.
const REMEMBERED: usize = 16;

thread_local! {
    /// The last panics that were raised on this thread and have not become reasons.
    static RAISED: RefCell<VecDeque<Raised>> = const { RefCell::new(VecDeque::new()) };
    /// A panic that is raised now is expected.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// A panic, as the hook has seen it: what is caught carries only its message.
struct Raised {
    message: Option<String>,
    location: Option<String>,
}

/// Where the panic with this message was raised, if that was seen. It is found by its message,
/// for it need not be the last one: what is raised by `resume_unwind` is not seen at all.
fn location_of(message: Option<&str>) -> Option<String> {
    RAISED
        .try_with(|raised| {
            let raised = std::mem::take(&mut *raised.borrow_mut());
            let mut newest_first = raised.into_iter().rev();
            newest_first.find(|raised| raised.message.as_deref() == message)?.location
        })
        .ok()?
}

/// The text that was panicked with, if it is one.
fn text(payload: &(dyn Any + Send)) -> Option<&str> {
    let text = payload.downcast_ref::<&'static str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
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
            let message = info.payload_as_str().map(ToOwned::to_owned);
            // A panic while this thread is torn down has no place to be noted.
            let _ = RAISED.try_with(|raised| {
                let mut raised = raised.borrow_mut();
                if raised.len() == REMEMBERED {
                    raised.pop_front();
                }
                raised.push_back(Raised { message, location });
            });
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

/// Runs `f`; a panic has been printed, and is nothing to anyone else.
fn ignore(f: impl FnOnce()) {
    let _ = contain(f);
}

/// Drops what may be a user's and may panic.
pub(crate) fn drop_contained<T>(value: T) {
    ignore(|| drop(value));
}

/// Tells `tracing`: what listens there is a user's, and so is what prints a reason.
pub(crate) fn tell(f: impl FnOnce()) {
    ignore(f);
}

/// Why a process has ended that went wrong with `first` and then once more on its way out: the
/// first failure is the cause. What was no failure before is one now.
#[must_use]
pub fn first_failure(first: Reason, then: Result<(), Reason>) -> Reason {
    match then {
        Err(then) if !first.is_abnormal() => then,
        _ => first,
    }
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
    let _ = RAISED.try_with(|raised| raised.borrow_mut().clear());
    resume_unwind(Box::new(message));
}

#[cold]
fn reason_of(payload: Box<dyn Any + Send>) -> Reason {
    let location = location_of(text(&*payload));
    let message = text(&*payload).unwrap_or("a value that is no text").to_owned();
    // A payload whose own destructor panics must not take the worker with it.
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(again);
    }
    Reason::Panic(Arc::new(Panic::new(message, location)))
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_is_contained_quietly_is_quiet_to_its_end_and_no_longer() {
        let outcome = contain_quietly(|| {
            assert!(contain_quietly(|| panic!("within")).is_err());
            QUIET.get()
        });
        assert_eq!((outcome, QUIET.get()), (Ok(true), false));
    }

    #[test]
    fn what_is_raised_has_no_place_though_a_panic_has_said_the_same() {
        note_panic_locations();
        assert!(catch_unwind(|| panic!("the same")).is_err());
        let Err(Reason::Panic(raised)) = contain(|| raise("the same")) else { panic!("no panic") };
        assert_eq!((raised.message(), raised.location()), ("the same", None));
    }
}
