//! What a served function may use of the process that runs it.

use krarup_act::Context;
use krarup_gen::NodeName;
use std::convert::Infallible;
use std::fmt;

/// The context of a process that runs a function: it receives notices, and no messages.
pub(crate) type FunctionContext = Context<Infallible, Infallible>;

/// A call of a function by another node, as [`ClusterCalls::serve_with`] passes it on.
///
/// [`ClusterCalls::serve_with`]: crate::ClusterCalls::serve_with
#[non_exhaustive]
pub struct FunctionCall {
    /// The context of the process that runs the function: its pid, the time of the node, calls,
    /// spawns, monitors, the cluster. What is linked to it ends if the function is given up or
    /// fails by a panic. A return and an exception end the process normally, so links survive
    /// them (rule L2).
    pub ctx: Context<Infallible, Infallible>,
    /// The node that calls.
    pub node: NodeName,
}

impl fmt::Debug for FunctionCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FunctionCall({} of {})", self.ctx.pid(), self.node)
    }
}
