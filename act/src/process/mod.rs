//! The process: its cell, its turns, its death, and its bonds with others.
//!
//! [`process`] is a process as everyone else sees it, [`cell`] what it is made of,
//! [`citizen`] how that answers the others, [`room`] who gets room in its mailbox, [`turn`]
//! how it runs, [`turn_span`] what its log says of it, [`ending`] how it ends, [`progress`] what its turns write down, [`relations`] what it
//! remembers of links and monitors, [`bonds`] what those do between two processes,
//! [`cleaners`] what cleans up when it is gone, [`waits`] who waits for whom, [`wait`] how
//! one such wait is written down, [`waker`] what a process is woken by, [`wired`] what a simulation does between a sender and a
//! mailbox, [`current`] who runs on this thread, [`later`] what waits for a
//! lock to be free, [`crash`] how a panic becomes a reason.

pub(crate) mod bonds;
pub(crate) mod cell;
pub(crate) mod citizen;
pub(crate) mod cleaners;
pub(crate) mod crash;
pub(crate) mod current;
mod ending;
pub(crate) mod later;
#[allow(clippy::module_inception, reason = "the trait `Process` is what the module is about")]
pub(crate) mod process;
pub(crate) mod progress;
pub(crate) mod relations;
pub(crate) mod room;
pub(crate) mod turn;
pub(crate) mod turn_span;
pub(crate) mod wait;
pub(crate) mod waits;
pub(crate) mod waker;
pub(crate) mod wired;
