//! A child that has nothing to do.

use crate::reason::Reason;

/// The error that a child's `init` returns when there is nothing for it to do: OTP's `ignore`.
///
/// The child then does not run, which is not a failure (rule S2). Its specification stays
/// without a process, unless the child is temporary, and the children after it start.
///
/// Who has spawned it gets this as the error of the spawn. Everybody else, links and monitors, hears that it has ended
/// as [`Reason::Normal`], as in OTP. This is about the first start: a process that restarts in place and then has nothing to do
/// ends with this reason.
///
/// ```
/// # use krarup_gen::{Ignore, Result};
/// fn init(enabled: bool) -> Result {
///     if !enabled {
///         return Err(Ignore::reason());
///     }
///     Ok(())
/// }
/// # assert!(init(false).unwrap_err().downcast_ref::<Ignore>().is_some());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("nothing to do")]
pub struct Ignore;

impl Ignore {
    /// Returns the reason to return from `init`: an orderly one, so that no crash is reported.
    #[must_use]
    pub fn reason() -> Reason {
        Reason::shutdown(Ignore)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s2_an_ignored_child_is_not_a_failure() {
        let reason = Ignore::reason();
        assert!(!reason.is_abnormal());
        assert_eq!(reason.downcast_ref::<Ignore>(), Some(&Ignore));
        assert_eq!(reason.to_string(), "shutdown: nothing to do");
    }
}
