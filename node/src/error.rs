//! Errors of starting a node.

use crate::applications::error::{ApplicationError, StartApplicationError};
#[cfg(feature = "settings")]
use crate::settings::SettingsError;
use krarup_gen::NameError;
use std::io;

/// The reason why a node could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NodeError {
    /// The text is not a valid node name.
    #[error("invalid node name: {0}")]
    InvalidName(#[from] NameError),
    /// The program is compiled with `panic = "abort"`: the first panic of a process would end the
    /// whole program (rule D4). See
    /// [`NodeBuilder::allow_panic_abort`](crate::NodeBuilder::allow_panic_abort).
    #[error(
        "the program is compiled with `panic = \"abort\"`, so a panic in one process would end them all: \
         compile it with `panic = \"unwind\"`, or allow it with `NodeBuilder::allow_panic_abort`"
    )]
    PanicAborts,
    /// Neither the node's settings nor its program sets a name.
    #[error("the node has no name: set `node.name` in its settings, or call `NodeBuilder::name`")]
    NoName,
    /// A dispatcher, or an alias of one, has a name of 1 to 255 bytes.
    #[error("{dispatcher:?} is no name of a dispatcher: {error}")]
    DispatcherName {
        /// The name that was given.
        dispatcher: String,
        /// What is wrong with it.
        error: NameError,
    },
    /// A pool of threads for blocking work has a name of 1 to 255 bytes.
    #[error("{pool:?} is no name of a blocking pool: {error}")]
    BlockingPoolName {
        /// The name that was given.
        pool: String,
        /// What is wrong with it.
        error: NameError,
    },
    /// A dispatcher was given no workers, or more than 1024.
    #[error("dispatcher {dispatcher:?} cannot have {workers} workers (1 to 1024)")]
    Workers {
        /// The dispatcher.
        dispatcher: String,
        /// The number asked for.
        workers: usize,
    },
    /// A dispatcher was given a throughput of 0 messages.
    #[error("dispatcher {dispatcher:?} cannot have a throughput of 0 messages")]
    ZeroThroughput {
        /// The dispatcher.
        dispatcher: String,
    },
    /// A dispatcher was given a throughput deadline of zero.
    #[error("dispatcher {dispatcher:?} cannot have a throughput deadline of zero")]
    ZeroDeadline {
        /// The dispatcher.
        dispatcher: String,
    },
    /// The node was given no side threads for blocking work, or more than 16384.
    #[error("a node cannot have {0} threads for blocking work (1 to 16384)")]
    BlockingThreads(usize),
    /// The mailbox alarm was set below its minimum.
    #[error("the mailbox alarm cannot be at {messages} messages: the minimum is {least}")]
    MailboxAlarm {
        /// The number of messages asked for.
        messages: usize,
        /// The minimum.
        least: usize,
    },
    /// A pool for blocking work was given no threads, or more than 16384.
    #[error("blocking pool {pool:?} cannot have {threads} threads (1 to 16384)")]
    BlockingPool {
        /// The pool.
        pool: String,
        /// The number asked for.
        threads: usize,
    },
    /// Two pools for blocking work have the same name.
    #[error("blocking pool {0:?} is configured twice")]
    BlockingPoolTwice(String),
    /// A dispatcher was told to report turns of zero length.
    #[error("dispatcher {dispatcher:?} cannot have a long-turn limit of zero")]
    ZeroLongTurn {
        /// The dispatcher.
        dispatcher: String,
    },
    /// The threads of a dispatcher were given a stack that is too small or too large.
    #[error("dispatcher {dispatcher:?} cannot have stacks of {bytes} bytes (64 KiB to 1 GiB)")]
    StackSize {
        /// The dispatcher.
        dispatcher: String,
        /// The size asked for.
        bytes: usize,
    },
    /// Two dispatchers have the same name. Each node has one named `default` from the start:
    /// [`NodeBuilder::options`](crate::NodeBuilder::options) sets its options.
    #[error("dispatcher {0:?} is configured twice (each node has one named \"default\")")]
    DispatcherTwice(String),
    /// A dispatcher or an application was to be added to a node that is stopping or has stopped.
    #[error("the node is stopping: nothing can be added to it")]
    Stopping,
    /// An alias stands for a dispatcher that does not exist, at the end of its chain of aliases.
    #[error("dispatcher alias {alias:?} stands for {of:?}, which is not a dispatcher{}", at(said_at.as_ref()))]
    AliasOfNone {
        /// The alias.
        alias: String,
        /// The name it stands for.
        of: String,
        /// The file and line of the alias, if they are known.
        said_at: Option<String>,
    },
    /// An alias stands for a dispatcher through aliases that stand for each other.
    #[error("dispatcher alias {alias:?} leads into a cycle of aliases: {}{}", cycle_of(cycle), at(said_at.as_ref()))]
    AliasCycle {
        /// The alias.
        alias: String,
        /// The aliases of the cycle, each of which stands for the next one, and the last for the first.
        cycle: Vec<String>,
        /// The file and line of the alias, if they are known.
        said_at: Option<String>,
    },
    /// Its applications are not valid together (rule A1).
    #[error(transparent)]
    Application(#[from] ApplicationError),
    /// The settings of an application are not valid (feature `settings`; rule A11).
    #[cfg(feature = "settings")]
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// An application that starts with the node did not start. All have been stopped again (rule
    /// A3).
    #[error(transparent)]
    StartApplication(#[from] StartApplicationError),
    /// A thread could not be started.
    #[error("cannot start a thread: {0}")]
    Thread(#[source] io::Error),
}

/// The place of a setting, as the end of an error text.
fn at(place: Option<&String>) -> String {
    place.map(|place| format!(" ({place})")).unwrap_or_default()
}

/// A cycle of names, as a text that ends with the first one.
fn cycle_of(names: &[String]) -> String {
    let names: Vec<_> = names.iter().chain(names.first()).map(|name| format!("{name:?}")).collect();
    names.join(" -> ")
}
