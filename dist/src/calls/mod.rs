//! Messages and calls to processes of other nodes, and the answers to theirs.

pub(crate) mod answering;
pub(crate) mod caller;
pub(crate) mod pending_calls;
mod returned_tokens;
pub(crate) mod sending;
