//! The error of a wait on a thread that must not wait.

/// Why a thread cannot wait (rule C8). All operations that have a `wait` method give this cause.
// As wide as a word. Beside a byte the tag of `CallError` would be a byte too, and the result of
// each call would be copied in more pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[repr(usize)]
#[non_exhaustive]
pub enum CannotWait {
    /// The caller is a process, which would hold its worker: use `.await`.
    #[error("a process cannot use `.wait()`, which would block its worker: use `.await`")]
    InProcess,
    /// The caller is the thread that drives an async runtime, as in `#[tokio::test]`: use
    /// `.await`.
    #[error("this thread drives an async runtime, which `.wait()` would block: use `.await`")]
    InRuntime,
    /// The simulation has no events left, so what is waited for can never happen.
    #[error("the simulation ran out of events")]
    Stalled,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CallError, DebugError, SendError, SpawnError, StopError};
    use std::error::Error;

    #[test]
    fn c8_every_error_gives_the_same_cause_why_a_thread_cannot_wait() {
        for (cause, said) in [
            (
                CannotWait::InProcess,
                "a process cannot use `.wait()`, which would block its worker: use `.await`",
            ),
            (
                CannotWait::InRuntime,
                "this thread drives an async runtime, which `.wait()` would block: use `.await`",
            ),
            (CannotWait::Stalled, "the simulation ran out of events"),
        ] {
            let errors: [Box<dyn Error>; 6] = [
                Box::new(cause),
                Box::new(SendError::CannotWait { message: 7, cause }),
                Box::new(CallError::from(cause)),
                Box::new(SpawnError::from(cause)),
                Box::new(StopError::from(cause)),
                Box::new(DebugError::from(cause)),
            ];
            for error in errors {
                assert_eq!(error.to_string(), said, "{error:?}");
                // The text is the cause's own, so the chain ends here.
                assert!(error.source().is_none(), "{error:?}");
            }
        }
    }
}
