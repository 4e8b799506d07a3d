//! The routes that read: from pictures and rings to JSON.

pub(crate) mod cluster;
mod cluster_findings;
pub(crate) mod crash_items;
pub(crate) mod decision;
pub(crate) mod detail;
pub(crate) mod finding;
pub(crate) mod findings;
pub(crate) mod flow;
pub(crate) mod inspect;
pub(crate) mod node;
pub(crate) mod pools;
pub(crate) mod process;
pub(crate) mod processes;
pub(crate) mod recipe;
pub(crate) mod recorded_items;
pub(crate) mod rings;
pub(crate) mod snapshot;
pub(crate) mod tree;
pub(crate) mod turns;
pub(crate) mod waits;
