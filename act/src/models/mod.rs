//! Models of the places where some order of threads could lose something.
//!
//! | module | subject |
//! |---|---|
//! | [`process`] | a process, its mailbox and its turns |
//! | [`endings`] | the end of a process |
//! | [`muting`] | a process that floods another waits for it |
//! | [`suspending`] | suspensions |
//! | [`room`] | senders that wait for room |
//! | [`within`] | a process that runs inside the turn of another |
//! | [`survivors`] | actors that panic, and what survives for `terminate` |
//! | [`refused`] | a process that its executor refused |
//! | [`in_place`] | restarts in place |
//! | [`aliases`] | aliases that are revoked |
//! | [`bonds`] | links and monitors |
//! | [`topics`] | the end of a topic, and of a subscriber |
//! | [`slot`] | a reply on its way |
//! | [`settle_lock`] | the lock of a reply on its way |
//! | [`calls`] | the call that waits for a reply |
//! | [`registry`] | registering against the end of the process, and against another |
//! | [`groups`] | joining and leaving against the end of the process, a watch against a joining |
//! | [`name_waits`] | waiting for a name against a process that gets it |
//! | [`marks`] | the marks of a process, which share a byte |
//! | [`waking_handles`] | the handles that can wake a process |
//! | [`tasks`] | the end of a task, its await, and the end of its owner |
//!
//! These models run the real code, each under three checkers ([`checker`]). Models that must
//! fail show what the code would lose without one of its safeguards. They are in the `broken`
//! modules beside the models, in [`mailbox`] for a process and its mailbox, and in [`waits`]
//! for cycles of calls. `docs/verification.md` lists which model proves which property.

pub(crate) mod checker;

mod aliases;
mod bonds;
mod calls;
mod endings;
mod groups;
mod in_place;
#[cfg(loom)]
mod mailbox;
mod marks;
pub(crate) mod model_host;
mod muting;
mod name_waits;
mod polling;
mod process;
mod refused;
mod registry;
mod room;
mod settle_lock;
mod slot;
mod survivors;
mod suspending;
mod tasks;
mod topics;
#[cfg(loom)]
mod waits;
pub(crate) mod wake_flag;
mod wakers;
mod waking_handles;
mod within;
