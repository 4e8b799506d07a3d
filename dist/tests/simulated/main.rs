//! Nodes of one simulation that are a cluster: seeds, virtual time, no socket.

#[path = "../sim_support/mod.rs"]
mod sim_support;

mod cluster;
mod functions;
mod groups_late_scopes;
mod groups_limits;
mod groups_over_nodes;
mod groups_seeds;
mod keeping;
mod late_answers;
mod looking_in;
mod plain;
mod races;
mod refusals;
mod remote_spawns;
mod restarts;
mod rights;
mod served_from_the_start;
mod targets;
mod too_large;
mod two_members;
mod undelivered;
mod unsent;
