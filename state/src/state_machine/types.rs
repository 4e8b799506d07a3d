//! The four types of a state machine.

use std::fmt;
use std::hash::Hash;

/// The four types that a [`StateMachine`](crate::StateMachine) names; they are explained there.
/// Every state machine implements this trait by a blanket implementation. Users do not implement
/// it.
pub trait MachineTypes: Sized + Send + 'static {
    /// The states.
    type State: Clone + PartialEq + fmt::Debug + Send + 'static;
    /// The messages of others.
    type Message: Send + 'static;
    /// What the machine tells itself.
    type Internal: Send + 'static;
    /// The names of its named time-outs.
    type Timer: Clone + Eq + Hash + fmt::Debug + Send + 'static;
}
