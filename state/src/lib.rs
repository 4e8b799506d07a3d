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

mod apart;
mod belfry;
mod classes;
mod commands;
mod engine;
mod gathering;
mod grain_after;
mod grain_book;
mod grain_calls;
mod grain_entry;
mod grain_line;
mod grain_room;
mod grain_route;
mod grains;
mod grains_error;
mod handling;
mod items;
mod kinds;
mod letter;
mod load;
mod promise;
mod scope;
mod stacks;
mod state_actor;
mod stateful;
mod stateful_error;
mod step_process;
mod stepped;
mod table;

pub use commands::{CommandResult, Commands, Completion};
pub use grain_calls::{GrainAddress, GrainCalls, GrainCommand, ToGrain};
pub use grains::Grains;
pub use grains_error::GrainsError;
pub use kinds::{Kinds, StateAddress, StateContext};
pub use letter::{Letter, Letters};
pub use load::{HIGH_EVENTS, HIGH_REPLIES, Load};
pub use promise::{AskId, Exception, Promise};
pub use scope::{EventTimer, Scope};
pub use state_actor::{Cleaner, StateActor};
pub use stateful::Stateful;
pub use stateful_error::StatefulError;
pub use step_process::{CommandError, StepEvent, StepOutput, StepProcess, Tag, UnknownMethod};
pub use stepped::Stepped;
