//! A turn, as every dispatcher runs it.

use krarup_act::{Ready, TurnLimits, contain, contain_inline};
use krarup_gen::one_line;

/// Runs one turn. A turn contains the panics of its process. This is the second line of defence:
/// no other panic may cost a worker either.
#[inline]
pub(crate) fn run(ready: Ready, limits: &TurnLimits) -> Option<Ready> {
    contain_inline(|| ready.run(limits)).unwrap_or_else(|reason| {
        // The log subscriber is user code too.
        let _ = contain(
            || tracing::error!(target: "krarup", reason = %one_line(&reason), "a turn panicked outside its process"),
        );
        None
    })
}
