//! Behaviours of a Krarup node besides actors.
//!
//! - [`StateActor`], spawned as [`Stateful`], serves while its handlers wait (Otavia).
//!   Many handlers are in flight. Work is ordered in five strict classes, asks can be
//!   barriers, and messages can be handled in batches.
//! - [`StateMachine`], spawned as [`Machine`], is in one of several states, with time-outs,
//!   postponed events and enter calls (OTP's `gen_statem`).
//! - [`StepProcess`], spawned as [`Stepped`], is a state machine driven from outside, such
//!   as an interpreter (Wippy). It yields [`Commands`] and continues with their results.
//! - [`Grains`] are processes by key. A grain is spawned when a message is sent to it, ends
//!   when it is idle, and is spawned again on the next message (`GoAkt`'s passivation).
//!
//! They use no part of [`krarup_act`] that a user's own behaviour could not use.

#![forbid(unsafe_code)]

mod batches;
mod contained_drop;
mod grains;
mod state_actor;
mod state_machine;
mod step_process;
mod table;
#[cfg(test)]
mod wake_count;
mod wake_queue;

pub use batches::{BatchItem, Batcher, BatcherAddress, BatcherCalls, BatcherCommand, BatcherError};
pub use grains::calls::{GrainAddress, GrainCalls, GrainCommand, ToGrain};
pub use grains::error::GrainsError;
pub use grains::grains::Grains;
pub use state_actor::kinds::{Kinds, StateAddress, StateContext};
pub use state_actor::load::{HIGH_EVENTS, HIGH_REPLIES, Load};
pub use state_actor::promise::{AskId, Exception, Promise};
pub use state_actor::scope::{EventTimer, Scope};
pub use state_actor::scope_call::{AskThen, ScopeCall};
pub use state_actor::state_actor::{Cleaner, StateActor};
pub use state_actor::state_message::{StateCalls, StateMessage};
pub use state_actor::stateful::Stateful;
pub use state_actor::stateful_error::StatefulError;
pub use state_machine::event::Event;
pub use state_machine::machine::Machine;
pub use state_machine::next::{Entered, First, Next};
pub use state_machine::state_machine::StateMachine;
pub use state_machine::types::MachineTypes;
pub use step_process::commands::{CommandResult, Commands, Completion};
pub use step_process::step_process::{
    CommandError, StepEvent, StepOutput, StepProcess, Tag, UnknownMethod,
};
pub use step_process::stepped::Stepped;
