//! Walks over the processes, shared by all who look.

pub(crate) mod cluster_row;
pub(crate) mod identity;
mod merge;
pub(crate) mod picture;
pub(crate) mod pictures;
pub(crate) mod row;
pub(crate) mod rows;
pub(crate) mod sampler;
pub(crate) mod sums;
