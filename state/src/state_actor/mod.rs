//! State actors: behaviours that serve while their handlers wait.

pub(crate) mod classes;
pub(crate) mod engine;
pub(crate) mod handler_wakers;
pub(crate) mod handlers;
pub(crate) mod handling;
pub(crate) mod intake;
pub(crate) mod items;
pub(crate) mod kinds;
pub(crate) mod load;
pub(crate) mod promise;
pub(crate) mod scope;
pub(crate) mod scope_call;
#[allow(clippy::module_inception, reason = "the trait `StateActor` is what the module is about")]
pub(crate) mod state_actor;
pub(crate) mod state_message;
pub(crate) mod stateful;
pub(crate) mod stateful_error;
