//! What users do with a cluster.

use crate::core::ClusterCore;
use crate::counters::ClusterStats;
use crate::error::ClusterError;
use crate::events::NodeEvent;
use crate::exports::Sys;
use crate::exports::typed::Served;
use crate::messages::ClusterMessage;
use crate::peer::PeerNode;
use crate::peer::connection_info::ConnectionInfo;
use crate::peer::proxy::RemoteProcess;
use crate::terms::reading::Reading;
use crate::terms::writing::Writing;
use krarup_act::{Address, Context, Host, MessageRoom, Network, Process, Recipient, Reply};
use krarup_gen::{Name, NodeName, Pid, Ref, SendError};
use krarup_wire::codec::Extension;
use krarup_wire::etf::{Decoder, ExternalPid, Reference, Term};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::any::Any;
use std::fmt;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;

/// The address of a cluster.
pub type ClusterAddress = Address<ClusterMessage>;

/// A handle on the cluster of a node. It can be cloned and sent; it works while the cluster
/// runs.
#[derive(Clone)]
pub struct ClusterHandle(Arc<ClusterCore>);

impl fmt::Debug for ClusterHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClusterHandle({})", self.0.me)
    }
}

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

fn of_host(host: &dyn Host) -> Result<ClusterHandle, ClusterError> {
    let network: Arc<dyn Network> = host.network().ok_or(ClusterError::NotRunning)?;
    let network: Arc<dyn Any + Send + Sync> = network;
    network.downcast::<ClusterCore>().map(ClusterHandle).map_err(|_| ClusterError::NotRunning)
}

/// The operations of a cluster, at its address and in the processes of its node.
pub trait ClusterCalls: HasCluster {
    /// Makes the process that has this name reachable from other nodes, now and when another
    /// process has it. Its messages are of type `M`. It obeys [`Sys::Status`].
    ///
    /// # Errors
    /// [`ClusterError`] if the name is not valid, or the cluster does not run.
    fn export<M>(&self, name: &str) -> Result<(), ClusterError>
    where
        M: Serialize + DeserializeOwned + Send + 'static,
    {
        self.export_with::<M>(name, Sys::Status)
    }

    /// As [`ClusterCalls::export`], with the `sys` requests that the process obeys.
    ///
    /// # Errors
    /// [`ClusterError`] if the name is not valid, or the cluster does not run.
    fn export_with<M>(&self, name: &str, sys: Sys) -> Result<(), ClusterError>
    where
        M: Serialize + DeserializeOwned + Send + 'static,
    {
        self.cluster()?.0.exports.add::<M>(&Name::new(name)?, sys);
        Ok(())
    }

    /// Makes a process that has this name answer calls of other nodes by a function, which runs
    /// on the thread of the connection and must not block. For processes that take no messages
    /// of a type that can be read, such as supervisors.
    ///
    /// # Errors
    /// [`ClusterError`] if the name is not valid, or the cluster does not run.
    fn export_served(
        &self,
        name: &str,
        serve: impl Fn(Served) + Send + Sync + 'static,
    ) -> Result<(), ClusterError> {
        self.cluster()?.0.exports.serve(&Name::new(name)?, Sys::Status, serve);
        Ok(())
    }

    /// Ends an export. Returns whether there was one.
    ///
    /// # Errors
    /// [`ClusterError::NotRunning`].
    fn unexport(&self, name: &str) -> Result<bool, ClusterError> {
        Ok(self.cluster()?.0.exports.remove(name))
    }

    /// Makes processes that take an `M` understand peers that send to their pids.
    ///
    /// # Errors
    /// [`ClusterError::NotRunning`].
    fn carry<M>(&self) -> Result<(), ClusterError>
    where
        M: Serialize + DeserializeOwned + Send + 'static,
    {
        self.cluster()?.0.exports.carry::<M>();
        Ok(())
    }

    /// Returns a recipient for the process that has this name on that node. Nothing is sent
    /// yet; the first message dials (rule Zhs10).
    ///
    /// # Errors
    /// [`ClusterError`] if a name is not valid, or that of this node.
    fn remote<M>(&self, name: &str, node: &str) -> Result<Recipient<M>, ClusterError>
    where
        M: Serialize + Send + 'static,
    {
        let core = self.cluster()?.0;
        let node = NodeName::new(node)?;
        let process = core.stand_in_named(&Name::new(name)?, &node);
        let process = process.ok_or_else(|| ClusterError::ThisNode(node.to_string()))?;
        Ok(Recipient::remote(process as Arc<dyn Process>, Arc::clone(&core.host)))
    }

    /// Returns a recipient for a process of another node, whose messages are of type `M`.
    ///
    /// # Errors
    /// [`ClusterError`] if the pid is not one of another node.
    fn remote_pid<M>(&self, pid: Pid) -> Result<Recipient<M>, ClusterError>
    where
        M: Serialize + Send + 'static,
    {
        let core = self.cluster()?.0;
        let process = core.process(pid).filter(|process| process.remote().is_some());
        let process = process.ok_or_else(|| ClusterError::ThisNode(pid.to_string()))?;
        Ok(Recipient::remote(process, Arc::clone(&core.host)))
    }

    /// Returns the connected nodes, in the order of their names.
    ///
    /// # Errors
    /// [`ClusterError::NotRunning`].
    fn nodes(&self) -> Result<Vec<NodeName>, ClusterError> {
        Ok(self.cluster()?.0.connected().iter().map(|peer| peer.node.clone()).collect())
    }

    /// Describes the connections, in the order of the names of the nodes (rule Zobs1).
    ///
    /// # Errors
    /// [`ClusterError::NotRunning`].
    fn connections(&self) -> Result<Vec<ConnectionInfo>, ClusterError> {
        let core = self.cluster()?.0;
        Ok(core.connected().iter().filter_map(|peer| peer.describe()).collect())
    }

    /// Returns a future that connects to a node, and says whether there is a connection then.
    ///
    /// # Errors
    /// [`ClusterError`] if the name is not valid, or that of this node.
    fn connect(
        &self,
        node: &str,
    ) -> Result<impl Future<Output = bool> + Send + use<Self>, ClusterError> {
        let core = self.cluster()?.0;
        let node = NodeName::new(node)?;
        let peer = core.peer_of(&node).ok_or_else(|| ClusterError::ThisNode(node.to_string()))?;
        Ok(async move {
            peer.want();
            peer.flush(&core);
            poll_fn(|cx| peer.poll_connected(cx)).await
        })
    }

    /// Gives up the connection to a node, which is a loss for both sides (rule Zlive3). Returns
    /// whether there was one.
    ///
    /// # Errors
    /// [`ClusterError`] if the name is not valid.
    fn disconnect(&self, node: &str) -> Result<bool, ClusterError> {
        Ok(self.cluster()?.0.disconnect(&NodeName::new(node)?))
    }

    /// Tells a process of nodes that come up and go down, for its lifetime and beyond the
    /// bound of its mailbox (rule Zlive2).
    ///
    /// # Errors
    /// [`ClusterError::NotRunning`].
    fn subscribe_nodes(&self, who: Recipient<NodeEvent>) -> Result<(), ClusterError> {
        self.cluster()?.0.events.subscribe(who);
        Ok(())
    }

    /// Returns how many messages did not arrive.
    ///
    /// # Errors
    /// [`ClusterError::NotRunning`].
    fn stats(&self) -> Result<ClusterStats, ClusterError> {
        Ok(self.cluster()?.0.counters.stats())
    }
}

impl<T: HasCluster> ClusterCalls for T {}

impl ClusterHandle {
    /// Returns the address on which the cluster listens; `None` while it starts.
    #[must_use]
    pub fn listens_at(&self) -> Option<SocketAddr> {
        self.0.listening.get().copied()
    }

    /// Writes a value as a term, pids and references in it as those of the cluster.
    ///
    /// # Errors
    /// [`ClusterError::Term`] if it cannot be written.
    pub fn to_term<T: Serialize + ?Sized>(&self, value: &T) -> Result<Term, ClusterError> {
        let mut bytes = Vec::new();
        let mut extension = Writing::new(&self.0, self.0.pid, false);
        let written = self.0.codec.write_with(value, &mut bytes, &mut extension);
        written.map_err(|error| ClusterError::Term(error.to_string()))?;
        let term = Decoder::new(&bytes).last_term();
        term.map_err(|error| ClusterError::Term(error.to_string()))
    }

    /// Reads a value from a term.
    ///
    /// # Errors
    /// [`ClusterError::Term`] if it cannot be read.
    pub fn from_term<T: DeserializeOwned>(&self, term: &Term) -> Result<T, ClusterError> {
        let failed = |error: &dyn fmt::Display| ClusterError::Term(error.to_string());
        let mut bytes = Vec::new();
        term.write(&mut bytes).map_err(|error| failed(&error))?;
        let mut extension = Reading { core: &self.0, by: 0, has_caller: false };
        let read =
            self.0.codec.read_with(Decoder::new(&bytes), &mut extension as &mut dyn Extension);
        read.map_err(|error| failed(&error))
    }

    /// Returns the term of a token: `{Pid, [alias | Ref]}`. Whoever has it can answer the call,
    /// on any node. `by` is the process that passes it on.
    #[must_use]
    pub fn caller(&self, by: Pid, reply: Reply<Term>) -> Term {
        let reference = self.0.host.next_ref();
        self.0.keep_token(by, reference, reply);
        self.0.caller_term(by, reference)
    }

    /// Sends a term to a pid, a reference that is an alias, or `{Name, Node}`.
    ///
    /// # Errors
    /// [`SendError::Full`] if too much waits to be sent, [`SendError::NoName`] if the term is
    /// none of these, with its text; [`SendError::NoNode`] for an alias of an unknown node.
    pub fn send(&self, to: &Term, message: &Term) -> Result<(), SendError<()>> {
        self.send_with(to, message, MessageRoom::Wanted)
    }

    fn send_with(&self, to: &Term, message: &Term, room: MessageRoom) -> Result<(), SendError<()>> {
        match self.receiver(to) {
            Some(TermReceiver::Process(process)) => self.0.send_term(&process, message, room),
            Some(TermReceiver::Alias(alias)) => self.0.send_to_alias(&alias, message, room),
            None => Err(SendError::NoName { message: (), name: to.to_string() }),
        }
    }

    /// As [`ClusterHandle::send`], and waits in line for room if too much waits to be sent.
    ///
    /// # Errors
    /// [`SendError::NoName`] if `to` is no receiver, [`SendError::NoNode`] for an alias of an
    /// unknown node.
    pub async fn send_or_wait(&self, to: &Term, message: &Term) -> Result<(), SendError<()>> {
        let place = match self.peer_to(to) {
            Some(peer) => Some(peer.room().await),
            None => None,
        };
        let room = if place.is_some() { MessageRoom::Granted } else { MessageRoom::Wanted };
        let sent = self.send_with(to, message, room);
        drop(place);
        sent
    }

    /// Returns a recipient for a pid or `{Name, Node}` of another node.
    #[must_use]
    pub fn recipient<M: Serialize + Send + 'static>(&self, of: &Term) -> Option<Recipient<M>> {
        match self.receiver(of)? {
            TermReceiver::Process(process) => {
                Some(Recipient::remote(process as Arc<dyn Process>, Arc::clone(&self.0.host)))
            }
            TermReceiver::Alias(_) => None,
        }
    }

    /// Returns the pid that a term is.
    #[must_use]
    pub fn pid(&self, term: &Term) -> Option<Pid> {
        match term {
            Term::Pid(pid) => self.0.pid_of(pid),
            _ => None,
        }
    }

    /// Returns the term of a pid. Other nodes can reach its process from now on.
    #[must_use]
    pub fn pid_term(&self, pid: Pid) -> Option<Term> {
        self.0.external(pid).map(Term::from)
    }

    /// Returns the term of a reference. If it is an alias, other nodes can reach its process from
    /// now on.
    #[must_use]
    pub fn ref_term(&self, reference: Ref) -> Term {
        self.0.alias(reference).into()
    }

    /// Returns the number of a reference of this node.
    #[must_use]
    pub fn reference(&self, term: &Term) -> Option<Ref> {
        match term {
            Term::Reference(reference) => self.0.number_of(reference).map(Ref::new),
            _ => None,
        }
    }

    /// The node of a receiver.
    fn peer_to(&self, to: &Term) -> Option<Arc<PeerNode>> {
        match self.receiver(to)? {
            TermReceiver::Process(process) => Some(Arc::clone(process.peer())),
            TermReceiver::Alias(alias) => self.0.peer(alias.node()),
        }
    }

    fn receiver(&self, to: &Term) -> Option<TermReceiver> {
        match to {
            Term::Pid(pid) => self.stand_in(pid).map(TermReceiver::Process),
            Term::Reference(alias) => Some(TermReceiver::Alias(Reference::clone(alias))),
            Term::Tuple(parts) => match &parts[..] {
                [Term::Atom(name), Term::Atom(node)] => {
                    let name = Name::new(name.as_str()).ok()?;
                    let node = NodeName::new(node.as_str()).ok()?;
                    self.0.stand_in_named(&name, &node).map(TermReceiver::Process)
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn stand_in(&self, pid: &ExternalPid) -> Option<Arc<RemoteProcess>> {
        let is_here = self.0.pid_of(pid).is_some_and(|pid| pid.node() == 0);
        if is_here { None } else { self.0.stand_in(pid) }
    }
}

enum TermReceiver {
    Process(Arc<RemoteProcess>),
    Alias(Reference),
}
