//! The shared parts of a cluster: what its behaviour, its connections, the stand-ins and the
//! users' handles have in common.
//!
//! The locks here are leaves: nothing is called with one of them held.

pub(crate) mod cluster_memory;
pub(crate) mod connections;
mod identities;
mod incarnations;
mod kept;
mod picture;
mod stand_ins;
mod unsent;

pub(crate) use identities::is_reachable;

use crate::calls::pending_calls::Calls;
use crate::core::cluster_memory::ClusterMemory;
use crate::counters::ClusterCounters;
use crate::encryption::Encryption;
use crate::events::{NodeEvent, NodeEvents};
use crate::exports::Exports;
use crate::exports::inlet::Inlet;
use crate::exports::statistics::SysStatistics;
use crate::functions::request::{ServedFactory, ServedFunction};
use crate::functions::table::FunctionTable;
use crate::groups::shared::SharedScope;
use crate::keeping::KeepPlan;
use crate::messages::{ClusterMessage, ConnectionMessage};
use crate::peer::owner::PeerOwner;
use crate::peer::queue_limits::QueueLimits;
use crate::peer::signal::{Signal, UnwrittenLetter};
use crate::peer::{NotSent, PeerNode};
use crate::peer_log::PeerLog;
use crate::requests::pending_requests::PendingRequests;
use crate::rights::admission::Admission;
use krarup_act::{Address, Host, Recipient};
use krarup_gen::{DeadLetterCause, NodeName, Pid};
use krarup_wire::codec::TermCodec;
use krarup_wire::etf::Atom;
use krarup_wire::handshake::Identity;
use krarup_wire::peers::{ConnectionId, Peers};
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

/// The most nodes that are remembered.
const MOST_NODES: usize = 65_536;
/// The most texts of functions on other nodes that are logged in a second.
const MOST_PRINTED: u32 = 1_000;
/// The creations below this one are not used (rule Zid6).
const LEAST_CREATION: u32 = 4;

/// The shared parts of a cluster.
pub(crate) struct ClusterCore {
    pub(crate) myself: Weak<ClusterCore>,
    pub(crate) host: Arc<dyn Host>,
    /// The process of the cluster, which monitors and calls on behalf of plain threads.
    pub(crate) pid: Pid,
    pub(crate) me: Atom,
    creation: u32,
    pub(crate) admission: Admission,
    pub(crate) encryption: Encryption,
    pub(crate) tick: Duration,
    pub(crate) codec: TermCodec,
    pub(crate) exports: Exports<dyn Inlet<ClusterCore>>,
    pub(crate) calls: Calls,
    pub(crate) functions: FunctionTable<dyn ServedFunction<ClusterCore>>,
    pub(crate) factories: FunctionTable<dyn ServedFactory<ClusterCore>>,
    /// The most processes that one peer may request.
    pub(crate) spawn_limit: usize,
    pub(crate) requests: PendingRequests,
    pub(crate) statistics: SysStatistics,
    /// The group leader of processes that were requested on other nodes, as soon as one was.
    pub(crate) output: OnceLock<Pid>,
    output_log: PeerLog,
    /// The scopes of groups of this cluster, which are told of nodes. Users are in its memory.
    pub(crate) own_subscribers: NodeEvents,
    pub(crate) counters: ClusterCounters,
    log: PeerLog,
    pub(crate) cluster: Recipient<ClusterMessage>,
    pub(crate) memory: Arc<ClusterMemory>,
    /// Which cluster of the node it is, from 1.
    pub(crate) number: u64,
    /// The earlier incarnations of this node.
    gone: Arc<PeerNode>,
    limits: QueueLimits,
    nodes: Mutex<HashMap<Atom, Arc<PeerNode>>>,
    /// Set and read with `nodes` locked: no peer is added to a cluster that has ended.
    has_ended: AtomicBool,
    peers: Mutex<Peers>,
    connections: Mutex<BTreeMap<ConnectionId, Address<ConnectionMessage>>>,
    /// Accepted connections whose handshakes are not over, the oldest first (rule Zhs7).
    pending: Mutex<VecDeque<ConnectionId>>,
    /// The dials that were not given up.
    dials: Mutex<HashSet<ConnectionId>>,
    keeping: Mutex<KeepPlan>,
    next_connection: AtomicU64,
    next_named: AtomicU64,
    next_run: AtomicU64,
    /// Where it listens, as soon as it does.
    pub(crate) listening: OnceLock<SocketAddr>,
    /// The scopes of groups that are allowed.
    scopes: OnceLock<Vec<Arc<SharedScope>>>,
}

/// What other nodes can reach from the start.
pub(crate) struct ReachableFromOutside {
    pub(crate) exports: Exports<dyn Inlet<ClusterCore>>,
    pub(crate) functions: FunctionTable<dyn ServedFunction<ClusterCore>>,
    pub(crate) factories: FunctionTable<dyn ServedFactory<ClusterCore>>,
    /// The most processes that one peer may request.
    pub(crate) spawn_limit: usize,
}

impl ClusterCore {
    pub(crate) fn new(
        host: Arc<dyn Host>,
        pid: Pid,
        node: &NodeName,
        (admission, encryption): (Admission, Encryption),
        (tick, limit, limits): (Duration, Duration, QueueLimits),
        reachable: ReachableFromOutside,
        cluster: Recipient<ClusterMessage>,
    ) -> Arc<Self> {
        // A valid name of a node is short enough for an atom.
        let me = Atom::new(node.as_str()).unwrap_or_else(|_| Atom::fixed(""));
        let creation = host.node_pid().creation();
        let memory = ClusterMemory::of_node(&*host);
        let ReachableFromOutside { exports, functions, factories, spawn_limit } = reachable;
        let gone = PeerNode::gone(me.clone(), node.clone(), limits);
        Arc::new_cyclic(|myself| ClusterCore {
            myself: Weak::clone(myself),
            host,
            pid,
            me: me.clone(),
            creation: if creation < LEAST_CREATION { creation + LEAST_CREATION } else { creation },
            admission,
            encryption,
            tick,
            codec: TermCodec::DEFAULT,
            exports,
            calls: Calls::default(),
            functions,
            factories,
            spawn_limit,
            requests: PendingRequests::default(),
            statistics: SysStatistics::default(),
            output: OnceLock::new(),
            output_log: PeerLog::of(MOST_PRINTED),
            own_subscribers: NodeEvents::default(),
            counters: ClusterCounters::default(),
            log: PeerLog::default(),
            cluster,
            number: memory.begin(),
            memory,
            gone,
            limits,
            nodes: Mutex::default(),
            has_ended: AtomicBool::new(false),
            peers: Mutex::new(Peers::new(me, limit)),
            connections: Mutex::default(),
            pending: Mutex::default(),
            dials: Mutex::default(),
            keeping: Mutex::default(),
            next_connection: AtomicU64::new(1),
            next_named: AtomicU64::new(1),
            next_run: AtomicU64::new(1),
            listening: OnceLock::new(),
            scopes: OnceLock::new(),
        })
    }

    /// Allows these scopes of groups.
    pub(crate) fn set_scopes(&self, scopes: Vec<Arc<SharedScope>>) {
        let _ = self.scopes.set(scopes);
    }

    pub(crate) fn scopes(&self) -> &[Arc<SharedScope>] {
        self.scopes.get().map_or(&[], Vec::as_slice)
    }

    pub(crate) fn scope(&self, name: &str) -> Option<&Arc<SharedScope>> {
        self.scopes().iter().find(|scope| scope.name.as_str() == name)
    }

    /// This node, as it shows itself to another one.
    pub(crate) fn identity(&self, to: &str) -> Identity {
        let cookie = self.admission.cookie_of(to).clone();
        let mut me = Identity::new(self.me.clone(), self.creation, cookie);
        me.lengths = self.encryption.lengths();
        me
    }

    fn now(&self) -> Duration {
        self.host.now().since(krarup_gen::Timestamp::ZERO)
    }

    /// Finds the peer with this name, or adds it if there is room.
    pub(crate) fn peer(&self, name: &Atom) -> Option<Arc<PeerNode>> {
        if *name == self.me {
            return None;
        }
        let mut nodes = self.nodes.lock();
        if let Some(peer) = nodes.get(name) {
            return Some(Arc::clone(peer));
        }
        let node = NodeName::new(name.as_str()).ok()?;
        if nodes.len() >= MOST_NODES {
            return None;
        }
        if self.has_ended.load(Ordering::Relaxed) {
            return Some(PeerNode::ended(name.clone(), node, self.limits));
        }
        let rights = self.admission.rights_of(name.as_str());
        let peer = PeerNode::new(name.clone(), node, self.limits, rights);
        nodes.insert(name.clone(), Arc::clone(&peer));
        Some(peer)
    }

    pub(crate) fn peer_of(&self, node: &NodeName) -> Option<Arc<PeerNode>> {
        self.peer(&Atom::new(node.as_str()).ok()?)
    }

    /// The connected peers, in the order of their names.
    pub(crate) fn connected(&self) -> Vec<Arc<PeerNode>> {
        let all: Vec<Arc<PeerNode>> = self.nodes.lock().values().cloned().collect();
        let mut up: Vec<_> = all.into_iter().filter(|peer| peer.is_up()).collect();
        up.sort_by(|one, other| one.name.cmp(&other.name));
        up
    }

    /// Ends the table of peers. Returns those in it, in the order of their names.
    fn end_peers(&self) -> Vec<Arc<PeerNode>> {
        let mut all: Vec<Arc<PeerNode>> = {
            let nodes = self.nodes.lock();
            self.has_ended.store(true, Ordering::Relaxed);
            nodes.values().cloned().collect()
        };
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all
    }

    fn strong(&self) -> Option<Arc<ClusterCore>> {
        self.myself.upgrade()
    }

    /// Forgets the peers of whom nothing is known any more.
    fn forget_peers(&self) {
        let mut forgotten = Vec::new();
        self.nodes.lock().retain(|_, peer| {
            // Others get a peer only under this lock.
            let stays = Arc::strong_count(peer) > 1 || !peer.is_idle();
            if !stays {
                forgotten.push(Arc::clone(peer));
            }
            stays
        });
        drop(forgotten);
    }

    /// The numbers of known peers, open connections, pending handshakes and dials.
    pub(crate) fn table_sizes(&self) -> [usize; 4] {
        let (nodes, connections) = (self.nodes.lock().len(), self.connections.lock().len());
        [nodes, connections, self.pending.lock().len(), self.dials.lock().len()]
    }

    /// Logs that this side has closed a connection because of these bytes.
    pub(crate) fn log_closed(
        &self,
        who: (Option<&Atom>, Option<SocketAddr>),
        why: &dyn fmt::Display,
        bytes: &[u8],
    ) {
        self.log.closed(self.now(), who, why, bytes);
    }

    /// Logs that a connection is not needed.
    pub(crate) fn log_spared(&self, peer: Option<&Atom>, why: &dyn fmt::Display) {
        self.log.spared(self.now(), peer, why);
    }

    /// A message of a scope of groups cannot be written.
    pub(crate) fn log_unwritten(&self, why: &dyn fmt::Display) {
        self.counters.dropped();
        self.log.dropped(self.now(), &self.me, why);
    }

    /// Logs that a peer was not found.
    pub(crate) fn log_unfound(&self, peer: &Atom, why: &dyn fmt::Display) {
        self.log.unfound(self.now(), Some(peer), why);
    }

    /// Logs that a discovery does not know which nodes there are.
    pub(crate) fn log_no_nodes(&self, why: &dyn fmt::Display) {
        self.log.unfound(self.now(), None, why);
    }

    /// Logs that a peer could not be connected, and why.
    pub(crate) fn log_unconnected(&self, peer: &Atom, why: &dyn fmt::Display) {
        self.log.unconnected(self.now(), peer, why);
    }

    /// Logs that the node is not registered at the port mapper any more, or is again.
    pub(crate) fn log_registration(&self, error: Option<&str>) {
        self.log.registration(self.now(), error);
    }

    pub(crate) fn log_connected(&self, peer: &Atom, creation: u32) {
        self.log.connected(self.now(), peer, creation);
    }

    /// Logs that a peer is down, and why.
    pub(crate) fn log_disconnected(&self, peer: &Atom, why: &dyn fmt::Display) {
        self.log.disconnected(self.now(), peer, why);
    }

    /// Logs that a message of a peer could not be read.
    pub(crate) fn log_undecodable(
        &self,
        peer: &Atom,
        to: &dyn fmt::Display,
        expected: &str,
        why: &str,
    ) {
        self.log.undecodable(self.now(), peer, (to, expected), why);
    }

    /// Logs what a function on a peer prints.
    pub(crate) fn log_output(&self, peer: &Atom, text: &str) {
        self.output_log.printed(self.now(), peer, text);
    }

    pub(crate) fn next_run(&self) -> u64 {
        self.next_run.fetch_add(1, Ordering::Relaxed)
    }

    /// The host of the processes that other nodes request.
    pub(crate) fn user_host(&self) -> Arc<dyn Host> {
        self.host.user_host().unwrap_or_else(|| Arc::clone(&self.host))
    }

    /// The cluster has ended: all connections are lost, and nothing is sent any more (rule
    /// Zlive7). A stand-in of it finds the next cluster of the node behind [`Host::network`], so
    /// this one leaves that place before its peers refuse what comes.
    pub(crate) fn shut_down(self: &Arc<Self>) {
        self.host.set_network(None);
        for peer in self.end_peers() {
            peer.end(self);
        }
    }
}

impl PeerOwner for ClusterCore {
    fn host(&self) -> &Arc<dyn Host> {
        &self.host
    }

    fn dial(&self, name: &Atom) {
        if let Some(core) = self.strong() {
            core.dial_peer(name);
        }
    }

    fn not_sent(&self, peer: &PeerNode, signal: Signal, why: NotSent) {
        self.signal_not_sent(peer, signal, why);
    }

    fn not_written(&self, peer: &PeerNode, letter: UnwrittenLetter) {
        self.unsent_letter(peer, letter, DeadLetterCause::NoConnection);
    }

    fn log_dropped(&self, peer: &Atom, why: &dyn fmt::Display) {
        self.counters.dropped();
        self.log.dropped(self.now(), peer, why);
    }

    fn calls_lost(&self, peer: &Atom, was_up: bool) {
        self.calls.lost(peer, was_up);
        self.requests.lost(peer);
    }

    fn tell(&self, event: &NodeEvent) {
        self.kept_event(event);
        self.own_subscribers.tell(event);
        self.memory.subscribers.tell(event);
    }
}
