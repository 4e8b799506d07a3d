//! The interface between processes and their node.

pub(crate) mod delegate;
#[allow(clippy::module_inception, reason = "the trait `Host` is what the module is about")]
pub(crate) mod host;
pub(crate) mod ready;
pub(crate) mod worker_slot;
