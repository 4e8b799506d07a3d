//! Observing a process from outside: inspections, traces, monitors, subscriptions.

pub(crate) mod debug;
pub(crate) mod events;
pub(crate) mod inspect;
pub(crate) mod inspect_request;
pub(crate) mod subscription;
pub(crate) mod trace;
pub(crate) mod watch;
pub(crate) mod watched_job;
