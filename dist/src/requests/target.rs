//! The function of another node that is asked for, and what it gets.

use crate::core::ClusterCore;
use crate::error::{ClusterError, FunctionNameError};
use crate::functions::arguments::FunctionArguments;
use crate::functions::naming::{arity_of, function_name, list_of};
use crate::handle::ClusterHandle;
use crate::peer::PeerNode;
use crate::requests::sending::RequestedFunction;
use krarup_gen::NodeName;
use serde::Serialize;
use std::sync::Arc;

/// A function of another node.
pub(crate) struct RequestTarget {
    pub(crate) core: Arc<ClusterCore>,
    pub(crate) peer: Arc<PeerNode>,
    pub(crate) function: RequestedFunction,
    /// The function in errors: `module:name/arity on node`.
    pub(crate) named: String,
}

/// Why nothing can be asked for.
pub(crate) enum TargetError {
    Cluster(ClusterError),
    Name(FunctionNameError),
    /// The arguments of this function cannot be written, for this reason.
    Arguments(String, String),
}

impl RequestTarget {
    /// Reads what a user asks for. Nothing is sent.
    pub(crate) fn new<A: FunctionArguments + Serialize>(
        cluster: Result<ClusterHandle, ClusterError>,
        node: &str,
        (module, function): (&str, &str),
        arguments: &A,
    ) -> Result<Self, TargetError> {
        let core = cluster?.0;
        let named = format!("{module}:{function}/{} on {node}", arity_of(arguments));
        let (module, function, arity) = function_name(module, function, arity_of(arguments))?;
        let name = NodeName::new(node).map_err(ClusterError::from)?;
        let peer = core.peer_of(&name).ok_or_else(|| ClusterError::ThisNode(node.to_owned()))?;
        let arguments = list_of(&core, arguments);
        let arguments = arguments.map_err(|why| TargetError::Arguments(named.clone(), why))?;
        let function = RequestedFunction { module, function, arity, arguments };
        Ok(RequestTarget { core, peer, function, named })
    }
}

impl From<ClusterError> for TargetError {
    fn from(error: ClusterError) -> Self {
        TargetError::Cluster(error)
    }
}

impl From<FunctionNameError> for TargetError {
    fn from(error: FunctionNameError) -> Self {
        TargetError::Name(error)
    }
}
