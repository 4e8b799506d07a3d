//! Walks over the processes, shared by all who look.

pub(crate) mod identity;
pub(crate) mod picture;
pub(crate) mod pictures;
pub(crate) mod sampler;
