//! A turn, as every dispatcher runs it.

use krarup_act::{Ready, TurnLimits, contain};

/// Runs one. A turn contains what its process does; this is the second line: a worker must
/// not be lost to whatever else may panic.
#[inline]
pub(crate) fn run(ready: Ready, limits: &TurnLimits) -> Option<Ready> {
    contain(|| ready.run(limits)).unwrap_or_else(|reason| {
        // What logs is a user's too.
        let _ = contain(|| tracing::error!(target: "krarup", %reason, "a turn panicked"));
        None
    })
}
