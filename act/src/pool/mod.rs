//! Pools of workers: [`pool`] the process that keeps the workers, [`rotation`] the
//! route on which messages reach them, [`command`] what a pool can be told.

pub(crate) mod command;
#[allow(clippy::module_inception, reason = "the type `Pool` is what the module is about")]
pub(crate) mod pool;
pub(crate) mod rotation;
