//! What a discovery tells of itself: nodes that appear and disappear.

use crate::messages::{ClusterMessage, ClusterRequest};
use krarup_act::Recipient;
use krarup_gen::NodeName;
use std::fmt;

/// A handle by which a [`Discovery`](crate::Discovery) tells its cluster which nodes there are
/// (rule Zlive4). It can be cloned and used on any thread, and does nothing when the cluster has
/// ended.
#[derive(Clone)]
pub struct DiscoveryNews {
    /// The number of the discovery.
    number: usize,
    cluster: Recipient<ClusterMessage>,
}

impl DiscoveryNews {
    pub(crate) fn new(number: usize, cluster: Recipient<ClusterMessage>) -> Self {
        DiscoveryNews { number, cluster }
    }

    /// A node has appeared, or listens elsewhere. If it is kept and not connected it is dialled at
    /// once.
    pub fn appeared(&self, node: NodeName) {
        self.tell(vec![node], Vec::new());
    }

    /// A node has disappeared. It is not kept any more, unless its name was given to
    /// [`Cluster::keep`](crate::Cluster::keep). Its connection stays.
    pub fn disappeared(&self, node: NodeName) {
        self.tell(Vec::new(), vec![node]);
    }

    fn tell(&self, appeared: Vec<NodeName>, disappeared: Vec<NodeName>) {
        let news = ClusterRequest::News { number: self.number, appeared, disappeared };
        self.cluster.notify(ClusterMessage(news));
    }
}

impl fmt::Debug for DiscoveryNews {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DiscoveryNews({})", self.cluster.pid())
    }
}
