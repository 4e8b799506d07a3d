//! Supervisors: starts, restarts, stops, requests, reports, limits.
//!
//! One program for all of it: a program for each file would be linked a dozen times.

#[path = "../support/mod.rs"]
mod support;

mod back_off;
mod dynamic;
mod in_place;
mod limits;
mod many;
mod partitions;
mod reports;
mod requests;
mod restarts;
mod start_and_stop;
mod stuck;
mod tasks;
mod trees;
