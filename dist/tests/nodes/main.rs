//! Nodes of this program that are a cluster, over sockets.

#[path = "../../../io/tests/support/certificates.rs"]
mod certificates;
#[path = "../support/mod.rs"]
mod support;

mod bonds;
mod identities;
mod incarnations;
mod lifecycle;
mod liveness;
mod messages;
mod port_mapper;
mod queue;
mod served;
#[cfg(feature = "tls")]
mod tls;
mod two_nodes;
mod writing;
