//! The other nodes, as the processes of this node see them.
//!
//! `act` knows a cluster only as a [`Network`]. It turns a pid, a name or a node into a
//! [`Process`]: a stand-in, which holds the halves of links and monitors as any process does.
//! A host without a cluster has none.

use crate::process::process::Process;
use krarup_gen::{ClusterPicture, Name, NodeName, Pid};
use std::any::Any;
use std::sync::Arc;

/// The connection of a node with the other nodes of its cluster.
pub trait Network: Any + Send + Sync {
    /// Returns the stand-in of a process of another node; `None` if the number of the node is
    /// unknown.
    fn process(&self, pid: Pid) -> Option<Arc<dyn Process>>;

    /// Returns the stand-in of the process that has this name on that node; `None` if that is
    /// this node.
    fn named(&self, name: &Name, node: &NodeName) -> Option<Arc<dyn Process>>;

    /// Returns the stand-in of a node. It ends with the connection to that node.
    fn node(&self, node: &NodeName) -> Option<Arc<dyn Process>>;

    /// Returns the [`RecipientMaker`](crate::RecipientMaker) of the messages of this type, if
    /// processes of other nodes can be sent such.
    fn recipient_maker(&self, message: &'static str) -> Option<Arc<dyn Any + Send + Sync>> {
        let _ = message;
        None
    }

    /// Returns what the cluster is like now, for those who look at the node (rule V88). It is
    /// read when it is asked for; a cluster that shows nothing has none.
    fn picture(&self) -> Option<ClusterPicture> {
        None
    }
}
