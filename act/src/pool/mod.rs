//! Pools of workers.

pub(crate) mod behavior;
pub(crate) mod command;
mod desk;
pub(crate) mod elastic;
mod handing;
pub(crate) mod histogram;
mod intake;
mod line;
#[allow(clippy::module_inception, reason = "the type `Pool` is what the module is about")]
pub(crate) mod pool;
pub(crate) mod rate;
mod reserving;
mod ring;
pub(crate) mod routing;
pub(crate) mod settings;
mod staff;
pub(crate) mod statistics;
mod ticket;
mod work;
