//! Nodes of Erlang/OTP; where there is no `erl` the tests say so.

#[path = "../../../io/tests/support/certificates.rs"]
mod certificates;
#[path = "../support/mod.rs"]
mod support;

mod functions;
mod groups;
mod remote_spawns;
mod tags;
mod third_nodes;
mod transport;
