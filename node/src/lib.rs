//! The runtime of a Krarup node.
//!
//! A [`Node`] holds the registry of processes and names, the timers, and the dispatchers that
//! run processes. A [`Simulation`] is a node on one thread, in virtual time, in which every
//! choice comes from a seed.

// docs.rs marks what needs a feature.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod added_dispatcher;
mod applications;
mod block_on;
mod builder;
mod core;
mod dispatcher;
mod dispatchers;
mod error;
mod events;
mod groups;
mod incidents;
mod mailbox_alarm;
#[cfg(test)]
mod models;
mod node;
mod once_value;
mod options;
mod own_events;
#[cfg(all(test, not(loom)))]
mod panicking_log;
#[cfg(all(test, not(loom)))]
mod panicking_work;
mod pid_table;
mod registry;
mod run;
mod runtime;
#[cfg(feature = "settings")]
mod settings;
mod side_threads;
#[cfg(feature = "signals")]
mod signals;
mod simulation;
mod stop;
mod sync;
mod testkit;
mod threads;
mod timers;
mod topics;

pub use applications::application::Application;
pub use applications::error::{ApplicationError, StartApplicationError, StopApplicationError};
pub use applications::info::{ApplicationInfo, ApplicationState};
pub use applications::plan::Mode;
pub use applications::stop::StopApplication;
pub use builder::NodeBuilder;
pub use dispatcher::executor::{Executor, ExecutorTask};
pub use error::NodeError;
pub use node::Node;
pub use options::DispatcherOptions;
pub use run::ProgramError;
#[cfg(feature = "settings")]
pub use settings::{Settings, SettingsError, SettingsFault};
#[cfg(feature = "signals")]
pub use signals::Signals;
pub use simulation::codecs::{Carried, CodecFailure};
pub use simulation::explore::FailingSeed;
pub use simulation::faults::{Fault, Faults, Victim};
pub use simulation::schedule::{Schedule, ScheduleError};
pub use simulation::shrunk::ShrunkFailure;
pub use simulation::simulation::Simulation;
pub use simulation::trace::Trace;
pub use stop::stop::NodeStop;
pub use stop::stopped::Stopped;
pub use testkit::probe::Probe;
