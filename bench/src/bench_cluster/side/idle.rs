//! Many nodes in one program, each connected to the server whose connections are measured.

use crate::agreement::TICK_SECONDS;
use crate::failure::ClusterFailure;
use krarup::Node;
use krarup::cluster::{Cluster, ClusterCalls, Cookie};
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

const TRIES: usize = 100;
const PAUSE: Duration = Duration::from_millis(50);

/// The nodes that are connected.
#[derive(Default)]
pub(crate) struct IdleNodes(Vec<Node>);

impl IdleNodes {
    /// Connects so many nodes.
    pub(crate) fn open(
        &mut self,
        count: u64,
        cookie: &Cookie,
        peer: &str,
        address: SocketAddr,
    ) -> Result<(), ClusterFailure> {
        for number in 0..count {
            let node = Node::builder(format!("idle{number}@127.0.0.1")).workers(1);
            let node = node.start().map_err(ClusterFailure::of_node)?;
            let (cookie, name) = (cookie.clone(), peer.to_owned());
            let cluster = move || {
                Cluster::new(cookie)
                    .peer(name, address)
                    .tick_time(Duration::from_secs(TICK_SECONDS))
                    .keep::<String>([])
            };
            let cluster = node.spawn_system(cluster).wait().map_err(ClusterFailure::of_node)?;
            self.0.push(node);
            // A connection from this server may be refused while it closes an earlier one.
            cluster.keep(peer).map_err(ClusterFailure::of_node)?;
            let mut left = TRIES;
            while cluster.nodes().map_err(ClusterFailure::of_node)?.is_empty() {
                if left == 0 {
                    return Err(ClusterFailure::of_node(format!("node {number} cannot connect")));
                }
                left -= 1;
                thread::sleep(PAUSE);
            }
        }
        Ok(())
    }

    /// Ends all of them.
    pub(crate) fn close(&mut self) -> Result<(), ClusterFailure> {
        for node in self.0.drain(..) {
            node.stop().wait().map_err(ClusterFailure::of_node)?;
        }
        Ok(())
    }
}
