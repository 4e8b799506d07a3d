//! A node in virtual time in which every choice comes from a seed.

pub(crate) mod arrivals;
mod block_on;
pub(crate) mod chunked_list;
pub(crate) mod codecs;
pub(crate) mod dispatcher;
pub(crate) mod due_timers;
pub(crate) mod explore;
mod explore_settings;
pub(crate) mod faults;
pub(crate) mod injected_faults;
pub(crate) mod network_events;
pub(crate) mod network_faults;
pub(crate) mod next_step;
pub(crate) mod nodes;
pub(crate) mod one_run;
pub(crate) mod process_key;
pub(crate) mod ready_lists;
pub(crate) mod recorder;
mod running;
pub(crate) mod schedule;
pub(crate) mod seed_file;
pub(crate) mod seeded;
#[cfg(feature = "serde")]
pub(crate) mod serializing;
pub(crate) mod shrinking;
pub(crate) mod shrunk;
#[allow(clippy::module_inception, reason = "the type `Simulation` is what the module is about")]
pub(crate) mod simulation;
pub(crate) mod trace;
pub(crate) mod trace_json;
pub(crate) mod turn_limit;
