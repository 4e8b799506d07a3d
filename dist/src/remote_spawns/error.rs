//! Why a process of another node could not be spawned.

use crate::error::{ClusterError, FunctionNameError};
use crate::requests::target::TargetError;
use krarup_gen::CannotWait;
use std::time::Duration;

/// Why a process could not be spawned on another node (rule Zcall15). `function` is
/// `module:name/arity on node`.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteSpawnError {
    /// The cluster does not run, or the node is this one or has no valid name.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The name of the module or of the function is not valid.
    #[error(transparent)]
    Name(#[from] FunctionNameError),
    /// The arguments cannot be written as terms. Nothing was sent.
    #[error("the arguments of {function} cannot be written: {why}")]
    Arguments {
        /// The function.
        function: String,
        /// Why not.
        why: String,
    },
    /// A link was asked for outside any process. Nothing was sent.
    #[error("a process of {function} cannot be linked: it is not spawned by a process")]
    NotInProcess {
        /// The function.
        function: String,
    },
    /// Too much waits to be sent to the node. Nothing was sent.
    #[error("the queue to the node of {function} is full")]
    Full {
        /// The function.
        function: String,
    },
    /// The node has refused the process, with this word: `notsup` if it has no such function or does not know such
    /// requests, `system_limit` if it has too many processes.
    #[error("the node refused a process of {function}: {why}")]
    Refused {
        /// The function.
        function: String,
        /// The word.
        why: String,
    },
    /// There is no connection to the node, or it was lost. The process may run, if no link was asked for.
    #[error("no connection to the node of {function}")]
    NoConnection {
        /// The function.
        function: String,
    },
    /// There was no answer in time. The process may run, or begin to; a linked one is ended.
    #[error("no process of {function} after {limit:?}")]
    Timeout {
        /// The function.
        function: String,
        /// The time.
        limit: Duration,
    },
    /// This thread cannot wait.
    #[error(transparent)]
    CannotWait(#[from] CannotWait),
}

impl From<TargetError> for RemoteSpawnError {
    fn from(error: TargetError) -> Self {
        match error {
            TargetError::Cluster(error) => error.into(),
            TargetError::Name(error) => error.into(),
            TargetError::Arguments(function, why) => RemoteSpawnError::Arguments { function, why },
        }
    }
}
