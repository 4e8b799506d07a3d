//! The interface between processes and their node.

pub(crate) mod delegate;
#[allow(clippy::module_inception, reason = "the module is named after its main trait `Host`")]
pub(crate) mod host;
pub(crate) mod network;
pub(crate) mod ready;
pub(crate) mod shared_host;
pub(crate) mod shared_host_slot;
pub(crate) mod simulated_network;
pub(crate) mod worker_slot;
