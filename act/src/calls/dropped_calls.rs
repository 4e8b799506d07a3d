//! Reply tokens that were dropped in this turn, in the hands of a behaviour (rule C2).

use crate::process::current::{self, OrphanedReplies};
use krarup_gen::Reason;
use std::fmt;

/// The calls whose reply tokens were dropped in the current turn and have not heard of it yet.
///
/// Left alone they fail when the process next waits, with
/// [`krarup_gen::CallError::NoReply`], or at its end with the end's reason. A behaviour that
/// knows a reason, or has to wait before it knows, takes them first. Dropped, this gives them
/// back: to the turn in which that happens.
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
#[must_use = "dropped, it gives the calls back"]
pub struct DroppedCalls(OrphanedReplies);

impl DroppedCalls {
    /// Takes those of the current turn; none outside of any.
    pub fn take() -> Self {
        DroppedCalls(current::take_orphans())
    }

    /// Fails them with [`krarup_gen::CallError::Terminated`] and this reason.
    pub fn fail(self, reason: &Reason) {
        self.0.settle(reason);
    }
}

impl fmt::Debug for DroppedCalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DroppedCalls")
    }
}
