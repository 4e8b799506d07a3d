//! A cluster: its settings. Its process is in `cluster/process.rs`.

mod admitting;
mod finding;
mod process;
mod running;
mod scope_restarts;
mod scopes;
mod serving;

use self::running::RunningCluster;
use crate::core::ClusterCore;
use crate::discovery::Discovery;
use crate::discovery::discoveries::Discoveries;
use crate::encryption::Encryption;
use crate::error::StartError;
use crate::exports::inlet::Inlet;
use crate::exports::{Exports, Sys};
use crate::functions::request::{ServedFactory, ServedFunction};
use crate::functions::table::FunctionTable;
use crate::groups::settings::ScopeSettings;
use crate::peer::queue_limits::QueueLimits;
use crate::rights::admission::Admission;
use crate::rights::node_pattern::NodePatternError;
use crate::simulated::network::SimNetwork;
use krarup_gen::{Name, NodeName};
use krarup_wire::epmd::EPMD_PORT;
use krarup_wire::handshake::Cookie;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::HashMap;
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

/// The default tick time, as OTP's `net_ticktime`.
const TICK_TIME: Duration = Duration::from_secs(60);
/// The most processes that one peer may request, unless told otherwise.
const SPAWN_LIMIT: usize = 10_000;

/// A node's place in a cluster of Erlang and Krarup nodes.
///
/// It is spawned once for each node, below the system root. Everything below it ends with it,
/// and that is the loss of all connections, no more. Handles on the cluster are the methods of
/// [`ClusterCalls`](crate::ClusterCalls).
///
/// ```no_run
/// # use krarup_gen::Result;
/// # mod krarup { pub use krarup_dist as cluster; }
/// use krarup::cluster::{Cluster, ClusterCalls, cookie_from_home};
/// # use krarup_node::Node;
///
/// # fn main() -> Result {
/// let node = Node::start("calc@127.0.0.1")?;
/// let cookie = cookie_from_home()?;
/// let cluster = node.spawn_system(move || Cluster::new(cookie).epmd()).wait()?;
/// cluster.export::<String>("calc")?; // Nothing is reachable that is not exported.
/// # Ok(())
/// # }
/// ```
pub struct Cluster {
    settings: ClusterSettings,
    running: Option<RunningCluster>,
}

struct ClusterSettings {
    admission: Admission,
    /// The patterns that were none.
    odd_patterns: Vec<NodePatternError>,
    listen: SocketAddr,
    /// The network of a simulation, in place of sockets.
    network: Option<SimNetwork>,
    /// The host and the port of the port mapper at which the node registers.
    epmd: Option<u16>,
    peers: HashMap<String, SocketAddr>,
    discoveries: Discoveries,
    /// The names of nodes to be kept, and whether those are that a discovery finds.
    kept: (Vec<String>, bool),
    tick: Duration,
    allow_clear_text: bool,
    encryption: Encryption,
    /// The soft and the hard limit of what waits to be sent to a peer.
    queue: (usize, usize),
    /// The most processes that one peer may request.
    spawns: usize,
    exports: Exports<dyn Inlet<ClusterCore>>,
    functions: FunctionTable<dyn ServedFunction<ClusterCore>>,
    factories: FunctionTable<dyn ServedFactory<ClusterCore>>,
    /// What was set and cannot be meant, in the order of the settings.
    mistakes: Vec<StartError>,
    scopes: ScopeSettings,
}

impl Cluster {
    /// Creates a cluster whose nodes share this cookie. It listens on a free port of 127.0.0.1
    /// (rule Zsec2).
    #[must_use]
    pub fn new(cookie: Cookie) -> Self {
        Cluster {
            settings: ClusterSettings {
                admission: Admission::new(cookie),
                odd_patterns: Vec::new(),
                listen: ([127, 0, 0, 1], 0).into(),
                network: None,
                epmd: None,
                peers: HashMap::new(),
                discoveries: Discoveries::default(),
                kept: (Vec::new(), false),
                tick: TICK_TIME,
                allow_clear_text: false,
                encryption: Encryption::ClearText,
                queue: (QueueLimits::DEFAULT.soft, QueueLimits::DEFAULT.hard),
                spawns: SPAWN_LIMIT,
                exports: Exports::default(),
                functions: FunctionTable::default(),
                factories: FunctionTable::default(),
                mistakes: Vec::new(),
                scopes: ScopeSettings::default(),
            },
            running: None,
        }
    }

    /// Listens on this address; port 0 selects any free port.
    #[must_use]
    pub fn listen(mut self, address: SocketAddr) -> Self {
        self.settings.listen = address;
        self
    }

    /// Registers the node at the port mapper of this machine, and finds peers by those of
    /// theirs (rules Zhs8, Zhs9).
    #[must_use]
    pub fn epmd(self) -> Self {
        self.epmd_at(EPMD_PORT)
    }

    /// As [`Cluster::epmd`], with another port.
    #[must_use]
    pub fn epmd_at(mut self, port: u16) -> Self {
        self.settings.epmd = Some(port);
        self
    }

    /// Reaches other nodes of a simulation over this network, without sockets and port mappers.
    /// All nodes that have joined it are found by their names (rule Zsim2).
    #[must_use]
    pub fn network(mut self, network: &SimNetwork) -> Self {
        self.settings.network = Some(network.clone());
        self
    }

    /// Finds this peer at a fixed address, without a port mapper.
    ///
    /// A name that is not one of a node fails the spawn with [`StartError::Name`], and an address
    /// with port 0 with [`StartError::PeerPort`].
    #[must_use]
    pub fn peer(mut self, node: impl Into<String>, address: SocketAddr) -> Self {
        let node = node.into();
        if let Err(error) = NodeName::new(&node) {
            self.settings.mistakes.push(error.into());
        } else if address.port() == 0 {
            self.settings.mistakes.push(StartError::PeerPort { node: node.clone(), address });
        }
        self.settings.peers.insert(node, address);
        self
    }

    /// Finds peers that have no fixed address by this discovery, before the port mapper is asked
    /// (rule Zhs9). Several are asked in the order in which they were added.
    #[must_use]
    pub fn discovery(mut self, discovery: impl Discovery) -> Self {
        self.settings.discoveries.add(discovery);
        self
    }

    /// Keeps these nodes connected: they are dialled when the cluster starts, and again when a
    /// connection is lost or a dial has failed, after 1 s, then twice as long each time up to 60 s,
    /// less up to a quarter by chance, and at once when a [`Discovery`] says that the node has
    /// appeared (rule Zlive4). All other nodes are dialled when they are used, and nobody tells this
    /// node of third ones. The own name is skipped, so all nodes may have the same list.
    ///
    /// A name that is not one of a node fails the spawn with [`StartError::Name`].
    #[must_use]
    pub fn keep<N: Into<String>>(mut self, nodes: impl IntoIterator<Item = N>) -> Self {
        self.settings.kept.0.extend(nodes.into_iter().map(Into::into));
        self
    }

    /// Keeps the nodes that a [`Discovery`] says there are, while it says so, as
    /// [`Cluster::keep`] does (rule Zlive4).
    #[must_use]
    pub fn keep_discovered(mut self) -> Self {
        self.settings.kept.1 = true;
        self
    }

    /// Sets the tick time: a peer that was silent for about so long is down. All nodes of a
    /// cluster should have the same (rule Zlive1). The default is 60 s.
    #[must_use]
    pub fn tick_time(mut self, time: Duration) -> Self {
        self.settings.tick = time;
        self
    }

    /// Sets how many bytes may wait to be sent to one peer. Beyond the soft limit, messages and
    /// calls of users are refused as [`SendError::Full`](krarup_gen::SendError::Full), and
    /// [`Recipient::send_or_wait`](krarup_act::Recipient::send_or_wait) waits. Answers, links,
    /// monitors and exits cannot be refused: beyond the hard limit the connection is ended, and
    /// everybody bound to the peer is told (rule Zmsg13). The defaults are 1 MiB and 512 MiB.
    ///
    /// The soft limit must be at least 1, and the hard one greater: otherwise the spawn fails with
    /// [`StartError::QueueLimits`](crate::StartError::QueueLimits).
    #[must_use]
    pub fn queue_limits(mut self, soft: usize, hard: usize) -> Self {
        self.settings.queue = (soft, hard);
        self
    }

    /// Sets how many processes one other node may have requested here at a time: calls of served
    /// functions, and processes of factories, until they end. A request beyond is refused as
    /// `system_limit`, and counted ([`ClusterStats::refused_spawns`](crate::ClusterStats)). The
    /// default is 10 000 (rule Zcall9).
    #[must_use]
    pub fn spawn_limit(mut self, processes: usize) -> Self {
        self.settings.spawns = processes;
        self
    }

    /// Permits an address that others can reach, without encryption (rule Zsec2).
    #[must_use]
    pub fn allow_clear_text(mut self) -> Self {
        self.settings.allow_clear_text = true;
        self
    }

    /// Connects to other nodes over TLS, and to no others: in both directions each side has a
    /// certificate of the same authority (feature `cluster-tls`; rule Zhs11). A certificate is for
    /// the hosts it names, or, if it names nodes (`email:calc@10.0.0.7`), for these only: nobody
    /// else who has a certificate of the authority can call itself so (rule Zsec10). Erlang nodes
    /// are started with `-proto_dist inet_tls`. The address to [listen](Cluster::listen) on may be any then.
    ///
    /// [`Tls::reload`](crate::Tls::reload) replaces the certificates for the connections to come.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn tls(mut self, tls: crate::Tls) -> Self {
        self.settings.encryption = Encryption::Tls(tls);
        self
    }

    /// Makes processes that take an `M` understand peers that send to their pids.
    #[must_use]
    pub fn carries<M>(self) -> Self
    where
        M: Serialize + DeserializeOwned + Send + 'static,
    {
        self.settings.exports.carry::<M>();
        self
    }

    /// Exports a name from the start, as
    /// [`ClusterCalls::export_with`](crate::ClusterCalls::export_with).
    ///
    /// A name that is not valid fails the spawn with [`StartError::ExportName`], and one that is
    /// exported twice with [`StartError::ExportedTwice`].
    #[must_use]
    pub fn export<M>(mut self, name: &str, sys: Sys) -> Self
    where
        M: Serialize + DeserializeOwned + Send + 'static,
    {
        let exports = &self.settings.exports;
        match Name::new(name) {
            Ok(name) => {
                if exports.of_name(name.as_str()).is_some() || exports.add::<M>(&name, sys).is_err()
                {
                    let name = name.as_str().to_owned();
                    self.settings.mistakes.push(StartError::ExportedTwice { name });
                }
            }
            Err(error) => self.settings.mistakes.push(error.into()),
        }
        self
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster")
            .field("listen", &self.settings.listen)
            .field("epmd", &self.settings.epmd)
            .finish_non_exhaustive()
    }
}
