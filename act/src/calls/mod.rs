//! Requests and replies: the call, the reply token, the slot between them, and deadlines.

pub(crate) mod answered;
pub(crate) mod call;
#[cfg(feature = "serde")]
pub(crate) mod carried;
pub(crate) mod deadline;
pub(crate) mod dropped_calls;
pub(crate) mod node_clock;
pub(crate) mod pending;
pub(crate) mod pending_reply;
pub(crate) mod permit_call;
pub(crate) mod recipient_call;
pub(crate) mod refusal;
pub(crate) mod reply;
pub(crate) mod slot;
pub(crate) mod slot_cache;
mod slot_ends;
