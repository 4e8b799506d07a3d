//! The context of a process: its own state and operations.
//!
//! [`context`] is the state of a living process; it contains [`timers`], a [`stash`] and its
//! [`idle`] times. The operations: [`receive`] and [`next`] take items, [`batching`] takes
//! several messages at once, [`ordering`] takes them in another order, [`stashing`] sets them
//! aside. [`timing`] sets timers, [`idling`] sets idle timeouts, [`signals`] links and
//! monitors, [`naming`] finds processes by name, [`priority_class`] sets the class, [`on_end`]
//! adds cleaners, [`unhandled`] counts messages that will not be handled, and [`held_room`]
//! lets messages that were received ahead of their turn keep their room.

mod batching;
#[allow(clippy::module_inception, reason = "the module is named after its main type `Context`")]
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
