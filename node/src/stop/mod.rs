//! How a node stops.

mod descent;
pub(crate) mod guard;
pub(crate) mod shutdown;
#[allow(clippy::module_inception, reason = "the type `NodeStop` is what the module is about")]
pub(crate) mod stop;
pub(crate) mod stopped;
