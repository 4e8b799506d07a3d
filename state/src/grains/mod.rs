//! Grains: processes by key that are spawned when a message is sent to them.

pub(crate) mod after_unlock;
pub(crate) mod calls;
pub(crate) mod directory;
pub(crate) mod entry;
pub(crate) mod error;
#[allow(clippy::module_inception, reason = "the type `Grains` is what the module is about")]
pub(crate) mod grains;
pub(crate) mod held_messages;
mod keeper;
pub(crate) mod reservation;
pub(crate) mod route;
pub(crate) mod waiting_line;
