//! What a process waits for inside a handler.

use crate::Pid;
use std::fmt;

/// A process waits for another one, as seen at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Wait {
    /// The process that it waits for.
    pub on: Pid,
    /// What it waits for.
    pub kind: WaitKind,
}

impl Wait {
    /// Creates a wait.
    #[must_use]
    pub const fn new(on: Pid, kind: WaitKind) -> Self {
        Wait { on, kind }
    }
}

/// What a process waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum WaitKind {
    /// The answer of one call, and nothing else (rule C5).
    Call,
    /// Room in a full mailbox or at a pool (rule M6).
    Room,
}

impl fmt::Display for WaitKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            WaitKind::Call => "call",
            WaitKind::Room => "room",
        })
    }
}
