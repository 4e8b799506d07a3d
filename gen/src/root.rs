//! The two roots of a node.

use std::fmt;

/// Below which of the two roots of its node a process lives (rule X6).
///
/// The idea is Akka's: a guardian of what the program is there for, and one of the services it
/// needs until its last process has ended. A root is not a process, so it has neither mailbox
/// nor pid: it is a property that a top-level process is spawned with and that all
/// below it inherit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Root {
    /// What the program is there for. A stop takes these down first.
    #[default]
    User,
    /// Services that must outlive the users: logs, metrics, connections. A stop takes them
    /// down when the last user has ended.
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
