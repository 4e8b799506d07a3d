//! Peers that break the rules, over sockets.

#[path = "../support/mod.rs"]
mod support;

mod floods;
mod frames;
mod functions;
mod groups;
mod half_open;
mod handshakes;
mod remote_spawns;
mod rights;
mod security;
mod third_nodes;
