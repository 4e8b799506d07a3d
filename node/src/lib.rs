//! The machine of the Krarup node.
//!
//! A [`Node`] keeps the registry of processes and names, the timers, and the
//! dispatchers that run processes. [`Simulation`] is a node on one thread whose every
//! choice comes from a seed, in virtual time.

#![forbid(unsafe_code)]

mod arrivals;
mod blocking;
mod blocking_pools;
mod builder;
mod clock;
mod codecs;
mod core;
mod dispatcher;
mod dispatchers;
mod due;
mod error;
mod events;
mod expect;
mod explore;
mod failure;
mod faults;
mod guard;
mod keeper;
mod lives;
mod mailbox_alarm;
#[cfg(test)]
mod models;
mod node;
mod options;
#[cfg(all(test, not(loom)))]
mod panicking_log;
mod patience;
mod probe;
mod recorder;
mod registry;
mod runtime;
mod seeded;
#[cfg(feature = "serde")]
mod serializing;
#[cfg(feature = "settings")]
mod settings;
mod shutdown;
mod simulation;
mod stop;
mod sync;
mod threads;
mod timer;
mod trace;
mod waiting;
mod wheel;

pub use builder::NodeBuilder;
pub use codecs::{Carried, CodecFailure};
pub use dispatcher::executor::{Executor, Task};
pub use error::NodeError;
pub use explore::FailingSeed;
pub use faults::{Fault, Faults, Victim};
pub use node::Node;
pub use options::DispatcherOptions;
pub use probe::Probe;
#[cfg(feature = "settings")]
pub use settings::{Settings, SettingsError, SettingsFault};
pub use simulation::Simulation;
pub use stop::NodeStop;
pub use trace::Trace;
