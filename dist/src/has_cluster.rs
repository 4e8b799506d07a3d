//! Where a cluster is found.

use crate::core::ClusterCore;
use crate::error::ClusterError;
use crate::handle::ClusterHandle;
use crate::messages::ClusterMessage;
use krarup_act::{Address, BehaviorContext, Context, Host, Network};
use std::any::Any;
use std::sync::Arc;

/// The address of a cluster.
pub type ClusterAddress = Address<ClusterMessage>;

/// Where a cluster is found: at its address, and in every process of its node.
pub trait HasCluster {
    /// Returns a handle on the cluster of the node.
    ///
    /// # Errors
    /// [`ClusterError::NotRunning`].
    fn cluster(&self) -> Result<ClusterHandle, ClusterError>;
}

impl HasCluster for ClusterAddress {
    fn cluster(&self) -> Result<ClusterHandle, ClusterError> {
        of_host(&*self.node_host())
    }
}

impl<M: Send + 'static, C: Send + 'static> HasCluster for Context<M, C> {
    fn cluster(&self) -> Result<ClusterHandle, ClusterError> {
        of_host(&*self.node_host())
    }
}

impl HasCluster for ClusterHandle {
    fn cluster(&self) -> Result<ClusterHandle, ClusterError> {
        of_host(&*self.0.host)
    }
}

fn of_host(host: &dyn Host) -> Result<ClusterHandle, ClusterError> {
    let network: Arc<dyn Network> = host.network().ok_or(ClusterError::NotRunning)?;
    let network: Arc<dyn Any + Send + Sync> = network;
    network.downcast::<ClusterCore>().map(ClusterHandle).map_err(|_| ClusterError::NotRunning)
}
