//! Information of a supervisor about its children (rule S8).

use crate::back_off::BackOff;
use crate::spec::{ChildId, ChildKind, ChildRules, RestartType, Shutdown};
use krarup_gen::{ManagedChild, Pid, ProcessKind};
use std::fmt;

/// The process of a child, as its supervisor knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum ChildState {
    /// It has no process: it was terminated, it ended without a restart, or its `init` returned
    /// [`Ignore`](crate::Ignore) (OTP's `undefined`).
    Undefined,
    /// Its restart failed and will be tried again, or waits for its [`BackOff`].
    Restarting,
    /// It runs as this process.
    Running(Pid),
}

impl ChildState {
    /// Returns the pid, if it runs.
    #[must_use]
    pub const fn pid(self) -> Option<Pid> {
        match self {
            ChildState::Running(pid) => Some(pid),
            ChildState::Undefined | ChildState::Restarting => None,
        }
    }
}

impl fmt::Display for ChildState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChildState::Undefined => f.write_str("undefined"),
            ChildState::Restarting => f.write_str("restarting"),
            ChildState::Running(pid) => fmt::Display::fmt(pid, f),
        }
    }
}

/// An entry of `which_children`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ChildInfo {
    /// Its id; under `simple_one_for_one` that of the template.
    pub id: ChildId,
    /// Its process.
    pub state: ChildState,
    /// Worker or supervisor.
    pub kind: ChildKind,
    /// The type of its behaviour.
    pub behavior: &'static str,
    /// How often it was restarted since it was added.
    pub restarts: u64,
}

impl From<ChildInfo> for ManagedChild {
    fn from(child: ChildInfo) -> Self {
        let ChildInfo { id, state, kind, restarts, .. } = child;
        let mut managed = ManagedChild::new(id.as_str().to_owned());
        managed.pid = state.pid();
        managed.restarting = state == ChildState::Restarting;
        if kind == ChildKind::Supervisor {
            managed.kind = ProcessKind::Supervisor;
        }
        managed.restarts = restarts;
        managed
    }
}

/// The answer to `count_children`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct ChildCounts {
    /// The number of child specifications, with or without a process; 1 under
    /// `simple_one_for_one`.
    pub specs: usize,
    /// The number of children with a living process.
    pub active: usize,
    /// The number of children that are supervisors, with or without a process.
    pub supervisors: usize,
    /// The number of children that are workers, with or without a process.
    pub workers: usize,
}

/// The answer to `get_childspec`: all settings, with the defaults filled in.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ChildSpecInfo {
    /// The id; under `simple_one_for_one` that of the template.
    pub id: ChildId,
    /// Worker or supervisor.
    pub kind: ChildKind,
    /// After which ends it is restarted.
    pub restart: RestartType,
    /// How it is ended.
    pub shutdown: Shutdown,
    /// Whether its end can end the supervisor.
    pub significant: bool,
    /// The name of its process.
    pub name: Option<String>,
    /// The type of its behaviour.
    pub behavior: &'static str,
    /// How long its restarts wait.
    pub back_off: Option<BackOff>,
    /// Whether it is restarted in place.
    pub in_place: bool,
}

impl From<&ChildRules> for ChildSpecInfo {
    fn from(rules: &ChildRules) -> Self {
        ChildSpecInfo {
            id: rules.id.clone(),
            kind: rules.kind,
            restart: rules.restart,
            shutdown: rules.shutdown(),
            significant: rules.significant,
            name: rules.name.clone(),
            behavior: rules.behavior,
            back_off: rules.back_off,
            in_place: rules.in_place,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_has_a_pid_only_if_the_child_runs() {
        let pid = Pid::local(7, 0);
        for (state, of, text) in [
            (ChildState::Undefined, None, "undefined"),
            (ChildState::Restarting, None, "restarting"),
            (ChildState::Running(pid), Some(pid), "<0.7.0>"),
        ] {
            assert_eq!((state.pid(), state.to_string().as_str()), (of, text));
        }
    }
}
