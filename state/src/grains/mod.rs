//! Grains: processes by key that are there when they are needed.

pub(crate) mod after_unlock;
pub(crate) mod calls;
pub(crate) mod directory;
pub(crate) mod entry;
pub(crate) mod error;
#[allow(clippy::module_inception, reason = "the type `Grains` is what the module is about")]
pub(crate) mod grains;
pub(crate) mod reservation;
pub(crate) mod route;
pub(crate) mod waiting_line;
