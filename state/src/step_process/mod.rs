//! Step processes: state machines that are driven from outside.

pub(crate) mod commands;
pub(crate) mod machine;
#[allow(clippy::module_inception, reason = "the trait `StepProcess` is what the module is about")]
pub(crate) mod step_process;
pub(crate) mod stepped;
