//! The four item types of a state actor.

use crate::state_actor::state_message::StateMessage;
use krarup_act::{Address, Context};

/// The four types that a [`StateActor`](crate::StateActor) names; they are explained there. Every
/// state actor implements this trait by a blanket implementation. Users do not implement it.
pub trait Kinds: Sized + Send + 'static {
    /// A message without an answer.
    type Notice: Send + 'static;
    /// A request.
    type Ask: Send + 'static;
    /// Answers to its own requests.
    type Reply: Send + 'static;
    /// Messages of its timers.
    type Event: Send + 'static;
}

/// The context of a state actor's process.
pub type StateContext<A> =
    Context<StateMessage<<A as Kinds>::Notice, <A as Kinds>::Ask>, <A as Kinds>::Event>;

/// The address of a state actor.
pub type StateAddress<A> =
    Address<StateMessage<<A as Kinds>::Notice, <A as Kinds>::Ask>, <A as Kinds>::Event>;
