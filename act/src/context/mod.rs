//! A process's own view of the world.
//!
//! [`context`] is what a process holds while it lives; it keeps [`timers`], a [`stash`] and
//! what it wants when it is [`idle`]. What it can do as itself: [`receive`] what comes [`next`],
//! or several at once ([`batching`]), in another order ([`ordering`]), set messages aside ([`stashing`]), set timers
//! ([`timing`]), hear of silence ([`idling`]), link and monitor ([`signals`]), find others and be
//! found ([`naming`]), say how urgent it is ([`priority_class`]), leave behind what cleans up after
//! it ([`on_end`]), count what it will not handle ([`unhandled`]), let messages keep their room that
//! it has received ahead of their turn ([`held_room`]).

mod batching;
#[allow(clippy::module_inception, reason = "the type `Context` is what the module is about")]
pub(crate) mod context;
mod held_room;
pub(crate) mod idle;
mod idling;
mod jobs;
mod naming;
mod next;
mod on_end;
mod ordering;
mod priority_class;
mod receive;
mod signals;
pub(crate) mod stash;
mod stashing;
pub(crate) mod timers;
mod timing;
mod unhandled;

pub use context::Context;
pub use next::{NextMessage, Receive};
