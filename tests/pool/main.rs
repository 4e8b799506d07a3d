//! Pools of workers (rules P, and what others say of pools).
//!
//! One program for all of it: a program for each file would be linked a hundred times.

#[path = "../pool_support/mod.rs"]
mod pool_support;
#[path = "../support/mod.rs"]
mod support;

mod accounts;
mod behavior;
mod drain;
mod elastic;
mod inspecting;
mod killed_pool;
mod limits;
mod lost_room;
mod many_workers;
mod model;
mod nested_room;
mod operations;
mod rate;
mod refusals;
mod report;
mod room;
mod room_for_calls;
mod routing;
mod settings;
mod starts;
mod state_workers;
mod storm;
mod workers;
