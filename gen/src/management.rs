//! Requests to change a process that need none of its types.
//!
//! A tool that shows a node does not know the types of the processes in it. It can still resize a
//! pool or restart a child, because these requests and their answers are the same for all types.

use crate::{Pid, ProcessKind};
use std::fmt;

/// A request to a process whose types the requester does not know (rule X12).
///
/// | request | for | answer |
/// |---|---|---|
/// | `Resize` | pools | [`Managed::Resized`], when the added workers have started |
/// | `Drain` | pools | [`Managed::Drains`], at once |
/// | `Reopen` | pools | [`Managed::Reopened`] |
/// | `TerminateChild` | supervisors | [`Managed::ChildTerminated`], when it has ended |
/// | `RestartChild` | supervisors | [`Managed::ChildRestarted`], when it has started |
/// | `ListChildren` | supervisors | [`Managed::Children`] |
/// | `WhichChild` | supervisors | [`Managed::Child`], also while the supervisor starts or stops another |
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Management {
    /// Adds or removes workers until the pool has this many.
    Resize {
        /// The number of workers.
        workers: usize,
    },
    /// Makes the pool refuse jobs. It handles those that it has accepted.
    Drain,
    /// Makes a drained pool accept jobs again.
    Reopen,
    /// Ends a child and does not restart it.
    TerminateChild {
        /// The id of the child; under `simple_one_for_one` its pid, as a text.
        child: String,
    },
    /// Starts a child that has no process.
    RestartChild {
        /// The id of the child.
        child: String,
    },
    /// Returns the children.
    ListChildren,
    /// Returns the child that runs as a process. It costs the same with many children as with few.
    WhichChild {
        /// The process.
        pid: Pid,
    },
}

impl Management {
    /// Returns the name of the request, in lower case.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Management::Resize { .. } => "resize",
            Management::Drain => "drain",
            Management::Reopen => "reopen",
            Management::TerminateChild { .. } => "terminate_child",
            Management::RestartChild { .. } => "restart_child",
            Management::ListChildren => "list_children",
            Management::WhichChild { .. } => "which_child",
        }
    }
}

impl fmt::Display for Management {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The answer to a [`Management`] request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Managed {
    /// The pool has this many workers in the rotation.
    Resized {
        /// The number of workers.
        workers: usize,
    },
    /// The pool refuses jobs from now on.
    Drains,
    /// The pool accepts jobs.
    Reopened {
        /// Whether it was drained.
        was_drained: bool,
    },
    /// The child has no process any more.
    ChildTerminated,
    /// The child has been started.
    ChildRestarted {
        /// Its process; `None` if its `init` asked to be ignored.
        pid: Option<Pid>,
    },
    /// The children, the last started first.
    Children(Vec<ManagedChild>),
    /// The child that runs as the process, or is in its `init`.
    Child(ManagedChild),
}

/// A child of a supervisor, as [`Managed::Children`] lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct ManagedChild {
    /// Its id; of children of one template, the id of the template.
    pub id: String,
    /// Its process, if it runs.
    pub pid: Option<Pid>,
    /// Whether it has no process and is to be started again.
    pub restarting: bool,
    /// [`ProcessKind::Supervisor`], or [`ProcessKind::Process`] for a worker of any kind.
    pub kind: ProcessKind,
    /// How often it was restarted.
    pub restarts: u64,
}

impl ManagedChild {
    /// Creates the entry of a worker that has no process. For supervisors.
    #[must_use]
    pub const fn new(id: String) -> Self {
        ManagedChild { id, pid: None, restarting: false, kind: ProcessKind::Process, restarts: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x12_each_request_has_the_name_of_its_operation() {
        let child = || "a".to_owned();
        let requests = [
            Management::Resize { workers: 1 },
            Management::Drain,
            Management::Reopen,
            Management::TerminateChild { child: child() },
            Management::RestartChild { child: child() },
            Management::ListChildren,
            Management::WhichChild { pid: Pid::local(7, 0) },
        ];
        let names = requests.map(|request| request.to_string()).join(" ");
        let all = "resize drain reopen terminate_child restart_child list_children which_child";
        assert_eq!(names, all);
    }
}
