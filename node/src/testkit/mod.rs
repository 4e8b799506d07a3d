//! Probes: processes of a test with expectations.

pub(crate) mod expect;
pub(crate) mod failure;
pub(crate) mod lifecycle_probe;
pub(crate) mod patience;
pub(crate) mod probe;
pub(crate) mod probe_process;
pub(crate) mod topic_probe;
