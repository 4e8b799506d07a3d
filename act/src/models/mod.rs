//! Models of the places where an interleaving could lose something: a process, its mailbox
//! and its turns ([`process`]), its end ([`endings`]), suspensions ([`suspending`]), senders
//! that wait for room ([`room`]), one that runs within another ([`within`]) or that nobody will run ([`refused`]), restarts in place ([`in_place`]), aliases that are revoked ([`aliases`]), links and monitors
//! ([`bonds`]), a reply on its way ([`slot`]) and the call that waits for it ([`calls`]).
//!
//! The code that runs in them is the real one, and each is run in three ways ([`checker`]).
//! What it would lose without one of its lines is shown by what must fail: where there is a
//! `broken` module beside a model, in [`mailbox`] for a process and its mailbox, in
//! [`waits`] for calls in a cycle. `docs/verification.md` lists what is proved by which.

pub(crate) mod checker;

mod aliases;
mod bonds;
mod calls;
mod endings;
mod in_place;
#[cfg(loom)]
mod mailbox;
pub(crate) mod model_host;
mod process;
mod refused;
mod room;
mod slot;
mod suspending;
#[cfg(loom)]
mod waits;
mod wake_flag;
mod wakers;
mod within;
