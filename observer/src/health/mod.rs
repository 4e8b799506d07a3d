//! Probes: canaries on the dispatchers, checks of processes, and what follows from them.

pub(crate) mod applications;
pub(crate) mod canaries;
pub(crate) mod checks;
pub(crate) mod probes;
pub(crate) mod rounds;
pub(crate) mod startup;
pub(crate) mod top_processes;
