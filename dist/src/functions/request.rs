//! A request to run something, on its way to the process that does it.

use crate::functions::exception::TermException;
use crate::functions::permit::SpawnPermit;
use crate::one_shot::OneShotReceiver;
use krarup_act::Reply;
use krarup_gen::{NodeName, Pid, SpawnError};
use krarup_wire::etf::{Atom, ExternalPid, Reference, Term};
use std::sync::Arc;

/// A spawn request.
pub(crate) struct SpawnAsked {
    pub(crate) reference: Reference,
    pub(crate) from: ExternalPid,
    pub(crate) module: Atom,
    pub(crate) function: Atom,
    pub(crate) arity: u8,
}

/// What a requested process begins with.
pub(crate) struct RequestedStart {
    pub(crate) arguments: Vec<Term>,
    /// The node that asks.
    pub(crate) node: NodeName,
    /// Opens when the request was answered.
    pub(crate) gate: OneShotReceiver<()>,
    /// Its place among those of the peer; given back with the process.
    pub(crate) permit: SpawnPermit,
}

/// The value of a function as the bytes of a term, or its exception.
pub(crate) type FunctionResult = Result<Vec<u8>, TermException>;

/// A function that other nodes may call.
pub(crate) trait ServedFunction<C>: Send + Sync {
    /// Spawns the process that runs it.
    fn start(
        &self,
        core: &Arc<C>,
        start: RequestedStart,
        done: Reply<FunctionResult>,
    ) -> Result<Pid, SpawnError>;
}

/// A factory of processes that other nodes may request.
pub(crate) trait ServedFactory<C>: Send + Sync {
    /// Spawns the process.
    fn start(&self, core: &Arc<C>, start: RequestedStart) -> Result<Pid, SpawnError>;
}
