//! What is known of a process from the type of its behaviour.

use krarup_gen::ProcessKind;
use std::any::Any;

/// The constant facts of a behaviour. A cell points at them, so they take the space of one
/// pointer in a process.
#[derive(Debug)]
pub(crate) struct BehaviorFacts {
    /// Returns the label of the behaviour. It is user code.
    pub(crate) label: fn() -> &'static str,
    /// Returns the kind of the behaviour. It is user code.
    pub(crate) kind: fn() -> ProcessKind,
    /// Returns a message of its Main lane as text, if it shows its messages. It is user code.
    pub(crate) show_message: fn(&dyn Any) -> Option<String>,
    /// Does the same for a message of its control lanes.
    pub(crate) show_command: fn(&dyn Any) -> Option<String>,
    /// Returns whether it hands its messages on. It is user code.
    pub(crate) routes_main: fn() -> bool,
    /// Whether all its turns must be on one thread.
    pub(crate) one_thread: bool,
    /// The bytes of the future that runs the behaviour.
    pub(crate) future: usize,
}
