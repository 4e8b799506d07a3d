//! A trace context that a behaviour keeps for one of its handlers.
//!
//! The context of a message is the current one until its process receives again. A behaviour whose
//! handlers run side by side receives while they wait. It takes the context off for each of them,
//! and polls the handler in it.

use crate::process::current::{self, CurrentContext};
use krarup_gen::ReasonKind;
use std::fmt;

/// The trace context of a message that was received, with its span, apart from the turn: for
/// behaviours whose handlers run side by side. Its span ends when it is dropped.
///
/// ```
/// # use krarup_act::HeldTrace;
/// /// What a behaviour does with one of its handlers.
/// fn poll_handler(trace: &mut Option<HeldTrace>, poll: impl FnOnce() -> bool) -> bool {
///     HeldTrace::within(trace, poll)
/// }
/// assert!(HeldTrace::take().is_none(), "this thread handles no message");
/// assert!(poll_handler(&mut None, || true));
/// ```
#[must_use = "the span ends when this is dropped"]
pub struct HeldTrace(Box<CurrentContext>);

impl HeldTrace {
    /// Takes the context of the message that was just received off this thread; `None` if it has
    /// none.
    pub fn take() -> Option<HeldTrace> {
        if current::is_traced() { current::keep().map(HeldTrace) } else { None }
    }

    /// Runs `f` in the context, if there is one: what it sends belongs to the trace. If `f` panics
    /// the span ends.
    pub fn within<T>(held: &mut Option<HeldTrace>, f: impl FnOnce() -> T) -> T {
        let Some(HeldTrace(context)) = held.take() else { return f() };
        let outer = current::keep();
        current::resume(Some(context));
        let mut within = WithinTrace { held, outer, returned: false };
        let result = f();
        within.returned = true;
        drop(within);
        result
    }

    /// Ends the span by an error, its `error.type`: the kind of the reason of the handler's failure,
    /// or the cause of a dead letter.
    pub fn fail(self, error: &'static str) {
        let mut held = Some(self);
        HeldTrace::within(&mut held, || current::end_handling(Some(error)));
    }
}

/// Takes the context off the thread again, and brings back the one before.
struct WithinTrace<'a> {
    held: &'a mut Option<HeldTrace>,
    outer: Option<Box<CurrentContext>>,
    returned: bool,
}

impl Drop for WithinTrace<'_> {
    fn drop(&mut self) {
        if self.returned {
            *self.held = HeldTrace::take();
        } else {
            current::end_handling(Some(ReasonKind::Panic.as_str()));
        }
        current::resume(self.outer.take());
    }
}

impl fmt::Debug for HeldTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HeldTrace").finish_non_exhaustive()
    }
}
