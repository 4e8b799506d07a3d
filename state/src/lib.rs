//! Behaviours of the Krarup node beside actors.
//!
//! - [`StateActor`], spawned as [`Stateful`]: it serves while its handlers wait (Otavia). Many
//!   are in flight, in five classes of strict order; asks can be barriers; messages come in
//!   batches.
//! - [`StepProcess`], spawned as [`Stepped`]: a state machine that somebody else drives, such as
//!   an interpreter (Wippy). It yields [`Commands`] and goes on with what they come to.
//! - [`Grains`]: processes by key that are made when something is sent to them, go when they are
//!   idle and come back (`GoAkt`'s passivation).
//!
//! They use nothing of [`krarup_act`] that a user's own behaviour could not use.

#![forbid(unsafe_code)]

mod contained_drop;
mod grains;
mod state_actor;
mod step_process;
mod table;

pub use grains::calls::{GrainAddress, GrainCalls, GrainCommand, ToGrain};
pub use grains::error::GrainsError;
pub use grains::grains::Grains;
pub use state_actor::kinds::{Kinds, StateAddress, StateContext};
pub use state_actor::letter::{Letter, Letters};
pub use state_actor::load::{HIGH_EVENTS, HIGH_REPLIES, Load};
pub use state_actor::promise::{AskId, Exception, Promise};
pub use state_actor::scope::{EventTimer, Scope};
pub use state_actor::state_actor::{Cleaner, StateActor};
pub use state_actor::stateful::Stateful;
pub use state_actor::stateful_error::StatefulError;
pub use step_process::commands::{CommandResult, Commands, Completion};
pub use step_process::step_process::{
    CommandError, StepEvent, StepOutput, StepProcess, Tag, UnknownMethod,
};
pub use step_process::stepped::Stepped;
