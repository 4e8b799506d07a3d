//! Processes with a state: state actors, grains, machines, step processes (rules O, F, K).
//!
//! One program for all of it: a program for each file would be linked a hundred times.

#[path = "../machine_support/mod.rs"]
mod machine_support;
#[path = "../state_support/mod.rs"]
mod state_support;
#[path = "../support/mod.rs"]
mod support;

mod actor;
mod class;
mod defaults;
mod ends;
mod grain_calls;
mod grain_ends;
mod grain_keeper;
mod grains;
mod in_hand;
mod limits;
mod machine;
mod machine_timeouts;
mod machine_traces;
mod numbers;
mod order;
mod panics;
mod promises;
mod replay;
mod restarts;
mod selective;
mod stash;
mod step_leftovers;
mod step_process;
