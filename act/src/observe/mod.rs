//! Observing a process from outside: inspections, traces, monitors, subscriptions.

pub(crate) mod aftermath;
pub(crate) mod debug;
pub(crate) mod events;
pub(crate) mod inspect;
pub(crate) mod inspect_request;
pub(crate) mod item_log;
pub(crate) mod manage;
pub(crate) mod manage_request;
pub(crate) mod recording;
pub(crate) mod records;
pub(crate) mod report_log;
pub(crate) mod report_rate;
pub(crate) mod state_label;
pub(crate) mod state_labels;
pub(crate) mod subscription;
pub(crate) mod supervision_log;
pub(crate) mod trace;
pub(crate) mod trace_reader;
pub(crate) mod trace_ring;
pub(crate) mod turn_recorder;
pub(crate) mod view;
pub(crate) mod walk;
pub(crate) mod watch;
pub(crate) mod watched_job;
