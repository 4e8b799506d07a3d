//! The trace context of a message that a behaviour sets aside.

use super::carried::CarriedContext;
use super::open_span::OpenSpan;
use std::fmt;

/// The trace to which the next handling of a message belongs: for behaviours that set messages
/// aside, as [`Context::stash`](crate::Context::stash) does. Made by
/// [`BehaviorContext::keep_trace`](crate::BehaviorContext::keep_trace).
pub struct AsideTrace(pub(crate) Box<CarriedContext>);

impl AsideTrace {
    /// The message of this type becomes a dead letter: its next handling has a span that says so.
    /// `error` is the `error.type`.
    pub fn fail(self, message: &'static str, error: &'static str) {
        OpenSpan::lost(&self.0, message, error);
    }
}

impl fmt::Debug for AsideTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AsideTrace").finish_non_exhaustive()
    }
}
