//! Where a pending exit came from, for the crash report of its process.

use krarup_gen::{CrashCauseKind, Pid};

/// Where a pending exit came from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExitSource {
    pub(crate) kind: CrashCauseKind,
    /// `None` if it came from outside of any process.
    pub(crate) by: Option<Pid>,
    /// Whether the process was inside a handler. `None` while that is not known, because the
    /// process ran when the exit arrived.
    pub(crate) handling: Option<bool>,
    /// Whether the process has ended by it, and not by itself before it saw it.
    pub(crate) taken: bool,
}

impl ExitSource {
    pub(crate) fn new(kind: CrashCauseKind, by: Option<Pid>) -> Self {
        ExitSource { kind, by: by.filter(|pid| !pid.is_node()), handling: None, taken: false }
    }
}
