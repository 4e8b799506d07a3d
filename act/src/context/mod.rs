//! The context of a process: its own state and operations.
//!
//! | module | subject |
//! |---|---|
//! | [`context`], [`cold_context`] | the state of a living process |
//! | [`teardown`] | the end of that state |
//! | [`timer_table`], [`stash_queue`] | parts of that state: data, without the process |
//! | [`idle_state`] | the idle time, and its timer |
//! | [`receive`], [`next`] | taking items |
//! | [`selective`] | taking a message that is wanted, and leaving what is before it |
//! | [`batching`], [`ordering`] | taking several messages at once, or in another order |
//! | [`timers`] | setting and cancelling timers |
//! | [`stash`] | setting messages aside |
//! | [`idle_timeout`] | idle timeouts and passivation |
//! | [`signals`], [`naming`] | links and monitors; processes by name |
//! | [`priority_class`], [`on_end`] | setting the class; adding cleaners |
//! | [`held_room`] | messages that were received ahead of their turn keep their room |
//! | [`held_messages`] | messages that were received and are not handled yet |
//! | [`own_events`], [`own_process`] | events of the process's own; its handle on itself |
//! | [`behavior_context`] | what is for behaviours alone |
//! | [`showing`] | its state as its label |
//! | [`traced`] | its tracer, its flight recorder, its trace |
//! | [`jobs`], [`unhandled`] | watched jobs; messages that will not be handled |

mod accepting;
mod batching;
mod behavior_context;
pub(crate) mod cold_context;
#[allow(clippy::module_inception, reason = "the module is named after its main type `Context`")]
pub(crate) mod context;
mod held_messages;
mod held_room;
pub(crate) mod idle_state;
mod idle_timeout;
mod jobs;
mod naming;
mod next;
mod on_end;
mod ordering;
mod own_events;
mod own_process;
mod priority_class;
mod receive;
mod selective;
mod showing;
mod signals;
mod stash;
pub(crate) mod stash_queue;
mod teardown;
pub(crate) mod timer_table;
mod timers;
mod trace_context;
mod traced;
mod unhandled;

pub use behavior_context::BehaviorContext;
pub use context::Context;
pub use held_messages::{ExpiredMessage, HeldMessage};
pub use next::{NextMessage, Receive};
pub use own_process::OwnProcess;
pub use selective::ReceiveWhere;
