//! The calls whose reply tokens were dropped in the running turn, for a behaviour to settle
//! (rule C2).

use crate::process::current::{self, OrphanedReplies};
use krarup_gen::Reason;
use std::fmt;

/// The calls whose reply tokens were dropped in the current turn and that have not failed yet.
///
/// By default they fail when the process next waits, with
/// [`CallError::NoReply`](krarup_gen::CallError::NoReply), or when it ends, with the reason of the
/// end. A behaviour that knows a reason, or has to wait before it knows one, takes them first. A
/// `DroppedCalls` that is dropped returns the calls to the turn that is running then.
///
/// ```
/// # use krarup_act::DroppedCalls;
/// # use krarup_gen::Reason;
/// fn give_up<F>(handler: F, reason: &Reason) {
///     drop(handler);
///     DroppedCalls::take().fail(reason);
/// }
/// # give_up((), &Reason::Normal);
/// ```
#[must_use = "a `DroppedCalls` that is dropped returns the calls to the turn"]
pub struct DroppedCalls(OrphanedReplies);

impl DroppedCalls {
    /// Takes the dropped calls of the current turn. Outside of a turn there are none.
    pub fn take() -> Self {
        DroppedCalls(current::take_orphans())
    }

    /// Fails the calls with [`CallError::Terminated`](krarup_gen::CallError::Terminated) and this
    /// reason.
    pub fn fail(self, reason: &Reason) {
        self.0.settle(reason);
    }
}

impl fmt::Debug for DroppedCalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DroppedCalls")
    }
}
