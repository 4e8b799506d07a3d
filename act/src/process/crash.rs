//! Converts panics into reasons (rule D4).

use krarup_gen::{Panic, Reason};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::mem::needs_drop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::{Arc, Once};
use std::task::{Context, Poll};

/// How many panics a thread remembers. Destructors that run while the thread unwinds may panic
/// and be caught there; these panics come between the original panic and the code that catches
/// it.
const REMEMBERED: usize = 16;

thread_local! {
    /// The last panics on this thread that have not become reasons.
    static RAISED: RefCell<VecDeque<Raised>> = const { RefCell::new(VecDeque::new()) };
    /// Whether a panic raised now is expected, and so not reported.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// A panic as the hook saw it. The caught payload carries only the message.
struct Raised {
    message: Option<String>,
    location: Option<String>,
}

/// Where the panic with this message was raised, if the hook saw it. The panic is found by its
/// message because it need not be the last one: the hook does not see `resume_unwind`.
fn location_of(message: Option<&str>) -> Option<String> {
    RAISED
        .try_with(|raised| {
            let raised = std::mem::take(&mut *raised.borrow_mut());
            let mut newest_first = raised.into_iter().rev();
            newest_first.find(|raised| raised.message.as_deref() == message)?.location
        })
        .ok()?
}

/// The text of the panic, if its payload is text.
fn text(payload: &(dyn Any + Send)) -> Option<&str> {
    let text = payload.downcast_ref::<&'static str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
}

/// Installs a panic hook that records where a panic was raised.
///
/// The caught payload carries only the message. A host calls this when it starts. The previous
/// hook still runs. A hook that is set later replaces this one unless it calls it; reasons then
/// have no location.
pub fn note_panic_locations() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let location = info.location().map(ToString::to_string);
            let message = text(info.payload()).map(ToOwned::to_owned);
            // A panic while the thread-locals of this thread are being destroyed cannot be
            // recorded.
            let _ = RAISED.try_with(|raised| {
                let mut raised = raised.borrow_mut();
                if raised.len() == REMEMBERED {
                    raised.pop_front();
                }
                raised.push_back(Raised { message, location });
            });
            // If panics abort, the message is always printed, because it is the last output.
            let quiet = cfg!(panic = "unwind") && QUIET.try_with(Cell::get).unwrap_or(false);
            if !quiet {
                previous(info);
            }
        }));
    });
}

/// Runs `f` and returns a panic as a reason.
///
/// # Errors
/// Returns [`Reason::Panic`] if `f` panics.
#[inline]
pub fn contain<T>(f: impl FnOnce() -> T) -> Result<T, Reason> {
    let mut asked = RiskyQuestion { f: Some(f), answer: None };
    match (catch(&mut asked), asked.answer) {
        (Ok(()), Some(value)) => Ok(value),
        (Ok(()), None) => unreachable!("what has not panicked has returned"),
        (Err(reason), _) => Err(reason),
    }
}

/// Does the same as [`contain`] without a call in between, for what runs in every turn or with every message.
///
/// # Errors
/// Returns [`Reason::Panic`] if `f` panics.
#[inline]
pub fn contain_inline<T>(f: impl FnOnce() -> T) -> Result<T, Reason> {
    // The caller drops the values that `f` worked on and never looks at them again.
    catch_unwind(AssertUnwindSafe(f)).map_err(reason_of)
}

/// Something to be done once that may panic. It is no closure behind a reference, because a table of functions for
/// one has four, and this has one; each is compiled for each type.
trait Risky {
    fn run(&mut self);
}

/// A function that returns something.
struct RiskyQuestion<F, T> {
    f: Option<F>,
    answer: Option<T>,
}

impl<F: FnOnce() -> T, T> Risky for RiskyQuestion<F, T> {
    fn run(&mut self) {
        if let Some(f) = self.f.take() {
            self.answer = Some(f());
        }
    }
}

/// A function that returns nothing.
struct RiskyCall<F>(Option<F>);

impl<F: FnOnce()> Risky for RiskyCall<F> {
    fn run(&mut self) {
        if let Some(f) = self.0.take() {
            f();
        }
    }
}

/// A value to be dropped.
struct RiskyDrop<T>(Option<T>);

impl<T> Risky for RiskyDrop<T> {
    fn run(&mut self) {
        self.0 = None;
    }
}

/// What catches a panic is compiled once here, and not for each type of message (docs/decisions.md).
fn catch(risky: &mut dyn Risky) -> Result<(), Reason> {
    contain_inline(|| risky.run())
}

/// Does the same as [`contain`] for what returns nothing.
pub(crate) fn attempt(f: impl FnOnce()) -> Result<(), Reason> {
    catch(&mut RiskyCall(Some(f)))
}

/// Runs `f`. A panic has already been printed and has no further effect.
pub(crate) fn ignore(f: impl FnOnce()) {
    let _ = attempt(f);
}

/// Drops a value that may be a user's, and returns a panic of its destructor as a reason.
pub(crate) fn try_drop<T>(value: T) -> Result<(), Reason> {
    if const { !needs_drop::<T>() } {
        return Ok(());
    }
    catch(&mut RiskyDrop(Some(value)))
}

/// Does the same as [`try_drop`]. The panic has already been printed and has no further effect.
pub(crate) fn drop_contained<T>(value: T) {
    let _ = try_drop(value);
}

/// Calls `tracing`. The subscriber and the code that formats a reason are user code.
pub(crate) fn log_contained(f: impl FnOnce()) {
    ignore(f);
}

/// Returns the reason of a process that failed again while it ended.
///
/// If `first` is a failure, it is the cause. If it is not, the later failure becomes the
/// reason.
#[must_use]
pub fn first_failure(first: Reason, then: Result<(), Reason>) -> Reason {
    match then {
        Err(then) if !first.is_abnormal() => then,
        _ => first,
    }
}

/// Does the same as [`contain`] for a panic that is used as an answer. The panic is not
/// reported.
///
/// # Errors
/// Returns [`Reason::Panic`] if `f` panics.
pub fn contain_quietly<T>(f: impl FnOnce() -> T) -> Result<T, Reason> {
    let before = QUIET.replace(true);
    let outcome = contain(f);
    QUIET.set(before);
    outcome
}

/// Panics without a printed report and without a location in a program.
pub(crate) fn raise(message: &'static str) -> ! {
    let _ = RAISED.try_with(|raised| raised.borrow_mut().clear());
    resume_unwind(Box::new(message));
}

#[cold]
fn reason_of(payload: Box<dyn Any + Send>) -> Reason {
    let location = location_of(text(&*payload));
    let message = text(&*payload).unwrap_or("a value that is not text").to_owned();
    // A payload whose destructor panics must not end the worker.
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(again);
    }
    Reason::Panic(Arc::new(Panic::new(message, location)))
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_quiet_containment_is_quiet_only_until_its_end() {
        let outcome = contain_quietly(|| {
            assert!(contain_quietly(|| panic!("within")).is_err());
            QUIET.get()
        });
        assert_eq!((outcome, QUIET.get()), (Ok(true), false));
    }

    #[test]
    fn a_raised_panic_has_no_location_despite_an_equal_message() {
        note_panic_locations();
        assert!(catch_unwind(|| panic!("the same")).is_err());
        let Err(Reason::Panic(raised)) = contain(|| raise("the same")) else { panic!("no panic") };
        assert_eq!((raised.message(), raised.location()), ("the same", None));
    }
}
