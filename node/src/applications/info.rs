//! What a node shows of its applications.

use crate::applications::plan::Mode;
use krarup_gen::{Name, Pid, Reason, Timestamp};
use std::fmt;

/// The state of an application (rule A12).
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum ApplicationState {
    /// It has not been started yet.
    Loaded,
    /// Its top process initialises, or its phases run.
    Starting,
    /// It runs.
    Running,
    /// It was asked to stop, or its top process has ended, and others of it still live.
    Stopping,
    /// Nobody of it lives any more. The reason is that of its top process, or the error of its
    /// start.
    Ended(#[cfg_attr(feature = "serde", serde(serialize_with = "recorded"))] Reason),
}

impl ApplicationState {
    /// Returns whether it starts, runs or stops.
    #[must_use]
    pub const fn is_alive(&self) -> bool {
        matches!(
            self,
            ApplicationState::Starting | ApplicationState::Running | ApplicationState::Stopping
        )
    }
}

/// Writes a reason as the record of it.
#[cfg(feature = "serde")]
fn recorded<S: serde::Serializer>(reason: &Reason, serializer: S) -> Result<S::Ok, S::Error> {
    serde::Serialize::serialize(&krarup_gen::ReasonRecord::of(reason), serializer)
}

impl fmt::Display for ApplicationState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ApplicationState::Loaded => f.write_str("loaded"),
            ApplicationState::Starting => f.write_str("starting"),
            ApplicationState::Running => f.write_str("running"),
            ApplicationState::Stopping => f.write_str("stopping"),
            ApplicationState::Ended(reason) => write!(f, "ended: {reason}"),
        }
    }
}

/// A snapshot of an application (rule A12). It prints name, mode and state.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ApplicationInfo {
    /// Its name.
    pub name: Name,
    /// What its end means for the node.
    pub mode: Mode,
    /// Its state.
    pub state: ApplicationState,
    /// When it came into this state, on the clock of the node.
    pub since: Timestamp,
    /// Its top process, while that lives.
    pub top: Option<Pid>,
    /// How many processes belong to it.
    pub processes: usize,
    /// The applications that it needs, in the order of the declaration.
    pub needs: Vec<Name>,
    /// Those that need it, by name, whether they run or not.
    pub needed_by: Vec<Name>,
}

impl fmt::Display for ApplicationInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.name, self.mode, self.state)
    }
}
