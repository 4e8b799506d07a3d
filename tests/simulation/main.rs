//! The simulation, its testing tools, and properties that hold over seeds.
//!
//! One program for all of it: a program for each file would be linked a hundred times.

#[path = "../support/mod.rs"]
mod support;

mod example;
mod explore;
mod faults;
mod first_failure;
mod lane_order;
mod late_timers;
mod order;
mod probes;
mod properties_bonds;
mod properties_mailbox;
mod properties_names;
mod remote_applications;
mod seed_files;
mod serializing;
mod shrinking;
mod supervised_cluster;
mod traces;
mod traces_ends;
mod traces_held;
mod turn_limit;
