//! A process's own view of the world.
//!
//! [`context`] is what a process holds while it lives; it keeps [`timers`], a [`stash`] and
//! what it wants when it is [`idle`]. What it can do as itself: [`receive`] what comes [`next`],
//! or several at once ([`batching`]), in another order ([`ordering`]), set messages aside ([`stashing`]), set timers
//! ([`timing`]), hear of silence ([`idling`]), link and monitor ([`signals`]), find others and be
//! found ([`naming`]), say how urgent it is ([`classing`]), leave behind what cleans up after
//! it ([`cleaning`]), count what it will not handle ([`losing`]), let messages keep their room that
//! it has received ahead of their turn ([`holding`]).

mod batching;
mod classing;
mod cleaning;
#[allow(clippy::module_inception, reason = "the type `Context` is what the module is about")]
pub(crate) mod context;
mod holding;
pub(crate) mod idle;
mod idling;
mod jobs;
mod losing;
mod naming;
mod next;
mod ordering;
mod receive;
mod signals;
pub(crate) mod stash;
mod stashing;
pub(crate) mod timers;
mod timing;

pub use context::Context;
pub use next::{NextMessage, Receive};
