//! Processes: the cell, turns, the end of life, links and monitors.
//!
//! | module | subject |
//! |---|---|
//! | [`process`] | the interface of a process towards the host and other processes |
//! | [`cell`] | the parts of a process |
//! | [`cell_core`] | those that know no type of message |
//! | [`untyped_cell`] | a cell whose types of messages are not known |
//! | [`requests`] | what others ask of it |
//! | [`exits`] | what an exit signal and a stop do to it |
//! | [`process_impl`] | how a cell implements that interface |
//! | [`snapshot`] | what a cell tells about its process without its help |
//! | [`facts`] | what is known of a process from its type |
//! | [`sending`] | how messages and notices are put into its mailbox |
//! | [`control_sending`] | how entries are put on its control lanes |
//! | [`checked_send`] | sends by an alias, and of values of another type |
//! | [`waking`] | how it is woken |
//! | [`attention`] | what it handles before its next message |
//! | [`reservation`] | room in the mailbox |
//! | [`turn`] | how a process runs |
//! | [`turn_span`] | the `tracing` span of a turn |
//! | [`muting`] | how a process that floods another waits for it |
//! | [`ending`] | how a process ends |
//! | [`asked_to_end`] | how a task is ended |
//! | [`progress`] | counters and flags that turns write |
//! | [`rare_cell`] | the parts of a cell that most processes never use |
//! | [`relations`] | the links and monitors that a process stores |
//! | [`bonds`] | how links and monitors work between two processes |
//! | [`wait_graph`] | which process waits for which |
//! | [`awaited`] | one edge of that graph |
//! | [`waker`] | the waker of a process |
//! | [`simulated_link`] | what a simulation puts between a sender and a mailbox |
//! | [`current`] | the turn that runs on this thread |
//! | [`turn_state`] | what it and the polled future tell each other |
//! | [`deferred`] | work that waits for a lock to be released |
//! | [`panics`] | where a panic was raised, and the reason that is made of it |
//! | [`contained`], [`crash`] | how a panic is caught: in place, or by a call |
//! | [`crash_reporting`] | the crash report of a process that has failed |
//! | [`exit_source`] | where a pending exit came from |
//! | [`last_item`] | the last item that a process has received |
//! | [`messages_in_hand`] | the messages that a behaviour holds, and what waits for them |

pub(crate) mod asked_to_end;
pub(crate) mod attention;
pub(crate) mod awaited;
pub(crate) mod bonds;
pub(crate) mod cell;
pub(crate) mod cell_core;
mod checked_send;
pub(crate) mod contained;
mod control_sending;
pub(crate) mod crash;
mod crash_reporting;
pub(crate) mod current;
pub(crate) mod deferred;
mod ending;

pub(crate) mod exit_source;
pub(crate) mod exits;
pub(crate) mod facts;
mod job_sending;
pub(crate) mod last_item;
pub(crate) mod locked_relations;
pub(crate) mod messages_in_hand;
mod muting;
pub(crate) mod outside;
pub(crate) mod panics;
#[allow(clippy::module_inception, reason = "the module is named after the trait `Process`")]
pub(crate) mod process;
pub(crate) mod process_impl;
pub(crate) mod progress;
pub(crate) mod rare_cell;
pub(crate) mod relations;
pub(crate) mod remote;
pub(crate) mod remote_bonds;
mod requests;
pub(crate) mod reservation;
mod sending;
pub(crate) mod simulated_link;
#[cfg(all(test, not(loom), target_pointer_width = "64"))]
mod sizes;
pub(crate) mod small_map;
mod snapshot;
pub(crate) mod turn;
pub(crate) mod turn_span;
pub(crate) mod turn_state;
pub(crate) mod turn_word;
pub(crate) mod untyped_cell;
pub(crate) mod wait_graph;
pub(crate) mod waker;
mod waking;
