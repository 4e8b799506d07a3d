//! Nodes that are registered at the port mapper of their host.

use super::Discovery;
use super::error::DiscoveryError;
use crate::epmd;
use krarup_gen::NodeName;
use krarup_wire::epmd::EPMD_PORT;
use std::net::SocketAddr;

/// Asks the port mapper, epmd, on the host of a node for its port. [`Cluster::epmd`] looks nodes
/// up by itself, and registers this node besides; this one is for a node that is not registered.
///
/// [`Cluster::epmd`]: crate::Cluster::epmd
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpmdDiscovery {
    port: u16,
}

impl EpmdDiscovery {
    /// Asks port mappers at their default port, 4369.
    #[must_use]
    pub const fn new() -> Self {
        EpmdDiscovery { port: EPMD_PORT }
    }

    /// Asks port mappers at another port.
    #[must_use]
    pub const fn at(port: u16) -> Self {
        EpmdDiscovery { port }
    }
}

impl Default for EpmdDiscovery {
    fn default() -> Self {
        EpmdDiscovery::new()
    }
}

impl Discovery for EpmdDiscovery {
    fn find(&self, node: &NodeName) -> Result<Vec<SocketAddr>, DiscoveryError> {
        Ok(epmd::look_up(node.host(), self.port, node.alive())?)
    }
}
