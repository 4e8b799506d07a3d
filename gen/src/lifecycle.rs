//! Lifecycle events of processes, for observers of a node.

use crate::{Label, Name, Pid, Reason};

/// A lifecycle event of a process, as subscribers receive it (rule X4).
///
/// The spawn is published before `init` runs, the end when the monitors are notified.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Lifecycle {
    /// A process was spawned; its `init` has not run.
    Spawned {
        /// The process.
        pid: Pid,
        /// Its registered name.
        name: Option<Name>,
        /// The process that spawned it; `None` for one spawned from outside.
        parent: Option<Pid>,
        /// The label of its behaviour.
        behavior: Label,
        /// The application to which it belongs (rule A6).
        application: Option<Name>,
    },
    /// The `init` of a process has returned.
    Initialised {
        /// The process.
        pid: Pid,
    },
    /// A process has ended; its name is free.
    Ended {
        /// The process.
        pid: Pid,
        /// The name it had.
        name: Option<Name>,
        /// The reason.
        reason: Reason,
        /// The application to which it belonged (rule A6).
        application: Option<Name>,
    },
}

impl Lifecycle {
    /// Returns the process.
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
    fn x4_every_lifecycle_event_has_its_pid() {
        let (pid, other) = (Pid::local(7, 1), Pid::local(8, 1));
        let behavior = Label::of_type("Worker");
        for event in [
            Lifecycle::Spawned {
                pid,
                name: None,
                parent: Some(other),
                behavior,
                application: None,
            },
            Lifecycle::Initialised { pid },
            Lifecycle::Ended { pid, name: None, reason: Reason::Normal, application: None },
        ] {
            assert_eq!(event.pid(), pid);
        }
    }
}
