//! What a panic was: where it was raised, and the reason that is made of it (rule D4).

use krarup_gen::{Panic, Reason};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Once};

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

/// Whether panics of this thread are expected.
#[cfg(all(test, not(loom)))]
pub(super) fn is_quiet() -> bool {
    QUIET.get()
}

/// Sets whether panics of this thread are expected, and so not reported. Returns what was set before.
pub(super) fn set_quiet(quiet: bool) -> bool {
    QUIET.replace(quiet)
}

/// Panics without a printed report and without a location in a program.
pub(crate) fn raise(message: &'static str) -> ! {
    let _ = RAISED.try_with(|raised| raised.borrow_mut().clear());
    resume_unwind(Box::new(message));
}

/// The reason of a caught panic.
#[cold]
pub(super) fn reason_of(payload: Box<dyn Any + Send>) -> Reason {
    let location = location_of(text(&*payload));
    let message = text(&*payload).unwrap_or("a value that is not text").to_owned();
    // A payload whose destructor panics must not end the worker.
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(again);
    }
    Reason::Panic(Arc::new(Panic::new(message, location)))
}
