//! Notices about other processes.

use crate::{Alias, Name, NodeName, Pid, Reason, Ref, TopicId};
use std::fmt;

/// An exit signal as a trapping process receives it (rule L3; Erlang's
/// `{'EXIT', Pid, Reason}`).
#[derive(Clone, Debug, PartialEq)]
pub struct Exit {
    /// The sender: the linked process that ended, or the process that sent the signal.
    pub pid: Pid,
    /// The reason of the end, or the reason that was sent.
    pub reason: Reason,
}

/// The notice that a monitored process has ended (Erlang's `'DOWN'`). Each monitor gets exactly
/// one (rule L5).
#[derive(Clone, Debug, PartialEq)]
pub struct Down {
    /// The monitor, as returned when it was made.
    pub monitor: Ref,
    /// The target of the monitor.
    pub target: Target,
    /// The reason of the end; `NoProcess` if there was no process.
    pub reason: Reason,
}

impl Down {
    /// Returns the pid that was monitored; `None` for a monitor by name or alias that found no
    /// process.
    #[must_use]
    pub fn pid(&self) -> Option<Pid> {
        match &self.target {
            Target::Pid(pid) => Some(*pid),
            Target::Name(_, pid) | Target::Alias(_, pid) => *pid,
            Target::Remote(..) | Target::Node(_) | Target::Topic(_) => None,
        }
    }
}

/// The target of a monitor (rule L6), or the receiver of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Target {
    /// A process by its pid.
    Pid(Pid),
    /// A process by its name, and the process that had the name when the monitor was made.
    Name(Name, Option<Pid>),
    /// A process by one of its aliases, and the process that had it when the monitor was made.
    Alias(Alias, Option<Pid>),
    /// The process that has this name on another node (rule Zlink6).
    Remote(Name, NodeName),
    /// A node: the notice says that the connection to it was lost (rule Zlive3).
    Node(NodeName),
    /// A topic to which the process was subscribed: the notice says that the topic, or the
    /// subscription, has ended (rules E6, E7).
    Topic(TopicId),
}

impl From<Pid> for Target {
    fn from(pid: Pid) -> Self {
        Target::Pid(pid)
    }
}

/// The process that has the name when the monitor is made.
impl From<Name> for Target {
    fn from(name: Name) -> Self {
        Target::Name(name, None)
    }
}

/// The process that has this name on another node (rule Zlink6).
impl From<(Name, NodeName)> for Target {
    fn from((name, node): (Name, NodeName)) -> Self {
        Target::Remote(name, node)
    }
}

/// The node itself: its notice comes when the connection to it is lost (rule Zlive3).
impl From<NodeName> for Target {
    fn from(node: NodeName) -> Self {
        Target::Node(node)
    }
}

/// The process that has the name when the monitor is made.
impl From<&Name> for Target {
    fn from(name: &Name) -> Self {
        Target::from(name.clone())
    }
}

/// The process that has the alias when the monitor is made.
impl From<Alias> for Target {
    fn from(alias: Alias) -> Self {
        Target::Alias(alias, None)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Pid(pid) => fmt::Display::fmt(pid, f),
            Target::Name(name, _) => fmt::Debug::fmt(name, f),
            Target::Alias(alias, _) => fmt::Display::fmt(alias, f),
            Target::Remote(name, node) => write!(f, "{:?} at {node}", name.as_str()),
            Target::Node(node) => fmt::Display::fmt(node, f),
            Target::Topic(topic) => fmt::Display::fmt(topic, f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn l6_a_target_prints_its_name_and_has_its_pid() {
        let pid = Pid::local(7, 1);
        let name = || Name::new("stock").unwrap();
        let alias = Alias::new(Ref::new(3));
        for (target, printed, found) in [
            (Target::from(pid), "<0.7.0>", Some(pid)),
            (Target::Name(name(), Some(pid)), "\"stock\"", Some(pid)),
            (Target::Name(name(), None), "\"stock\"", None),
            (Target::Alias(alias, Some(pid)), "#Alias<0.3>", Some(pid)),
            (Target::Alias(alias, None), "#Alias<0.3>", None),
        ] {
            assert_eq!(target.to_string(), printed);
            let down = Down { monitor: Ref::new(1), target, reason: Reason::Killed };
            assert_eq!(down.pid(), found);
        }
    }
}
