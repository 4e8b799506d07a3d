//! Messages and calls to processes of other nodes, and the answers to theirs.

pub(crate) mod answering;
pub(crate) mod caller;
pub(crate) mod pending_calls;
pub(crate) mod sending;
