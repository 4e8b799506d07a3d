//! Kinds of behaviours.

use std::fmt;

/// What kind of behaviour a process runs.
///
/// Behaviours of a user's own are [`ProcessKind::Process`], unless they say otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum ProcessKind {
    /// A bare process.
    #[default]
    Process,
    /// An actor, with a restart policy or without.
    Actor,
    /// A supervisor.
    Supervisor,
    /// A pool of workers.
    Pool,
    /// A state actor.
    Stateful,
    /// A step process.
    Step,
    /// The keeper of grains. A grain has the kind of its own behaviour.
    Grains,
    /// A connection, an acceptor of connections, or a datagram socket.
    Connection,
}

impl fmt::Display for ProcessKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ProcessKind::Process => "process",
            ProcessKind::Actor => "actor",
            ProcessKind::Supervisor => "supervisor",
            ProcessKind::Pool => "pool",
            ProcessKind::Stateful => "stateful",
            ProcessKind::Step => "step",
            ProcessKind::Grains => "grains",
            ProcessKind::Connection => "connection",
        })
    }
}
