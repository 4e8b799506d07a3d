//! Side threads for work that blocks.

pub(crate) mod blocking;
pub(crate) mod pools;
