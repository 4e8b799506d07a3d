//! The process: its cell, its turns, its death, and its bonds with others.
//!
//! [`process`] is a process as everyone else sees it, [`cell`] what it is made of,
//! [`process_impl`] how that answers the others, [`reservation`] who gets room in its mailbox, [`turn`]
//! how it runs, [`turn_span`] what its log says of it, [`ending`] how it ends, [`progress`] what its turns write down, [`relations`] what it
//! remembers of links and monitors, [`bonds`] what those do between two processes,
//! [`wait_graph`] who waits for whom, [`awaited`] how
//! one such wait is written down, [`waker`] what a process is woken by, [`simulated_link`] what a simulation does between a sender and a
//! mailbox, [`current`] who runs on this thread, [`deferred`] what waits for a
//! lock to be free, [`crash`] how a panic becomes a reason.

pub(crate) mod awaited;
pub(crate) mod bonds;
pub(crate) mod cell;
pub(crate) mod crash;
pub(crate) mod current;
pub(crate) mod deferred;
mod ending;
#[allow(clippy::module_inception, reason = "the trait `Process` is what the module is about")]
pub(crate) mod process;
pub(crate) mod process_impl;
pub(crate) mod progress;
pub(crate) mod relations;
pub(crate) mod reservation;
pub(crate) mod simulated_link;
pub(crate) mod turn;
pub(crate) mod turn_span;
pub(crate) mod wait_graph;
pub(crate) mod waker;
