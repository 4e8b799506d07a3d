//! What becomes of processes, for those who watch the node as a whole.

use crate::{Label, Name, Pid, Reason};

/// Something that became of a process, as those hear of it who subscribed (rule X4).
///
/// A process that was spawned is heard of before its `init` runs, its end when its
/// monitors are told.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Lifecycle {
    /// A process was spawned; its `init` has not run.
    Spawned {
        /// The process.
        pid: Pid,
        /// Its registered name.
        name: Option<Name>,
        /// Who spawned it; `None` for one spawned from outside.
        parent: Option<Pid>,
        /// What its behaviour is called.
        behavior: Label,
    },
    /// Its `init` has returned.
    Initialised {
        /// The process.
        pid: Pid,
    },
    /// It has ended; its name is free.
    Ended {
        /// The process.
        pid: Pid,
        /// The name it had.
        name: Option<Name>,
        /// Why.
        reason: Reason,
    },
}

impl Lifecycle {
    /// The process.
    #[must_use]
    pub const fn pid(&self) -> Pid {
        match self {
            Lifecycle::Spawned { pid, .. }
            | Lifecycle::Initialised { pid }
            | Lifecycle::Ended { pid, .. } => *pid,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x4_whatever_becomes_of_a_process_says_which() {
        let (pid, other) = (Pid::local(7, 1), Pid::local(8, 1));
        let behavior = Label::of_type("Worker");
        for event in [
            Lifecycle::Spawned { pid, name: None, parent: Some(other), behavior },
            Lifecycle::Initialised { pid },
            Lifecycle::Ended { pid, name: None, reason: Reason::Normal },
        ] {
            assert_eq!(event.pid(), pid);
        }
    }
}
