//! What a process is told of others.

use crate::{Alias, Name, Pid, Reason, Ref};
use std::fmt;

/// An exit signal as a trapping process sees it (rule L3; Erlang's
/// `{'EXIT', Pid, Reason}`).
#[derive(Clone, Debug, PartialEq)]
pub struct Exit {
    /// Whom the signal is from: the linked process that ended, or the one that sent it.
    pub pid: Pid,
    /// Why it ended, or what it sent.
    pub reason: Reason,
}

/// A monitored process has ended (Erlang's `'DOWN'`). Exactly one comes per monitor
/// (rule L5).
#[derive(Clone, Debug, PartialEq)]
pub struct Down {
    /// The monitor, as returned when it was made.
    pub monitor: Ref,
    /// What was monitored.
    pub target: Target,
    /// Why it ended; `NoProcess` if there was none.
    pub reason: Reason,
}

impl Down {
    /// The pid that was monitored; `None` for a monitor by name or alias that found
    /// nobody.
    #[must_use]
    pub fn pid(&self) -> Option<Pid> {
        match &self.target {
            Target::Pid(pid) => Some(*pid),
            Target::Name(_, pid) | Target::Alias(_, pid) => *pid,
        }
    }
}

/// What a monitor was put on (rule L6), or a message sent to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Target {
    /// A process by its pid.
    Pid(Pid),
    /// A process by its name, and who had the name when the monitor was made.
    Name(Name, Option<Pid>),
    /// A process by one of its aliases, and whose it was when the monitor was made.
    Alias(Alias, Option<Pid>),
}

impl From<Pid> for Target {
    fn from(pid: Pid) -> Self {
        Target::Pid(pid)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Pid(pid) => fmt::Display::fmt(pid, f),
            Target::Name(name, _) => fmt::Debug::fmt(name, f),
            Target::Alias(alias, _) => fmt::Display::fmt(alias, f),
        }
    }
}
