//! The machine of the Krarup node.
//!
//! A [`Node`] keeps the registry of processes and names, the timers, and the
//! dispatchers that run processes. [`Simulation`] is a node on one thread whose every
//! choice comes from a seed, in virtual time.

#![forbid(unsafe_code)]

mod blocking;
mod builder;
mod clock;
mod core;
mod dispatcher;
mod dispatchers;
mod error;
mod events;
mod explore;
mod faults;
mod guard;
mod keeper;
mod node;
mod options;
mod probe;
mod recorder;
mod registry;
mod seeded;
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
pub use dispatcher::executor::{Executor, Task};
pub use error::NodeError;
pub use explore::FailingSeed;
pub use faults::Faults;
pub use node::Node;
pub use options::DispatcherOptions;
pub use probe::Probe;
#[cfg(feature = "settings")]
pub use settings::{Settings, SettingsError, SettingsFault};
pub use simulation::Simulation;
pub use stop::NodeStop;
pub use trace::Trace;
