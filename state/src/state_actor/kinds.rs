//! The types of what a state actor gets.

use crate::state_actor::letter::Letter;
use krarup_act::{Address, Context};

/// The four types that a [`crate::StateActor`] names, which is where they are explained: every
/// state actor has them, and nobody implements this for himself.
pub trait Kinds: Sized + Send + 'static {
    /// What it is told.
    type Notice: Send + 'static;
    /// What it is asked.
    type Ask: Send + 'static;
    /// Answers to what it asks itself.
    type Reply: Send + 'static;
    /// What its timers bring.
    type Event: Send + 'static;
}

/// The context of a state actor's process.
pub type StateContext<A> =
    Context<Letter<<A as Kinds>::Notice, <A as Kinds>::Ask>, <A as Kinds>::Event>;

/// The address of a state actor.
pub type StateAddress<A> =
    Address<Letter<<A as Kinds>::Notice, <A as Kinds>::Ask>, <A as Kinds>::Event>;
