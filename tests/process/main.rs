//! A process: messages, calls, links, monitors, crashes, ends; tasks, agents and topics.
//!
//! One program for all of it: a program for each file would be linked a hundred times.

#[path = "../support/mod.rs"]
mod support;
#[path = "../topic_support/mod.rs"]
mod topic_support;

mod agents;
mod begun;
mod calls;
mod context;
mod corners;
mod crashes;
mod cycles;
mod foreign_waits;
mod groups;
mod handles;
mod in_place;
mod lanes;
mod late_replies;
mod leftovers;
mod life;
mod links;
mod misuse;
mod moved_out;
mod next_turn;
mod odd_ends;
mod overflow;
mod pipe_each;
mod pipe_outcome;
mod protocols;
mod receiving;
mod registry;
mod room;
mod surface;
mod tasks;
mod tasks_many;
mod terminate;
mod topics;
mod topics_direct;
mod topics_ends;
mod topics_slow;
mod topics_threads;
mod under_no_lock;
mod waiting;
mod when_handled;
mod zero;
