//! Why a call of a function of another node has failed.

use crate::error::{ClusterError, FunctionNameError};
use crate::functions::exception::TermException;
use crate::requests::target::TargetError;
use krarup_gen::{CannotWait, Reason};
use std::time::Duration;

/// Why a call of a function of another node has failed (rule Zcall10). `function` is
/// `module:name/arity on node`.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RpcError {
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
    /// Too much waits to be sent to the node. Nothing was sent.
    #[error("the queue to the node of {function} is full")]
    Full {
        /// The function.
        function: String,
    },
    /// The function has raised an exception.
    #[error("{function} raised {exception}")]
    Raised {
        /// The function.
        function: String,
        /// The exception: an error, an exit or a throw.
        exception: TermException,
    },
    /// The process of the function was ended by an exit signal.
    #[error("the process of {function} was ended: {reason}")]
    Ended {
        /// The function.
        function: String,
        /// The reason of the signal.
        reason: Reason,
    },
    /// The node has refused the process, with this word: `notsup` if it does not know such
    /// requests, `system_limit` if it has too many processes.
    #[error("the node refused to run {function}: {why}")]
    Refused {
        /// The function.
        function: String,
        /// The word.
        why: String,
    },
    /// There is no connection to the node, or it was lost. The function may have run.
    #[error("no connection to the node of {function}")]
    NoConnection {
        /// The function.
        function: String,
    },
    /// The value is of another type. The function has run.
    #[error("the value of {function} cannot be read: {why}")]
    Value {
        /// The function.
        function: String,
        /// What was expected and found.
        why: String,
    },
    /// There was no outcome in time. The function may still run.
    #[error("{function} has no outcome after {limit:?}")]
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

impl From<TargetError> for RpcError {
    fn from(error: TargetError) -> Self {
        match error {
            TargetError::Cluster(error) => error.into(),
            TargetError::Name(error) => error.into(),
            TargetError::Arguments(function, why) => RpcError::Arguments { function, why },
        }
    }
}
