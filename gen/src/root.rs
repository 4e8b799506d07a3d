//! The two roots of a node.

use std::fmt;

/// The root of the tree of processes to which a process belongs (rule X6).
///
/// The idea is Akka's: one guardian for the program itself, and one for the services that it
/// needs until its last process has ended. A root is not a process, so it has neither mailbox
/// nor pid. It is a property of a top-level process, set when that is spawned, and all its
/// descendants inherit it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Root {
    /// The processes of the program itself. A stop ends them first.
    #[default]
    User,
    /// Services that must outlive the user processes: logs, metrics, connections. A stop ends
    /// them after the last user process has ended.
    System,
}

impl fmt::Display for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Root::User => "user",
            Root::System => "system",
        })
    }
}
