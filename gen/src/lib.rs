//! The vocabulary of the Krarup node.
//!
//! The types that all other crates use, without anything that runs: identities ([`Pid`],
//! [`Ref`], [`Name`]), the reason of an end ([`Reason`]), notices ([`Exit`], [`Down`]), errors,
//! timestamps, and the records with which a process describes itself. It has no threads, no
//! locks and no clock.

#![forbid(unsafe_code)]

mod alias;
mod class;
mod dead_letter;
mod destination;
mod errors;
mod inspection;
mod label;
mod lifecycle;
mod name;
mod notice;
mod panic;
mod pid;
mod priority;
mod process_info;
mod process_tree;
mod reason;
mod reference;
mod restart_window;
mod root;
mod stats;
mod timestamp;

pub use alias::Alias;
pub use class::Class;
pub use dead_letter::{DeadLetter, DeadLetterCause};
pub use destination::Destination;
pub use errors::{
    BlockError, CallCycle, CallError, CannotWait, DebugError, LookupError, MessageTypes, NoBound,
    OrderError, OverflowError, RegisterError, SendError, SpawnError, StopError, ThreadError,
};
pub use inspection::{Inspection, Value};
pub use label::Label;
pub use lifecycle::Lifecycle;
pub use name::{Name, NameError};
pub use notice::{Down, Exit, Target};
pub use panic::Panic;
pub use pid::{ParsePidError, Pid};
pub use priority::Priority;
pub use process_info::{ProcessInfo, ProcessState};
pub use process_tree::ProcessTree;
pub use reason::{Reason, ReasonError};
pub use reference::{ParseRefError, Ref};
pub use restart_window::RestartWindow;
pub use root::Root;
pub use stats::{DispatcherStats, Histogram, NodeStats, WorkerStats};
pub use timestamp::Timestamp;

/// The result of callbacks: `Ok`, or the [`Reason`] for which the process ends.
///
/// The default is `Result<(), Reason>`. Both parameters can be given, so this type can replace
/// `std::result::Result` where the prelude is imported.
pub type Result<T = (), E = Reason> = std::result::Result<T, E>;
