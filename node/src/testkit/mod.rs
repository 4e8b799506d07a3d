//! Probes: processes of a test, what they expect, and how long they wait for it.

pub(crate) mod expect;
pub(crate) mod failure;
pub(crate) mod lifecycle_probe;
pub(crate) mod patience;
pub(crate) mod probe;
pub(crate) mod probe_process;
