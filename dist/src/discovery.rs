//! Where other nodes listen, and which nodes there are (rules Zhs9, Zlive4).
//!
//! ```text
//!   a dial ──► fixed addresses ──► discoveries, in their order ──► epmd ──► addresses
//!                                       │
//!                                       └── news: which nodes there are ──► keeping
//! ```
//!
//! Nothing of an answer is kept: it is asked for anew at each dial. Answers may need the network,
//! so they are computed on a thread for blocking work, never in a turn.
//!
//! | file | where the answer comes from |
//! |---|---|
//! | `dns` | the resolver of the system: one port on all hosts, one service whose addresses are nodes |
//! | `epmd_discovery` | the port mapper on the host of the node |
//! | `discovered` | which nodes the discoveries have named, and what is new in an answer |
//! | `discoveries` | the first of several that has an answer |
//! | `news`, `error` | what a discovery tells of itself, and why it has no answer |

pub(crate) mod discovered;
pub(crate) mod discoveries;
pub(crate) mod dns;
pub(crate) mod epmd_discovery;
pub(crate) mod error;
pub(crate) mod news;

use self::error::DiscoveryError;
use self::news::DiscoveryNews;
use krarup_gen::NodeName;
use std::net::SocketAddr;
use std::time::Duration;

/// Finds other nodes: in a registry, in the resolver of the system, in a table of one's own.
///
/// [`Discovery::find`] is all that a cluster needs. The other methods are for
/// [keeping](crate::Cluster::keep): a discovery that knows which nodes there are has them dialled
/// at once when they appear. `find` and `nodes` may block, and one call does not wait for another.
/// A panic in them is an answer like an error.
///
/// ```
/// # use krarup_dist::{Cluster, Cookie, Discovery, DiscoveryError};
/// # use krarup_gen::{NodeName, Result};
/// # use std::net::SocketAddr;
/// /// All nodes of a machine listen on 9000 and the number at the end of their names.
/// struct Numbered;
///
/// impl Discovery for Numbered {
///     fn find(&self, node: &NodeName) -> Result<Vec<SocketAddr>, DiscoveryError> {
///         let digits = node.alive().trim_start_matches(|letter: char| !letter.is_ascii_digit());
///         let number: u16 = digits.parse().map_err(DiscoveryError::other)?;
///         Ok(vec![([127, 0, 0, 1], 9_000 + number).into()])
///     }
/// }
///
/// # fn cluster(cookie: Cookie) -> Cluster {
/// Cluster::new(cookie).discovery(Numbered)
/// # }
/// ```
pub trait Discovery: Send + Sync + 'static {
    /// Returns the addresses at which a node may listen; they are dialled in this order until one
    /// accepts. An empty answer means that this discovery does not know the node.
    ///
    /// # Errors
    /// [`DiscoveryError`]. The next discovery is asked; if none has an answer the dial fails.
    fn find(&self, node: &NodeName) -> Result<Vec<SocketAddr>, DiscoveryError>;

    /// Returns the nodes that there are now. It is called every [`Discovery::interval`].
    ///
    /// # Errors
    /// [`DiscoveryError`]: nothing is known, and the last answer stays as it is.
    fn nodes(&self) -> Result<Vec<NodeName>, DiscoveryError> {
        Ok(Vec::new())
    }

    /// Returns how often [`Discovery::nodes`] is called, at most every 100 ms; `None`, the default,
    /// means never. It is read once, when the cluster starts.
    fn interval(&self) -> Option<Duration> {
        None
    }

    /// The cluster has started. A discovery that is told of changes keeps `news`, and tells them;
    /// it can be used on any thread. This method must not block.
    fn started(&self, news: DiscoveryNews) {
        drop(news);
    }
}
